"""What the real Claude Code told its hooks, and wrote of its sessions, is understood; see ``tests/claude_code``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from tests.waggle.hook.hook_support import Agent, make_project, told
from waggle.cli.app import cli
from waggle.hook.desk import Desk
from waggle.hook.hosts import host_named
from waggle.hook.hosts.host import read_event
from waggle.hook.journal import journals

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "recorded" / "claude_code_events.jsonl").read_text("utf-8").splitlines()
]
TRANSCRIPTS = ROOT / "tests" / "waggle" / "traces" / "claude_code"
CALLS = [each for each in RECORDED if "tool_use_id" in each["event"]]

#: What the model is shown beside, or instead of, what the hook is told.
UNTOLD = (
    "<system-reminder>",
    "(Bash completed with no output)",
    "File created successfully",
    "has been updated successfully",
    "to load the tool",
)


def _named(each: dict[str, Any]) -> str:
    return f"{each['event']['tool_name']} {json.dumps(each['event']['tool_input'])}"


@pytest.mark.parametrize("each", CALLS, ids=_named)
def test_a_call_is_taken_as_the_model_saw_it(each: dict[str, Any]) -> None:
    found, shown = read_event(host_named("claude-code"), json.dumps(each["event"]).encode(), ""), each["shown"]
    assert found
    assert found.call
    assert (found.call.tool, dict(found.call.args)) == (each["event"]["tool_name"], each["event"]["tool_input"])
    assert found.result.ok == (each["event"]["hook_event_name"] == "PostToolUse")
    assert (found.result.text == shown) != any(text in shown for text in UNTOLD)


def test_the_sessions_fed_through_the_desk_teach_what_the_next_one_is_given(tmp_path: Path) -> None:
    root, desk = make_project(tmp_path / "project"), Desk(tmp_path / "place")
    answers = [desk.answer("claude-code", "", _of_here(each["event"], root)) for each in RECORDED]
    first = RECORDED[0]["event"]["session_id"]
    assert not any(answers[: sum(each["event"]["session_id"] == first for each in RECORDED)])
    assert list(journals(tmp_path / "place" / "sessions", unused_s=0)) == []  # every session has ended
    assert "def load_10" in told(desk.answer("claude-code", "", Agent(root, "after").grep(10)))
    assert desk.faults() == {}
    desk.close()


def test_the_transcripts_of_these_sessions_teach_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, desk = make_project(tmp_path / "project"), Desk(tmp_path / "place")
    monkeypatch.chdir(root)
    mined = CliRunner().invoke(cli, ["mine", "--json", str(TRANSCRIPTS)])
    assert mined.exit_code == 0, mined.output
    document = json.loads(mined.stdout)
    assert (document["sessions"], document["problems"]) == (3, [])
    recorded = document["recorded"]
    assert recorded["calls"] == recorded["with_results"] == len(CALLS)
    assert any(skill["name"].startswith("read-whole") for skill in document["skills"])
    assert "def load_10" in told(desk.answer("claude-code", "", Agent(root, "after").grep(10)))
    desk.close()


def _of_here(event: dict[str, Any], root: Path) -> bytes:
    return json.dumps(event).replace("/project", str(root)).encode()
