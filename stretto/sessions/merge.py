"""The logs of several servers that one agent used at once, as one log.

A proxy wraps one server, so an agent with several leaves several logs of one session. Decided here is which belong
together and what they are as one; reading them is left to `stretto.sessions.log_source`.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from stretto.sessions.log import Entry, Header
from stretto.sessions.qualified import name_of_server, qualify, qualify_listing
from stretto.sessions.wire import id_key, id_text, is_response, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Chain", "Part", "chains", "merged", "qualified", "server_name"]


class Part(NamedTuple):
    """One log of a host session.

    Attributes:
        server: its name.
        start_ms: when it began, ms since the epoch.
        end_ms: when its last line came.
    """

    server: str
    start_ms: int
    end_ms: int


class Chain(NamedTuple):
    """Logs of a host session that overlap, directly or through each other.

    Attributes:
        places: of its logs among the parts, by start.
        clashes: two of them have the same server and overlap, so it cannot be told whose calls are whose.
    """

    places: tuple[int, ...]
    clashes: bool

    @property
    def merges(self) -> bool:
        """Whether it becomes one log; one that is alone stays as it is."""
        return len(self.places) > 1 and not self.clashes


def chains(parts: Sequence[Part]) -> list[Chain]:
    """Divide the logs of one host session into those that ran at the same time, by start."""
    order = sorted(range(len(parts)), key=lambda place: parts[place].start_ms)
    found: list[list[int]] = []
    end = 0
    for place in order:
        if not found or parts[place].start_ms > end:
            found.append([])
            end = parts[place].end_ms
        found[-1].append(place)
        end = max(end, parts[place].end_ms)
    return [Chain(tuple(places), _clash([parts[place] for place in places])) for places in found]


def _clash(parts: Sequence[Part]) -> bool:
    ends: dict[str, int] = {}
    for part in parts:  # by start
        if part.start_ms <= ends.get(part.server, part.start_ms - 1):
            return True
        ends[part.server] = max(part.end_ms, ends.get(part.server, part.end_ms))
    return False


def server_name(header: Header, entries: Iterable[Entry]) -> str | None:
    """A log's server: as it was named, else its domain, else what it calls itself; None when nothing says."""
    name = header.server_name or header.domain or _own_name(entries)
    return name_of_server(name) if name else None


def _own_name(entries: Iterable[Entry]) -> str | None:
    asked: set[IdKey | None] = set()
    for entry in entries:
        for message in messages_of(entry.message):
            if message.get("method") == "initialize":
                asked.add(id_key(message.get("id")))
            elif is_response(message) and id_key(message.get("id")) in asked:
                result = message.get("result")
                info = result.get("serverInfo") if isinstance(result, dict) else None
                name = info.get("name") if isinstance(info, dict) else None
                return name if isinstance(name, str) else None
    return None


def qualified(entries: Iterable[Entry], server: str) -> Iterator[Entry]:
    """Put the server's name before every tool and every id, so that they differ from other servers'."""
    naming = _Naming(server)
    for entry in entries:
        message = entry.message
        if entry.sender == "context" or message is None:
            yield entry
        elif isinstance(message, dict):
            yield entry._replace(message=naming.message(message))
        else:
            yield entry._replace(message=[naming.message(item) for item in message if isinstance(item, dict)])


class _Naming:
    """Renames in the messages of one log; it must see them in order, to know which answer is a listing."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listing: set[IdKey | None] = set()

    def message(self, message: JsonObject) -> JsonObject:
        method, params, number = message.get("method"), message.get("params"), message.get("id")
        renamed = dict(message)
        if id_key(number) is not None:
            renamed["id"] = self._id(number)
        if method == "tools/list":
            self._listing.add(id_key(number))
        elif method is None and id_key(number) in self._listing:
            renamed["result"] = qualify_listing(self._server, message.get("result"))
        if isinstance(params, dict):
            if method == "tools/call":
                renamed["params"] = self._named(params)
            elif method == "notifications/cancelled" and id_key(params.get("requestId")) is not None:
                renamed["params"] = params | {"requestId": self._id(params["requestId"])}
        return renamed

    def _id(self, number: JsonValue) -> str:
        return qualify(self._server, id_text(number))

    def _named(self, fields: JsonObject) -> JsonObject:
        name = fields.get("name")
        return fields | {"name": qualify(self._server, name)} if isinstance(name, str) else fields


def merged(session: str, logs: Sequence[tuple[Header, str, Iterable[Entry]]]) -> tuple[Header, list[Entry]]:
    """Make one log of several.

    Times count from the earliest start; lines of one time are in the order of the logs. What a server never answered is
    cancelled when its log ends, so that it does not hold a turn of the others open. What the host told several proxies
    of the conversation is kept once.

    Args:
        session: the new log's id.
        logs: header, server and lines of each, by start.
    """
    start = min(header.started_unix_ms for header, _, _ in logs)
    lines: list[tuple[int, int, Entry]] = []
    for place, (header, server, entries) in enumerate(logs):
        shift = header.started_unix_ms - start
        lines += [(entry.t_ms + shift, place, entry) for entry in qualified(_with_cancellations(list(entries)), server)]
    lines.sort(key=lambda line: line[:2])
    domains = {header.domain for header, _, _ in logs}
    header = Header(
        session,
        start,
        domain=domains.pop() if len(domains) == 1 else None,
        agent_model=next((header.agent_model for header, _, _ in logs if header.agent_model), None),
        host_session=logs[0][0].host_session,
    )
    return header, [entry._replace(t_ms=t_ms) for t_ms, _, entry in _told_once(lines)]


def _with_cancellations(entries: list[Entry]) -> list[Entry]:
    waiting: dict[IdKey | None, JsonValue] = {}
    for entry in entries:
        for message in messages_of(entry.message):
            method, params, number = message.get("method"), message.get("params"), message.get("id")
            if method == "tools/call" and entry.sender in ("client", "proxy"):
                waiting[id_key(number)] = number
            elif method == "notifications/cancelled" and isinstance(params, dict):
                waiting.pop(id_key(params.get("requestId")), None)
            elif entry.sender in ("server", "proxy") and is_response(message):
                waiting.pop(id_key(number), None)
    waiting.pop(None, None)
    cancelled: list[JsonObject] = [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        for number in waiting.values()
    ]
    return entries + [Entry(entries[-1].t_ms, "client", message) for message in cancelled]


def _told_once(lines: list[tuple[int, int, Entry]]) -> Iterator[tuple[int, int, Entry]]:
    """Leave out the n-th line of the conversation of a log when another log's n-th was the same and came earlier."""
    numbers: dict[int, count[int]] = {}
    told: dict[int, list[JsonValue]] = {}  # what was said in each log's n-th line so far, by n
    for line in lines:
        _, place, entry = line
        if entry.sender == "context":
            number = next(numbers.setdefault(place, count()))
            said = told.setdefault(number, [])
            if entry.message in said:
                continue
            said.append(entry.message)
        yield line
