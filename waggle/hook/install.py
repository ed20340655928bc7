"""The hook in a host's settings: what stands there, and the settings with it. Pure.

Not responsible for files, nor for asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle import jsonvalue
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.hook.hosts.host import Host
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["missing", "with_hook"]


def missing(host: Host, text: str) -> list[str]:
    """The events after which the hook is not run, in order; none when all is in place.

    Args:
        host: whose settings they are.
        text: of the settings; empty where there is no file.

    Raises:
        ValueError: it is no JSON object.
    """
    hooks = _settings(text).get("hooks")
    groups = hooks if isinstance(hooks, dict) else {}
    return [event for event in host.settings.events if not _runs(host.command, groups.get(event))]


def _settings(text: str) -> JsonObject:
    settings = jsonvalue.loads(text or "{}")
    if not isinstance(settings, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the text
    return settings


def _runs(command: str, entries: JsonValue) -> bool:
    """Whether one of an event's entries runs a command, from wherever and whatever stands behind it."""
    return any(f"{found.split('/')[-1]} ".startswith(f"{command} ") for found in _commands(entries))


def _commands(entries: JsonValue) -> Iterator[str]:
    """What an event's entries run; an entry is a hook, or a group of them."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            yield str(entry.get("command", ""))
            yield from _commands(entry.get("hooks"))


def with_hook(host: Host, text: str) -> str:
    """The settings with the hook after each event where it is missing; every other byte as it was.

    Args:
        host: whose settings they are.
        text: of the settings; empty where there is no file.

    Raises:
        ValueError: it is no JSON object, or the member for hooks is something else. The error says where.
    """
    absent = missing(host, text)
    text = text or "{}\n"
    for name, value in host.settings.always.items() if absent else ():
        if name not in _settings(text):
            text = with_member(text, (name,), value)
    for event in absent:
        hooks = _settings(text).get("hooks")
        entries = hooks.get(event) if isinstance(hooks, dict) else None
        if not isinstance(entries, list | None):
            raise ValueError(f"expected an array @ $.hooks.{event}")  # noqa: TRY004 - a fault of the text
        text = with_member(text, ("hooks", event), [*(entries or []), host.settings.entry(event)])
    return text
