"""What the proxies of one host session say to each other: one JSON object a line, and a class for every kind.

Not responsible for how lines get across (`stretto.proxy.peers.mesh`) nor for what is done about them. What another
process says is data: a line that is no message of a known kind, with every field of its type, is refused as a whole.

Tools and calls have their names in the flow, ``server::tool``. Times are seconds on the clock of `time.monotonic`,
which all processes of a machine share.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "MESSAGE_BYTES",
    "Answered",
    "Ask",
    "Called",
    "Dropped",
    "Event",
    "Found",
    "Hello",
    "Leave",
    "Lends",
    "LookedUp",
    "Message",
    "Returned",
    "Said",
    "Sync",
    "Synced",
    "Told",
    "decode",
    "encode",
    "hello",
]

#: Longest line that is sent or read, bytes.
MESSAGE_BYTES: Final = 4 * 2**20

#: Longest text that is sent, characters; the rest is cut off. A result of 256 Ki is more than any agent reads.
_TEXT_CHARS: Final = 256 * 1024

_LATEST: Final = 1e12  #: seconds; 30,000 years of a running machine

_VERSION: Final = 1


# --- what happens ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Called:
    """The agent has made a call."""

    at: float
    id: str
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class Returned:
    """Its server has answered it; the agent may not have the answer yet. `refused` when the answer is no result."""

    at: float
    id: str
    error: bool
    refused: bool
    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The agent has the answer."""

    at: float
    id: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Nobody waits for the answer any more."""

    at: float
    id: str


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A flow makes a lookup, or has made it."""

    at: float
    id: str
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class Found:
    """What a lookup has returned."""

    at: float
    id: str
    error: bool
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """The n-th thing that was said in the conversation as one proxy is told of it, from 0."""

    at: float
    number: int
    role: str
    text: str


Event: TypeAlias = Called | Returned | Answered | Dropped | LookedUp | Found | Said


# --- what proxies ask of each other -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """Who speaks: the name of a proxy, that of its server, and the key that whoever listens has given out."""

    version: int
    key: str
    name: str
    server: str


@dataclass(frozen=True, slots=True)
class Lends:
    """The tools that others may have looked up here, from now on."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """Say that everything that has happened up to now was told."""

    number: int


@dataclass(frozen=True, slots=True)
class Synced:
    """It was."""

    number: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Make this lookup."""

    number: int
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class Leave:
    """Nobody waits for a lookup any more; the reason is for its server."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a lookup has returned; with a reason, why it was not made, or not to its end.

    `refused` is an error that is not the tool's own, but the protocol's.
    """

    number: int
    error: bool
    refused: bool
    text: str
    reason: str


Message: TypeAlias = Event | Hello | Lends | Sync | Synced | Ask | Leave | Told

_KINDS: Final[dict[str, type[Message]]] = {
    "called": Called,
    "returned": Returned,
    "answered": Answered,
    "dropped": Dropped,
    "looked_up": LookedUp,
    "found": Found,
    "said": Said,
    "hello": Hello,
    "lends": Lends,
    "sync": Sync,
    "synced": Synced,
    "ask": Ask,
    "leave": Leave,
    "told": Told,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def encode(message: Message) -> bytes | None:
    """Write a message as a line, with its line end.

    Returns:
        The line. Texts are cut where they are too long. None for what cannot be sent, since it is too long in other
        ways, or nested too deeply.
    """
    if isinstance(message, Returned | Found | Said | Told) and len(message.text) > _TEXT_CHARS:
        message = replace(message, text=message.text[:_TEXT_CHARS])
    values: JsonObject = {"kind": _NAMES[type(message)]}
    for field in fields(message):
        value = getattr(message, field.name)
        values[field.name] = [*value] if isinstance(value, tuple) else value
    try:
        line = jsonvalue.dumps(values) + b"\n"
    except (ValueError, RecursionError):
        return None
    return line if len(line) <= MESSAGE_BYTES else None


def decode(line: bytes) -> Message | None:
    """Read a line; None when it is no message. Fields that a kind does not have come from a later version."""
    try:
        values = jsonvalue.loads(line)
    except (ValueError, RecursionError):
        return None
    name = values.get("kind") if isinstance(values, dict) else None
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(values, dict):
        return None
    given: dict[str, Any] = {}
    for field in fields(kind):
        if field.name not in values or not _IS[str(field.type)](values[field.name]):
            return None
        value = values[field.name]
        given[field.name] = tuple(value) if isinstance(value, list) and field.name == "tools" else value
    message = kind(**given)
    return None if isinstance(message, Hello) and message.version != _VERSION else message


def hello(key: str, name: str, server: str) -> Hello:
    """The first message on a connection."""
    return Hello(_VERSION, key, name, server)


def _is_time(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LATEST


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


#: What a field must be, by its type as it is written above.
_IS: Final[dict[str, Callable[[JsonValue], bool]]] = {
    "float": _is_time,
    "int": _is_number,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "JsonValue": lambda _: True,
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
}
