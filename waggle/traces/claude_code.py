"""Claude Code transcripts, ``~/.claude/projects/<project>/<session>.jsonl``: a JSON object a line, a line a message.

The format is not published and changes often. This is what is relied on; whatever else a line holds is passed over:

* ``type`` is ``user`` or ``assistant``; ``message.content`` is a text or a list of blocks. Calls are the assistant's
  ``tool_use`` blocks, results the user's ``tool_result`` blocks. One answer of the model is written as several lines,
  a block each, that share ``message.id``: its calls are one turn, even where results stand between them.
* ``sessionId`` names the session. Lines with ``isSidechain`` are a sub-agent's, told apart by ``agentId`` or, in old
  files, by the chain of ``parentUuid``; each sub-agent becomes a trace of its own whose parent is the session.
* The same message may be written twice: again after the context was compacted or a session resumed (a call is known
  by its id), or copied into the session that was split off (``forkedFrom``). A copied line belongs to the session it
  came from and is not read here.
* What the host wrote in the user's or the model's name is not what they said: ``isMeta``, ``isCompactSummary``, errors
  of the API. What a user typed while the model worked is an ``attachment`` of type ``queued_command``.

Rewinding leaves the abandoned branch in the file. Its calls were made, so they are steps as well, in the file's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from waggle.calls import Call, Result
from waggle.traces.model import TraceBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.lines import Problems
    from waggle.traces.model import Trace

__all__ = ["is_transcript", "read_transcript"]

#: Types of lines that name no session and may come first.
_SESSIONLESS: Final = frozenset({"file-history-snapshot", "summary"})

#: How a result begins whose text the host kept elsewhere, or threw away to save context.
_HOST_CUT: Final = ("<persisted-output>", "[Old tool result content cleared]")

#: The model's name in messages that no model wrote.
_SYNTHETIC: Final = "<synthetic>"


def is_transcript(record: JsonObject) -> bool:
    """Whether this line looks like one of a transcript."""
    kind = record.get("type")
    return isinstance(kind, str) and (isinstance(record.get("sessionId"), str) or kind in _SESSIONLESS)


def read_transcript(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read the sessions of a transcript, each followed by its sub-agents in order of their first line.

    A session ends where a line of another one comes, so that a stream of many transcripts is held one at a time.
    """
    session: _Session | None = None
    for number, record in records:
        name = record.get("sessionId")
        if record.get("type") not in ("user", "assistant", "attachment") or not isinstance(name, str):
            continue
        if session is None or session.name != name:
            if session is not None:
                yield from session.traces(problems)
            session = _Session(name)
        try:
            session.add(number, record)
        except _Unknown as error:
            problems.leftover(number, f"{error}; the rest of the line was passed over")
    if session is not None:
        yield from session.traces(problems)


class _Unknown(Exception):
    """A line is not formed as this module knows them; its text says where."""


