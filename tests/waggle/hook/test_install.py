"""``waggle init claude-code`` adds the hook and changes nothing else; ``waggle doctor`` tells what is missing."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle import __version__
from waggle.admission import bind
from waggle.cli.app import cli
from waggle.hook.client import private_place
from waggle.hook.desk import Desk
from waggle.hook.install import COMMAND_HOOK, EVENTS, http_hook, http_hooks, missing, with_hook
from waggle.hook.token import find_token, own_token
from waggle.hook.web import Web

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject

URL = "http://127.0.0.1:8377/hook/claude-code"
FORMS = [
    COMMAND_HOOK,
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


@given(
    st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())).filter(
        lambda before: "hooks" not in before
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_settings_there_are_stay_and_the_hook_is_added_once(before: dict[str, object]) -> None:
    text = with_hook(json.dumps(before, indent=3))
    found = json.loads(text)
    assert missing(text) == []
    assert with_hook(text) == text
    assert set(found.pop("hooks")) == set(EVENTS)
    assert found == before


def test_hooks_that_are_there_stay_first() -> None:
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
    found = json.loads(with_hook(json.dumps({"hooks": {"PostToolUse": [mine], "Stop": [mine]}})))["hooks"]
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
        with_hook(text)


forms = st.sampled_from(FORMS)


@given(st.lists(forms, max_size=3), st.lists(forms, max_size=3), forms)
def test_one_form_takes_the_place_of_the_others_and_what_is_not_ours_stays(
    first: list[JsonObject], second: list[JsonObject], wanted: JsonObject
) -> None:
    mine = {"type": "command", "command": "mine"}
    groups = [{"matcher": "Read", "hooks": [*first, mine]}, {"matcher": "Bash", "hooks": second}, {"hooks": "odd"}]
    text = with_hook(json.dumps({"hooks": {"PostToolUse": groups}, "model": "opus"}), wanted)
    assert missing(text, wanted) == []
    assert with_hook(text, wanted) == text
    found = json.loads(text)["hooks"]["PostToolUse"]
    hooks = [hook for group in found if isinstance(group["hooks"], list) for hook in group["hooks"]]
    assert mine in hooks
    assert all(hook in (mine, wanted) for hook in hooks)
    assert {"hooks": "odd"} in found


def test_a_hook_that_its_user_has_changed_stays_as_it_is() -> None:
    for form in FORMS:
        changed = {**form, "timeout": 9, "statusMessage": "hm"}
        text = json.dumps({"hooks": {event: [{"matcher": "Read", "hooks": [changed]}] for event in EVENTS}})
        assert with_hook(text, form) == text


def test_init_shows_then_asks_then_writes_and_keeps_the_former_file(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    code, shown, _ = run("init", "claude-code")
    assert (code, path.exists(), missing(shown)) == (0, False, [])
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
    assert missing(path.read_text()) == []
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
    assert set(http_hooks(path.read_text())) == set(EVENTS)
    assert all(hook == http_hook(URL, token) for hook in http_hooks(path.read_text()).values())
    shown = run("init", "claude-code", "--http", "--address", "9999")[1]
    assert "http://127.0.0.1:9999/hook/claude-code" in shown
    assert token not in shown + said + notes


def test_init_for_http_for_the_user_takes_the_place_of_the_command_and_is_taken_back(project: Path) -> None:
    path = Path.home() / ".claude" / "settings.json"
    run("init", "claude-code", "--user", "--write", "--yes")
    assert path.stat().st_mode & 0o777 == 0o644
    assert run("init", "claude-code", "--user", "--http", "--write", "--yes")[0] == 0
    assert (path.stat().st_mode & 0o777, missing(path.read_text()), len(http_hooks(path.read_text()))) == (
        0o600,
        list(EVENTS),
        3,
    )
    assert run("init", "claude-code", "--user", "--write", "--yes")[0] == 0
    assert (missing(path.read_text()), http_hooks(path.read_text())) == ([], {})
    backups = sorted(path.parent.glob("*.bak*"))
    assert [backup.stat().st_mode & 0o777 for backup in backups if http_hooks(backup.read_text())] == [0o600]
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


def doctor() -> dict[str, str] | None:
    return next(iter(doctor_lines()), None)


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
