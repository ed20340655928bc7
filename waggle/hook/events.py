"""What a host says to its hook, as waggle takes it, and what it is told in return. Pure.

Not responsible for what is done about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.calls import Call, Outcome, Result
from waggle.hook.ripgrep import listed, response_shown

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOSTS", "Event", "answer", "numbered", "read_event"]

#: The hosts whose events are understood, by the name that `waggle-hook` is given.
HOSTS: Final = ("claude-code",)

_FRAME: Final = re.compile(r"<(\\*/?\\*system-reminder)", re.IGNORECASE)

#: Longest addition, characters. Claude Code puts one of more than 10,000 into a file and shows its beginning.
ADDED_CHARS: Final = 9000


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a host.

    Attributes:
        name: the host's name of it.
        conversation: which one: the session's id and, in a sub-agent, the agent's.
        cwd: the agent's working directory; empty where it is not said.
        call: the call that has ended; None at the end of a session.
        result: what came of it.
    """

    name: str
    conversation: str
    cwd: str
    call: Call | None = None
    result: Result = Result()  # noqa: RUF009 - a value, and frozen

    @property
    def follows(self) -> bool:
        """Whether anything may be added: a failed call ends a habit, and so does the end of a session."""
        return self.call is not None and self.result.ok


def read_event(data: bytes) -> Event | None:
    """Read an event of Claude Code; None for one that says nothing to waggle.

    Raises:
        ValueError: it is not formed as the host's events are; the error says where.
    """
    event = jsonvalue.loads(data)
    if not isinstance(event, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the data
    name = event.get("hook_event_name")
    if name not in ("PostToolUse", "PostToolUseFailure", "SessionEnd"):
        return None
    conversation = _text(event, "session_id")
    if not conversation:
        raise ValueError("expected a text @ $.session_id")
    agent = _text(event, "agent_id")
    conversation, cwd = f"{conversation}/{agent}" if agent else conversation, _text(event, "cwd")
    if name == "SessionEnd":
        return Event("SessionEnd", conversation, cwd)
    tool, args = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str) or not tool or not isinstance(args, dict):
        raise ValueError("expected a text @ $.tool_name and an object @ $.tool_input")
    call = Call(tool, args, _text(event, "tool_use_id") or None)
    return Event(str(name), conversation, cwd, call, _result(event, name == "PostToolUse"))


def _text(event: JsonObject, key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _result(event: JsonObject, ok: bool) -> Result:  # noqa: FBT001 - named where it is called
    if not ok:
        outcome = Outcome.CANCELLED if event.get("is_interrupt") is True else Outcome.TOOL_ERROR
        return Result(_text(event, "error"), ok=False, outcome=outcome)
    return _shown(str(event["tool_name"]), event.get("tool_response"))


def _shown(tool: str, response: JsonValue) -> Result:
    """A tool's answer as the model sees it; what is not known to be otherwise, as it is."""
    if isinstance(response, dict):
        shown = _known_text(tool, response)
        if shown is not None:
            return Result(shown)
    if isinstance(response, list):
        texts = [block["text"] for block in response if isinstance(block, dict) and isinstance(block.get("text"), str)]
        if texts:
            return Result("\n".join(str(text) for text in texts))
    if isinstance(response, str):
        return Result(response, value=_structured(response))
    return Result(jsonvalue.dumps(response).decode(), value=response)


def _structured(text: str) -> JsonValue:
    """The value of a server's structured answer, which Claude Code hands on as its JSON text; None for a plain text."""
    if not jsonvalue.may_be_json(text):
        return None
    try:
        return jsonvalue.loads(text)
    except ValueError:
        return None


def _known_text(tool: str, response: JsonObject) -> str | None:
    file = response.get("file")
    if tool == "Read" and isinstance(file, dict):
        content, start = file.get("content"), file.get("startLine")
        if isinstance(content, str):
            return numbered(content.split("\n"), start if type(start) is int else 1)
    if tool == "Bash" and isinstance(response.get("stdout"), str):
        parts = (_text(response, "stdout"), _text(response, "stderr"))
        return "\n".join(part for part in parts if part)
    names = response.get("filenames")
    if tool == "Glob" and isinstance(names, list) and response.get("truncated") is not True:
        return listed(names)
    return response_shown(response) if tool == "Grep" else None


def numbered(lines: list[str], first: int) -> str:
    """Lines of a file as Claude Code's Read shows them: number, tab, text."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def answer(event: Event, added: str) -> bytes:
    """What the host is told: the text to add to the result. Nothing at all when there is none.

    Claude Code frames the text by a tag of its own, which no file's text may end: it gets a backslash, as those of the
    fold do.
    """
    if not added:
        return b""
    added = _FRAME.sub(r"<\\\1", added)
    if len(added) > ADDED_CHARS:
        raise ValueError(f"{len(added):,} characters are more than the {ADDED_CHARS:,} that a host shows")
    return jsonvalue.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": added}})
