"""Codex transcripts, ``~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl``: an object with ``type`` and ``payload`` a line.

The format is not promised. This is what is relied on; whatever else a line holds is passed over:

* ``session_meta`` comes first and names the session, its directory, and the session it was forked from; it may come
  again when a session is resumed. ``turn_context`` names the model.
* ``response_item`` is what the model was sent or said: messages, calls (``function_call`` with its arguments as JSON in
  a text, ``custom_tool_call`` with a text, ``local_shell_call`` with a command), and their outputs by ``call_id``.
  A line does not name the answer it was part of; calls without an output between them are taken for one turn.
* ``event_msg`` tells the screen what is there as ``response_item`` already; ``compacted`` repeats what was before. In
  files of the first versions the items stand alone, without ``type`` and ``payload`` around them.
* What the host wrote in the user's name (the environment, instructions from files) is not what they said.
* A command is a text, in older files a list of words. The directory that a call names becomes a ``cd`` in the command,
  and nothing where it is the session's own: most calls name it, and it says nothing.
* An output is a text, a list of blocks, or JSON in a text with the output and its exit code. Codex shortens long ones
  in the middle and says so; such a result is incomplete.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from waggle import shell
from waggle.calls import Call, Result
from waggle.traces.model import TraceBuilder
from waggle.traces.shapes import Misfit, object_at, text_at, text_of_blocks, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.lines import Problems
    from waggle.traces.model import Trace

__all__ = ["is_codex", "read_codex"]

_WRAPPED: Final = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")

#: The tools that run commands, with the argument that holds the command; and those that hold its directory.
_SHELLS: Final = {
    "exec_command": "cmd",
    "container.exec": "cmd",
    "shell": "command",
    "shell_command": "command",
    "local_shell": "command",
}
_DIRECTORIES: Final = ("workdir", "working_directory")

#: How a message begins that the host wrote in the user's name.
_HOST_SAID: Final = (
    *("<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<skill>"),
    *("# AGENTS.md instructions", "<permissions instructions>", "<subagent_notification>"),
)

#: What stands in the middle of an output that was shortened: lines or tokens omitted, in the ways Codex has written it.
_SHORTENED: Final = re.compile(
    r"\[\.\.\. omitted \d+ of \d+ lines \.\.\.\]|…\d+ (?:tokens|chars) truncated…"
    r"|\[\.\.\. output truncated to fit \d+ bytes \.\.\.\]|(?m:^Warning: truncated output \()"
)

#: What the tools that run commands say before an output: its exit code and times, up to a line ``Output:``.
_PREAMBLE: Final = re.compile(r"\A(?:[A-Z][^\n]*\n){0,8}?(?:Exit code: |Process exited with code )(-?\d{1,9})\n")


def is_codex(record: JsonObject) -> bool:
    """Whether this line looks like one of a Codex transcript."""
    kind = record.get("type")
    if kind in _WRAPPED:
        return isinstance(record.get("payload"), dict)
    first = {"id", "timestamp", "instructions"} <= record.keys()
    return (first and kind is None) or (kind in _CALLS and isinstance(record.get("call_id"), str))


def read_codex(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read the sessions of a transcript. One ends where a line names another."""
    session = _Session()
    for number, record in records:
        try:
            kind, payload = _unwrapped(record)
            if kind == "session_meta":
                name = payload.get("id")
                if isinstance(name, str) and session.name not in (None, name):
                    yield from session.traces(problems)
                    session = _Session()
            session.add(number, kind, payload)
        except Misfit as error:
            problems.damage(number, f"{error}; the line was passed over")
    yield from session.traces(problems)


def _unwrapped(record: JsonObject) -> tuple[str, JsonObject]:
    kind = record.get("type")
    if kind in _WRAPPED:
        return str(kind), object_at(record.get("payload"), "$.payload")
    if kind is None and isinstance(record.get("id"), str):
        return "session_meta", record
    return "response_item", record


