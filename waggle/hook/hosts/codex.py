"""Codex CLI, experimental. What is known of it was seen in 0.171.0."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from waggle import jsonvalue, shell
from waggle.calls import Call
from waggle.hook.hosts.claude_code import FORM
from waggle.hook.hosts.denials import rules_of, toml_file
from waggle.hook.hosts.host import (
    Event,
    Host,
    Lookup,
    Settings,
    call_of,
    conversation_of,
    hook_output,
    shown,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOST"]

#: Seconds that the host waits: after a call, and at the end, where it allows no more.
_SECONDS: Final = 5
_END_SECONDS: Final = 3


def _read(event: JsonObject, project: str) -> Event | None:
    """The shell is ``Bash`` to the hook; to the model, in transcripts and here it is ``exec_command``.

    ``cwd`` is the directory of this one call; that of the session is the one that the hook is started in. Whether a
    command failed is not said.
    """
    name, cwd = text_at(event, "hook_event_name"), text_at(event, "cwd")
    if name not in ("PostToolUse", "SessionEnd"):
        return None
    conversation, home = conversation_of(event, "session_id"), project or cwd
    if name == "SessionEnd":
        return Event(name, conversation, home, home)
    tool, args = call_of(event)
    command = args.get("command")
    if tool == "Bash" and isinstance(command, str):
        tool, args = "exec_command", {"cmd": shell.in_directory(command, cwd or home, home)}
    call = Call(tool, args, text_at(event, "tool_use_id") or None)
    return Event(name, conversation, home, home, call, shown(event.get("tool_response")))


def _bash_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    return {"command": args["cmd"]} if set(args) == {"cmd"} else None


def _entry(event: str) -> JsonObject:
    seconds = _END_SECONDS if event == "SessionEnd" else _SECONDS
    return {"hooks": [{"type": "command", "command": HOST.command, "timeout": seconds}]}


def _home() -> Path:
    moved = os.environ.get("CODEX_HOME", "")
    return Path(moved) if moved else Path.home() / ".codex"


def _watched(root: Path) -> tuple[Path, ...]:
    return (root / ".codex" / "config.toml", _home() / "config.toml")


def _denied(root: Path) -> tuple[str, ...]:
    """A profile of permissions that keeps anything from being read: the shell, which is all there is, reads nothing."""

    def rules(config: Any) -> list[str]:
        return ["Bash"] if {"none", "deny"} & set(_texts(config.get("permissions", {}))) else []

    return rules_of(_watched(root), toml_file, rules)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)


def _trusted(path: Path, text: str) -> bool:
    """Whether the user has let the hook in these settings run after calls; what was changed since is not told."""
    try:
        with (_home() / "config.toml").open("rb") as file:
            state: Any = tomllib.load(file).get("hooks", {}).get("state", {})
        settings: Any = jsonvalue.loads(text)
        for group, entry in enumerate(settings["hooks"]["PostToolUse"]):
            for number, hook in enumerate(entry["hooks"]):
                if hook.get("command", "").split("/")[-1].startswith(HOST.command):
                    key = f"post_tool_use:{group}:{number}"
                    return any("trusted_hash" in state.get(f"{each}:{key}", {}) for each in (path, path.resolve()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return False


HOST: Final = Host(
    name="codex",
    title="Codex",
    read=_read,
    output=hook_output,
    lookups={"exec_command": Lookup("Bash", _bash_args)},
    form=FORM,
    settings=Settings(
        folder=".codex",
        files=("hooks.json",),
        events=("PostToolUse", "SessionEnd"),
        entry=_entry,
        home=_home,
        after="Codex runs a hook only once you have trusted it: start codex here, and trust it under /hooks.",
        trusted=_trusted,
    ),
    denied=_denied,
    watched=_watched,
)
