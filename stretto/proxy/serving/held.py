"""An answer that is held back for its lookups, and its release: once, and never later than was promised.

Whoever comes first releases it: who has the lookups, who ends the session, or the watch of this module, which does so
when the time is over and everybody else is still busy or waits for somebody. Not responsible for what is added.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Held", "Holder"]


class Held:
    """One answer that is held.

    Attributes:
        line: the server's bytes.
        own: they are the proxy's, in the place of the server's.
        until: when it is released at the latest, on the clock of `time.monotonic`.
    """

    __slots__ = ("line", "own", "until")

    def __init__(self, line: bytes, until: float, *, own: bool) -> None:
        self.line = line
        self.own = own
        self.until = until


class Holder:
    """Holds one answer at a time. Thread-safe.

    Args:
        send: hands a line to the host, and is told whether it is another than the server's; called without a lock.
        seconds: for which an answer is held at most.
    """

    def __init__(self, send: Callable[[bytes, bool], None], seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._held: Held | None = None
        self._changed = threading.Condition()
        self._watch: threading.Thread | None = None
        self._idle = False  # the watch waits for an answer to be held
        self._closed = False

    def hold(self, line: bytes, *, own: bool = False) -> Held | None:
        """Hold an answer; None when another one is held, or it is too late for any.

        Args:
            line: its bytes.
            own: they are the proxy's, in the place of the server's.
        """
        with self._changed:
            if self._closed or self._held is not None:
                return None
            self._held = held = Held(line, time.monotonic() + self._seconds, own=own)
            if self._watch is None:
                self._watch = threading.Thread(target=self._run, name="stretto-held", daemon=True)
                self._watch.start()
            elif self._idle:  # else it wakes up by itself, earlier than this answer's time is over
                self._changed.notify()
            return held

    def take(self, held: Held) -> bool:
        """Take an answer out, and with it the duty to send it; False when it was taken before."""
        with self._changed:
            if self._held is not held:
                return False
            self._held = None
            return True

    def release(self, held: Held, line: bytes) -> bool:
        """Send a line in the place of the answer; False when it was taken before."""
        taken = self.take(held)
        if taken:
            self._send(line, held.own or line is not held.line)
        return taken

    def close(self) -> None:
        """Release what is held, as it came, and hold nothing any more."""
        with self._changed:
            self._closed = True
            held, self._held = self._held, None
            self._changed.notify()
        if held:
            self._send(held.line, held.own)

    def _run(self) -> None:
        while True:
            with self._changed:
                late = self._late()
                if self._closed:
                    return
            if late:
                self._send(late.line, late.own)

    def _late(self) -> Held | None:
        """Wait for something to happen; an answer whose time is over, if that is what happened."""
        held = self._held
        if held is None:
            self._idle = True
            self._changed.wait()
            self._idle = False
            return None
        left = held.until - time.monotonic()
        if left > 0:
            self._changed.wait(left)
            return None
        self._held = None
        return held
