"""What a tool is: the one place that knows which tools read, which arguments are paths, and what covers what.

Not responsible for judging shell commands (`waggle.shell`) or for writing scripts (`waggle.script`). What must stay
true: a tool that nobody vouches for is a write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from waggle.calls import Effect, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from waggle.calls import Parts, Shape, Step
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["KNOWN_TOOLS", "Extent", "LineRange", "ScriptForm", "ToolSpec", "ToolTable"]


#: How a call is written as a shell command, see `waggle.script`; "" when it has no shell form.
ScriptForm = Literal["", "cat", "grep", "rg", "ls", "find", "rg-files", "command"]


@dataclass(frozen=True, slots=True)
class LineRange:
    """Which arguments of a read say which lines it returns.

    Attributes:
        start: argument with the first line, from 1; absent means 1.
        count: argument with the number of lines; absent means `default`.
        default: lines returned when `count` is absent; infinite when the tool returns the whole file.
    """

    start: str
    count: str
    default: float = math.inf


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What is known of one tool.

    Attributes:
        name: as the host knows it.
        effect: what a call does; for a tool with `command` or `read_values`, what it does when that does not decide.
        repeatable: a second call costs nothing and answers the same while nothing was written. False for calls that
            move a cursor or wait for something.
        metered: a call costs money or quota; never made on the agent's behalf.
        sensitive: its answer should not be fetched unasked; never made on the agent's behalf.
        paths: arguments that are paths of files or folders.
        lines: how a range of lines is asked for.
        ignored: arguments that do not change the answer (a description for the user, a time limit); they are dropped
            when the call is recorded.
        command: argument with a shell command, whose text decides whether the call reads.
        read_values: argument and its values with which the call only reads, for tools that do several things.
        script: the shell form.
    """

    name: str
    effect: Effect = Effect.WRITE
    repeatable: bool = True
    metered: bool = False
    sensitive: bool = False
    paths: tuple[str, ...] = ()
    lines: LineRange | None = None
    ignored: tuple[str, ...] = ()
    command: str = ""
    read_values: tuple[str, tuple[str, ...]] | None = None
    script: ScriptForm = ""


class Extent(NamedTuple):
    """What one read returns: a resource, and which lines of it (all of them for a read without a range)."""

    resource: tuple[Shape, Parts]
    first: float
    last: float

    def covers(self, other: Extent) -> bool:
        """Whether an answer with this extent also answers a call with the other."""
        return self.resource == other.resource and self.first <= other.first and other.last <= self.last


def _read(name: str, path: str, *, lines: LineRange | None = None, script: ScriptForm = "") -> ToolSpec:
    return ToolSpec(name, Effect.READ, paths=(path,), lines=lines, script=script)


def _shell(name: str, command: str, *ignored: str) -> ToolSpec:
    return ToolSpec(name, command=command, ignored=ignored, script="command")


def _plain(effect: Effect, *names: str, repeatable: bool = True, metered: bool = False) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name, effect, repeatable=repeatable, metered=metered) for name in names)


_OFFSET_LIMIT = LineRange("offset", "limit")

