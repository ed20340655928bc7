"""What a tool is: the one place that knows which tools read, which arguments are paths, and what covers what.

Not responsible for judging shell commands (`waggle.shell`) or for writing scripts (`waggle.script`). What must stay
true: a tool that nobody vouches for is a write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from waggle.calls import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["KNOWN_TOOLS", "Kind", "LineRange", "ScriptForm", "ToolSpec", "ToolTable"]


#: What a read shows: lines of a file, a search, a list of names, the state of something; "" when it is none of these.
Kind: TypeAlias = Literal["", "lines", "search", "list", "status"]

#: How a call is written as a shell command, see `waggle.script`; "" when it has no shell form.
ScriptForm = Literal["", "cat", "grep", "rg", "ls", "find", "rg-files", "command"]


@dataclass(frozen=True, slots=True)
class LineRange:
    """Which arguments of a read say which lines it returns.

    Attributes:
        start: argument with the first line, from 1; absent means 1.
        count: argument with the number of lines; absent means `default`.
        default: lines returned when the end is not said; infinite when the tool returns the whole file.
        last: argument with the last line, for tools that take it in place of `count`, which is empty then.
    """

    start: str
    count: str = ""
    default: float = math.inf
    last: str = ""

    @property
    def names(self) -> tuple[str, str]:
        """The two arguments."""
        return self.start, self.last or self.count

    def bounds(self, args: Mapping[str, JsonValue]) -> tuple[float, float] | None:
        """First and last line asked for; None when a bound is no plain line number: a tail (negative), a text, null."""
        found: list[int | None] = []
        for name in self.names:
            bound = args.get(name)
            if name in args and not (type(bound) is int and bound >= 0):
                return None
            found.append(bound if type(bound) is int else None)
        start, end = found
        first = max(start or 1, 1)
        if end is None:
            return first, first + self.default - 1
        return first, (end if self.last else first + end - 1)

    def written(self, first: int, last: int) -> JsonObject:
        """The arguments that ask for these lines."""
        return {self.start: first, **({self.last: last} if self.last else {self.count: last - first + 1})}


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
        kind: what a call shows.
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
    kind: Kind = ""
    paths: tuple[str, ...] = ()
    lines: LineRange | None = None
    ignored: tuple[str, ...] = ()
    command: str = ""
    read_values: tuple[str, tuple[str, ...]] | None = None
    script: ScriptForm = ""


def _read(name: str, kind: Kind, path: str, *, lines: LineRange | None = None, script: ScriptForm = "") -> ToolSpec:
    return ToolSpec(name, Effect.READ, kind=kind, paths=(path,), lines=lines, script=script)


def _shell(name: str, command: str, *ignored: str) -> ToolSpec:
    return ToolSpec(name, command=command, ignored=ignored, script="command")


def _plain(effect: Effect, *names: str, repeatable: bool = True, metered: bool = False) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name, effect, repeatable=repeatable, metered=metered) for name in names)


_OFFSET_LIMIT = LineRange("offset", "limit")
_FOLDERS: Final = ("path", "dir_path", "relative_workspace_path", "target_directory")

#: Tools of common agents, by name. A server's hint can only take trust away from an entry; the user's word decides.
KNOWN_TOOLS: Final[tuple[ToolSpec, ...]] = (
    # Claude Code
    ToolSpec(
        "Read",
        Effect.READ,
        kind="lines",
        paths=("file_path", "path", "target_file"),  # Cursor has a tool of this name, too
        lines=LineRange("offset", "limit", 2000),
        script="cat",
    ),
    _read("Grep", "search", "path", script="rg"),
    ToolSpec("Glob", Effect.READ, kind="list", paths=("path", "target_directory"), script="rg-files"),
    _read("LS", "list", "path", script="ls"),
    _read("NotebookRead", "lines", "notebook_path"),
    *_plain(Effect.READ, "WebFetch", "WebSearch", metered=True),
    *_plain(Effect.READ, "TodoRead", "TaskList", "TaskGet", "LSP", "mcp__ide__getDiagnostics"),
    *_plain(Effect.READ, "TaskOutput", "BashOutput", "ToolSearch", repeatable=False),
    *_plain(Effect.NOTE, "TodoWrite", "TaskCreate", "TaskUpdate", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode"),
    *_plain(Effect.WRITE, "Write", "Edit", "MultiEdit", "NotebookEdit", "Task", "Agent", "KillShell"),
    _shell("Bash", "command", "description", "timeout"),
    # the original's host, pi, and others that use the same short names
    _read("read", "lines", "path", lines=_OFFSET_LIMIT, script="cat"),
    _read("search", "search", "path", script="grep"),
    _read("grep", "search", "path", script="grep"),
    ToolSpec("glob", Effect.READ, kind="list", paths=("path", "dir_path"), script="find"),
    _read("find", "list", "path", script="find"),
    _read("ls", "list", "path", script="ls"),
    *_plain(Effect.READ, "knowledge_search"),
    *_plain(Effect.WRITE, "write", "edit"),
    _shell("bash", "command", "description", "timeout"),
    # SWE-agent: its viewer has a cursor, so opening a file unasked would move it
    ToolSpec("open", Effect.READ, paths=("path",), repeatable=False),
    *_plain(Effect.READ, "scroll_up", "scroll_down", "goto", repeatable=False),
    ToolSpec("find_file", Effect.READ, kind="list", paths=("dir",)),
    ToolSpec("search_dir", Effect.READ, kind="search", paths=("dir",)),
    _read("search_file", "search", "file"),
    # editors that view and edit through one tool
    *(
        ToolSpec(name, paths=("path",), read_values=("command", ("view",)))
        for name in ("str_replace_editor", "str_replace_based_edit_tool", "str_replace_editor_tool")
    ),
    # Gemini CLI, Cursor, Cline and the MCP filesystem server
    ToolSpec(
        "read_file",
        Effect.READ,
        kind="lines",
        paths=("path", "file_path", "absolute_path", "target_file"),
        lines=_OFFSET_LIMIT,
    ),
    _read("read_text_file", "lines", "path"),
    _read("get_file_info", "status", "path"),
    *(ToolSpec(name, Effect.READ, kind="list", paths=_FOLDERS) for name in ("list_directory", "list_dir")),
    *(_read(name, "list", "path") for name in ("directory_tree", "list_files")),
    *(ToolSpec(name, Effect.READ, kind="search", paths=_FOLDERS) for name in ("grep_search", "search_file_content")),
    _read("search_files", "search", "path"),
    *_plain(Effect.READ, "read_multiple_files", "read_many_files", "list_allowed_directories", "file_search"),
    *_plain(Effect.READ, "codebase_search", "SemanticSearch", "read_lints", "ReadLints"),
    *_plain(Effect.READ, "google_web_search", "web_fetch", "web_search", metered=True),
    *_plain(Effect.READ, "list_background_processes", "read_background_output", "activate_skill", repeatable=False),
    *_plain(Effect.NOTE, "write_todos", "todo_write", "update_topic", "ask_user"),
    *_plain(Effect.WRITE, "write_file", "edit_file", "create_file", "delete_file", "move_file", "create_directory"),
    *_plain(Effect.WRITE, "replace", "save_memory", "search_replace", "StrReplace", "Delete", "EditNotebook"),
    *_plain(Effect.WRITE, "apply_patch", "ApplyPatch", "create", "submit"),
    *(_shell(name, "command", "description", "timeout") for name in ("run_shell_command", "execute_bash")),
    *(_shell(name, "command", "explanation") for name in ("run_terminal_cmd", "execute_command", "run_command")),
    _shell("Shell", "command", "description", "timeout", "block_until_ms"),
    # Codex: one tool under the names it has had; its transcripts' older argument lists are read as one text
    _shell("exec_command", "cmd", "yield_time_ms", "max_output_tokens"),
    _shell("container.exec", "cmd", "timeout", "timeout_ms"),
    *(_shell(name, "command", "timeout_ms") for name in ("shell_command", "shell", "local_shell")),
    *_plain(Effect.READ, "view_image", "list_mcp_resources", "read_mcp_resource", repeatable=False),
    *_plain(Effect.NOTE, "update_plan", "request_user_input", "get_goal", "create_goal", "update_goal"),
    *_plain(Effect.WRITE, "write_stdin"),
)


#: What is known of a tool that only a hint, or nothing at all, speaks for.
_READS: Final = ToolSpec("", Effect.READ)
_WRITES: Final = ToolSpec("")


class ToolTable:
    """What is known of every tool of a host.

    Order of belief: the user's word (`register`, `allow`, `deny`), then a server's hint that a tool writes, then the
    table of known tools, then a server's hint that a tool reads; a tool nobody speaks for is a write.

    Register first, then observe; a hint may come at any time.

    Args:
        known: descriptions by name.
        hinted_only: a name alone makes no tool a read, its server must hint so, too. For a host whose tools are those
            of servers that anybody may have written.
    """

    def __init__(self, known: Iterable[ToolSpec] = KNOWN_TOOLS, *, hinted_only: bool = False) -> None:
        self._hinted_only = hinted_only
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
        if hint is False or (self._hinted_only and hint is None):
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

    def spoken(self, tool: str, args: JsonObject) -> tuple[str, JsonObject]:
        """The form of a call and the values in it: of a shell command that is understood; else no form and `args`."""
        command = args.get(spec.command) if (spec := self.spec(tool)).command else None
        if not isinstance(command, str) or len(args) > 1:
            return "", args
        from waggle import shell  # noqa: PLC0415 - as in `effect`

        reading = shell.reading(command)
        return (reading.form, dict(reading.args)) if reading else ("", args)

    def said(self, tool: str, form: str, args: JsonObject) -> JsonObject:
        """Undo `spoken`: the arguments as the host's tool takes them.

        Raises:
            ValueError: the values do not make a command of this form.
        """
        if not form:
            return args
        from waggle import shell  # noqa: PLC0415 - as in `effect`

        return {self.spec(tool).command: shell.written(form, args)}