class _Session:
    """One session while its lines come in."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._builder = TraceBuilder()
        self._turn = -1
        self._answered = True  # whether a result came since the last call
        self._results: dict[str, int] = {}  # id of a call -> line of its result
        self._model: str | None = None
        self._cwd: str | None = None
        self._parent: str | None = None

    def add(self, number: int, kind: str, payload: JsonObject) -> None:
        """Take one line in.

        Raises:
            Misfit: it is not formed as expected.
        """
        if kind == "session_meta":
            self._add_meta(payload)
        elif kind == "turn_context":
            model = payload.get("model")
            self._model = self._model or (model if isinstance(model, str) else None)
        elif kind == "response_item":
            self._add_item(number, payload)

    def _add_meta(self, payload: JsonObject) -> None:
        name, cwd, origin = payload.get("id"), payload.get("cwd"), payload.get("forked_from_id")
        self.name = self.name or (name if isinstance(name, str) else None)
        self._cwd = self._cwd or (cwd if isinstance(cwd, str) else None)
        if isinstance(origin, str) and origin != self.name:
            self._parent = origin

    def _add_item(self, number: int, item: JsonObject) -> None:
        kind = item.get("type")
        if kind == "message":
            self._say(item)
        elif kind in _CALLS:
            self._call(item, str(kind))
        elif kind in _OUTPUTS:
            name = text_at(item.get("call_id"), "$.payload.call_id")
            if self._builder.result(name, _result(item.get("output"))):
                self._results[name] = number
            self._answered = True

    def _say(self, item: JsonObject) -> None:
        role = item.get("role")
        text = text_of_blocks(item.get("content"), "$.payload.content")
        if role == "assistant" and text:
            self._builder.message("assistant", text)
        elif role == "user" and text and not text.lstrip().startswith(_HOST_SAID):
            self._builder.message("user", text)

    def _call(self, item: JsonObject, kind: str) -> None:
        name = text_at(item.get("call_id") or item.get("id"), "$.payload.call_id")
        args: JsonValue
        if kind == "local_shell_call":
            tool, action = "local_shell", object_at(item.get("action"), "$.payload.action")
            args = {key: value for key, value in action.items() if key != "type" and value is not None}
        else:
            tool = text_at(item.get("name"), "$.payload.name")
            args = {"input": item.get("input")}
            if kind == "function_call":
                args = value_of(text_at(item.get("arguments"), "$.payload.arguments") or "{}")
        whole = isinstance(args, dict)
        call = Call(tool, _spoken(tool, args, self._cwd or "") if isinstance(args, dict) else {}, name)
        turn = self._turn + 1 if self._answered else self._turn
        if self._builder.call(call, turn, args_cut=not whole):
            self._turn, self._answered = turn, False

    def traces(self, problems: Problems) -> Iterator[Trace]:
        """The trace, if anything was said or done."""
        for name in self._builder.orphans:
            line = self._results.get(name, 1)
            problems.leftover(line, f"a result was passed over: no call has its id {name[:80]!r}")
        if not self._builder.empty:
            yield self._builder.build(
                self.name or problems.stem,
                f"codex/{self._model}" if self._model else "codex",
                problems.path,
                parent=self._parent,
                cwd=self._cwd,
            )


def _spoken(tool: str, args: JsonObject, cwd: str) -> JsonObject:
    """The arguments of a call, a command among them as one text that starts in the session's directory."""
    key = _SHELLS.get(tool, "")
    command = args.get(key)
    if isinstance(command, list):
        command = _joined(command)
    if not isinstance(command, str):
        return args
    named = next((name for name in _DIRECTORIES if isinstance(args.get(name), str)), "")
    where = args.get(named) or "."
    assert isinstance(where, str)  # noqa: S101 - looked at above; this tells the type checker
    if "\0" in where or (named and not cwd):
        return {**args, key: command}
    others = {name: value for name, value in args.items() if name != named}
    return {**others, key: shell.in_directory(command, where, cwd) if named else command}


def _joined(words: list[JsonValue]) -> str | None:
    """A list of words as a command; the script itself where they start a shell for it."""
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) != len(words):
        return None
    match texts:
        case [("bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh" | "/bin/zsh"), ("-c" | "-lc"), script]:
            return script
    return shlex.join(texts)


def _result(output: JsonValue) -> Result:
    """The result that an output stands for.

    Raises:
        Misfit: it is in none of the forms that an output has had.
    """
    good = True
    if isinstance(output, dict):  # how the first versions wrote it
        good = output.get("success") is not False
        output = output.get("content")
    text = text_of_blocks(output, "$.payload.output")
    packed = value_of(text) if text.startswith('{"') else None
    if isinstance(packed, dict) and isinstance(inner := packed.get("output"), str):
        details = packed.get("metadata")
        code = details.get("exit_code") if isinstance(details, dict) else None
        text, good = inner, good and code in (None, 0)
    elif (found := _PREAMBLE.match(text)) is not None:
        good = good and int(found[1]) == 0
        text = text.partition("\nOutput:\n")[2] if "\nOutput:\n" in text else text
    return Result(text, good, cut=_SHORTENED.search(text) is not None)
