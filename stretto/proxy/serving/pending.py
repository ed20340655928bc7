"""What is under way between a host and its server: the host's requests without an answer, and the proxy's own calls.

Used by both pumping threads and by the session's: every step is one operation on a dictionary. Not responsible for what
an answer means.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.sessions.wire import LOOKUP_ID, RESERVED, id_key, id_text, meta_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["HostCall", "Listing", "OwnCalls", "Requests"]

#: What one request says of itself in the later protocol, and every request must. All else in ``_meta`` is the host's
#: own: a token for progress would send it notices of a call that it does not know.
_ENVELOPE: Final = tuple(f"{RESERVED}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities"))


@dataclass(eq=False, slots=True)
class HostCall:
    """A ``tools/call`` of the host.

    Attributes:
        key: of its id.
        id: as text; in the session it is unique.
        name: of the tool.
        arguments: as JSON.
        meta: what a call made on its behalf must say of the client.
        plain: it asks for no task, and its answer is awaited on a line of its own; only such an answer is held.
        at: when it came, on the clock of `time.monotonic`.
    """

    key: IdKey
    id: str
    name: str
    arguments: JsonValue
    meta: JsonObject
    plain: bool
    at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Listing:
    """A ``tools/list`` of the host; `first` when it asks for the first page."""

    first: bool


#: A request that nothing is to be known of but that it has no answer yet is None.
_Request: TypeAlias = "HostCall | Listing | None"


class Requests:
    """The host's requests that have no answer yet.

    Attributes:
        meta: what the latest request that said so says of the client, which a call of the proxy's own must say, too.
    """

    def __init__(self) -> None:
        self.meta: JsonObject = {}
        self._waiting: dict[IdKey, _Request] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, key: IdKey, message: JsonObject, *, alone: bool) -> tuple[_Request, _Request]:
        """Take in a request.

        Args:
            key: of its id.
            message: the request.
            alone: it stood on a line of its own, not in a batch.

        Returns:
            What it is, and the request with the same id that was waiting and never gets its answer now.
        """
        params = message.get("params")
        self.meta = _envelope(meta_of(message)) or self.meta
        new = _request(key, message.get("id"), message.get("method"), params if isinstance(params, dict) else {}, alone)
        before = self._waiting.get(key)
        self._waiting[key] = new
        return new, before

    def take(self, key: IdKey) -> _Request:
        """The request with this id, which waits no longer; None when there is none that matters."""
        return self._waiting.pop(key, None)

    @property
    def tools(self) -> set[str]:
        """The tools whose calls have no answer."""
        return {request.name for request in tuple(self._waiting.values()) if isinstance(request, HostCall)}


def _request(key: IdKey, number: JsonValue, method: JsonValue, params: JsonObject, alone: bool) -> _Request:  # noqa: FBT001 - the caller names it
    if method == "tools/list":
        return Listing(first=params.get("cursor") is None)
    name = params.get("name")
    if method != "tools/call" or not isinstance(name, str):
        return None
    arguments, meta = params.get("arguments"), params.get("_meta")
    return HostCall(
        key,
        id_text(number),
        name,
        {} if arguments is None else arguments,
        _envelope(meta) if isinstance(meta, dict) else {},
        alone and "task" not in params,
    )


def _envelope(meta: Mapping[str, JsonValue]) -> JsonObject:
    return {name: meta[name] for name in _ENVELOPE if name in meta}


class OwnCalls:
    """The calls that the proxy has sent to the server itself. Their answers are nobody else's, however late they are.

    Attributes:
        due: those without an answer, given up or not.
    """

    def __init__(self) -> None:
        self._count = 0
        self._tools: dict[str, str] = {}  # by id; an answered one stays: a second answer is not the host's either
        self._open: set[str] = set()
        self.due: set[str] = set()

    def __bool__(self) -> bool:
        """Whether the server is at work on one."""
        return bool(self._open)

    def add(self, tool: str) -> str:
        """Take in a call that is about to be sent; gives its id, which no other call of the session has."""
        call_id = f"{LOOKUP_ID}{self._count}"
        self._count += 1
        self._tools[call_id] = tool
        self._open.add(call_id)
        self.due.add(call_id)
        return call_id

    def tool(self, call_id: str) -> str:
        """The tool of one of these calls."""
        return self._tools.get(call_id, "")

    def given_up(self, call_id: str) -> None:
        """Know that the server is told to leave a call; it may answer all the same."""
        self._open.discard(call_id)

    def owner(self, number: JsonValue) -> str | None:
        """The call that an answer's id belongs to; None when it is none of these."""
        key = id_key(number)
        return key if isinstance(key, str) and key in self._tools else None

    def answered(self, call_id: str) -> None:
        """Know that a call has its answer."""
        self._open.discard(call_id)
        self.due.discard(call_id)

    def forget(self, call_id: str) -> None:
        """Know that the host uses this id itself: answers to it are the host's from now on."""
        self.answered(call_id)
        self._tools.pop(call_id, None)

    @property
    def tools(self) -> set[str]:
        """The tools whose calls the server is at work on."""
        return {tool for call_id in tuple(self._open) if (tool := self._tools.get(call_id))}
