"""Where things are: one identity a project however it is reached, and a place for the user's data or a clear error."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from waggle._defaults import KNOWN_PROJECTS
from waggle.errors import SettingsError, StoreUnavailable
from waggle.jsonvalue import dumps
from waggle.locate import find_project, known_projects, remember_project, user_data_dir

if TYPE_CHECKING:
    from pathlib import Path


def git(*arguments: str | Path, where: Path) -> None:
    """Run git as somebody who has no settings of their own."""
    somebody = {f"GIT_{role}_{what}": "x@y" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *map(str, arguments)],
        cwd=where,
        check=True,
        capture_output=True,
        timeout=30,
        env={**os.environ, **somebody, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A directory under its real path."""
    return tmp_path.resolve()


@pytest.fixture
def repository(base: Path) -> Path:
    """A repository with one commit, in a directory with an awkward name."""
    path = base / "it's a répo"
    path.mkdir()
    git("init", "--quiet", where=path)
    (path / "src" / "deep").mkdir(parents=True)
    (path / "src" / "deep" / "file").touch()
    git("add", ".", where=path)
    git("commit", "--quiet", "--message", "first", where=path)
    return path


# --- roots ----------------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-18")
def test_one_directory_is_one_project_however_it_is_spelled(
    base: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base / "alias").symlink_to(base)
    (base / "inside").symlink_to(repository / "src")
    project = find_project(repository)
    assert (project.root, project.main_root, project.identity) == (repository, repository, str(repository))
    monkeypatch.chdir(repository / "src")
    spellings: list[Path | str] = [
        f"{repository}/",
        f"{repository}/./src/..",
        base / "alias" / repository.name,
        base / "inside" / "deep",
        repository / "src" / "deep" / "file",
        ".",
        "",
        "deep",
    ]
    assert {find_project(spelling) for spelling in spellings} == {project}


@pytest.mark.case("HC-18")
def test_a_linked_worktree_has_its_own_root_and_the_main_one_s_identity(base: Path, repository: Path) -> None:
    git("worktree", "add", "--quiet", base / "tree", where=repository)
    linked, main = find_project(base / "tree" / "src"), find_project(repository)
    assert (linked.root, linked.main_root) == (base / "tree", repository)
    assert (linked.identity, linked.key) == (main.identity, main.key)


@pytest.mark.case("HC-18")
def test_a_directory_in_no_repository_is_a_project_and_stays_the_same_one_when_it_becomes_a_repository(
    base: Path,
) -> None:
    before = find_project(base)
    assert (before.root, before.identity) == (base, str(base))
    git("init", "--quiet", where=base)
    assert find_project(base) == before


def test_a_marked_directory_is_a_root_where_there_is_no_repository(base: Path, repository: Path) -> None:
    (base / ".waggle").mkdir()
    (base / "a" / "b").mkdir(parents=True)
    (repository / "src" / ".waggle").mkdir()
    assert find_project(base / "a" / "b").root == base
    assert find_project(repository / "src" / "deep").root == repository


@pytest.mark.case("HC-18")
def test_a_nested_repository_and_a_submodule_are_projects_of_their_own(base: Path, repository: Path) -> None:
    nested = repository / "nested"
    nested.mkdir()
    git("init", "--quiet", where=nested)
    other = base / "other"
    git("clone", "--quiet", repository, other, where=base)
    git("submodule", "--quiet", "add", other, "sub", where=repository)
    assert find_project(nested).root == nested
    submodule = find_project(repository / "sub")
    assert (submodule.root, submodule.main_root) == (repository / "sub", repository / "sub")
    git("worktree", "add", "--quiet", base / "tree", where=repository / "sub")
    assert find_project(base / "tree").main_root == repository / "sub"


def test_a_worktree_of_a_bare_repository_belongs_to_it(base: Path, repository: Path) -> None:
    git("clone", "--quiet", "--bare", repository, base / "bare", where=base)
    git("remote", "remove", "origin", where=base / "bare")
    git("worktree", "add", "--quiet", base / "tree", where=base / "bare")
    linked = find_project(base / "tree")
    assert (linked.root, linked.main_root, linked.identity) == (base / "tree", base / "bare", str(base / "bare"))


def test_a_repository_kept_elsewhere_is_found_from_its_worktree(base: Path) -> None:
    git("init", "--quiet", "--separate-git-dir", base / "elsewhere", "work", where=base)
    git("remote", "add", "origin", "https://host/a/b", where=base / "work")
    assert find_project(base / "work").identity == "host/a/b"
    assert find_project(base / "work").main_root == base / "work"


@pytest.mark.case("HC-18")
def test_a_deleted_working_directory_is_an_error_that_says_so(base: Path) -> None:
    code = "import os, sys; os.rmdir(os.getcwd()); sys.path.insert(0, sys.argv[1]); from waggle.locate import *\n"
    code += "try: find_project('.')\nexcept OSError as error: print(error)"
    gone = base / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)], cwd=gone, capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.startswith("the working directory has been deleted; change to")


