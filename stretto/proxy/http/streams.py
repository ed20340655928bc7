"""Which of a host's HTTP responses each message of its server goes to, and the messages of each.

An answer goes where its request came from; progress, and what names a subscription, too. Anything else goes to the one
request that is open, to the standing stream, or to the request that came last, whichever there is first; when there is
nothing, it waits.

Not responsible for HTTP (`stretto.proxy.http.listening`). Everything here happens in one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.proxy.http.headers import is_modern
from stretto.sessions.wire import RESERVED, id_key, is_response, messages_of, meta_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Event", "Router", "Stream"]

_BACKLOG_BYTES: Final = 8 * 2**20  #: that a host has still to read before its server is not read any more
_KEPT_BYTES: Final = 4 * 2**20  #: of one stream, and of all that have ended, for when a connection broke
_SUBSCRIPTION: Final = f"{RESERVED}subscriptionId"


class Event(NamedTuple):
    """A message on a stream: its place there, counted from 1, and the line."""

    number: int
    line: bytes


class Stream:
    """The messages for one response, in order; they may be read again from any place that is still kept.

    Args:
        number: of the stream in its session.
        requests: the ids of those whose answers end it, by their keys; none where it is open until it is closed.
        modern: it belongs to a request of the later era, in which nobody takes a stream up again.

    Attributes:
        unanswered: of the requests.
        readers: how many read it now, or are about to. As long as there is one, nothing unread is forgotten.
        seen: number of the latest message that was read.
        size_bytes: of the messages that are kept.
    """

    def __init__(self, number: int, requests: Mapping[IdKey, JsonValue], *, modern: bool = False) -> None:
        self.number = number
        self.modern = modern
        self.unanswered = dict(requests)
        self.readers = 0
        self.seen = 0
        self.size_bytes = 0
        self._last = 0
        self._events: deque[Event] = deque()
        self._ended = False
        self._changed = asyncio.Event()

    async def put(self, line: bytes) -> None:
        """Add a message; waits while somebody reads, and is far behind."""
        self.add(line)
        while self.readers and self.size_bytes > _BACKLOG_BYTES and self.seen < self._last:
            await self._change()

    def add(self, line: bytes) -> None:
        """Add a message."""
        self._last += 1
        self._events.append(Event(self._last, line))
        self.size_bytes += len(line)
        self._forget()
        self._changed.set()

    def end(self) -> None:
        """Let nothing more come."""
        self._ended = True
        self._changed.set()

    def unread(self) -> list[bytes]:
        """The messages that nobody has read, which count as read from now on."""
        lines = [event.line for event in self._events if event.number > self.seen]
        self.seen = self._last
        return lines

    async def answer(self, patience_s: float | None) -> bytes | None:
        """The answer, when it is the first message there is and comes in time.

        Args:
            patience_s: longest wait, seconds; None to wait for the answer however many messages come before it, which
                nobody is shown then.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not self._ended and (patience_s is None or not self._events):
                    await self._change()
        if not self._ended or not self._events or (patience_s is not None and self._events[0].number != self._last):
            return None
        self.seen = self._last
        return self._events[-1].line

    async def read(self, after: int, patience_s: float) -> AsyncIterator[Event | None]:
        """The messages after a place, until the stream has ended; None whenever nothing has come for so many seconds.

        Those that are not kept any more are left out. Whoever reads counts among the `readers` until it has done so.
        """
        while True:
            for event in [event for event in self._events if event.number > after]:
                yield event
                after = event.number
                self.seen = max(self.seen, after)
                self._forget()
                self._changed.set()
            if after < self._last:
                continue
            if self._ended:
                return
            try:
                async with asyncio.timeout(patience_s):
                    await self._change()
            except TimeoutError:
                yield None

    def leave(self) -> None:
        """Know that one reader less is there."""
        self.readers -= 1
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _forget(self) -> None:
        """Keep a bounded part of what was read, and of what nobody reads."""
        while self.size_bytes > _KEPT_BYTES and len(self._events) > 1:
            if self.readers and self._events[0].number > self.seen:
                return
            self.size_bytes -= len(self._events.popleft().line)


