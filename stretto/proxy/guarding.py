"""Guards on the wire: a call that does not pass is answered here, and never reaches the server.

What guards look at is what the agent was shown: results of its calls, of lookups made for it, and the user's words.
A fault of the checks refuses the call: it is not known to be right. Not responsible for the checks themselves
(`stretto.proxy.guards`).
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from stretto.bindings.session import SessionValues
from stretto.proxy.answers import INVALID_REQUEST, answers_to, result_to
from stretto.sessions.wire import content_of, error_to, id_key, is_response, messages_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stretto.proxy.guards import Guards
    from stretto.proxy.relay import Line, Side
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["GuardTap"]

_PARSE_ERROR: Final = -32700

#: Characters of a result that are looked at for values; a result of 1 MB is more than any agent reads.
_TEXT_CHARS: Final = 1_000_000


def _never_raising() -> suppress:
    """For taking in what was shown: a tap that raises is switched off, and then nothing would be checked any more.

    What is not taken in counts as not seen, so that a call is refused rather than let through.
    """
    return suppress(Exception)


class GuardTap:
    """Stands before the taps that act, so that they never learn of a call that was not made.

    Args:
        guards: the checks.
        to_host: sends a whole line to the host.
        heard: gives the user's messages that came since it was last asked.
    """

    def __init__(
        self, guards: Guards, to_host: Callable[[bytes], object], heard: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self._guards = guards
        self._to_host = to_host
        self._heard = heard
        self._values = SessionValues()
        self._names = [jsonvalue.dumps(tool)[1:-1] for tool in sorted(guards.tools)]
        self._pending: dict[IdKey, str] = {}  # calls in flight, by id: the tool
        self._lock = threading.Lock()

    def from_host(self, line: Line) -> bool:
        """Check the calls on a line; True when one of them is refused, and the line goes nowhere."""
        message = line.message
        if message is None:
            return self._unread(line.raw)
        calls = [each for each in messages_of(message) if each.get("method") == "tools/call"]
        refusals = {key: text for call in calls if (text := self.refusal(call)) for key in (id_key(call.get("id")),)}
        if refusals:
            self._answer(message, refusals)
            return True
        with self._lock:
            for each in messages_of(message):
                self._note(each)
        return False

    def from_server(self, line: Line) -> bool:
        """Take in the results on a line; it always passes."""
        if self._pending:
            with self._lock, _never_raising():
                for message in messages_of(line.message):
                    self._take(message)
        return False

    def sent(self, raw: bytes, to: Side) -> None:
        """Take note of lookups that another tap makes: their results are shown to the agent, too."""
        if to == "server":
            with self._lock, _never_raising():
                for message in messages_of(jsonvalue.loads(raw)):
                    self._note(message)

    def ended(self, reason: str) -> bool:
        """See `stretto.proxy.relay.Tap`; nobody waits for this tap."""
        del reason
        return False

    def close(self) -> None:
        """Nothing is open."""

    # --- for taps that make calls of the agent's ---

    def refusal(self, call: JsonObject) -> str:
        """Why a call is not sent, for the agent; empty when it is."""
        params = call.get("params")
        tool = params.get("name") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(tool, str) or tool not in self._guards.tools:
            return ""
        arguments = params.get("arguments")
        try:
            with self._lock:
                for text in self._heard():
                    self._values.hear(text)
                refusal = self._guards.check(tool, arguments if isinstance(arguments, dict) else {}, self._values)
        except Exception as error:  # noqa: BLE001 - a call that could not be checked is not known to be right
            return f"Not done: {tool} was not sent, and nothing was changed. It could not be checked: {error!r}."
        return refusal.text if refusal else ""

    # --- inside ---

    def _answer(self, message: JsonValue, refusals: dict[IdKey | None, str]) -> None:
        """Answer every request on a line of which one is refused; of a batch the others are not sent either."""
        line = answers_to(message, lambda each: _answer_to(each, refusals.get(id_key(each.get("id")), "")))
        if line:  # a call without an id wants none
            self._to_host(line)

    def _unread(self, raw: bytes) -> bool:
        """A line that is no JSON to us passes, unless it names a tool that is guarded: a server may read it."""
        if not any(name in raw for name in self._names):
            return False
        answer = error_to(None, _PARSE_ERROR, "not sent: a line that names a guarded tool is no JSON")
        self._to_host(jsonvalue.dumps(answer) + b"\n")
        return True

    def _note(self, message: JsonObject) -> None:
        params = message.get("params")
        if not isinstance(params, dict):
            return
        if message.get("method") == "tools/call":
            key, tool = id_key(message.get("id")), params.get("name")
            if key is not None and isinstance(tool, str):
                self._pending[key] = tool
        elif message.get("method") == "notifications/cancelled":
            key = id_key(params.get("requestId"))
            if key is not None:
                self._pending.pop(key, None)

    def _take(self, message: JsonObject) -> None:
        key = id_key(message.get("id"))
        if key is None or not is_response(message):
            return
        tool = self._pending.pop(key, None)
        result = message.get("result")
        final = isinstance(result, dict) and result.get("resultType", "complete") == "complete"
        if tool is None or not final:
            return
        failed, text = content_of(message)
        if not failed:
            self._values.result(tool, None, text[:_TEXT_CHARS])


def _answer_to(request: JsonObject, refusal: str) -> JsonObject:
    if not refusal:
        return error_to(request["id"], INVALID_REQUEST, "not sent: another call of the same batch was refused")
    return result_to(request, refusal, failed=True)
