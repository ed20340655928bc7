"""Gemini CLI, experimental. What is known of it was seen in 0.61.0."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from waggle import shell
from waggle.calls import Call, Effect, Result
from waggle.hook.hosts.denials import EVERYTHING, ignore_rules, json_file, rules_of, toml_file
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
from waggle.tools import LineRange, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HOST"]

_MILLISECONDS: Final = 5000  # that the host waits

#: What it puts around a command's output, and the lines behind the output that say what came of it.
_BEFORE: Final = "<untrusted_context>\nOutput: "
_BEHIND: Final = "\n</untrusted_context>"
_OUTCOME: Final = re.compile(r"(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): ")
#: A line of a search: a file's name, one of its lines, one around it.
_SEARCHED: Final = re.compile(r"^(?:File: (?P<file>.+)|L(?P<line>\d+)(?P<mark>[:-]) ?(?P<text>.*))$")
#: An entry of a listing.
_ENTRY: Final = re.compile(r"^(?:\[DIR\] )?(.+?)(?: \(\d+ bytes\))?$")


def _read(event: JsonObject, _project: str) -> Event | None:
    name, cwd = text_at(event, "hook_event_name"), text_at(event, "cwd")
    if name not in ("AfterTool", "SessionEnd"):
        return None
    conversation = conversation_of(event, "session_id")
    if name == "SessionEnd":
        return Event(name, conversation, cwd, cwd)
    tool, args = call_of(event)
    response = event.get("tool_response")
    result = _result(tool, response if isinstance(response, dict) else {"llmContent": response})
    where = args.get("dir_path")
    if tool == "run_shell_command" and isinstance(where, str) and isinstance(command := args.get("command"), str):
        others = {key: value for key, value in args.items() if key != "dir_path"}
        args = {**others, "command": shell.in_directory(command, where, cwd)}
    return Event(name, conversation, cwd, cwd, Call(tool, args), result)


def _result(tool: str, response: JsonObject) -> Result:
    error = response.get("error")
    if error:
        message = text_at(error, "message") if isinstance(error, dict) else str(error)
        return Result(message or shown(response.get("llmContent")).text, ok=False)
    result = shown(response.get("llmContent"))
    if tool == "run_shell_command" and result.text.startswith(_BEFORE) and result.text.endswith(_BEHIND):
        return _ran(result.text[len(_BEFORE) : -len(_BEHIND)])
    if tool in ("grep_search", "search_file_content"):
        return Result(_searched(result.text))
    if tool == "list_directory":
        head, _, entries = result.text.partition("\n")
        return Result("\n".join([head, *(_ENTRY.sub(r"\1", line) for line in entries.split("\n"))]))
    return result


def _ran(text: str) -> Result:
    """What a command printed, and whether it succeeded."""
    lines, failed = text.split("\n"), False
    while len(lines) > 1 and _OUTCOME.match(lines[-1]):
        failed |= not lines.pop().startswith(("Process Group", "Background"))
    printed = "\n".join(lines)
    return Result("" if printed == "(empty)" else printed, ok=not failed)


def _searched(text: str) -> str:
    """A search in the form that searches have elsewhere, a path and a number before each line; see `waggle.named`."""
    lines, path = [], ""
    for line in text.split("\n"):
        found = _SEARCHED.match(line)
        if found and found["file"]:
            path = found["file"]
        elif found and path:
            lines.append(f"{path}{found['mark']}{found['line']}{found['mark']}{found['text']}")
        elif line != "---":
            lines.append(line)
    return "\n".join(lines)


def _lines(lines: list[str], first: int, total: int) -> str:
    text = "\n".join(lines)
    return text if len(lines) == total else f"[lines {first} to {first + len(lines) - 1} of {total}]\n{text}"


def _files(found: list[Path], _here: str) -> str:
    return "\n".join(str(each) for each in reversed(found)) or "No files found"


def _entries(entries: list[Entry], _directory: str) -> str:
    folders = [f"[DIR] {each.name}" for each in entries if each.size is None]
    return "\n".join([*folders, *(f"{each.name} ({each.size} bytes)" for each in entries if each.size is not None)])


def _read_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    start, end = args.get("start_line", 1), args.get("end_line")
    if not set(args) <= {"file_path", "start_line", "end_line"} or type(start) is not int:
        return None
    made: JsonObject = {"file_path": args.get("file_path")}
    if "start_line" in args or end is not None:
        made["offset"] = start
    if end is not None:
        if type(end) is not int:
            return None
        made["limit"] = end - start + 1
    return made


def _glob_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    """Its own search leaves out what git ignores, which only a pattern that goes into every folder comes upon."""
    if not set(args) <= {"pattern", "dir_path"} or "**" in str(args.get("pattern")):
        return None
    return {"pattern": args.get("pattern"), "path": args.get("dir_path", ".")}


def _list_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    return {"path": args["dir_path"]} if set(args) == {"dir_path"} else None


def _shell_args(args: Mapping[str, JsonValue]) -> JsonObject | None:
    return {"command": args["command"]} if set(args) == {"command"} else None


_LOOKUPS: Final = {
    "read_file": Lookup("Read", _read_args),
    "glob": Lookup("Files", _glob_args),
    "list_directory": Lookup("LS", _list_args),
    "run_shell_command": Lookup("Bash", _shell_args),
}

_IGNORED: Final = ("wait_for_previous",)  # any of its tools may be asked to wait for those before it

#: Elsewhere a tool of this name takes a number of lines.
_TOOLS: Final = (
    ToolSpec(
        "read_file",
        Effect.READ,
        kind="lines",
        paths=("file_path", "absolute_path"),
        lines=LineRange("start_line", last="end_line", default=2000),
        ignored=_IGNORED,
    ),
    ToolSpec("run_shell_command", command="command", ignored=("description", *_IGNORED), script="command"),
    *(
        ToolSpec(name, Effect.READ, kind="list", paths=("dir_path",), ignored=_IGNORED)
        for name in ("glob", "list_directory")
    ),
    *(
        ToolSpec(name, Effect.READ, kind="search", paths=("dir_path",), ignored=_IGNORED)
        for name in ("grep_search", "search_file_content")
    ),
)


def _entry(event: str) -> JsonObject:
    """What must never fail: what a hook complains of that ends with 2 or more is put in the place of the tool's result.

    A shell that does not find the hook ends with 127.
    """
    command = f"{HOST.command} || true"
    hook: JsonObject = {"type": "command", "name": "waggle", "command": command, "timeout": _MILLISECONDS}
    entry: JsonObject = {"hooks": [hook]}
    return entry if event == "SessionEnd" else {"matcher": "*", **entry}


def _home() -> Path:
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"


def _watched(root: Path) -> tuple[Path, ...]:
    homes = (root / ".gemini", _home())
    policies = [path for home in homes for path in sorted((home / "policies").glob("*.toml"))]
    return (*(home / "settings.json" for home in homes), root / ".geminiignore", *policies)


def _denied(root: Path) -> tuple[str, ...]:
    watched = _watched(root)
    return (
        *rules_of(watched[:2], json_file, _excluded),
        *ignore_rules(watched[2:3]),
        *rules_of(watched[3:], toml_file, _policies),
    )


def _excluded(settings: Any) -> list[str]:
    tools = settings.get("tools", {})
    names = [*tools.get("exclude", []), *settings.get("excludeTools", [])]
    allowed = {str(name).partition("(")[0] for name in tools.get("core", [])}
    names += [name for name in _LOOKUPS if allowed and name not in allowed]
    return [_LOOKUPS[tool].tool for name in names if (tool := str(name).partition("(")[0]) in _LOOKUPS]


def _policies(policy: Any) -> list[str]:
    """A rule of a policy that denies a tool, whatever it makes that depend on; one for all tools denies all."""
    found: list[str] = []
    for rule in policy.get("rule", []):
        if rule.get("decision") != "deny":
            continue
        names = rule.get("toolName", "*")
        for name in names if isinstance(names, list) else [names]:
            found += [_LOOKUPS[name].tool] if name in _LOOKUPS else EVERYTHING if "*" in name else ()
    return found


HOST: Final = Host(
    name="gemini-cli",
    title="Gemini CLI",
    read=_read,
    output=hook_output,
    lookups=_LOOKUPS,
    form=Form(_lines, _files, _entries),
    settings=Settings(
        folder=".gemini",
        files=("settings.json",),
        events=("AfterTool", "SessionEnd"),
        entry=_entry,
        home=_home,
        after="Gemini CLI runs hooks only in a folder that you have trusted; start gemini here, and it asks.",
    ),
    denied=_denied,
    watched=_watched,
    tools=_TOOLS,
)