@pytest.mark.parametrize("start", ["none", "loop"])
def test_a_start_that_does_not_exist_is_an_error_that_names_it(base: Path, start: str) -> None:
    (base / "loop").symlink_to("loop")
    with pytest.raises(StoreUnavailable, match=start):
        find_project(base / start)


@pytest.mark.case("HC-18")
def test_no_subprocess_is_started(base: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "--quiet", base / "tree", where=repository)
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(os, "posix_spawn", None)
    monkeypatch.setattr(os, "fork", None)
    assert find_project(base / "tree").main_root == repository


def test_an_origin_that_cannot_be_looked_into_costs_a_worktree_nothing_but_its_address(
    base: Path, repository: Path
) -> None:
    git("worktree", "add", "--quiet", base / "tree", where=repository)
    (base / "loop").symlink_to("loop")
    git("remote", "add", "origin", base / "loop", where=repository)
    assert find_project(base / "tree").main_root == repository
    assert find_project(base / "tree").identity == str(repository)


@pytest.mark.parametrize(
    "content",
    [b"", b"gitdir:", b"gitdir: /none/at/all", b"\xff\x00", b"nonsense\n" * 3, b"gitdir: \0"],
    ids=ascii,
)
def test_a_git_file_that_makes_no_sense_still_marks_a_root(base: Path, content: bytes) -> None:
    (base / ".git").write_bytes(content)
    assert find_project(base).root == base
    assert find_project(base).identity == str(base)


# --- identities -------------------------------------------------------------------------------------------------------

ONE_ADDRESS = [
    "https://github.com/Owner/repo",
    "https://github.com/Owner/repo.git",
    "https://github.com/Owner//repo/",
    "https://user:ghp_secret@GitHub.com:443/Owner/repo.git",
    "http://github.com:80/Owner/repo.git",
    "git://github.com/Owner/repo.git/",
    "ssh://git@github.com/Owner/repo.git",
    "ssh://git@github.com:2222/Owner/repo",
    "git@github.com:Owner/repo.git",
    "github.com:/Owner/repo",
    "https://github.com/%4Fwner/repo",
]
OTHER_ADDRESSES = [
    "https://github.com/owner/other",
    "https://gitlab.com/Owner/repo",
    "https://github.com:8443/Owner/repo",
    "ssh://[::1]/Owner/repo",
    "[::2]:Owner/repo",
    "https://[broken/Owner/repo",
]


def with_origin(path: Path, url: str) -> str:
    path.mkdir(exist_ok=True)
    if not (path / ".git").exists():
        git("init", "--quiet", where=path)
        git("remote", "add", "origin", "x", where=path)
    git("config", "remote.origin.url", url, where=path)
    return find_project(path).identity


@pytest.mark.case("HC-18")
def test_the_ways_to_write_one_address_are_one_identity_without_its_secrets(base: Path) -> None:
    assert {with_origin(base / "r", url) for url in ONE_ADDRESS} == {"github.com/Owner/repo"}


def test_different_addresses_are_different_identities(base: Path) -> None:
    identities = [with_origin(base / "r", url) for url in [ONE_ADDRESS[0], *OTHER_ADDRESSES]]
    assert len(set(identities)) == len(identities)


def test_a_key_is_sixteen_hex_digits_of_the_identity(base: Path) -> None:
    with_origin(base / "r", ONE_ADDRESS[0])
    assert find_project(base / "r").key == "8b7121c1a47bb296"


@pytest.mark.parametrize("spelling", ["{path}", "file://{path}", "../main", "{path}/", "{path}.git"])
def test_a_clone_of_a_clone_on_this_disk_is_the_same_project(base: Path, spelling: str) -> None:
    expected = with_origin(base / "main", ONE_ADDRESS[0])
    assert with_origin(base / "first", spelling.format(path=base / "main")) == (
        expected if ".git" not in spelling else str(base / "main.git")
    )
    (base / "main").rename(base / "main.git")
    assert with_origin(base / "second", str(base / "main")) == expected


def test_origins_in_a_circle_end_at_a_path(base: Path) -> None:
    (base / "b").mkdir()
    with_origin(base / "a", "../b")
    assert with_origin(base / "b", "../a").startswith(str(base))


def test_a_local_clone_shares_its_origin_s_path_and_so_its_identity(base: Path, repository: Path) -> None:
    git("clone", "--quiet", repository, base / "clone", where=base)
    assert find_project(base / "clone").identity == find_project(repository).identity
    assert find_project(base / "clone").main_root == base / "clone"


