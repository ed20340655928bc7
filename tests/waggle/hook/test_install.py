"""``waggle init`` adds the hook and changes nothing else; ``waggle doctor`` tells what is missing."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle import __version__
from waggle.admission import bind
from waggle.cli.app import cli
from waggle.hook.client import private_place
from waggle.hook.desk import Desk
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import command_hook, http_hook, http_hooks, missing, with_hook
from waggle.hook.token import find_token, own_token
from waggle.hook.web import Web

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject

CLAUDE = host_named("claude-code")
EVENTS = CLAUDE.settings.events
HOSTS = pytest.mark.parametrize("name", NAMES)
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini-cli": ".gemini/settings.json"}
FILES["cursor"] = ".cursor/hooks.json"
URL = "http://127.0.0.1:8377/hook/claude-code"
FORMS = [
    command_hook(CLAUDE, "PostToolUse"),
    http_hook(URL, "a-token"),
    http_hook(URL, "another"),
    http_hook("http://[::1]:1/hook/claude-code", "x"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def run(*words: str, answer: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, words, input=answer)
    return done.exit_code, done.stdout, done.stderr


@HOSTS
@given(
    before=st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())).filter(
        lambda before: not {"hooks", "version"} & set(before)
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_settings_there_are_stay_and_the_hook_is_added_once(name: str, before: dict[str, object]) -> None:
    host = host_named(name)
    text = with_hook(host, json.dumps(before, indent=3))
    found = json.loads(text)
    assert missing(host, text) == []
    assert with_hook(host, text) == text
    assert set(found.pop("hooks")) == set(host.settings.events)
    assert found == {**before, **host.settings.always}


def entries(name: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(with_hook(host_named(name), ""))["hooks"]
    return found


def test_each_host_gets_what_it_reads() -> None:
    codex, gemini, cursor = entries("codex"), entries("gemini-cli"), entries("cursor")
    hook = {"type": "command", "command": "waggle-hook codex"}
    assert codex == {
        "PostToolUse": [{"hooks": [{**hook, "timeout": 5}]}],
        "SessionEnd": [{"hooks": [{**hook, "timeout": 3}]}],  # it allows no more there
    }
    hook = {"type": "command", "name": "waggle", "command": "waggle-hook gemini-cli || true"}
    assert gemini["AfterTool"] == [{"matcher": "*", "hooks": [{**hook, "timeout": 5000}]}]  # milliseconds
    assert set(gemini) == {"AfterTool", "SessionEnd"}
    assert cursor == {name: [{"command": "waggle-hook cursor"}] for name in host_named("cursor").settings.events}


@pytest.mark.parametrize("command", ["/opt/bin/waggle-hook codex", "waggle-hook codex || true", "waggle-hook codex"])
def test_a_hook_that_a_person_has_put_there_is_known(command: str) -> None:
    host = host_named("codex")
    hooks = {event: [{"hooks": [{"command": command}]}] for event in host.settings.events}
    assert missing(host, json.dumps({"hooks": hooks})) == []
    assert missing(host, json.dumps({"hooks": hooks}).replace("hook codex", "hook codex2")) == [
        "PostToolUse",
        "SessionEnd",
    ]


def test_hooks_that_are_there_stay_first() -> None:
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
    found = json.loads(with_hook(CLAUDE, json.dumps({"hooks": {"PostToolUse": [mine], "Stop": [mine]}})))["hooks"]
    assert found["PostToolUse"][0] == found["Stop"][0] == mine
    assert found["PostToolUse"][1]["hooks"][0] == {
        "type": "command",
        "command": "waggle-hook claude-code",
        "timeout": 5,
    }
    assert "matcher" not in found["SessionEnd"][0]


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks":[]}', '{"hooks":{"PostToolUse":"x"}}'])
def test_settings_that_cannot_be_added_to_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\$|JSON|unexpected|line|EOF|column"):
        with_hook(CLAUDE, text)


forms = st.sampled_from(FORMS)


@given(st.lists(forms, max_size=3), st.lists(forms, max_size=3), forms)
def test_one_form_takes_the_place_of_the_others_and_what_is_not_ours_stays(
    first: list[JsonObject], second: list[JsonObject], wanted: JsonObject
) -> None:
    mine = {"type": "command", "command": "mine"}
    groups = [{"matcher": "Read", "hooks": [*first, mine]}, {"matcher": "Bash", "hooks": second}, {"hooks": "odd"}]
    text = with_hook(CLAUDE, json.dumps({"hooks": {"PostToolUse": groups}, "model": "opus"}), wanted)
    assert missing(CLAUDE, text, wanted) == []
    assert with_hook(CLAUDE, text, wanted) == text
    found = json.loads(text)["hooks"]["PostToolUse"]
    hooks = [hook for group in found if isinstance(group["hooks"], list) for hook in group["hooks"]]
    assert mine in hooks
    assert all(hook in (mine, wanted) for hook in hooks)
    assert {"hooks": "odd"} in found


def test_a_hook_that_its_user_has_changed_stays_as_it_is() -> None:
    for form in FORMS:
        changed = {**form, "timeout": 9, "statusMessage": "hm"}
        text = json.dumps({"hooks": {event: [{"matcher": "Read", "hooks": [changed]}] for event in EVENTS}})
        assert with_hook(CLAUDE, text, form) == text


def test_init_shows_then_asks_then_writes_and_keeps_the_former_file(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    code, shown, _ = run("init", "claude-code")
    assert (code, path.exists(), missing(CLAUDE, shown)) == (0, False, [])
    path.parent.mkdir()
    path.write_text('{\n    "model": "opus"\n}\n')
    assert run("init", "claude-code", "--write", answer="n\n")[0] == 1
    assert path.read_text() == '{\n    "model": "opus"\n}\n'
    assert run("init", "claude-code", "--write", answer="y\n")[0] == 0
    assert path.read_text().startswith('{\n    "model": "opus",\n    "hooks": {\n')
    assert path.with_name("settings.json.bak").read_text() == '{\n    "model": "opus"\n}\n'
    written = path.read_bytes()
    assert "in place" in run("init", "claude-code", "--write", "--yes")[1]
    assert path.read_bytes() == written
    assert len(list(path.parent.iterdir())) == 2


def test_init_for_the_user_and_a_file_that_is_no_json(project: Path) -> None:
    path = Path.home() / ".claude" / "settings.json"
    assert run("init", "claude-code", "--user", "--write", "--yes")[0] == 0
    assert missing(CLAUDE, path.read_text()) == []
    path.write_text("{ nothing")
    code, _, error = run("init", "claude-code", "--user", "--write", "--yes")
    assert (code, path.read_text()) == (2, "{ nothing")
    assert str(path) in error
    assert project.is_dir()


def test_init_for_http_writes_a_private_file_of_the_user_and_shows_no_token(project: Path) -> None:
    path = project / ".claude" / "settings.local.json"
    code, shown, _ = run("init", "claude-code", "--http")
    assert (code, "Bearer …" in shown, path.exists()) == (0, True, False)
    place = Path(private_place())
    assert find_token(place) is None  # none is made for a look
    code, said, notes = run("init", "claude-code", "--http", "--write", "--yes")
    token = find_token(place)
    assert token
    assert (code, path.stat().st_mode & 0o777, "waggle serve" in notes) == (0, 0o600, True)
    assert set(http_hooks(CLAUDE, path.read_text())) == set(EVENTS)
    assert all(hook == http_hook(URL, token) for hook in http_hooks(CLAUDE, path.read_text()).values())
    shown = run("init", "claude-code", "--http", "--address", "9999")[1]
    assert "http://127.0.0.1:9999/hook/claude-code" in shown
    assert token not in shown + said + notes


def test_init_for_http_for_the_user_takes_the_place_of_the_command_and_is_taken_back(project: Path) -> None:
    path = Path.home() / ".claude" / "settings.json"
    run("init", "claude-code", "--user", "--write", "--yes")
    assert path.stat().st_mode & 0o777 == 0o644
    assert run("init", "claude-code", "--user", "--http", "--write", "--yes")[0] == 0
    assert (
        path.stat().st_mode & 0o777,
        missing(CLAUDE, path.read_text()),
        len(http_hooks(CLAUDE, path.read_text())),
    ) == (
        0o600,
        list(EVENTS),
        3,
    )
    assert run("init", "claude-code", "--user", "--write", "--yes")[0] == 0
    assert (missing(CLAUDE, path.read_text()), http_hooks(CLAUDE, path.read_text())) == ([], {})
    backups = sorted(path.parent.glob("*.bak*"))
    assert [backup.stat().st_mode & 0o777 for backup in backups if http_hooks(CLAUDE, backup.read_text())] == [0o600]
    assert project.is_dir()


@pytest.mark.parametrize("ignored", [True, False])
def test_init_for_http_tells_when_git_does_not_ignore_the_token(project: Path, *, ignored: bool) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    if ignored:
        (project / ".gitignore").write_text(".claude/*.local.json\n")
    notes = run("init", "claude-code", "--http", "--write", "--yes")[2]
    assert ("git does not ignore it" in notes) == (not ignored)


def test_init_tells_when_another_file_has_the_hook_too(project: Path) -> None:
    run("init", "claude-code", "--write", "--yes")
    notes = run("init", "claude-code", "--http", "--write", "--yes")[2]
    assert f"{project / '.claude' / 'settings.json'} has the hook, too" in notes
    assert "answered once" in (doctor_lines()[-1]["found"])


@pytest.mark.parametrize(
    "words", [("--address", "1"), ("--http", "--address", "10.0.0.1:1"), ("--http", "--address", "x")]
)
@pytest.mark.usefixtures("project")
def test_init_refuses_an_address_that_means_nothing(words: tuple[str, ...]) -> None:
    code, _, error = run("init", "claude-code", *words)
    assert code == 2
    assert "--address" in error


def doctor_lines() -> list[dict[str, str]]:
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    return [check for check in checks if check["check"] == "claude-code hook"]


@HOSTS
def test_init_writes_the_file_of_each_host_for_the_project_and_for_the_user(project: Path, name: str) -> None:
    host = host_named(name)
    assert run("init", name, "--write", "--yes")[0] == 0
    assert missing(host, (project / FILES[name]).read_text()) == []
    code, shown, said = run("init", name, "--user", "--write", "--yes")
    assert (code, missing(host, (Path.home() / FILES[name]).read_text())) == (0, [])
    assert "in place" in shown
    assert ("trusted" in said) is (name in ("codex", "gemini-cli"))


def test_where_the_user_has_moved_a_hosts_folder_it_is_written_there(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "moved"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "home"))
    for name in ("codex", "gemini-cli"):
        assert run("init", name, "--user", "--write", "--yes")[0] == 0
    assert (tmp_path / "moved" / "hooks.json").is_file()
    assert (tmp_path / "home" / ".gemini" / "settings.json").is_file()
    assert not (project / ".codex").exists()


def doctor(name: str = "claude-code") -> dict[str, str] | None:
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    return next((check for check in checks if check["check"] == f"{name} hook"), None)


@HOSTS
def test_doctor_looks_at_a_host_that_is_used_here(project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/bin/{name}")
    assert doctor(name) is None
    run("init", name, "--write", "--yes")
    found = doctor(name) or {}
    assert found["state"] == ("problem" if name == "codex" else "ok")
    assert all(doctor(other) is None for other in NAMES if other != name)
    (project / FILES[name]).write_text("{}")
    assert (doctor(name) or {})["remedy"] == f"`waggle init {name} --write` puts it there"


def test_doctor_knows_a_hook_that_codex_was_told_to_trust(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/bin/{name}")
    run("init", "codex", "--write", "--yes")
    assert "/hooks" in (doctor("codex") or {})["remedy"]
    config = Path.home() / ".codex" / "config.toml"
    config.parent.mkdir()
    state = f'[hooks.state."{project}/.codex/hooks.json:post_tool_use:0:0"]\n'
    config.write_text(state)
    assert (doctor("codex") or {})["state"] == "problem"
    config.write_text(f'{state}trusted_hash = "sha256:0"\n')
    assert (doctor("codex") or {})["state"] == "ok"
    config.write_text("[")
    assert (doctor("codex") or {})["state"] == "problem"


def test_doctor_tells_whether_the_hook_is_in_place(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor() is None
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    assert (doctor() or {})["state"] == "note"
    run("init", "claude-code", "--write", "--yes")
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/bin/{name}")
    assert (doctor() or {})["state"] == "ok"
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert "PATH" in (doctor() or {})["found"]
    half = json.loads(path.read_text())
    del half["hooks"]["SessionEnd"]
    path.write_text(json.dumps(half))
    assert "SessionEnd" in (doctor() or {})["found"]
    path.write_text("{")
    assert (doctor() or {})["state"] == "problem"


@contextmanager
def answering(token: str) -> Iterator[str]:
    """A server that answers for these settings, or would; gives its address."""
    place = Path(private_place())
    with bind("127.0.0.1", 0) as listening, Web(Desk(place), listening, token, lambda: None):
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_doctor_tells_whether_the_server_is_there_and_takes_the_token(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / ".claude" / "settings.local.json"
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with answering(own_token(Path(private_place()))) as address:
        run("init", "claude-code", "--http", "--address", address, "--write", "--yes")
        assert [check["state"] for check in doctor_lines()] == ["ok"]
        assert address in (doctor() or {})["found"]
        path.chmod(0o644)
        assert (doctor() or {})["remedy"] == f"chmod 600 {path}"
        path.chmod(0o600)
        with monkeypatch.context() as patched:
            patched.setattr("waggle.cli.hookchecks.__version__", "0.0.0")
            assert f"waggle {__version__} answers" in (doctor() or {})["found"]
        with monkeypatch.context() as patched:
            patched.setenv("HTTP_PROXY", "http://proxy.example:1")
            patched.setenv("NO_PROXY", "localhost")
            assert (doctor() or {})["remedy"] == "add 127.0.0.1 to NO_PROXY"
            patched.setenv("NO_PROXY", "localhost,127.0.0.1")
            assert (doctor() or {})["state"] == "ok"
        half = json.loads(path.read_text())
        del half["hooks"]["SessionEnd"]
        path.write_text(json.dumps(half))
        assert "not posted after SessionEnd" in (doctor() or {})["found"]
        run("init", "claude-code", "--http", "--address", address, "--write", "--yes")
        assert (doctor() or {})["state"] == "ok"
    assert "nobody answers" in (doctor() or {})["found"]
    with answering("a-new-token") as address:
        run("init", "claude-code", "--http", "--address", address, "--write", "--yes")
        assert "does not take the token" in (doctor() or {})["found"]


def test_doctor_tells_when_something_else_answers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with bind("127.0.0.1", 0) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(30)
        run("init", "claude-code", "--http", "--address", str(listening.getsockname()[1]), "--write", "--yes")
        answered = pool.submit(answer, listening)
        assert "not `waggle serve`" in (doctor() or {})["found"]
        answered.result(30)
    assert project.is_dir()