class _Session:
    """One session of a transcript: its own conversation and those of its sub-agents."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: set[str] = set()  # uuids of lines
        self._sides: dict[str, str] = {}  # uuid of an old sub-agent's line -> the uuid its chain began with
        self._conversations: dict[str, _Conversation] = {}  # "" for the session's own

    def add(self, number: int, record: JsonObject) -> None:
        """Take one line in.

        Raises:
            _Unknown: it is not formed as expected; what was understood before that is kept.
        """
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                return
            self._seen.add(uuid)
        side = self._side_of(record, uuid if isinstance(uuid, str) else str(number))
        conversation = self._conversations.get(side)
        if conversation is None:
            conversation = self._conversations[side] = _Conversation()
        conversation.add(number, record)

    def _side_of(self, record: JsonObject, uuid: str) -> str:
        if record.get("isSidechain") is not True:
            return ""
        agent = record.get("agentId")
        if isinstance(agent, str):
            return agent
        before = record.get("parentUuid")
        side = self._sides.get(before, uuid) if isinstance(before, str) else uuid
        self._sides[uuid] = side
        return side

    def traces(self, problems: Problems) -> Iterator[Trace]:
        """Make the traces of all conversations in which something was said or done."""
        for side, conversation in self._conversations.items():
            for number, call in conversation.orphans():
                problems.leftover(number, f"a result was passed over: no call has its id {call[:80]!r}")
            if not conversation.builder.empty:
                yield conversation.trace(self.name, side, problems.path)


class _Conversation:
    """The lines of one agent in one session."""

    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self._turns: dict[str, int] = {}  # id of a message that calls tools -> its turn
        self._results: dict[str, int] = {}  # id of a call -> line of its result
        self._model: str | None = None
        self._cwd: str | None = None
        self._origin: str | None = None

    def add(self, number: int, record: JsonObject) -> None:
        cwd, origin = record.get("cwd"), record.get("forkedFrom")
        if isinstance(origin, dict):
            name = origin.get("sessionId")
            self._origin = name if isinstance(name, str) else self._origin
            return
        if self._cwd is None and isinstance(cwd, str):
            self._cwd = cwd
        if record["type"] == "attachment":
            self._add_typed_meanwhile(record.get("attachment"))
            return
        message = record.get("message")
        if not isinstance(message, dict):
            raise _Unknown("$.message: expected an object")
        if record["type"] == "user":
            self._add_user(number, record, message.get("content"))
        else:
            self._add_assistant(number, record, message)

    def _add_typed_meanwhile(self, attachment: JsonValue) -> None:
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        if attachment.get("commandMode", "prompt") == "prompt":
            self._say_user(_blocks(attachment.get("prompt"), "$.attachment.prompt"))

    def _add_user(self, number: int, record: JsonObject, content: JsonValue) -> None:
        blocks = _blocks(content, "$.message.content")
        for block in blocks:
            if block.get("type") == "tool_result":
                self._add_result(number, block)
        if not (record.get("isMeta") or record.get("isCompactSummary")):
            self._say_user([block for block in blocks if block.get("type") != "tool_result"])

    def _add_result(self, number: int, block: JsonObject) -> None:
        call = block.get("tool_use_id")
        if not isinstance(call, str):
            raise _Unknown("$.message.content[]: expected a tool_result with tool_use_id")
        text = _text_of(_blocks(block.get("content") or [], "$.message.content[].content"))
        result = Result(text, block.get("is_error") is not True, cut=text.startswith(_HOST_CUT))
        if self.builder.result(call, result):
            self._results[call] = number

    def _say_user(self, blocks: list[JsonObject]) -> None:
        text = _text_of(blocks)
        if text:
            self.builder.message("user", text)

    def _add_assistant(self, number: int, record: JsonObject, message: JsonObject) -> None:
        model = message.get("model")
        if record.get("isApiErrorMessage") or model == _SYNTHETIC:
            return
        if self._model is None and isinstance(model, str):
            self._model = model
        turn = message.get("id")
        for block in _blocks(message.get("content"), "$.message.content"):
            kind, text = block.get("type"), block.get("text")
            if kind == "text" and isinstance(text, str) and text:
                self.builder.message("assistant", text)
            elif kind == "tool_use":
                self._add_call(block, turn if isinstance(turn, str) else f"line {number}")

    def _add_call(self, block: JsonObject, message: str) -> None:
        name, tool, args = block.get("id"), block.get("name"), block.get("input")
        if not (isinstance(name, str) and isinstance(tool, str) and isinstance(args, dict)):
            raise _Unknown("$.message.content[]: expected a tool_use with id, name and input")
        turn = self._turns.get(message, len(self._turns))
        if self.builder.call(Call(tool, args, name), turn):
            self._turns[message] = turn

    def orphans(self) -> list[tuple[int, str]]:
        """Line and call id of the results whose call is nowhere: Claude Code lost the line it stood on."""
        return [(self._results[name], name) for name in self.builder.orphans]

    def trace(self, session: str, side: str, source: str) -> Trace:
        return self.builder.build(
            f"{session}/{side}" if side else session,
            f"claude-code/{self._model}" if self._model else "claude-code",
            source,
            parent=session if side else self._origin,
            cwd=self._cwd,
        )


def _blocks(content: JsonValue, path: str) -> list[JsonObject]:
    """Content as blocks, whichever way it was written."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    raise _Unknown(f"{path}: expected a text or a list of blocks")


def _text_of(blocks: list[JsonObject]) -> str:
    """The texts of blocks, a line apart; what is no text stands there by its name, as ``[image]``."""
    return "\n".join(str(block["text"]) if "text" in block else f"[{block.get('type')}]" for block in blocks)
