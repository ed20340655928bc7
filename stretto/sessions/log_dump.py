"""An episode as a session log, so that sessions from elsewhere can be kept, shared and learned from as logs are.

Not responsible for files, nor for masking: what is in the episode is in the log.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

from stretto._defaults import TURN_GAP_MS
from stretto.sessions.episode import ToolResult, User
from stretto.sessions.log import Entry, Header
from stretto.sessions.manifest import Manifest, ToolDoc
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.sessions.episode import Episode, ToolCall
    from stretto.sessions.log import Sender
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["dump_log"]

#: How the ids of the calls begin that the proxy made itself.
_PROXY_CALL: Final = "stretto-"

#: Between two turns, and between two lines of one: more and less than `TURN_GAP_MS`.
_TURN_MS: Final = 2 * TURN_GAP_MS
_LINE_MS: Final = 1


def dump_log(episode: Episode, manifest: Manifest | None = None) -> bytes:
    """Write an episode as a session log.

    `stretto.sessions.turns.infer` makes the same episode of it: the times are chosen so that the turns are inferred as
    they were. Left out is what a log has no place for: task, trial and reward, usage, what an agent said in a turn with
    calls, replies without a text; and arguments that are ``null`` are none.

    Args:
        episode: the calls' ids differ, and every result is that of an earlier call.
        manifest: what the server is to have listed; nothing when it names no tools. Only what the tools take
            (`Manifest.contracts`) and the descriptions become their schemas.

    Returns:
        JSON Lines, the last line ended.

    Raises:
        ValueError: a value holds ``nan`` or an infinity, or is nested too deeply.
        TypeError: a value is none that JSON has a form for.
    """
    header = Header(episode.id, episode.started_ms, domain=episode.domain, agent_model=episode.agent_model)
    entries = _Lines(episode.sent_after).entries(episode, manifest or Manifest())
    lines = [header.to_json(), *(entry.to_json() for entry in entries)]
    return b"".join(jsonvalue.dumps(line) + b"\n" for line in lines)


class _Lines:
    """Writes the lines of an episode in an order and at times that show its turns."""

    def __init__(self, sent_after: Mapping[str, int]) -> None:
        self._sent_after = sent_after
        self._now = 0
        self._unsent: deque[ToolCall] = deque()  # calls of the turn
        self._turn: set[str] = set()  # ids of its calls
        self._waiting: list[str] = []  # and of those that are sent and not answered
        self._back = 0  # results of the turn

    def entries(self, episode: Episode, manifest: Manifest) -> Iterator[Entry]:
        if manifest.tools:
            yield self._entry("client", {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {}})
            yield self._entry("server", {"jsonrpc": "2.0", "id": 0, "result": {"tools": _listed(manifest)}})
        for event in episode.events:
            if isinstance(event, User):
                yield self._entry("context", {"role": "user", "content": event.text})
            elif isinstance(event, ToolResult):
                yield from self._result(event)
            elif event.calls:
                yield from self._begin(event.calls)
            elif event.text:
                yield self._entry("context", {"role": "assistant", "content": event.text})
        yield from self._send(everything=True)

    def _entry(self, sender: Sender, message: JsonObject) -> Entry:
        return Entry(self._now, sender, message)

    def _begin(self, calls: tuple[ToolCall, ...]) -> Iterator[Entry]:
        yield from self._send(everything=True)
        for name in self._waiting:  # or they would hold their turn open
            cancelled: JsonObject = {"requestId": name}
            yield self._entry("client", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        self._now += _TURN_MS
        self._unsent = deque(calls)
        self._turn = {call.id for call in calls}
        self._waiting = []
        self._back = 0
        yield from self._send()

    def _send(self, *, everything: bool = False) -> Iterator[Entry]:
        """The calls of the turn that were sent by now."""
        while self._unsent and (everything or self._sent_after.get(self._unsent[0].id, 0) <= self._back):
            call = self._unsent.popleft()
            self._waiting.append(call.id)
            self._now += _LINE_MS
            params: JsonObject = {"name": call.name, "arguments": call.arguments}
            yield self._entry(
                "proxy" if call.id.startswith(_PROXY_CALL) else "client",
                {"jsonrpc": "2.0", "id": call.id, "method": "tools/call", "params": params},
            )

    def _result(self, result: ToolResult) -> Iterator[Entry]:
        self._now += _LINE_MS
        content: JsonObject = {"type": "text", "text": result.content}
        yield self._entry(
            "server",
            {"jsonrpc": "2.0", "id": result.call_id, "result": {"content": [content], "isError": result.error}},
        )
        if result.call_id in self._waiting:
            self._waiting.remove(result.call_id)
        if result.call_id in self._turn:
            self._back += 1
            yield from self._send()


def _listed(manifest: Manifest) -> list[JsonValue]:
    """The tools as a server lists them."""
    listed: list[JsonValue] = []
    for name, kind in manifest.tools.items():
        tool: JsonObject = {"name": name}
        doc = manifest.docs.get(name, ToolDoc())
        if doc.summary:
            tool["description"] = doc.summary
        if kind != "generic":
            tool["annotations"] = {"readOnlyHint": kind == "read"}
        if name in manifest.contracts or doc.args:
            tool["inputSchema"] = _schema(manifest.contracts.get(name, ""), doc)
        listed.append(tool)
    return listed


def _schema(contract: str, doc: ToolDoc) -> JsonObject:
    """A schema that gives this contract and these descriptions."""
    properties: dict[str, JsonObject] = {}
    required: list[JsonValue] = []
    for part in filter(None, contract.split(", ")):
        name, _, kind = part.removesuffix("!").rpartition(":")
        kinds: list[JsonValue] = [*kind.split("|")]
        properties[name] = {} if kind == "any" else {"type": kinds[0] if len(kinds) == 1 else kinds}
        if part.endswith("!"):
            required.append(name)
    for name, said in doc.args.items():
        properties.setdefault(name, {})["description"] = said
    return {"type": "object", "properties": cast("JsonObject", properties), "required": required}
