"""Codex transcripts: real ones teach what the hook then does, and a command is one text wherever it ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waggle import Call, Manager, ToolTable
from waggle.cli.mining import mine_into
from waggle.config import ManagerConfig
from waggle.locate import find_project
from waggle.store import project_store
from waggle.traces import Trace, read_traces

SESSIONS = Path(__file__).parent / "codex"


def only(path: Path) -> Trace:
    (trace,) = read_traces(path)
    return trace


def test_real_sessions_teach_the_shell_read_after_the_search(tmp_path: Path) -> None:
    """The calls name their directory, which is the session's own."""
    traces = [only(path) for path in sorted(SESSIONS.glob("*.jsonl"))]
    first: list[dict[str, Any]] = [dict(step.call.args) for step in traces[0].steps[:3]]
    assert first == [{"cmd": "grep -rn load_0 src"}, {"cmd": "cat src/m0.py"}, {"cmd": "touch built"}]
    table = ToolTable()
    assert [table.may_repeat("exec_command", args) for args in first] == [True, True, False]
    (tmp_path / ".git").mkdir()
    project = find_project(tmp_path)
    mined, sessions = mine_into(traces, project_store(project), ManagerConfig(), tools=table, root="/home/ada/project")
    assert sessions == 2
    assert [each.status for each in mined] == ["new"]
    manager = Manager.for_project(tmp_path)
    session = manager.session("s", directory="/home/ada/project")
    session.observe(Call("exec_command", {"cmd": "grep -rn load_7 src"}), "src/m7.py:20:def load_7():\n")
    fold = session.follow(lambda tool, args: f"{tool} {args['cmd']}")
    assert fold
    assert [(each.tool, each.args) for each in fold.lookups] == [
        ("exec_command", {"cmd": "cat /home/ada/project/src/m7.py"})
    ]


@pytest.mark.parametrize(
    ("tool", "args", "spoken"),
    [
        ("exec_command", {"cmd": "cat x", "workdir": "/repo"}, {"cmd": "cat x"}),
        ("exec_command", {"cmd": "cat x", "workdir": "/repo/src"}, {"cmd": "cd src && cat x"}),
        ("exec_command", {"cmd": "cat x", "workdir": "src"}, {"cmd": "cd src && cat x"}),
        ("exec_command", {"cmd": "cat x", "workdir": "/else where"}, {"cmd": "cd '/else where' && cat x"}),
        ("shell", {"command": ["bash", "-lc", "cat x | head"], "workdir": "/repo"}, {"command": "cat x | head"}),
        ("shell", {"command": ["cat", "a b"], "timeout_ms": 5}, {"command": "cat 'a b'", "timeout_ms": 5}),
        ("container.exec", {"cmd": ["cat", "x"]}, {"cmd": "cat x"}),
        ("shell", {"command": ["cat", 7]}, {"command": ["cat", 7]}),
        ("shell", {"workdir": "/repo"}, {"workdir": "/repo"}),
        ("mine", {"command": ["cat"], "workdir": "/repo"}, {"command": ["cat"], "workdir": "/repo"}),
    ],
)
def test_a_command_is_one_text_that_starts_in_the_sessions_directory(
    tmp_path: Path, tool: str, args: dict[str, Any], spoken: dict[str, Any]
) -> None:
    call = {"type": "function_call", "name": tool, "arguments": json.dumps(args), "call_id": "a"}
    lines = [("session_meta", {"id": "s", "cwd": "/repo"}), ("response_item", call)]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps({"type": kind, "payload": payload}) + "\n" for kind, payload in lines))
    assert [step.call.args for step in only(path).steps] == [spoken]


def test_where_the_sessions_directory_is_not_known_a_call_keeps_its_own(tmp_path: Path) -> None:
    args = json.dumps({"cmd": "cat x", "workdir": "/repo"})
    call = {"type": "function_call", "name": "exec_command", "arguments": args, "call_id": "a"}
    path = tmp_path / "rollout.jsonl"
    lines = [{"type": "session_meta", "payload": {"id": "s"}}, {"type": "response_item", "payload": call}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [step.call.args for step in only(path).steps] == [{"cmd": "cat x", "workdir": "/repo"}]
