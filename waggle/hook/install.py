"""The hook in a host's settings: what stands there, and the settings with it. Pure.

Not responsible for files, nor for asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from waggle import jsonvalue
from waggle.admission import is_loopback
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "COMMAND",
    "COMMAND_HOOK",
    "EVENTS",
    "PATH",
    "has_hook",
    "http_hook",
    "http_hooks",
    "missing",
    "with_hook",
]

#: What Claude Code runs, and after what.
COMMAND: Final = "waggle-hook claude-code"
EVENTS: Final = ("PostToolUse", "PostToolUseFailure", "SessionEnd")

#: Where events are posted over HTTP; the host's name follows.
PATH: Final = "/hook/"

_SECONDS: Final = 5  #: that the host waits

#: The hook that is a process a call.
COMMAND_HOOK: Final[JsonObject] = {"type": "command", "command": COMMAND, "timeout": _SECONDS}


def http_hook(url: str, token: str) -> JsonObject:
    """The hook that posts to a server which is running."""
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}, "timeout": _SECONDS}


def missing(text: str, hook: JsonObject = COMMAND_HOOK) -> list[str]:
    """The events after which a hook is not run, in order; none when all is in place.

    Args:
        text: of Claude Code's settings; empty where there is no file.
        hook: the form that is looked for.

    Raises:
        ValueError: it is no JSON object.
    """
    return [event for event in EVENTS if not any(_is(each, hook) for each in _hooks(_groups(text, event)))]


def http_hooks(text: str) -> dict[str, JsonObject]:
    """The hooks that post to waggle, by the event after which they do; the first where there are several.

    Raises:
        ValueError: it is no JSON object.
    """
    found = {event: [hook for hook in _hooks(_groups(text, event)) if _posts(hook)] for event in EVENTS}
    return {event: hooks[0] for event, hooks in found.items() if hooks}


def has_hook(text: str) -> bool:
    """Whether the hook is run after any event, whatever its form.

    Raises:
        ValueError: it is no JSON object.
    """
    return any(_is_ours(hook) for event in EVENTS for hook in _hooks(_groups(text, event)))


def with_hook(text: str, hook: JsonObject = COMMAND_HOOK) -> str:
    """The settings with the hook after each event, in the place of another form of it; every other byte as it was.

    Args:
        text: of the settings; empty where there is no file.
        hook: the form that is wanted.

    Raises:
        ValueError: it is no JSON object, or the member for hooks is something else. The error says where.
    """
    changed = {event: _changed(_groups(text, event), event, hook) for event in EVENTS}
    text = text or "{}\n"
    for event, groups in changed.items():
        if groups is not None:
            text = with_member(text, ("hooks", event), groups)
    return text


def _groups(text: str, event: str) -> JsonValue:
    settings = jsonvalue.loads(text or "{}")
    if not isinstance(settings, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the text
    hooks = settings.get("hooks")
    return hooks.get(event) if isinstance(hooks, dict) else None


def _hooks(groups: JsonValue) -> Iterator[JsonObject]:
    for group in groups if isinstance(groups, list) else []:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        yield from (hook for hook in (hooks if isinstance(hooks, list) else []) if isinstance(hook, dict))


def _is(found: JsonObject, hook: JsonObject) -> bool:
    """Whether a hook is the one that is wanted; how long it may take, and what else it has, is the user's."""
    if hook["type"] == "command":
        return _runs(found)
    return all(found.get(key) == hook[key] for key in ("type", "url", "headers"))


def _runs(hook: JsonObject) -> bool:
    return str(hook.get("command", "")).split("/")[-1] == COMMAND


def _posts(hook: JsonObject) -> bool:
    try:
        url = urlsplit(str(hook.get("url", "")))
        return url.path.startswith(PATH) and is_loopback(url.hostname or "")
    except ValueError:
        return False


def _is_ours(hook: JsonObject) -> bool:
    return _runs(hook) or _posts(hook)


def _changed(groups: JsonValue, event: str, hook: JsonObject) -> list[JsonValue] | None:
    """The groups of an event with the hook, in the place of its other form; None when it is so already."""
    if not isinstance(groups, list | None):
        raise ValueError(f"expected an array @ $.hooks.{event}")  # noqa: TRY004 - a fault of the text
    ours = [each for each in _hooks(groups) if _is_ours(each)]
    if not ours:
        entry: JsonObject = {"hooks": [hook]}
        return [*(groups or []), entry if event == "SessionEnd" else {"matcher": "*", **entry}]
    there = [each for each in ours if _is(each, hook)]
    return None if len(there) == len(ours) else _in_place(groups or [], hook, others=[] if there else [hook])


def _in_place(groups: list[JsonValue], hook: JsonObject, others: list[JsonValue]) -> list[JsonValue]:
    """The groups, with `others` where another form of the hook was; a group that holds no hook any more is gone."""
    made: list[JsonValue] = []
    for group in groups:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not (isinstance(group, dict) and isinstance(hooks, list)):
            made.append(group)
            continue
        kept: list[JsonValue] = []
        for each in hooks:
            of_another_form = isinstance(each, dict) and _is_ours(each) and not _is(each, hook)
            kept += others if of_another_form else [each]
        if kept or not hooks:
            made.append({**group, "hooks": kept})
    return made
