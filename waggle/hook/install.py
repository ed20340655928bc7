"""The hook in a host's settings: what stands there, and the settings with it. Pure.

It stands there in one of two forms: as a command, a process a call, or, where the host knows that, as a URL to which
events are posted. Not responsible for files, nor for asking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from waggle import jsonvalue
from waggle.admission import is_loopback
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.hook.hosts.host import Host
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["PATH", "command_hook", "has_hook", "http_hook", "http_hooks", "missing", "with_hook"]

#: Where events are posted over HTTP; the host's name follows.
PATH: Final = "/hook/"

_SECONDS: Final = 5  #: that a host waits for what it posts to


def command_hook(host: Host, event: str) -> JsonObject:
    """The hook that is a process a call, as it stands at an event: in a group of hooks, or by itself."""
    entry = host.settings.entry(event)
    hooks = entry.get("hooks")
    first = hooks[0] if isinstance(hooks, list) else entry
    return first if isinstance(first, dict) else entry


def http_hook(url: str, token: str) -> JsonObject:
    """The hook that posts to a server which is running."""
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}, "timeout": _SECONDS}


def missing(host: Host, text: str, hook: JsonObject | None = None) -> list[str]:
    """The events after which a hook is not run, in order; none when all is in place.

    Args:
        host: whose settings they are.
        text: of the settings; empty where there is no file.
        hook: the form that is looked for; None for the command.

    Raises:
        ValueError: it is no JSON object.
    """
    return [
        event
        for event in host.settings.events
        if not any(_is(host, each, hook) for each in _hooks(_entries(text, event)))
    ]


def http_hooks(host: Host, text: str) -> dict[str, JsonObject]:
    """The hooks that post to waggle, by the event after which they do; the first where there are several.

    Raises:
        ValueError: it is no JSON object.
    """
    events = host.settings.events
    found = {event: [hook for hook in _hooks(_entries(text, event)) if _posts(hook)] for event in events}
    return {event: hooks[0] for event, hooks in found.items() if hooks}


def has_hook(host: Host, text: str) -> bool:
    """Whether the hook is run after any event, whatever its form.

    Raises:
        ValueError: it is no JSON object.
    """
    return any(_is_ours(host, hook) for event in host.settings.events for hook in _hooks(_entries(text, event)))


def with_hook(host: Host, text: str, hook: JsonObject | None = None) -> str:
    """The settings with the hook after each event, in the place of another form of it; every other byte as it was.

    Args:
        host: whose settings they are.
        text: of the settings; empty where there is no file.
        hook: the form that is wanted; None for the command.

    Raises:
        ValueError: it is no JSON object, or the member for hooks is something else. The error says where.
    """
    changed = {event: _changed(host, _entries(text, event), event, hook) for event in host.settings.events}
    changes = {event: entries for event, entries in changed.items() if entries is not None}
    text = text or "{}\n"
    for name, value in host.settings.always.items() if changes else ():
        if name not in _settings(text):
            text = with_member(text, (name,), value)
    for event, entries in changes.items():
        text = with_member(text, ("hooks", event), entries)
    return text


def _settings(text: str) -> JsonObject:
    settings = jsonvalue.loads(text or "{}")
    if not isinstance(settings, dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the text
    return settings


def _entries(text: str, event: str) -> JsonValue:
    hooks = _settings(text).get("hooks")
    return hooks.get(event) if isinstance(hooks, dict) else None


def _hooks(entries: JsonValue) -> Iterator[JsonObject]:
    """The hooks of an event; an entry is a hook, or a group of them."""
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            hooks = entry.get("hooks")
            yield from (hook for hook in hooks if isinstance(hook, dict)) if isinstance(hooks, list) else (entry,)


def _is(host: Host, found: JsonObject, hook: JsonObject | None) -> bool:
    """Whether a hook is the one that is wanted; how long it may take, and what else it has, is the user's."""
    if hook is None or hook.get("type") == "command":
        return _runs(host, found)
    return all(found.get(key) == hook[key] for key in ("type", "url", "headers"))


def _runs(host: Host, hook: JsonObject) -> bool:
    """Whether a hook runs the host's command, from wherever and whatever stands behind it."""
    return f"{str(hook.get('command', '')).split('/')[-1]} ".startswith(f"{host.command} ")


def _posts(hook: JsonObject) -> bool:
    try:
        url = urlsplit(str(hook.get("url", "")))
        return url.path.startswith(PATH) and is_loopback(url.hostname or "")
    except ValueError:
        return False


def _is_ours(host: Host, hook: JsonObject) -> bool:
    return _runs(host, hook) or _posts(hook)


def _changed(host: Host, entries: JsonValue, event: str, hook: JsonObject | None) -> list[JsonValue] | None:
    """The entries of an event with the hook, in the place of its other form; None when it is so already."""
    if not isinstance(entries, list | None):
        raise ValueError(f"expected an array @ $.hooks.{event}")  # noqa: TRY004 - a fault of the text
    ours = [each for each in _hooks(entries) if _is_ours(host, each)]
    wanted = hook or command_hook(host, event)
    if not ours:
        entry = host.settings.entry(event)
        return [*(entries or []), {**entry, "hooks": [wanted]} if "hooks" in entry else wanted]
    there = [each for each in ours if _is(host, each, hook)]
    if len(there) == len(ours):
        return None
    return _in_place(host, entries or [], hook, others=[] if there else [wanted])


def _in_place(host: Host, groups: list[JsonValue], hook: JsonObject | None, others: list[JsonValue]) -> list[JsonValue]:
    """The groups, with `others` where another form of the hook was; a group that holds no hook any more is gone."""
    made: list[JsonValue] = []
    for group in groups:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not (isinstance(group, dict) and isinstance(hooks, list)):
            made.append(group)
            continue
        kept: list[JsonValue] = []
        for each in hooks:
            of_another_form = isinstance(each, dict) and _is_ours(host, each) and not _is(host, each, hook)
            kept += others if of_another_form else [each]
        if kept or not hooks:
            made.append({**group, "hooks": kept})
    return made
