"""The hook in a host's settings: what stands there, and the settings with it. Pure.

Not responsible for files, nor for asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["COMMAND", "EVENTS", "missing", "with_hook"]

#: What Claude Code runs, and after what.
COMMAND: Final = "waggle-hook claude-code"
EVENTS: Final = ("PostToolUse", "PostToolUseFailure", "SessionEnd")

_SECONDS: Final = 5  #: that the host waits


def missing(text: str) -> list[str]:
    """The events after which the hook is not run, in order; none when all is in place.

    Args:
        text: of Claude Code's settings; empty where there is no file.

    Raises:
        ValueError: it is no JSON object.
    """
    settings = jsonvalue.loads(text or "{}")
    if not isinstance(settings, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the text
    hooks = settings.get("hooks")
    return [event for event in EVENTS if not _runs(hooks.get(event) if isinstance(hooks, dict) else None)]


def _runs(groups: JsonValue) -> bool:
    found = [group.get("hooks") for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    hooks = [hook for each in found if isinstance(each, list) for hook in each if isinstance(hook, dict)]
    return any(str(hook.get("command", "")).split("/")[-1] == COMMAND for hook in hooks)


def with_hook(text: str) -> str:
    """The settings with the hook after each event where it is missing; every other byte as it was.

    Args:
        text: of the settings; empty where there is no file.

    Raises:
        ValueError: it is no JSON object, or the member for hooks is something else. The error says where.
    """
    absent = missing(text)
    text = text or "{}\n"
    for event in absent:
        entry: JsonObject = {"hooks": [{"type": "command", "command": COMMAND, "timeout": _SECONDS}]}
        if event != "SessionEnd":
            entry = {"matcher": "*", **entry}
        settings = jsonvalue.loads(text)
        hooks = settings.get("hooks") if isinstance(settings, dict) else None
        groups = hooks.get(event) if isinstance(hooks, dict) else None
        if not isinstance(groups, list | None):
            raise ValueError(f"expected an array @ $.hooks.{event}")  # noqa: TRY004 - a fault of the text
        text = with_member(text, ("hooks", event), [*(groups or []), entry])
    return text
