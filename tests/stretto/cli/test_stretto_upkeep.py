"""Looking after what is there: ``redact``, ``doctor``, ``completions``."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from stretto.place import user_home
from tests.stretto.cli.stretto_cli_support import (
    RETAIL_5,
    command,
    files_of,
    ran,
    ran_json,
    refused,
    run,
    shopping,
    written_logs,
)

if TYPE_CHECKING:
    from pathlib import Path

# --- redact ---------------------------------------------------------------------------------------------------


def test_copies_hold_hashes_and_the_logs_stay(logs: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(logs)
    monkeypatch.setenv("SALT", "salt")
    given = ("redact", "--sessions", logs, "--out", "copies", "--salt-env", "SALT")
    result = run(*given, "--dry-run")
    assert result.stdout.startswith("12 copies would be in copies, ")
    assert not files_of(here)
    assert ran(*given).startswith("12 copies in copies, ")
    assert files_of(logs) == before
    copies = b"".join(files_of(here / "copies").values())
    assert b"#W00" not in copies
    assert b"h_" in copies
    assert b"get_order" in copies
    assert ran("learn", "--sessions", "copies", "--out", "f.json").startswith("shop: 12 of 12 sessions")


def test_fields_can_be_hashed_whatever_they_hold(logs: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_REDACT_SALT", "salt")
    plain = ran_json("redact", "--sessions", logs, "--out", "a")
    more = ran_json("redact", "--sessions", logs, "--out", "b", "--hash-field", "state,id", "--hash-field", "user")
    all_kept = ran_json("redact", "--sessions", logs, "--out", "c", "--keep-shared", "1")
    assert more["hashed"] > plain["hashed"] > all_kept["hashed"]
    assert len(plain["copies"]) == 12


def test_redacting_needs_a_salt_and_replaces_nothing(logs: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("redact", "--sessions", logs, "--out", "copies")
    assert refused(*given).startswith("there is no salt; set STRETTO_REDACT_SALT to a secret")
    monkeypatch.setenv("STRETTO_REDACT_SALT", "salt")
    ran(*given)
    assert refused(*given) == "copies/s00.jsonl: is there; --force replaces it"
    ran(*given, "--force")
    assert "name a directory outside of it" in refused("redact", "--sessions", logs, "--out", logs)
    assert "expected a directory with session logs" in refused("redact", "--sessions", "nowhere", "--out", "x")


# --- doctor ---------------------------------------------------------------------------------------------------


def checks(code: int = 0) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in ran_json("doctor", code=code)["checks"]}


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(command()[0]), prepend=os.pathsep)  # noqa: PTH120 - a text for a text


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRETTO_HOME", str(tmp_path / "stretto"))
    return tmp_path / "stretto"


@pytest.mark.usefixtures("on_path")
def test_all_is_well_where_nothing_has_been_done_yet(home: Path) -> None:
    found = checks()
    assert found["stretto"]["state"] == found["waggle"]["state"] == "ok"
    assert found["data directory"]["found"] == f"{home}, can be written"
    assert "there is none yet" in found["flows"]["found"]
    assert not home.exists()
    assert ran("doctor").startswith("state  what")


@pytest.mark.usefixtures("on_path")
def test_flows_and_logs_are_found(home: Path) -> None:
    (home / "flows").mkdir(parents=True)
    shutil.copy(RETAIL_5, home / "flows" / "retail.flow.json")
    written_logs(home / "logs" / "shop", [shopping("s1", "#W1"), shopping("s2", "#W2")])
    (home / "logs" / "shop" / "s2.flow.jsonl").write_text("")
    (home / "shadow" / "shop").mkdir(parents=True)
    found = checks()
    assert found["flow retail"]["found"].endswith("version 1, learned from 3 sessions")
    assert found["logs shop"]["found"].endswith("2 sessions")
    assert found["shadow shop"]["found"].endswith("0 sessions")


@pytest.mark.usefixtures("on_path")
def test_what_needs_fixing_is_1_and_says_how(home: Path) -> None:
    (home / "flows").mkdir(parents=True)
    (home / "flows" / "bad.flow.json").write_text("{")
    (home / "logs" / "shop").mkdir(parents=True)
    (home / "logs" / "shop" / "x.jsonl").write_text("{}\n")
    found = checks(code=1)
    assert found["flow bad"]["state"] == found["logs shop"]["state"] == "problem"
    assert found["flow bad"]["remedy"] == "learn it anew, or move it away"


@pytest.mark.usefixtures("on_path")
def test_a_home_that_is_none_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_HOME", "relative")
    assert "is not an absolute path" in checks(code=1)["data directory"]["found"]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STRETTO_HOME", str(tmp_path / "file" / "stretto"))
    assert "is not a directory" in checks(code=1)["data directory"]["found"]


def test_another_installation_on_the_path_is_told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "bin" / "stretto"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho stretto 0.0.0\n")
    other.chmod(0o755)
    (tmp_path / "bin" / "waggle").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin" / "waggle").chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    found = checks(code=1)
    assert found["stretto"]["found"].startswith(f"{other} is stretto 0.0.0, not stretto ")
    assert "does not run" in found["waggle"]["found"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks()["stretto"]["state"] == "note"


def test_the_users_place_is_named_by_the_variable_or_the_platform(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_home().root.is_relative_to(own_home)
    assert user_home().flows == user_home().root / "flows"
    monkeypatch.setenv("STRETTO_HOME", "/somewhere")
    assert str(user_home().root) == "/somewhere"


# --- completions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_clicks_own(shell: str) -> None:
    text = ran("completions", shell)
    assert "_STRETTO_COMPLETE" in text
    assert run("completions", "tcsh").exit_code == 2


def test_a_shell_gets_commands_and_options() -> None:
    """As bash asks for them."""
    for words, position, expected in (
        ("stretto flo", "1", ["flow-diff", "flow-show"]),
        ("stretto learn --trai", "2", ["--train-tasks", "--train-fraction"]),
    ):
        env = os.environ | {"_STRETTO_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
        done = subprocess.run(command(), env=env, capture_output=True, text=True, timeout=60, check=False)
        assert [line.partition(",")[2] for line in done.stdout.splitlines()] == expected
