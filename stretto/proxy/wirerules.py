"""What may cross the wire once anybody looks at it: messages only, each request answered once, each answer asked for.

* A line of the server that is no message is kept from the host: text that is no JSON or not UTF-8, an empty line, and
  JSON that is neither an object nor a batch of them.
* An answer to no open request is kept from the host. Whoever cannot be sure, since a line was too long to be seen or
  could not be read, lets answers pass. A batch passes if any message in it may.
* A request whose id is neither an integer nor a text is answered with *Invalid Request* and kept from the server, and
  with it everything in its batch. Notifications under ``notifications/`` pass, whatever id they name.
* A request that the server can no longer answer is answered with the reason; one that the host has cancelled is not.

What is kept from the host is told once a kind on standard error, and counted. Not responsible for what messages say.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Final, Protocol

from stretto.proxy.answers import INVALID_REQUEST, answers_to
from stretto.sessions.wire import ABORTED, error_to, id_key, is_request, is_response, messages_of
from waggle import jsonvalue
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stretto.proxy.relay import Side
    from stretto.proxy.streams import Line
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject

__all__ = ["Watched", "WireRules"]

_SHOWN_CHARS: Final = 80  #: of a line that is not passed on, in the report
_LOOKED_AT_BYTES: Final = 4096  #: for secrets, before it is cut


class Watched(Protocol):
    """The wire that is looked at; `stretto.proxy.relay.Relay` is one."""

    @property
    def unseen(self) -> Mapping[Side, int]:
        """Parts of lines that taps were not shown, by who sent them."""

    def to_host(self, raw: bytes) -> bool:
        """Send a whole line to the host."""


class WireRules:
    """A tap that stands behind the recording, which has everything, and before all that act.

    Args:
        wire: what is looked at.
        faults: where what is kept from the host is counted.
    """

    def __init__(self, wire: Watched, faults: Faults | None = None) -> None:
        self._wire = wire
        self._faults = faults or Faults()
        # By the ids of the host's requests that have no answer: the parts of lines of the server unseen before.
        self._due: dict[IdKey, int] = {}
        # Answers that may come though nobody is to be told if they do not: to cancelled requests, and to a tap's own.
        self._may: dict[IdKey, int] = {}
        self._unread = 0  # lines of the server that only others can read
        self._blind = False  # the host may have asked what was not understood
        self._gone = ""  # why nothing is answered any more
        self._lock = threading.Lock()

    def from_host(self, line: Line) -> bool:
        """Take note of requests; True when they are answered here."""
        message = line.message
        if message is None:
            self._blind |= bool(line.raw.strip())
            return False
        requests = [each for each in messages_of(message) if is_request(each)]
        if any(_has_no_id(each) for each in requests):
            return self._answer(line, _refused)
        with self._lock:
            gone = self._gone
            for each in () if gone else messages_of(message):
                self._note(each)
        return self._answer(line, lambda each: error_to(each["id"], ABORTED, gone)) if gone else False

    def from_server(self, line: Line) -> bool:
        """Whether a line is kept from the host: it is no message, or an answer to no open request."""
        message = line.message
        if isinstance(message, dict):
            return self._answers_nothing(message, line)
        if isinstance(message, list) and message:
            batch = [each for each in message if isinstance(each, dict)]
            if len(batch) == len(message):
                kept = [self._answers_nothing(each, line) for each in batch]  # each is taken note of
                return all(kept)
        return self._is_stray(line)

    def sent(self, raw: bytes, to: Side) -> None:
        """Take note of what other taps ask the server, and of what they answer in its place."""
        if to == "host" and not self._due:
            return
        message = jsonvalue.loads(raw)
        with self._lock:
            for each in messages_of(message):
                key = id_key(each.get("id"))
                if key is None:
                    continue
                if to == "host" and is_response(each):
                    self._due.pop(key, None)
                elif to == "server" and is_request(each):
                    self._may[key] = self._may.get(key, 0) + 1

    def ended(self, reason: str) -> bool:
        """Answer what is open; from now on, every request is answered so."""
        with self._lock:
            self._gone = reason
            # While a line of the server was unseen, it may have held the answer.
            open_now = [key for key, before in self._due.items() if before == self._unseen()]
            self._due.clear()
        for key in open_now:
            self._wire.to_host(_line(error_to(_number(key), ABORTED, reason)))
        return bool(open_now)

    def close(self) -> None:
        """Nothing is open."""

    # --- inside ---

    def _unseen(self) -> int:
        return self._wire.unseen["server"] + self._unread

    def _answer(self, line: Line, answer: Callable[[JsonObject], JsonObject]) -> bool:
        said = answers_to(line.message, answer)
        if said is not None:
            self._wire.to_host(said)
        return said is not None

    def _note(self, message: JsonObject) -> None:
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            key = id_key(params.get("requestId")) if isinstance(params, dict) else None
            if key is not None and self._due.pop(key, None) is not None:
                self._may[key] = self._may.get(key, 0) + 1
        elif is_request(message) and (key := id_key(message["id"])) is not None:
            if key in self._due:
                self._may[key] = self._may.get(key, 0) + 1
            self._due[key] = self._unseen()

    def _answers_nothing(self, message: JsonObject, line: Line) -> bool:
        key = id_key(message.get("id"))
        if key is None or not is_response(message):
            return False
        with self._lock:
            if self._due.pop(key, None) is not None:
                return False
            may = self._may.pop(key, 0)
            if may > 1:
                self._may[key] = may - 1
        if may or self._blind or self._wire.unseen["host"]:
            return False
        self._drop("an answer of the server to no open request", line)
        return True

    def _is_stray(self, line: Line) -> bool:
        problem = _why_no_message(line.raw)
        if problem is None:
            self._unread += 1
            return False
        self._drop(f"a line of the server that is {problem}", line)
        return True

    def _drop(self, what: str, line: Line) -> None:
        self._faults.note(f"{what} is not passed on", _shown(line.raw) or None)


def _has_no_id(request: JsonObject) -> bool:
    number, method = request["id"], request["method"]
    is_id = isinstance(number, int | str) and not isinstance(number, bool)
    return not is_id and not (isinstance(method, str) and method.startswith("notifications/"))


def _refused(request: JsonObject) -> JsonObject:
    if _has_no_id(request):
        return error_to(None, INVALID_REQUEST, "Invalid Request: an id is an integer or a text")
    return error_to(request["id"], INVALID_REQUEST, "not sent: another request of the same batch has no valid id")


def _why_no_message(raw: bytes) -> str | None:
    """Why a line that was not read as a message is none; None when others may read it as one."""
    if not raw.strip():
        return "empty"
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return "not UTF-8"
    except RecursionError:
        return None
    except ValueError:
        return "no JSON"
    is_batch = isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
    return None if isinstance(value, dict) or is_batch else "JSON and no message"


def _shown(raw: bytes) -> str:
    from waggle.redact import redact_text  # noqa: PLC0415 - where all is well it is not needed

    text = redact_text(raw[:_LOOKED_AT_BYTES].decode("utf-8", "backslashreplace").strip())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _number(key: IdKey) -> int | str:
    """The id that a key is of; others than integers and texts are not asked with."""
    assert not isinstance(key, tuple)  # noqa: S101 - `_has_no_id` refuses them
    return key


def _line(message: JsonObject) -> bytes:
    return jsonvalue.dumps(message) + b"\n"
