r"""Session logs: one JSON Lines file a session, a header and then every line that crossed the wire.

```json
{"stretto_mcp_log": 2, "session": "20260930T101500.250Z-4711", "started_unix_ms": 1790763300250, "domain": "shop"}
{"t_ms": 12, "from": "client", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {...}}}
{"t_ms": 40, "from": "server", "message": {"jsonrpc": "2.0", "id": 1, "result": {...}}}
{"t_ms": 55, "from": "context", "message": {"role": "user", "content": "and order W2?"}}
{"t_ms": 90, "from": "server", "raw": "Server started"}
```

The format and its reader; `stretto.sessions.log_writer` writes, `stretto.sessions.turns` makes sense of it. Lines end
at ``\n`` only. Blank ones are passed over, and so are keys that are not known: they come from a newer writer. A last
line without a line feed that is no JSON is what a crash leaves of a write and is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import orjson

from stretto.errors import SessionLogError
from waggle import jsonvalue
from waggle.errors import TraceError
from waggle.files import read_bytes
from waggle.traces.lines import EXPECTED, Problems, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "LOG_VERSION",
    "Entry",
    "Header",
    "LogFile",
    "OnProblem",
    "Sender",
    "find_log",
    "our_error",
    "read_log",
    "session_name",
]

#: The version that is written; 1 is read as well.
LOG_VERSION: Final = 2
_VERSIONS: Final = (1, LOG_VERSION)
_MARK: Final = "stretto_mcp_log"

#: Who sent a line. ``proxy``: a request or an answer of the proxy's own. ``context``: what was said in the
#: conversation, as the host handed it over.
Sender: TypeAlias = Literal["client", "server", "proxy", "context"]
_SENDERS: Final = frozenset(get_args(Sender))
_CONTAINERS: Final = frozenset({dict, list})

#: Takes what could not be read, and lets the reading go on.
OnProblem: TypeAlias = "Callable[[SessionLogError], None]"

#: Largest file that is read in one piece, bytes. Larger ones are read line by line, at twice the time.
_WHOLE_BYTES: Final = 4 * 1024 * 1024

_Field = TypeVar("_Field")

_EXPECTED: Final = "expected recorded sessions in JSON: session logs, or another program's"
_NAMES: Final[dict[type, str]] = {str: "a text", int: "a whole number", list: "a list of texts"}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a session log.

    Attributes:
        session: unique id, also the stem of the file's name.
        started_unix_ms: when the recording began, ms since the epoch.
        server_command: the wrapped command, without credentials.
        domain: field of work, None where nobody said.
        agent_model: the agent, None where nobody said.
        host_session: shared by the logs of one agent that had several servers.
        server_name: of the server, to tell its tools from those of others.
        version: of the format.
    """

    session: str
    started_unix_ms: int = 0
    server_command: tuple[str, ...] = ()
    domain: str | None = None
    agent_model: str | None = None
    host_session: str | None = None
    server_name: str | None = None
    version: int = LOG_VERSION

    def to_json(self) -> JsonObject:
        """The header as it is written; the two optional fields only where they say something."""
        fields: JsonObject = {
            _MARK: self.version,
            "session": self.session,
            "started_unix_ms": self.started_unix_ms,
            "server_command": list(self.server_command),
            "domain": self.domain,
            "agent_model": self.agent_model,
        }
        optional = {"host_session": self.host_session, "server_name": self.server_name}
        return fields | {name: value for name, value in optional.items() if value is not None}


class Entry(NamedTuple):
    """Any other line.

    Attributes:
        t_ms: ms after the start.
        sender: who sent it.
        message: the line as JSON, an object or a batch of them; None when it was no JSON.
        raw: the line as text when it was no JSON.
    """

    t_ms: int
    sender: Sender
    message: JsonObject | list[JsonValue] | None = None
    raw: str | None = None

    def to_json(self) -> JsonObject:
        """The entry as it is written."""
        said: JsonObject = {"raw": self.raw} if self.message is None else {"message": self.message}
        return {"t_ms": self.t_ms, "from": self.sender} | said