class Router:
    """The streams of one session.

    Attributes:
        standing: the stream for what answers nothing, whether or not somebody reads it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[IdKey, Stream] = {}  # by the id of each request without an answer
        self._progress: dict[IdKey, Stream] = {}
        self._finished: deque[Stream] = deque()
        self.standing = self._new({})
        self._answers = {"result": 0, "error": 0}

    @property
    def busy(self) -> bool:
        """Whether a request is open, or somebody reads."""
        return bool(self._open) or bool(self.standing.readers)

    @property
    def refused(self) -> bool:
        """Whether the server has answered with errors alone, and no request is open."""
        return bool(self._answers["error"]) and not self._answers["result"] and not self._open

    def waits_for(self, message: JsonValue) -> bool:
        """Whether a request with an id of this message's is open."""
        return any(id_key(each.get("id")) in self._open for each in messages_of(message) if "method" in each)

    def open(self, message: JsonValue) -> Stream:
        """The stream for the answers to the requests of a message, which has not been sent yet; with one reader."""
        requests = [each for each in messages_of(message) if each.get("method") is not None]
        ids = {key: each.get("id") for each in requests if (key := id_key(each.get("id"))) is not None}
        stream = self._new(ids, modern=any(is_modern(each) for each in requests))
        stream.readers = 1
        for each in requests:
            token = id_key(meta_of(each).get("progressToken"))
            if token is not None:
                self._progress[token] = stream
        if not stream.modern and not self.standing.readers:
            for line in self.standing.unread():
                stream.add(line)
        self._open |= dict.fromkeys(ids, stream)
        return stream

    def find(self, number: int) -> Stream | None:
        """The stream of this number, open or ended; None when it is forgotten."""
        streams = (*self._open.values(), *self._finished, self.standing)
        return next((stream for stream in streams if stream.number == number), None)

    def abandon(self, stream: Stream) -> list[JsonValue]:
        """Drop a stream that nobody wants any more; the ids of its requests that have no answer."""
        ids = [*stream.unanswered.values()]
        for key in [*stream.unanswered]:
            self._answered(key)
        return ids

    async def deliver(self, line: bytes) -> None:
        """Put a line of the server where it belongs; an answer that nobody waits for belongs nowhere."""
        try:
            messages = list(messages_of(jsonvalue.loads(line)))
        except ValueError:
            return
        answers = [each for each in messages if is_response(each)]
        if not answers:
            if messages:
                await self._stream_for(messages[0]).put(line)
            return
        for each in answers:
            self._answers["result" if "result" in each else "error"] += 1
        streams = dict.fromkeys(stream for each in answers if (stream := self._answered(id_key(each.get("id")))))
        for stream in streams:
            await stream.put(line)
            if not stream.unanswered:
                stream.end()

    def end(self) -> dict[Stream, list[JsonValue]]:
        """End the session: streams that wait for answers, and the ids of the requests that get none.

        Whoever has something to say to those says it, and ends the streams.
        """
        left = {stream: [*stream.unanswered.values()] for stream in dict.fromkeys(self._open.values())}
        self._open.clear()
        self._progress.clear()
        self.standing.end()
        return left

    # --- inside ---------------------------------------------------------------------------------------------------

    def _new(self, ids: Mapping[IdKey, JsonValue], *, modern: bool = False) -> Stream:
        self._count += 1
        return Stream(self._count, ids, modern=modern)

    def _answered(self, key: IdKey | None) -> Stream | None:
        """Know that a request has its answer; the stream it belongs to, None when nobody waits for it."""
        stream = self._open.pop(key, None) if key is not None else None
        if stream is None or key is None:
            return None
        stream.unanswered.pop(key, None)
        if not stream.unanswered:
            self._progress = {token: other for token, other in self._progress.items() if other is not stream}
            if not stream.modern:
                self._finished.append(stream)
                while sum(each.size_bytes for each in self._finished) > _KEPT_BYTES:
                    self._finished.popleft()
        return stream

    def _stream_for(self, message: JsonObject) -> Stream:
        params = message.get("params")
        token = id_key(params.get("progressToken")) if isinstance(params, dict) else None
        subscription = id_key(meta_of(message).get(_SUBSCRIPTION))
        if token is not None and token in self._progress:
            return self._progress[token]
        if subscription is not None and subscription in self._open:
            return self._open[subscription]
        requests = [*dict.fromkeys(self._open.values())]
        if requests and (len(requests) == 1 or not self.standing.readers):
            return requests[-1]
        return self.standing
