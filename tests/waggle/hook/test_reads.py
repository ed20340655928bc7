"""What a hook reads on an agent's behalf: inside the project only, as Claude Code's own tools would show it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waggle.hook.hook_support import make_project
from waggle.hook.reads import Reads
from waggle.hook.ripgrep import read_search

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("outside\n")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "x.py").write_text("outside\n")
    root = make_project(tmp_path / "project")
    (root / "out").symlink_to(tmp_path / "beside")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "near.py").symlink_to(root / "src" / "m1.py")
    (root / ".env").write_text("K=1\n")
    (root / "deploy.pem").write_text("x\n")
    return root


def run(root: Path, tool: str, **args: object) -> str | None:
    """What a lookup shows; None when it may not be made or fails."""
    try:
        result = Reads(root).run(tool, args, str(root))
    except (OSError, ValueError):  # as a manager takes it: a lookup that failed
        return None
    return result.text if result.ok else None


def test_a_read_shows_lines_as_the_hosts_own_read_does(root: Path) -> None:
    (root / "a.py").write_text("def load():\n    return 1\n\n\nclass A:\n    pass\n")
    assert (
        run(root, "Read", file_path="a.py")
        == "1\tdef load():\n2\t    return 1\n3\t\n4\t\n5\tclass A:\n6\t    pass\n7\t"
    )
    assert run(root, "Read", file_path=str(root / "a.py"), offset=2, limit=1) == "2\t    return 1"
    assert run(root, "Read", file_path="near.py", offset=20, limit=1) == "20\tdef load_1():"


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "link.txt", "out/x.py", "/etc/passwd", "~/x", ".env", "deploy.pem", ".", "src", "none", "a\0b"],
)
def test_nothing_outside_no_secret_and_no_directory_is_read(root: Path, path: str) -> None:
    assert run(root, "Read", file_path=path) is None


@pytest.mark.parametrize(
    ("args", "why"),
    [({"offset": "2"}, "text"), ({"limit": 0}, "none"), ({"limit": -1}, "less"), ({"pages": "1"}, "unknown")],
)
def test_a_read_with_arguments_that_mean_nothing_fails(root: Path, args: dict[str, object], why: str) -> None:
    assert run(root, "Read", file_path="src/m1.py", **args) is None, why


def test_what_is_no_text_or_too_long_is_not_read_and_a_pipe_holds_nobody_up(root: Path) -> None:
    (root / "b.bin").write_bytes(b"a\0b")
    (root / "long.txt").write_text("x" * 300_000)
    os.mkfifo(root / "pipe")
    started = time.monotonic()
    assert [run(root, "Read", file_path=name) for name in ("b.bin", "long.txt", "pipe")] == [None] * 3
    assert time.monotonic() - started < 5


def test_a_listing_shows_the_files_inside_alone(root: Path) -> None:
    for number, name in enumerate(("m3.py", "m1.py", "m2.py"), 1):
        os.utime(root / "src" / name, (number, number))
    assert run(root, "Glob", pattern="src/m[123].py") == "src/m3.py\nsrc/m1.py\nsrc/m2.py"
    assert run(root, "Glob", pattern="*.md") == "No files found"
    assert run(root, "Glob", pattern="../*") == "No files found"
    assert run(root, "Glob", pattern="/etc/*") is None
    assert run(root, "Glob", pattern="*", path="out") is None
    assert "x.py" not in (run(root, "Glob", pattern="*/*.py") or "")


def test_a_search_shows_lines_of_files_inside_alone(root: Path) -> None:
    assert run(root, "Grep", pattern="def load_1", output_mode="content", path="src/m1.py") == "20:def load_1():"
    assert run(root, "Grep", pattern="outside") == "No files found"
    assert run(root, "Grep", pattern="outside", path="out") is None
    assert run(root, "Grep", pattern="outside", path="..") is None
    assert run(root, "Grep", pattern="outside", path="link.txt") is None


def test_a_search_that_would_show_a_secret_or_what_is_denied_is_not_made_in_part(root: Path) -> None:
    assert run(root, "Grep", pattern="K=|load_1:?", output_mode="content") is None
    assert run(root, "Grep", pattern="K=") is None
    (root / "src" / "private.py").write_text("def load_1(): ...\n", encoding="utf-8")
    for rule in ("Read(src/private.py)", "Read(./src/private*)", "Read(//**/private.py)"):
        reads = Reads(root, (rule,))
        assert not reads.run("Grep", {"pattern": "load_1"}, str(root)).ok
        assert reads.run("Grep", {"pattern": "load_2"}, str(root)).ok
        assert not reads.run("Glob", {"pattern": "src/p*.py"}, str(root)).ok
    for rule in ("Read", "Grep", "Grep(src/**)"):
        assert not Reads(root, (rule,)).allows("Grep", {"pattern": "load_2"}, str(root))


def test_a_search_takes_nothing_for_an_option_and_reads_no_file_of_options(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = root / "trap.sh"
    trap.write_text("#!/bin/sh\ntouch ran\n")
    trap.chmod(0o755)
    (root / "options").write_text(f"--pre={trap}\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(root / "options"))
    for args in (
        {"pattern": f"--pre={trap}"},
        {"pattern": "x", "path": f"--pre={trap}"},
        {"pattern": "x", "type": f"py --pre={trap}"},
        {"pattern": "load", "glob": f"--pre={trap}"},
    ):
        run(root, "Grep", **args)
    run(root, "Glob", pattern=f"--pre={trap}")
    assert not (root / "ran").exists()


def test_without_ripgrep_and_with_the_projects_own_nothing_is_searched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "rg").write_text("#!/bin/sh\ntouch ran\n")
    (root / "bin" / "rg").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(root / "none" / "python"))
    for path in ("", str(root / "bin"), "bin"):
        monkeypatch.setenv("PATH", path)
        monkeypatch.chdir(root)
        assert not Reads(root).allows("Grep", {"pattern": "load"}, str(root))
        assert not Reads(root).allows("Glob", {"pattern": "*"}, str(root))


@given(
    args=st.dictionaries(
        st.sampled_from(["pattern", "path", "glob", "type", "output_mode", "-n", "-A", "context", "head_limit", "odd"]),
        st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=5) | st.sampled_from(["count", "content"]),
    )
)
def test_any_arguments_are_a_search_of_known_forms_or_none(args: dict[str, Any]) -> None:
    search = read_search(args)
    if search is not None:
        assert set(args) <= {"pattern", "path", "glob", "type", "output_mode", "-n", "-A", "context", "head_limit"}
        assert all(option.startswith("--") for option in (*search.filters, *search.display))
        assert search.reading("./")[-3:] == [search.pattern, "--", "./"]


def test_a_directory_shows_what_is_inside_without_secrets_and_what_leads_out(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    shown = run(root, "LS", path=".")
    assert shown
    assert "src/" in shown.split("\n")
    assert not {".env", "link.txt", "out", "out/"} & set(shown.split("\n"))
    assert [run(root, "LS", path=path) for path in ("..", "out", "src/m1.py", "none")] == [None] * 4
    assert run(root, "LS", path="src", depth=2) is None
    assert run(root, "LS") is None


@pytest.mark.parametrize(
    "command",
    ["cat src/m1.py", "sed -n 20,20p src/m1.py", "grep -n load_1 src/m1.py", "cd src && cat m1.py", "ls src | head -3"],
)
def test_commands_that_read_inside_are_run(root: Path, command: str) -> None:
    assert run(root, "Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ../secret.txt",
        "cat link.txt",
        "cat /etc/passwd",
        "cd .. && cat secret.txt",
        "cd out && cat x.py",
        "cat < ../secret.txt",
        "grep -R load .",
        "grep -rL load .",
        "grep -f../secret.txt src/m1.py",
        "grep --file=../secret.txt src/m1.py",
        "rg --follow load",
        "cat $HOME/x",
        "cat ../*.txt",
        "cat out/*",
        "cat .env",
        "cat ~/.bashrc",
        "rm src/m1.py",
        "cat src/m1.py > copy",
        "echo $(cat src/m1.py)",
        "false",
    ],
)
def test_commands_that_write_or_leave_the_project_are_not(root: Path, command: str) -> None:
    assert run(root, "Bash", command=command) is None
    assert (root / "src" / "m1.py").exists()
    assert not (root / "copy").exists()


def test_a_command_that_takes_too_long_or_prints_too_much_is_ended(root: Path) -> None:
    (root / "long.txt").write_text("x" * 1_000_000)
    started = time.monotonic()
    assert run(root, "Bash", command="cat long.txt") is None
    os.mkfifo(root / "pipe")
    assert run(root, "Bash", command="cat pipe") is None
    assert time.monotonic() - started < 20


def test_what_the_hosts_settings_deny_is_not_read(root: Path) -> None:
    rules = ("Read(./src/m1.py)", "Read(docs/**)", "Read(**/*.sql)")
    (root / "docs").mkdir()
    for name in ("docs/a.md", "x.sql", "src/y.sql", "free.txt"):
        (root / name).write_text("text\n")
    reads = Reads(root, rules)
    allowed = [
        name
        for name in ("src/m1.py", "src/m2.py", "docs/a.md", "x.sql", "src/y.sql", "free.txt")
        if reads.allows("Read", {"file_path": name}, str(root))
    ]
    assert allowed == ["src/m2.py", "free.txt"]
    assert not reads.allows("Bash", {"command": "cat free.txt"}, str(root))
    assert not Reads(root, ("Read",)).allows("Read", {"file_path": "free.txt"}, str(root))


def test_other_tools_are_never_run(root: Path) -> None:
    assert run(root, "Write", file_path="x", content="y") is None
    assert run(root, "mcp__shop__get", order="1") is None
    assert run(root, "WebFetch", url="http://example.org") is None
