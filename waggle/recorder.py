"""The recorder: a bounded ring of the agent's steps, in the order in which the calls *started*.

Calls of one batch end in any order. A step is released only when every call that started before it has ended, so that
what is mined and matched does not depend on which tool was quicker. Not thread-safe by itself: a `Session` locks.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from waggle._defaults import PENDING_CALLS, RING_STEPS
from waggle.calls import Effect, Outcome, Result, Step

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

__all__ = ["Recorder", "Started"]


class Started(NamedTuple):
    """A call that has begun.

    Attributes:
        seq: its place in the order of starting, from 0.
        overlapped: an earlier call was still running, so this one cannot have used that one's result.
    """

    seq: int
    overlapped: bool


class Recorder:
    """Ring of the last `capacity` steps.

    Args:
        capacity: steps kept, at least 1.
        pending: calls that may be running at once; when more have started, the oldest is taken for lost.

    Raises:
        ValueError: a bound is below 1.
    """

    def __init__(self, capacity: int = RING_STEPS, *, pending: int = PENDING_CALLS) -> None:
        if capacity < 1 or pending < 1:
            raise ValueError("a recorder keeps at least one step and one pending call")
        self.capacity = capacity
        self._pending_limit = pending
        self._ring: deque[Step] = deque(maxlen=capacity)
        self._next = 0
        self._running: dict[int, tuple[str, JsonObject]] = {}  # by seq, in order of starting
        self._waiting: dict[int, tuple[Step, Result]] = {}  # ended, behind a call that still runs

    def __len__(self) -> int:
        return len(self._ring)

    def start(self, tool: str, args: JsonObject) -> Started:
        """Note that a call has begun."""
        started = Started(self._next, bool(self._running))
        self._next += 1
        self._running[started.seq] = (tool, args)
        return started

    def instant(self) -> Started:
        """Give a place to a call that is reported only now that it has ended; then `end` it."""
        self._next += 1
        return Started(self._next - 1, bool(self._running))

    def end(self, step: Step, result: Result) -> list[tuple[Step, Result]]:
        """Note that a call has ended.

        Returns:
            The steps this releases, with their results, in order of starting; none while an earlier call still runs.
        """
        self._running.pop(step.seq, None)
        if not self._running and not self._waiting:  # the ordinary case: one call at a time
            return [(step, result)]
        self._waiting[step.seq] = (step, result)
        while len(self._running) > self._pending_limit:
            del self._running[next(iter(self._running))]
        return self._release()

    def record(self, step: Step) -> bool:
        """Put a released step into the ring; True when the oldest had to go for it."""
        full = len(self._ring) == self.capacity
        self._ring.append(step)
        return full

    def abort(self) -> list[tuple[Step, Result]]:
        """End every call that still runs as `Outcome.ABORTED`; it may have done anything, so it counts as a write.

        Returns:
            All steps this releases, with their results, in order of starting.
        """
        nothing = Result(ok=False, outcome=Outcome.ABORTED)
        for seq, (tool, args) in self._running.items():
            step = Step(seq, tool, args, Outcome.ABORTED, Effect.WRITE, overlapped=True)
            self._waiting[seq] = (step, nothing)
        self._running.clear()
        return self._release()

    def steps(self) -> list[Step]:
        """Copy of the ring, oldest first."""
        return list(self._ring)

    def _release(self) -> list[tuple[Step, Result]]:
        first_running = next(iter(self._running), None)
        ready = sorted(seq for seq in self._waiting if first_running is None or seq < first_running)
        return [self._waiting.pop(seq) for seq in ready]
