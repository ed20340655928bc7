r"""Lines of a stream: cut from chunks as they come, and put out whole by several threads.

Lines end at ``\n`` only. Not responsible for what a line says, nor for who reads and who writes.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonValue

__all__ = ["Cutter", "Line", "Outlet", "Piece"]

_END: Final = b"\n"
_UNREAD: Final = object()


class Line:
    """One line as it crossed.

    Attributes:
        raw: its bytes with its line end; the last line of a stream may have none.
        own: it is the proxy's, in the place of one that crossed.
    """

    __slots__ = ("_message", "own", "raw")

    raw: Final[bytes]
    own: Final[bool]

    def __init__(self, raw: bytes, *, own: bool = False) -> None:
        self.raw = raw
        self.own = own
        self._message: object = _UNREAD

    @property
    def message(self) -> JsonValue:
        """A parsed copy, None when the line is no JSON; parsed when it is first asked for."""
        if self._message is _UNREAD:
            try:
                self._message = jsonvalue.loads(self.raw)
            except ValueError:
                self._message = None
        return self._message  # type: ignore[return-value] # what was parsed, or None

    def __repr__(self) -> str:
        return f"Line({self.raw!r})"


class Piece(NamedTuple):
    """A part of a stream.

    Attributes:
        raw: its bytes, never empty.
        whole: False for a part of a line that is too long to be held.
    """

    raw: bytes
    whole: bool


class Cutter:
    """Cuts a stream into lines, in time linear in its length and memory linear in the longest line that is held.

    Args:
        longest: bytes of a line that is held until its end is there. Of a longer one the parts are given at once.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._too_long = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces that are complete with this chunk, in order."""
        start = 0
        while end := chunk.find(_END, start) + 1:
            self._keep(chunk[start:end])
            yield self._given(whole=not self._too_long and self._size <= self._longest)
            self._too_long = False
            start = end
        if start < len(chunk):
            self._keep(chunk[start:])
        if self._size > self._longest or (self._too_long and self._parts):
            self._too_long = True
            yield self._given(whole=False)

    def rest(self) -> Iterator[Piece]:
        """What stands after the last line end, when the stream is over."""
        if self._parts:
            yield self._given(whole=True)

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)

    def _given(self, *, whole: bool) -> Piece:
        raw = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return Piece(raw, whole)


class Outlet:
    """One side's input. Writes block for as long as that side takes; after one has failed, everything is let go.

    Args:
        descriptor: to write to; whoever opened it closes it.

    Attributes:
        moved: bytes written so far.
        writing: a write is waiting, or about to return.
        broken: nobody reads any more, or it was shut.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.RLock()
        self._held = False
        self._begun = False  # of a line, a part has been written
        self.moved = 0
        self.writing = False
        self.broken = False

    def put(self, raw: bytes) -> bool:
        """Write a piece of the stream that is relayed; from one thread only.

        After a piece without line end, other threads wait until the line has ended.

        Returns:
            False when it cannot be written.
        """
        if not self._held:
            self._lock.acquire()
            self._held = True
        try:
            return self._write(raw)
        finally:
            if not self._begun or self.broken:
                self.release()

    def release(self) -> None:
        """Let others write though the line has not ended, since it never will; from the thread of `put`."""
        if self._held:
            self._held = False
            self._lock.release()

    def add(self, line: bytes) -> bool:
        """Write a whole line of one's own, from any thread; on a line of its own even after a torn one.

        Returns:
            False when it cannot be written.
        """
        with self._lock:
            return self._write(_END + line if self._begun else line)

    def shut(self, timeout_s: float) -> bool:
        """Let nobody write any more.

        Args:
            timeout_s: longest wait for a write that is under way, seconds.

        Returns:
            Whether no write is under way; only then may the descriptor be closed.
        """
        if not self._lock.acquire(timeout=timeout_s):
            return False
        self.broken = True
        self._lock.release()
        return True

    def _write(self, raw: bytes) -> bool:
        if self.broken:
            return False
        self.writing = True
        left = memoryview(raw)
        try:
            while left:
                written = os.write(self._descriptor, left)
                self.moved += written
                left = left[written:]
        except OSError:
            self.broken = True
            return False
        finally:
            self.writing = False
        self._begun = not raw.endswith(_END)
        return True