def session_name(started_unix_ms: int, process_id: int, number: int | None = None) -> str:
    """The id of a session, ``20260930T101500.250Z-4711``: sorted as texts, sessions are in order of their start.

    Args:
        started_unix_ms: ms since the epoch.
        process_id: of the proxy.
        number: of the session, where the process has several; ``-12`` follows then.
    """
    at = datetime.fromtimestamp(started_unix_ms // 1000, tz=UTC)
    return f"{at:%Y%m%dT%H%M%S}.{started_unix_ms % 1000:03}Z-{process_id}{'' if number is None else f'-{number}'}"


# --- reading -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LogFile:
    """A file that was found to be a session log.

    Attributes:
        path: of the file.
        header: its first line.
        size_bytes: of the file, when it was found.
        data: the whole file, where it is at hand and orjson reads it exactly; `entries` is then twice as fast.
    """

    path: Path
    header: Header
    size_bytes: int
    data: bytes | None = None

    def entries(self, on_problem: OnProblem | None = None) -> Iterator[Entry]:
        """The lines after the header, in order, one at a time.

        Args:
            on_problem: called for every line that is left out. Without it a torn last line is left out quietly.

        Raises:
            SessionLogError: the file cannot be read or, without `on_problem`, a line is damaged.
        """
        return self._entries(self.data, on_problem)

    def _entries(self, data: bytes | None, on_problem: OnProblem | None) -> Iterator[Entry]:
        if data is None:
            yield from self._one_by_one(on_problem)
            return
        given = 0
        lines = BytesIO(data)
        lines.readline()
        for line in lines:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                if line.isspace():
                    continue
                break
            entry = _entry(record)
            if entry is None:
                break
            yield entry
            given += 1
        else:
            return
        # The careful reader knows what to do with this line, and its number.
        yield from islice(self._one_by_one(on_problem), given, None)

    def _one_by_one(self, on_problem: OnProblem | None) -> Iterator[Entry]:
        records = _records(self.path, on_problem)
        next(records, None)
        for number, record in records:
            entry = _entry(record)
            if entry is not None:
                yield entry
                continue
            error = SessionLogError(str(self.path), number, _complaint(record))
            if on_problem is None:
                raise error
            on_problem(error)


def read_log(path: Path, on_problem: OnProblem | None = None) -> tuple[Header, Iterator[Entry]]:
    """Read one session log; see `LogFile.entries`.

    Raises:
        SessionLogError: the file cannot be read, or does not begin with a header of a version that is known.
    """
    log = find_log(path)
    if log is None:
        raise SessionLogError(str(path), 1, f'expected the header of a session log, {{"{_MARK}": {LOG_VERSION}, ...}}')
    return log.header, log.entries(on_problem)


def find_log(path: Path) -> LogFile | None:
    """Look whether a file is a session log; None when it begins with a JSON object that is no header.

    Raises:
        SessionLogError: it cannot be read, is empty, begins with no JSON object or with a header that is not valid.
    """
    try:
        data = read_bytes(path, limit=_WHOLE_BYTES)
    except ValueError as error:
        if not path.is_file():
            raise SessionLogError(str(path), None, f"expected a session log, but this {error}") from None
        data = None
    except OSError as error:
        raise SessionLogError(str(path), None, f"cannot be read: {error.strerror or error}") from None
    number, first = 1, None if data is None else _first_line(data)
    if first is None:
        data = None  # compressed, too large, or unusual from the first line on
        number, first = next(_records(path, None), (0, None))
    if first is None:
        raise SessionLogError(str(path), None, f"is empty; {_EXPECTED}")
    if _MARK not in first:
        return None
    header = _header(first, str(path), number)
    if data is None:
        return LogFile(path, header, path.stat().st_size)
    # Looked for in the whole file at once: line by line that takes as long as the parsing.
    return LogFile(path, header, len(data), None if jsonvalue.may_hold_long_integer(data) else data)


def _first_line(data: bytes) -> JsonObject | None:
    try:
        first = jsonvalue.loads(data[: data.find(b"\n") + 1])
    except ValueError:
        return None
    return first if isinstance(first, dict) else None


def our_error(error: TraceError) -> SessionLogError:
    """The error of a trace's reader as this package's, with the formats that this package reads."""
    return SessionLogError(error.path, error.line, error.problem.replace(EXPECTED, _EXPECTED))


def _records(path: Path, on_problem: OnProblem | None) -> Iterator[tuple[int, JsonObject]]:
    """Line numbers and objects of a JSON Lines file, with this package's errors."""
    take = None if on_problem is None else lambda error: on_problem(our_error(error))
    try:
        yield from read_records(Problems(str(path), take), None)
    except TraceError as error:
        raise our_error(error) from None


#: `Entry(...)` without the call in between, which takes twice as long as all the rest.
_made: Final = tuple.__new__


def _entry(record: Any) -> Entry | None:
    """The entry a record is, None when it is none; `_complaint` tells why."""
    try:
        t_ms, sender = record["t_ms"], record["from"]
        if type(t_ms) is int and sender in _SENDERS:
            message = record.get("message")
            if message is None:
                raw = record["raw"]
                return Entry(t_ms, sender, None, raw) if type(raw) is str else None
            if type(message) in _CONTAINERS and record.get("raw") is None:
                return _made(Entry, (t_ms, sender, message, None))
    except (KeyError, TypeError):  # a field is missing, or the record is no object
        pass
    return None


def _complaint(record: JsonObject) -> str:
    if type(record.get("t_ms")) is not int:
        return "$.t_ms: expected a whole number, the milliseconds since the start"
    if record.get("from") not in get_args(Sender):
        return f"$.from: expected one of {', '.join(get_args(Sender))}"
    return "expected either $.message, an object or a list, or $.raw, a text"


def _header(record: JsonObject, path: str, line: int) -> Header:
    def field(name: str, kind: type[_Field], default: _Field | None) -> _Field:
        value = record.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not kind:
            raise SessionLogError(path, line, f"$.{name}: expected {_NAMES[kind]}")
        return value

    def text(name: str) -> str | None:
        return field(name, str, "") or None

    version = field(_MARK, int, None)
    if version not in _VERSIONS:
        raise SessionLogError(path, line, f"unsupported log version {version}; versions 1 and 2 can be read")
    command = field("server_command", list, [])
    if not all(isinstance(word, str) for word in command):
        raise SessionLogError(path, line, f"$.server_command: expected {_NAMES[list]}")
    return Header(
        field("session", str, None),
        field("started_unix_ms", int, None),
        tuple(command),
        text("domain"),
        text("agent_model"),
        text("host_session"),
        text("server_name"),
        version,
    )
