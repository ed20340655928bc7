"""What the hook reads is what Claude Code's own tools show: held against calls recorded from Claude Code itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from waggle import jsonvalue
from waggle.hook.hosts import host_named
from waggle.hook.hosts.host import read_event
from waggle.hook.reads import Reads

RECORDED = json.loads((Path(__file__).parent / "recorded" / "claude_code_reads.json").read_text(encoding="utf-8"))
CALLS: list[dict[str, Any]] = RECORDED["calls"]

#: Calls that the hook leaves to the agent, by what they would show.
LEFT = (
    "<system-reminder>",  # a warning of the host instead of a text
    "not valid UTF-8",
    "caf\ufffd",  # an encoding that is not told in a search's lines either
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the calls were recorded in."""
    root = tmp_path_factory.mktemp("recorded") / "project"
    for name, file in RECORDED["files"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file["content"].encode("latin-1" if "latin" in name or "bom" in name else "utf-8"))
        os.utime(path, (file["mtime"], file["mtime"]))
    for name, target in RECORDED["links"].items():
        (root / name).symlink_to(target)
    (root / ".git").mkdir()
    return root


def _named(call: dict[str, Any]) -> str:
    return f"{call['tool']} {jsonvalue.dumps(call['args']).decode()}"


def _of_here(value: Any, root: Path) -> Any:
    return json.loads(json.dumps(value).replace("/project", str(root)))


@pytest.mark.parametrize("call", CALLS, ids=_named)
def test_a_lookup_shows_what_the_hosts_tool_showed_or_is_not_made(root: Path, call: dict[str, Any]) -> None:
    try:
        result = Reads(root).run(call["tool"], _of_here(call["args"], root), str(root))
    except (OSError, ValueError):  # as a manager takes it: a lookup that failed
        result = None
    if result is not None and result.ok:
        assert not call["error"]
        assert result.text == _of_here(call["shown"], root)
    else:
        absolute = call["tool"] == "Glob" and call["args"]["pattern"].startswith("/")
        assert call["error"] or absolute or any(left in call["shown"] for left in LEFT), call["shown"]


@pytest.mark.parametrize("call", [call for call in CALLS if call["event"] == "PostToolUse"], ids=_named)
def test_what_an_event_tells_is_taken_as_the_model_saw_it(call: dict[str, Any]) -> None:
    event = read_event(
        host_named("claude-code"),
        jsonvalue.dumps(
            {
                "session_id": "s",
                "cwd": "/project",
                "hook_event_name": "PostToolUse",
                "tool_name": call["tool"],
                "tool_input": call["args"],
                "tool_response": call["tool_response"],
            }
        ),
        "",
    )
    assert event is not None
    if any(left in call["shown"] for left in LEFT[:2]):  # a warning that the event does not tell of
        assert event.result.text != call["shown"]
    else:
        assert event.result.text == call["shown"]
