"""Pipes between a relay, whose reads and writes block, and an event loop: lines out of one, lines into another.

Each has a thread of its own, a daemon's: whoever does not read or does not write never holds up the process's end. Not
responsible for what a line says.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from stretto._defaults import PROXY_LINE_BYTES
from stretto.proxy.streams import Cutter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

__all__ = ["LineReader", "LineWriter", "one_line"]

_CHUNK_BYTES: Final = 64 * 1024

#: Whether a pipe can be written to without waiting for its reader.
_AT_ONCE: Final = hasattr(select, "poll")


def one_line(message: bytes) -> bytes:
    """A JSON text as a line: its line ends become spaces, since within strings JSON has none."""
    if b"\n" in message or b"\r" in message:
        message = message.replace(b"\n", b" ").replace(b"\r", b" ")
    return message + b"\n"


class LineReader:
    """Reads lines from a descriptor, and lets a coroutine take them one after the other.

    Args:
        descriptor: read to its end, and closed then.
        take: given each line with its line end; the next one is read when it returns. What it raises ends the reading.
        too_long: called for every piece of a line above `PROXY_LINE_BYTES`, which nobody else gets.
        ended: called in the loop when nothing more comes.
    """

    def __init__(
        self,
        descriptor: int,
        take: Callable[[bytes], Coroutine[Any, Any, None]],
        *,
        too_long: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._descriptor = descriptor
        self._take = take
        self._too_long = too_long
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="stretto-lines", daemon=True).start()

    def _run(self) -> None:
        cutter = Cutter(PROXY_LINE_BYTES)
        try:
            # The loop may have been closed, or its tasks cancelled: whatever was to be taken is nobody's any more.
            with suppress(OSError, RuntimeError, CancelledError):  # a thread's own kind, not the loop's
                while chunk := os.read(self._descriptor, _CHUNK_BYTES):
                    for piece in cutter.feed(chunk):
                        if piece.whole:
                            self._hand_over(piece.raw)
                        else:
                            self._too_long()
                for piece in cutter.rest():
                    self._hand_over(piece.raw)
        finally:
            os.close(self._descriptor)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ended)

    def _hand_over(self, line: bytes) -> None:
        taking = self._take(line)
        try:
            future = asyncio.run_coroutine_threadsafe(taking, self._loop)
        except RuntimeError:
            taking.close()
            raise
        future.result()


class LineWriter:
    """Writes lines to a pipe, in the order in which they are given: at once where there is room, else on a thread.

    Args:
        descriptor: closed by `close`.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: SimpleQueue[tuple[memoryview, asyncio.Future[bool]] | None] = SimpleQueue()
        self._queued = 0  # not written yet
        self._broken = False
        self._loop = asyncio.get_running_loop()
        if _AT_ONCE:
            os.set_blocking(descriptor, False)
        threading.Thread(target=self._run, name="stretto-writer", daemon=True).start()

    def write(self, line: bytes) -> Awaitable[bool]:
        """Write a whole line; False when nobody reads any more. In order of the calls, whoever is awaited first."""
        written = self._loop.create_future()
        left = memoryview(line)
        if _AT_ONCE and not self._queued:
            left = self._put(left)
        if left and not self._broken:
            self._queued += 1
            self._lines.put((left, written))
        else:
            written.set_result(not self._broken)
        return written

    def close(self) -> None:
        """Let the reader know that nothing more comes, once everything is written."""
        self._lines.put(None)

    def _put(self, left: memoryview) -> memoryview:
        """Write as much as there is room for; what is left."""
        try:
            return left[os.write(self._descriptor, left) :]
        except BlockingIOError:
            return left
        except OSError:
            self._broken = True
            return left

    def _run(self) -> None:
        room = None
        if _AT_ONCE:
            room = select.poll()
            room.register(self._descriptor, select.POLLOUT)
        while (item := self._lines.get()) is not None:
            left, written = item
            while left and not self._broken:
                if room:
                    room.poll()
                left = self._put(left)
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._settle, written)
        os.close(self._descriptor)

    def _settle(self, written: asyncio.Future[bool]) -> None:
        self._queued -= 1
        if not written.done():
            written.set_result(not self._broken)
