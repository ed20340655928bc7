"""Claude Code. What is known of it was seen in 2.1.332."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle.calls import Call, Outcome, Result
from waggle.hook.hosts.denials import settings_rules
from waggle.hook.hosts.host import (
    Entry,
    Event,
    Form,
    Host,
    Lookup,
    Settings,
    call_of,
    conversation_of,
    hook_output,
    shown,
    text_at,
)
from waggle.hook.ripgrep import listed, response_shown

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

__all__ = ["FORM", "HOST", "numbered"]

_FRAME: Final = re.compile(r"<(\\*/?\\*system-reminder)", re.IGNORECASE)
_SECONDS: Final = 5  # that the host waits


def _read(event: JsonObject, project: str) -> Event | None:
    name = text_at(event, "hook_event_name")
    # Cursor runs the hooks of Claude Code's settings, too, in its own words; its own hook takes its events in.
    if name not in ("PostToolUse", "PostToolUseFailure", "SessionEnd") or "cursor_version" in event:
        return None
    conversation, cwd = conversation_of(event, "session_id"), text_at(event, "cwd")
    if name == "SessionEnd":
        return Event(name, conversation, project or cwd, cwd)
    tool, args = call_of(event)
    call = Call(tool, args, text_at(event, "tool_use_id") or None)
    return Event(name, conversation, project or cwd, cwd, call, _result(event, name == "PostToolUse"))


def _result(event: JsonObject, ok: bool) -> Result:  # noqa: FBT001 - named where it is called
    if not ok:
        outcome = Outcome.CANCELLED if event.get("is_interrupt") is True else Outcome.TOOL_ERROR
        return Result(text_at(event, "error"), ok=False, outcome=outcome)
    response = event.get("tool_response")
    text = _known_text(text_at(event, "tool_name"), response) if isinstance(response, dict) else None
    return shown(response) if text is None else Result(text)


def _known_text(tool: str, response: JsonObject) -> str | None:
    file = response.get("file")
    if tool == "Read" and isinstance(file, dict):
        content, start = file.get("content"), file.get("startLine")
        if isinstance(content, str):
            return numbered(content.split("\n"), start if type(start) is int else 1)
    if tool == "Bash" and isinstance(response.get("stdout"), str):
        parts = (text_at(response, "stdout"), text_at(response, "stderr"))
        return "\n".join(part for part in parts if part)
    names = response.get("filenames")
    if tool == "Glob" and isinstance(names, list) and response.get("truncated") is not True:
        return listed(names)
    return response_shown(response) if tool == "Grep" else None


def numbered(lines: list[str], first: int) -> str:
    """Lines of a file as Claude Code's Read shows them: number, tab, text."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def _lines(lines: list[str], first: int, _total: int) -> str:
    return numbered(lines, first)


def _files(found: list[Path], here: str) -> str:
    return listed([os.path.relpath(each, here) for each in found])


def _entries(entries: list[Entry], _directory: str) -> str:
    return listed([each.name if each.size is not None else f"{each.name}/" for each in entries])


#: How its file tools show what they read.
FORM: Final = Form(_lines, _files, _entries)


def _output(event: Event, added: str) -> JsonObject:
    """Claude Code frames the text by a tag of its own, which no file's text may end: it gets a backslash."""
    return hook_output(event, _FRAME.sub(r"<\\\1", added))


def _entry(event: str) -> JsonObject:
    entry: JsonObject = {"hooks": [{"type": "command", "command": HOST.command, "timeout": _SECONDS}]}
    return entry if event == "SessionEnd" else {"matcher": "*", **entry}


def _watched(root: Path) -> tuple[Path, ...]:
    places = (root / ".claude", Path.home() / ".claude")
    return tuple(place / name for place in places for name in ("settings.json", "settings.local.json"))


def _denied(root: Path) -> tuple[str, ...]:
    return settings_rules(_watched(root))


HOST: Final = Host(
    name="claude-code",
    title="Claude Code",
    read=_read,
    output=_output,
    lookups={name: Lookup(name) for name in ("Read", "Grep", "Glob", "Bash")},
    form=FORM,
    settings=Settings(
        folder=".claude",
        home=lambda: Path.home() / ".claude",
        files=("settings.json", "settings.local.json"),
        events=("PostToolUse", "PostToolUseFailure", "SessionEnd"),
        entry=_entry,
    ),
    denied=_denied,
    watched=_watched,
    posts=True,
)
