"""``waggle init claude-code`` adds the hook and changes nothing else; ``waggle doctor`` tells what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle.cli.app import cli
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import missing, with_hook

CLAUDE = host_named("claude-code")


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


def doctor() -> dict[str, str] | None:
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    return next((check for check in checks if check["check"] == "claude-code hook"), None)


def test_doctor_tells_whether_the_hook_is_in_place(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor() is None
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    assert (doctor() or {})["state"] == "note"
    run("init", "claude-code", "--write", "--yes")
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert (doctor() or {})["state"] == "ok"
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "PATH" in (doctor() or {})["found"]
    half = json.loads(path.read_text())
    del half["hooks"]["SessionEnd"]
    path.write_text(json.dumps(half))
    assert "SessionEnd" in (doctor() or {})["found"]
    path.write_text("{")
    assert (doctor() or {})["state"] == "problem"
