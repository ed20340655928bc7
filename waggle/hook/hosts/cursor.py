"""Cursor, experimental. What is known of it was read, not seen: it cannot be run without an account."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue, shell
from waggle.calls import Call, Outcome, Result
from waggle.hook.hosts.claude_code import FORM
from waggle.hook.hosts.denials import ignore_rules, settings_rules
from waggle.hook.hosts.host import Event, Host, Lookup, Settings, call_of, conversation_of, shown, text_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOST"]


def _read(event: JsonObject, project: str) -> Event | None:
    name = text_at(event, "hook_event_name")
    if name not in ("postToolUse", "postToolUseFailure", "sessionEnd"):
        return None
    roots = event.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    root = (first if isinstance(first, str) else "") or text_at(event, "cwd") or project
    conversation = conversation_of(event, "conversation_id" if event.get("conversation_id") else "session_id")
    if name == "sessionEnd":
        return Event(name, conversation, root, root)
    tool, args = call_of({**event, "tool_input": _loose(event.get("tool_input"))})
    where = args.get("working_directory")
    if tool == "Shell" and isinstance(where, str) and isinstance(command := args.get("command"), str):
        others = {key: value for key, value in args.items() if key != "working_directory"}
        args = {**others, "command": shell.in_directory(command, where, root)}
    call = Call(tool, args, text_at(event, "tool_use_id") or None)
    return Event(name, conversation, root, root, call, _result(event, name == "postToolUse"))


def _result(event: JsonObject, ok: bool) -> Result:  # noqa: FBT001 - named where it is called
    if not ok:
        outcome = Outcome.CANCELLED if event.get("is_interrupt") is True else Outcome.TOOL_ERROR
        return Result(text_at(event, "error_message"), ok=False, outcome=outcome)
    output = _loose(event.get("tool_output"))
    if isinstance(output, dict):
        parts = [text_at(output, key) for key in ("stdout", "output", "contents", "stderr")]
        if any(parts):
            return Result("\n".join(part for part in parts if part), ok=output.get("exitCode", 0) in (0, None))
    return shown(output)


def _loose(value: JsonValue) -> JsonValue:
    """A value that may stand in a text as JSON."""
    if not isinstance(value, str) or not jsonvalue.may_be_json(value):
        return value
    try:
        return jsonvalue.loads(value)
    except ValueError:
        return value


def _output(_event: Event, added: str) -> JsonObject:
    return {"additional_context": added}


def _read_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    named = [name for name in ("file_path", "path", "target_file") if name in args]
    if len(named) != 1:
        return None
    return {"file_path": args[named[0]], **{name: value for name, value in args.items() if name != named[0]}}


def _entry(_event: str) -> JsonObject:
    """Without a time: sources disagree whether it is in seconds."""
    return {"command": HOST.command}


def _settings(root: Path) -> tuple[Path, ...]:
    return root / ".cursor" / "cli.json", Path.home() / ".cursor" / "cli-config.json"


def _watched(root: Path) -> tuple[Path, ...]:
    return (*_settings(root), root / ".cursorignore")


def _denied(root: Path) -> tuple[str, ...]:
    return (*settings_rules(_settings(root)), *ignore_rules([root / ".cursorignore"]))


HOST: Final = Host(
    name="cursor",
    title="Cursor",
    read=_read,
    output=_output,
    lookups={"Read": Lookup("Read", _read_args), "Shell": Lookup("Bash")},
    form=FORM,
    settings=Settings(
        folder=".cursor",
        home=lambda: Path.home() / ".cursor",
        files=("hooks.json",),
        events=("postToolUse", "postToolUseFailure", "sessionEnd"),
        entry=_entry,
        always={"version": 1},
    ),
    denied=_denied,
    watched=_watched,
)
