"""Turns from a session log: which calls an agent decided on at once, told from what crossed the wire and when.

Not responsible for reading logs (`stretto.sessions.log`) nor for what a server says of its tools
(`stretto.sessions.listing`), but its answers are told apart here.

The rule: a call that is sent while another call of the turn is unanswered joins the turn. So does the agent's call
within 500 ms of the turn's last answer, if nothing was said in between and it passes nothing that the turn's results
were the first to hold. The proxy's own calls join only while one is unanswered. Anything else begins a new turn.

Of the tool that runs several calls (`stretto.sessions.wire.COMMIT_TOOL`), the calls it leads to are the agent's, and in
one turn, since it is unanswered meanwhile; the call of the tool itself is none.

A call whose server was gone before it answered is as good as not made: nobody knows what it would have led to, nor what
the agent would have done then. What is said after it, before anything is answered again, is about that, and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto._defaults import TURN_GAP_MS
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from stretto.sessions.importing import CallIds
from stretto.sessions.listing import Listings
from stretto.sessions.log import Entry
from stretto.sessions.wire import COMMIT_TOOL, content_of, id_key, id_text, is_aborted, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.sessions.episode import Event
    from stretto.sessions.log import Header, Sender
    from stretto.sessions.manifest import Manifest
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["DOMAIN", "UNKNOWN_AGENT", "commits", "infer", "telling"]

#: The domain and the agent of a log that names none.
DOMAIN: Final = "mcp"
UNKNOWN_AGENT: Final = "unknown"

#: Shorter texts are in most results by chance.
_TELLING_CHARS: Final = 2


def infer(header: Header, entries: Iterable[Entry], *, reward: float = 0.0) -> tuple[Episode, Manifest]:
    """Make the episode of a log, and the manifest of what its server listed.

    Costs time linear in the log, and less than parsing it, as long as few calls come within 500 ms of an answer.

    Args:
        header: of the log, or of several merged ones.
        entries: its lines, in order.
        reward: the episode's; a log does not say how its session went.
    """
    domain = header.domain or DOMAIN
    turns = _Turns(Listings(domain))
    turns.read(entries)
    episode = Episode(
        header.session,
        turns.events(),
        "",
        0,
        domain,
        header.agent_model or turns.client or UNKNOWN_AGENT,
        reward,
        header.started_unix_ms,
        turns.sent_after,
    )
    return episode, turns.listings.manifest


class _Turns:
    """The state of the inference, in the terms of the rule."""

    __slots__ = (
        "_aborted",
        "_answered_ms",
        "_back",
        "_events",
        "_ids",
        "_known",
        "_listing",
        "_open",
        "_pending",
        "_returned",
        "_said",
        "_turn",
        "client",
        "listings",
        "sent_after",
    )

    def __init__(self, listings: Listings) -> None:
        self.client: str | None = None
        self.listings = listings
        self.sent_after: dict[str, int] = {}
        self._listing: set[IdKey | None] = set()  # requests for the tools that are not answered
        self._events: list[Event | list[ToolCall]] = []  # a list is a turn's calls
        self._ids = CallIds()
        self._pending: dict[IdKey, ToolCall] = {}
        self._turn: list[ToolCall] = []
        self._open: set[IdKey | None] = set()  # calls that hold the turn open
        self._answered_ms: int | None = None
        self._aborted = False  # the latest response says that the server is gone
        self._said = False  # something stands after the turn that is no result
        self._back = 0  # results of the turn that are back
        self._returned: list[str] = []
        self._known = _Known()

    def events(self) -> tuple[Event, ...]:
        return tuple(
            [
                Assistant(None, tuple(event)) if isinstance(event, list) else event
                for event in self._events
                if event != []  # a turn of which nothing is left
            ]
        )

    def read(self, entries: Iterable[Entry]) -> None:
        events, known = self._events, self._known.texts
        for t_ms, sender, message, _ in entries:
            if not isinstance(message, dict):
                self.read([Entry(t_ms, sender, item) for item in message or () if isinstance(item, dict)])
            elif sender == "context":
                text = message.get("content")
                if not isinstance(text, str):
                    continue
                known.append(text)
                role = None if self._aborted else message.get("role")
                if role == "user":
                    events.append(User(text))
                    self._said = True
                elif role == "assistant" and text:
                    events.append(Assistant(text))
                    self._said = True
            elif (method := message.get("method")) is None:
                if sender != "client":
                    self._response(t_ms, sender, message)
            elif sender != "server":
                self._request(t_ms, sender, method, message)

    def _request(self, t_ms: int, sender: Sender, method: JsonValue, message: JsonObject) -> None:
        params = message.get("params")
        if method == "tools/call":
            if isinstance(params, dict):
                self._call(t_ms, sender, message.get("id"), params)
        elif method == "tools/list":
            if sender == "client":
                self._listing.add(id_key(message.get("id")))
        elif method == "notifications/cancelled":
            if isinstance(params, dict):
                self._open.discard(id_key(params.get("requestId")))
        elif method == "initialize" and self.client is None:
            self.client = _client(params)

    def _call(self, t_ms: int, sender: Sender, number: JsonValue, params: JsonObject) -> None:
        key, name, arguments = id_key(number), params.get("name"), params.get("arguments")
        if key is None or not isinstance(name, str):
            return
        if arguments is None:
            arguments = {}
        opened = self._open
        if key in self._pending:
            opened.discard(key)
        if not opened and not self._continues(t_ms, sender, arguments):
            self._known.texts += self._returned
            self._returned = []
            self._answered_ms = None
            self._back = 0
            self._said = False
            self._turn = []
            self._events.append(self._turn)
        self._known.texts.append(json_text(arguments) if isinstance(arguments, str) else arguments)
        opened.add(key)
        if commits(name):
            self._pending[key] = ToolCall(id_text(number), name, arguments)
            return
        call = ToolCall(self._ids.new(id_text(number)), name, arguments)
        if self._back:
            self.sent_after[call.id] = self._back
        self._turn.append(call)
        self._pending[key] = call

    def _continues(self, t_ms: int, sender: Sender, arguments: JsonValue) -> bool:
        answered = self._answered_ms
        if answered is None or t_ms - answered > TURN_GAP_MS or sender != "client" or self._said:
            return False
        returned = "".join(self._returned)
        return not any(text in returned and text not in self._known for text in telling(arguments))

    def _response(self, t_ms: int, sender: Sender, message: JsonObject) -> None:
        key = id_key(message.get("id"))
        if key is None or ("result" not in message and message.get("error") is None):
            return
        call = self._pending.pop(key, None)
        if call is None:
            if key in self._listing and sender == "server":
                self._listing.discard(key)
                self.listings.add(message.get("result"))
            return
        self._aborted = is_aborted(message, own=sender == "proxy")
        if self._aborted:
            self._open.discard(key)
            self._forget(call)
            return
        if key in self._open:
            self._open.discard(key)
            self._back += not commits(call.name)
            if not self._open:
                self._answered_ms = t_ms
        elif any(call is other for other in self._turn):  # cancelled, and answered all the same
            self._back += 1
        if commits(call.name):
            return
        error, content = content_of(message)
        self._returned.append(content)
        self._events.append(ToolResult(call.id, call.name, error, content))

    def _forget(self, call: ToolCall) -> None:
        self.sent_after.pop(call.id, None)
        for turn in reversed(self._events):
            if isinstance(turn, list) and any(call is other for other in turn):
                turn[:] = [other for other in turn if other is not call]
                return


class _Known:
    """Everything the session held before the results of the turn, as one text that is made when it is asked for."""

    __slots__ = ("_joined", "texts")

    def __init__(self) -> None:
        self.texts: list[JsonValue] = []  # a text, or arguments that stand for their JSON
        self._joined = ""

    def __contains__(self, text: str) -> bool:
        if self.texts:
            self._joined += "".join([item if isinstance(item, str) else json_text(item) for item in self.texts])
            self.texts.clear()
        return text in self._joined


def commits(tool: str) -> bool:
    """Whether a tool is that by which a proxy runs several calls, whatever server it is of."""
    return tool.rpartition("::")[2] == COMMIT_TOOL  # after the server's name, in merged sessions


def telling(arguments: JsonValue) -> Iterator[str]:
    """The texts and numbers in arguments, at any depth, that are long enough to tell where they are from."""
    left = [arguments]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            text = value if isinstance(value, str) else json_text(value)
            if len(text) >= _TELLING_CHARS:
                yield text


def _client(params: JsonValue) -> str | None:
    info = params.get("clientInfo") if isinstance(params, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None
