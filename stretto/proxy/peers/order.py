"""What happened at several servers, put in order of time though it is heard of at different times.

Whoever is told of something by another process learns of it a little later than of what it sees itself. So everything
waits until somebody needs to know, or until nothing earlier is to be expected any more. Not responsible for what
happened, nor for asking others whether there is more.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Order"]

_T = TypeVar("_T")

#: Longest time for which what was heard waits for what was earlier, seconds: one process tells another within
#: milliseconds, unless the machine is busy.
_WAITS_S: Final = 0.5

#: As much waits at most; then the earliest no longer does.
_MOST: Final = 10_000


class Order(Generic[_T]):
    """Things that wait, each with the time when it happened. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, bool, int, float, _T]] = []
        self._numbers = count()

    def add(self, thing: _T, at_s: float, now_s: float, *, late: bool = False) -> None:
        """Let something wait.

        Args:
            thing: what happened.
            at_s: when.
            now_s: when it was heard of; a later `at_s` counts as this.
            late: of all that happened at that time, it is the last.
        """
        heapq.heappush(self._waiting, (min(at_s, now_s), late, next(self._numbers), now_s, thing))

    def until(self, at_s: float) -> Iterator[_T]:
        """Take out all that happened up to a time, in order; of one time in the order in which it was heard of."""
        while self._waiting and self._waiting[0][0] <= at_s:
            yield heapq.heappop(self._waiting)[-1]

    def settled(self, now_s: float) -> Iterator[_T]:
        """Take out, in order, all that has waited for so long that nothing earlier is to be expected."""
        while self._waiting and (now_s - self._waiting[0][3] > _WAITS_S or len(self._waiting) > _MOST):
            yield heapq.heappop(self._waiting)[-1]
