"""Writing session logs: every line whole, under a limit, and without secrets.

What reaches the disk differs from what crossed the wire in three ways, and each can be seen in the log:

* **Secrets are masked** by `waggle.redact`, by the name they are given and by their shape, in everything but ids and
  methods. Answers to ``tools/list`` are masked by shape only: a schema has a ``password`` with a type, not a secret.
* **Binary becomes a note**: of an image, a sound or a blob in base64 the media type stays, with its size and digest.
* **Long texts are cut** at a character until the line is under the limit, and end with their whole length, their
  SHA-256 and the mark that `waggle.traces` knows. A message of too many small parts is kept as such a text.

Not responsible for when to write. Faults are raised; a proxy catches them, since none of them may reach its host.
"""

from __future__ import annotations

import base64
import re
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Final, cast

from stretto._defaults import LOG_RECORD_BYTES
from stretto.sessions.log import Entry
from stretto.sessions.wire import id_key, json_text, messages_of
from waggle import files, jsonvalue
from waggle.errors import StoreUnavailable
from waggle.redact import MASK, redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stretto.sessions.log import Header, Sender
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["LogWriter"]

#: What stands in a recorded command for a credential.
_CREDENTIAL: Final = "<redacted>"

#: Fields of a message that are the protocol's own: a mask in an id would part an answer from its request.
_ENVELOPE: Final = ("jsonrpc", "id", "method")
_BODIES: Final = ("params", "result", "error")

_DEPTH_LIMIT: Final = 200  #: nesting beyond which a value is not kept; `waggle.redact` stops there, too
_BINARY: Final = ("image", "audio")

#: A text is cut where a word ends, if one does in the last so many characters: half a secret has no shape.
_WORD_CHARS: Final = 4096
_LAST_WORD: Final = re.compile(r"[\s\"',;&<>][^\s\"',;&<>]*\Z")

_SHORTEST_CHARS: Final = 256  #: to which texts are cut before the structure around them is given up
_ESCAPED_BYTES: Final = 16  #: more than one character takes in JSON, with what else is on its line


class LogWriter:
    """Appends the lines of one session to its log. May be used by several threads.

    Args:
        path: the log, ``<session>.jsonl``; it and its directory are made.
        header: its first line, which is written at once; credentials in the command are left out.
        limit_bytes: largest line written, at least 16 kB.

    Raises:
        StoreUnavailable: there is such a file already, or the place cannot be written.
    """

    def __init__(self, path: Path, header: Header, *, limit_bytes: int = LOG_RECORD_BYTES) -> None:
        if path.exists():
            raise StoreUnavailable(path, "there is a session log already", "record under another session id")
        self._path = path
        self._limit = limit_bytes
        self._last_ms = 0
        self._listing: set[IdKey | None] = set()  # requests for tools that are not answered
        self._lock = threading.Lock()
        command = redact_value(list(header.server_command))
        words = [str(word).replace(MASK, _CREDENTIAL) for word in command] if isinstance(command, list) else []
        fields: JsonObject = header.to_json() | {"server_command": list(words)}
        files.append_line(path, jsonvalue.dumps(fields))

    def line(self, t_ms: int, sender: Sender, line: bytes) -> None:
        """Write one line of the wire: as JSON when it is an object or a batch, else as text.

        Args:
            t_ms: ms after the start; a time before that of the last line is taken for the same.
            sender: who sent it.
            line: as it crossed, with or without its line end.

        Raises:
            StoreUnavailable: it cannot be written.
            StoreLocked: somebody else held the file for too long.
        """
        self.lines([(t_ms, sender, line)])

    def lines(self, lines: Iterable[tuple[int, Sender, bytes]]) -> None:
        """Write several lines of the wire at once, or as many of them as there is room for; see `line`."""
        self._append([_entry(*line) for line in lines])

    def message(self, t_ms: int, sender: Sender, message: JsonObject | list[JsonValue]) -> None:
        """Write one message or batch; see `line`."""
        self._append([Entry(t_ms, sender, message)])

    def _append(self, entries: Iterable[Entry]) -> None:
        with self._lock:
            fitted: list[bytes] = []
            for entry in entries:
                self._last_ms = max(self._last_ms, entry.t_ms)
                by_shape = self._answers_listing(entry)
                fitted.append(_fitted(entry._replace(t_ms=self._last_ms), self._limit, by_shape=by_shape))
            try:
                files.append_lines(self._path, fitted)
            except StoreUnavailable:
                if len(fitted) == 1:
                    raise
                self._append_each(fitted)

    def _append_each(self, lines: Iterable[bytes]) -> None:
        """Write what there is room for, though not for all of it."""
        failed: StoreUnavailable | None = None
        for line in lines:
            try:
                files.append_line(self._path, line)
            except StoreUnavailable as error:
                failed = error
        if failed:
            raise failed

    def _answers_listing(self, entry: Entry) -> bool:
        """Whether a line holds the answer to a ``tools/list``; remembers the requests."""
        answers = False
        for message in messages_of(entry.message):
            key = id_key(message.get("id"))
            if message.get("method") == "tools/list":
                self._listing.add(key)
            elif message.get("method") is None and key in self._listing:
                self._listing.discard(key)
                answers = True
        return answers