@pytest.mark.parametrize(
    ("config", "identity"),
    [
        pytest.param('[remote "origin"]\n\turl = https://h/a # mine\n', "h/a", id="comment"),
        pytest.param('[ReMote "origin"]\r\n  URL=https://h/a\r\n', "h/a", id="letters and line ends"),
        pytest.param('[remote "origin"] url = "https://h/a;b"\n', "h/a;b", id="quotes, and all on one line"),
        pytest.param('[remote "origin"]\nurl = https://h/\\\na\n', "h/a", id="continued line"),
        pytest.param('[remote "origin"]\nurl = https://h/a\nurl = https://h/b\n', "h/a", id="the first of two"),
        pytest.param('[remote "Origin"]\nurl = https://h/a\n', None, id="a remote of another name"),
        pytest.param('[remote "origin"]\n;url = https://h/a\n', None, id="commented out"),
        pytest.param("[core]\nurl = https://h/a\n", None, id="another section"),
        pytest.param("[remote\nurl", None, id="no configuration at all"),
        pytest.param('[remote "origin"]\nurl =\n', None, id="empty"),
    ],
)
def test_the_origin_is_read_from_git_s_configuration_as_git_reads_it(
    base: Path, config: str, identity: str | None
) -> None:
    (base / ".git").mkdir()
    (base / ".git" / "config").write_bytes(config.encode())
    assert find_project(base).identity == (identity or str(base))


# --- the user's data --------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-19")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, "home/.local/share/waggle", id="the platform's place"),
        pytest.param({"WAGGLE_HOME": "{base}/w"}, "w", id="WAGGLE_HOME"),
        pytest.param({"WAGGLE_HOME": ""}, "home/.local/share/waggle", id="WAGGLE_HOME empty"),
        pytest.param({"XDG_DATA_HOME": "{base}/xdg"}, "xdg/waggle", id="XDG_DATA_HOME"),
        pytest.param({"XDG_DATA_HOME": "relative"}, "home/.local/share/waggle", id="XDG_DATA_HOME relative"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="names Linux's places")
def test_the_user_s_data_lie_where_the_variables_say(
    base: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.setenv("HOME", str(base / "home"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(base=base))
    assert user_data_dir() == base / expected
    assert list(base.iterdir()) == []


@pytest.mark.case("HC-19")
@pytest.mark.parametrize("home", ["relative", "~/waggle", "."])
def test_a_relative_waggle_home_is_refused(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("WAGGLE_HOME", home)
    with pytest.raises(SettingsError, match=r"WAGGLE_HOME: .* is not an absolute path"):
        user_data_dir()


@pytest.mark.case("HC-19")
@pytest.mark.parametrize("home", [None, "", "relative"], ids=["unset", "empty", "relative"])
def test_without_a_home_the_account_s_is_used_and_without_an_account_there_is_an_error_and_no_directory(
    base: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(base)
    assert user_data_dir().is_relative_to(pwd.getpwuid(os.getuid()).pw_dir)

    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(StoreUnavailable, match=r"no home directory.*set WAGGLE_HOME"):
        user_data_dir()
    assert list(base.iterdir()) == []


# --- known projects -----------------------------------------------------------------------------------------------


def test_projects_are_remembered_once_and_listed_in_order(base: Path) -> None:
    for name in ("b", "a", "b", "c\udcff"):
        remember_project(base / "user", base / name)
    assert known_projects(base / "user") == [base / "a", base / "b", base / "c\udcff"]
    written = (base / "user" / "projects.json").stat().st_mtime_ns
    remember_project(base / "user", base / "a")
    assert (base / "user" / "projects.json").stat().st_mtime_ns == written


def test_projects_that_are_gone_are_forgotten_first_then_the_oldest(base: Path) -> None:
    gone = [str(base / f"gone{number}") for number in range(KNOWN_PROJECTS - 1)]
    (base / "old").mkdir()
    (base / "new").mkdir()
    (base / "projects.json").write_bytes(dumps({"version": 1, "projects": [str(base / "old"), *gone]}))
    remember_project(base, base / "new")
    assert known_projects(base) == [base / "new", base / "old"]


def test_of_projects_that_are_all_there_the_oldest_is_forgotten(base: Path) -> None:
    there = [base / f"{number:03}" for number in range(KNOWN_PROJECTS + 1)]
    for root in there:
        root.mkdir()
    (base / "projects.json").write_bytes(dumps({"version": 1, "projects": [str(root) for root in there[:-1]]}))
    remember_project(base, there[-1])
    assert known_projects(base) == there[1:]


def test_processes_that_remember_at_the_same_time_lose_nothing(base: Path) -> None:
    roots = [base / str(number) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda root: remember_project(base, root), roots))
    assert known_projects(base) == sorted(roots)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"version": 2, "projects": ["/a"]}', b'{"version": 1}', b"\xff", b" " * (1024 * 1024 + 1)],
    ids=["empty", "torn", "no object", "later version", "no list", "not UTF-8", "too large"],
)
def test_a_list_of_projects_that_cannot_be_read_is_empty_and_is_not_overwritten(base: Path, content: bytes) -> None:
    path = base / "projects.json"
    path.write_bytes(content)
    assert known_projects(base) == []
    with pytest.raises(StoreUnavailable, match="no list of projects"):
        remember_project(base, base / "a")
    assert path.read_bytes() == content


def test_nothing_is_written_by_looking(base: Path) -> None:
    assert known_projects(base / "user") == []
    assert find_project(base).root == base
    assert list(base.iterdir()) == []
