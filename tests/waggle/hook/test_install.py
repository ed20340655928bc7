"""``waggle init`` adds the hook and changes nothing else; ``waggle doctor`` tells what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle.cli.app import cli
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.install import missing, with_hook

CLAUDE = host_named("claude-code")
HOSTS = pytest.mark.parametrize("name", NAMES)
FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini-cli": ".gemini/settings.json"}
FILES["cursor"] = ".cursor/hooks.json"


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
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert doctor(name) is None
    run("init", name, "--write", "--yes")
    found = doctor(name) or {}
    assert found["state"] == ("problem" if name == "codex" else "ok")
    assert all(doctor(other) is None for other in NAMES if other != name)
    (project / FILES[name]).write_text("{}")
    assert (doctor(name) or {})["remedy"] == f"`waggle init {name} --write` puts it there"


def test_doctor_knows_a_hook_that_codex_was_told_to_trust(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
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