#: Tools of common agents, by name. A server's hint can only take trust away from an entry; the user's word decides.
KNOWN_TOOLS: Final[tuple[ToolSpec, ...]] = (
    # Claude Code
    _read("Read", "file_path", lines=LineRange("offset", "limit", 2000), script="cat"),
    _read("Grep", "path", script="rg"),
    _read("Glob", "path", script="rg-files"),
    _read("LS", "path", script="ls"),
    _read("NotebookRead", "notebook_path"),
    *_plain(Effect.READ, "WebFetch", "WebSearch", metered=True),
    *_plain(Effect.READ, "TodoRead", "TaskList", "TaskGet", "LSP", "mcp__ide__getDiagnostics"),
    *_plain(Effect.READ, "TaskOutput", "BashOutput", "ToolSearch", repeatable=False),
    *_plain(Effect.NOTE, "TodoWrite", "TaskCreate", "TaskUpdate", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode"),
    *_plain(Effect.WRITE, "Write", "Edit", "MultiEdit", "NotebookEdit", "Task", "Agent", "KillShell"),
    _shell("Bash", "command", "description", "timeout"),
    # the original's host, pi, and others that use the same short names
    _read("read", "path", lines=_OFFSET_LIMIT, script="cat"),
    _read("search", "path", script="grep"),
    _read("grep", "path", script="grep"),
    _read("glob", "path", script="find"),
    _read("find", "path", script="find"),
    _read("ls", "path", script="ls"),
    *_plain(Effect.READ, "knowledge_search"),
    *_plain(Effect.WRITE, "write", "edit"),
    _shell("bash", "command", "description", "timeout"),
    # SWE-agent: its viewer has a cursor, so opening a file unasked would move it
    ToolSpec("open", Effect.READ, paths=("path",), repeatable=False),
    *_plain(Effect.READ, "scroll_up", "scroll_down", "goto", repeatable=False),
    *(ToolSpec(name, Effect.READ, paths=("dir",)) for name in ("find_file", "search_dir")),
    _read("search_file", "file"),
    # editors that view and edit through one tool
    *(
        ToolSpec(name, paths=("path",), read_values=("command", ("view",)))
        for name in ("str_replace_editor", "str_replace_based_edit_tool", "str_replace_editor_tool")
    ),
    # Gemini CLI, Cursor, Cline and the MCP filesystem server
    ToolSpec(
        "read_file", Effect.READ, paths=("path", "file_path", "absolute_path", "target_file"), lines=_OFFSET_LIMIT
    ),
    *(_read(name, "path") for name in ("read_text_file", "list_directory", "directory_tree", "get_file_info")),
    *(_read(name, "path") for name in ("list_dir", "list_files", "search_files", "search_file_content")),
    *_plain(Effect.READ, "read_multiple_files", "list_allowed_directories", "grep_search", "file_search"),
    *_plain(Effect.WRITE, "write_file", "edit_file", "create_file", "delete_file", "move_file", "create_directory"),
    *_plain(Effect.WRITE, "apply_patch", "create", "submit"),
    *(_shell(name, "command", "description", "timeout") for name in ("run_shell_command", "execute_bash")),
    *(_shell(name, "command", "explanation") for name in ("run_terminal_cmd", "execute_command", "run_command")),
)


#: What is known of a tool that only a hint, or nothing at all, speaks for.
_READS: Final = ToolSpec("", Effect.READ)
_WRITES: Final = ToolSpec("")


class ToolTable:
    """What is known of every tool of a host.

    Order of belief: the user's word (`register`, `allow`, `deny`), then a server's hint that a tool writes, then the
    table of known tools, then a server's hint that a tool reads; a tool nobody speaks for is a write.

    Not safe to change while another thread reads it: register first, then observe.
    """

    def __init__(self, known: Iterable[ToolSpec] = KNOWN_TOOLS) -> None:
        self._known: dict[str, ToolSpec] = {spec.name: spec for spec in known}
        self._user: dict[str, ToolSpec] = {}
        self._hints: dict[str, bool] = {}

    def register(self, spec: ToolSpec) -> None:
        """Take the user's description of a tool; it replaces every other."""
        self._user[spec.name] = spec

    def allow(self, *names: str) -> None:
        """Take the user's word that these tools only read; what else is known of them is kept."""
        for name in names:
            known = self._user.get(name) or self._known.get(name) or ToolSpec(name)
            self.register(replace(known, effect=Effect.READ, command="", read_values=None))

    def deny(self, *names: str) -> None:
        """Take the user's word that these tools must be treated as writes."""
        for name in names:
            self.register(ToolSpec(name))

    def hint(self, name: str, *, read_only: bool) -> None:
        """Take a server's hint (MCP's ``readOnlyHint``). It suggests: it never makes a known write a read."""
        self._hints[name] = read_only

    def spec(self, name: str) -> ToolSpec:
        """Everything known of a tool; an unknown one is a write. Of one known only by a hint the name is left out."""
        spec = self._user.get(name)
        if spec is not None:
            return spec
        hint = self._hints.get(name)
        if hint is False:
            return _WRITES
        return self._known.get(name) or (_READS if hint else _WRITES)

    def effect(self, tool: str, args: Mapping[str, JsonValue]) -> Effect:
        """What this call does. A shell command reads only when it provably does."""
        spec = self.spec(tool)
        if spec.command:
            from waggle import shell  # noqa: PLC0415 - agents without a shell tool never need the parser

            command = args.get(spec.command)
            # Another argument may send it to the background, or out of its sandbox.
            alone = all(name == spec.command or name in spec.ignored for name in args)
            return Effect.READ if alone and isinstance(command, str) and shell.reads(command) else Effect.WRITE
        if spec.read_values:
            name, values = spec.read_values
            return Effect.READ if args.get(name) in values else spec.effect
        return spec.effect

    def may_repeat(self, tool: str, args: Mapping[str, JsonValue]) -> bool:
        """Whether this call may be made on the agent's behalf: it reads, is free, harmless and safe to repeat."""
        spec = self.spec(tool)
        return spec.repeatable and not spec.metered and not spec.sensitive and self.effect(tool, args) is Effect.READ

    def essential(self, tool: str, args: JsonObject) -> JsonObject:
        """The arguments without those that do not change the answer."""
        ignored = self.spec(tool).ignored
        if not ignored or not any(name in args for name in ignored):
            return args
        return {name: value for name, value in args.items() if name not in ignored}

    def extent(self, tool: str, args: Mapping[str, JsonValue]) -> Extent:
        """What a read returns; `Extent.covers` is the one relation behind "already made", "used" and "stale"."""
        names = sorted(args)
        return self._extent(tool, args, (tool, *names), tuple([part_of(args[name]) for name in names]))

    def extent_of(self, step: Step) -> Extent:
        """What a completed read returned; the same as `extent`, at less cost."""
        return self._extent(step.tool, step.args, step.shape, step.parts)

    def _extent(self, tool: str, args: Mapping[str, JsonValue], shape: Shape, parts: Parts) -> Extent:
        lines = self.spec(tool).lines
        if lines is None or not _is_range(args, lines):
            return Extent((shape, parts), -math.inf, math.inf)
        first, count = args.get(lines.start, 1), args.get(lines.count, lines.default)
        assert isinstance(first, (int, float))  # noqa: S101 - _is_range looked; this tells the type checker
        assert isinstance(count, (int, float))  # noqa: S101 - as above
        others = [i for i, name in enumerate(shape[1:]) if name not in (lines.start, lines.count)]
        resource = ((tool, *(shape[i + 1] for i in others)), tuple([parts[i] for i in others]))
        start = max(first, 1)
        return Extent(resource, start, start + count - 1)


def _is_range(args: Mapping[str, JsonValue], lines: LineRange) -> bool:
    """Whether the bounds that are given are plain line numbers; a tail (negative start), a text or null is not."""
    bounds = [args[name] for name in (lines.start, lines.count) if name in args]
    return all(type(bound) is int and bound >= 0 for bound in bounds)