def _entry(t_ms: int, sender: Sender, line: bytes) -> Entry:
    try:
        value = jsonvalue.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict | list):
        return Entry(t_ms, sender, value)
    return Entry(t_ms, sender, None, line.decode("utf-8", "surrogateescape").rstrip("\r\n"))


def _fitted(entry: Entry, limit: int, *, by_shape: bool) -> bytes:
    """The line as it is written: masked, and cut until it has at most `limit` bytes."""
    trimmer = _Trimmer()

    def cut(chars: int) -> tuple[Entry, bytes]:
        masked = _masked(trimmer.entry(entry, chars), by_shape=by_shape)
        return masked, jsonvalue.dumps(masked.to_json())

    chars = limit
    masked, line = cut(chars)
    if len(line) <= limit:
        return line
    masked, shortest = cut(_SHORTEST_CHARS)
    if len(shortest) > limit:
        return _folded(masked, limit, trimmer)
    while chars > _SHORTEST_CHARS:
        chars //= 2
        _, line = cut(chars)
        if len(line) <= limit:
            return line
    return shortest


def _folded(entry: Entry, limit: int, trimmer: _Trimmer) -> bytes:
    """A line of too many parts, with texts of JSON in their place."""
    chars = limit // _ESCAPED_BYTES
    if isinstance(entry.message, dict):
        folded = entry._replace(message=trimmer.folded(entry.message, chars))
        line = jsonvalue.dumps(folded.to_json())
        if len(line) <= limit:
            return line
    raw = trimmer.text(json_text(entry.message), chars)
    return jsonvalue.dumps(entry._replace(message=None, raw=raw).to_json())


def _masked(entry: Entry, *, by_shape: bool) -> Entry:
    message = entry.message
    if message is None:
        return entry._replace(raw=redact_text(entry.raw or ""))
    if isinstance(message, list):
        return entry._replace(message=[_masked_message(item, by_shape=by_shape) for item in message])
    return entry._replace(message=cast("JsonObject", _masked_message(message, by_shape=by_shape)))


def _masked_message(message: JsonValue, *, by_shape: bool) -> JsonValue:
    masked = _masked_by_shape(message) if by_shape else redact_value(message)
    if isinstance(message, dict) and isinstance(masked, dict):
        masked |= {name: message[name] for name in _ENVELOPE if name in message}
        params, kept = message.get("params"), masked.get("params")
        if isinstance(params, dict) and isinstance(kept, dict) and "requestId" in params:
            kept["requestId"] = params["requestId"]
    return masked


def _masked_by_shape(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [_masked_by_shape(item) for item in value]
    if isinstance(value, dict):
        return {redact_text(key): _masked_by_shape(item) for key, item in value.items()}
    return value


class _Trimmer:
    """Takes out what is too large; the digest of a text is made once, however often it is cut."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def entry(self, entry: Entry, chars: int) -> Entry:
        """The entry without binary and with texts of at most so many characters, and a note."""
        if entry.message is None:
            return entry._replace(raw=self.text(entry.raw or "", chars))
        message = self._value(entry.message, chars, 0)
        return entry._replace(message=message if isinstance(message, dict | list) else {})

    def folded(self, message: JsonObject, chars: int) -> JsonObject:
        """The message with every object and list in its bodies as a text of JSON, cut."""
        return {
            name: {key: self._folded_value(item, chars) for key, item in body.items()}
            if name in _BODIES and isinstance(body, dict)
            else self._folded_value(body, chars)
            for name, body in message.items()
        }

    def _folded_value(self, value: JsonValue, chars: int) -> JsonValue:
        if isinstance(value, dict | list):
            return self.text(json_text(value), chars)
        return self.text(value, chars) if isinstance(value, str) else value

    def text(self, text: str, chars: int) -> str:
        """The text itself, or its beginning with the note of what is missing."""
        if len(text) <= chars:
            return text
        kept = text[:chars]
        word = _LAST_WORD.search(kept, max(0, chars - _WORD_CHARS))
        if word:
            kept = kept[: word.start()]
        return (
            f"{kept}\n[... {len(text)} characters in all, sha256 {self._digest(text)} ...]"
            f"\n[... {len(text) - len(kept)} more characters cut from this trace ...]"
        )

    def _digest(self, text: str) -> str:
        digest = self._digests.get(text)
        if digest is None:
            digest = self._digests[text] = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return digest

    def _value(self, value: JsonValue, chars: int, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self.text(value, chars)
        if not isinstance(value, dict | list):
            return value
        if depth > _DEPTH_LIMIT:
            return MASK
        if isinstance(value, list):
            return [self._value(item, chars, depth + 1) for item in value]
        value = _without_binary(value)
        return {self.text(key, chars): self._value(item, chars, depth + 1) for key, item in value.items()}


def _without_binary(fields: JsonObject) -> JsonObject:
    """Put size and digest in the place of an image's, a sound's or a blob's data; the media type stays."""
    name = "data" if fields.get("type") in _BINARY else "blob" if fields.keys() & {"uri", "mimeType"} else None
    data = fields.get(name) if name else None
    if not isinstance(data, str):
        return fields
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        content = data.encode("utf-8", "surrogatepass")
    note: JsonObject = {"size_bytes": len(content), "sha256": sha256(content).hexdigest()}
    return {key: item for key, item in fields.items() if key != name} | note
