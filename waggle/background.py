"""Work for the disk, done away from the agent's calls.

A call is never held up by a lock or a slow disk: what must be written is queued and one thread writes it. The queue is
bounded; what does not fit, and what fails, is counted and reported, never raised. Work that is still queued when the
process dies was not acknowledged to anybody.
"""

from __future__ import annotations

import atexit
import logging
import threading
import traceback
import weakref
from collections import Counter, deque
from typing import TYPE_CHECKING

from waggle._defaults import EXIT_FLUSH_SECONDS, QUEUE_ITEMS
from waggle._fork import renew_in_children

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Background", "Faults"]

_log = logging.getLogger("waggle")


class Faults:
    """Counts what went wrong, by kind, and logs each kind once."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`."""
        self._lock = threading.Lock()

    def note(self, kind: str, error: BaseException | str | None = None) -> None:
        """Count one fault; the first of its kind is logged, with its stack trace at debug level and without secrets.

        Args:
            kind: what went wrong, in words of ours.
            error: what was raised, or a text; either may be anybody's, and hold what a tool was given.
        """
        with self._lock:
            self._counts[kind] += 1
            first = self._counts[kind] == 1
        if first:
            from waggle.redact import redact_text  # noqa: PLC0415 - where all is well it is not needed

            detail = redact_text(f"{kind}: {error}" if error is not None else kind)
            _log.warning("%s (reported once; the agent is not affected)", detail)
            if isinstance(error, BaseException) and _log.isEnabledFor(logging.DEBUG):
                _log.debug("%s", redact_text("".join(traceback.format_exception(error))))

    def counts(self) -> dict[str, int]:
        """How often each kind occurred."""
        with self._lock:
            return dict(self._counts)


class Background:
    """One thread, started on first use, that runs queued work in order."""

    def __init__(self, faults: Faults, *, capacity: int = QUEUE_ITEMS) -> None:
        self._faults = faults
        self._capacity = capacity
        self._queue: deque[tuple[str, Callable[[], object]]] = deque()
        self._ready = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`: the thread is the parent's, and so is what was queued; it writes it."""
        self._ready = threading.Condition()
        self._queue.clear()
        self._busy = False
        self._thread = None

    def submit(self, kind: str, work: Callable[[], object]) -> bool:
        """Queue work; False when the queue is full, which is counted. Never blocks on the disk, never raises.

        Args:
            kind: what the work is, for the count of faults.
            work: called once, on the background thread.
        """
        with self._ready:
            if len(self._queue) >= self._capacity:
                self._faults.note(f"queue full, dropped: {kind}")
                return False
            self._queue.append((kind, work))
            self._start()
            self._ready.notify_all()
        return True

    def _start(self) -> None:
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name="waggle-writer", daemon=True)
        self._thread.start()
        finisher = weakref.WeakMethod(self.flush)

        def flush_at_exit() -> None:
            if flush := finisher():
                flush(EXIT_FLUSH_SECONDS)

        atexit.register(flush_at_exit)

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._queue:
                    self._busy = False
                    self._ready.notify_all()
                    self._ready.wait()
                kind, work = self._queue.popleft()
                self._busy = True
            try:
                work()
            except Exception as error:  # noqa: BLE001 - a full disk must not end the thread
                self._faults.note(kind, error)

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until everything queued is done; False when the time ran out."""
        with self._ready:
            if self._thread is None:
                return True
            return self._ready.wait_for(lambda: not self._queue and not self._busy, timeout_s)
