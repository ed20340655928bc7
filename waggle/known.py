"""What is known since the last write: lookups that need not be made again, and their answers while there is room."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from waggle.calls import Result
from waggle.extents import Coverage

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.calls import Step
    from waggle.extents import Extent

__all__ = ["KnownLookups"]

_NO_TEXT: Final = Result(cut=True)


class KnownLookups:
    """Answers by what they cover. Bounded by the text held and by the number of answers; the oldest go first.

    Most are never asked for, so noting one costs next to nothing: what it covers is found out when a lookup asks.

    Args:
        extents_of: tells what a read returned.
        limit: text held, in characters. Beyond it the oldest answers lose their text but stay known.
        entries: answers known at all.
    """

    def __init__(self, extents_of: Callable[[Step], tuple[Extent, ...]], limit: int, *, entries: int = 4096) -> None:
        self._extents_of = extents_of
        self._limit = limit
        self._entries = entries
        self._noted: deque[tuple[Step, Result]] = deque()  # numbered from `_first`
        self._first = 0
        self._bare = 0  # so many of them, the oldest, have lost their text
        self._size = 0
        self._coverage = Coverage()
        self._sorted = 0  # number of the first answer that is not in it yet

    def add(self, step: Step, result: Result) -> None:
        """Note the answer to a read."""
        self._noted.append((step, result))
        self._size += len(result.text)
        while self._size > self._limit and self._bare < len(self._noted):
            oldest, cut = self._noted[self._bare]
            self._size -= len(cut.text)
            self._noted[self._bare] = (oldest, _NO_TEXT)
            self._bare += 1
        if len(self._noted) > self._entries:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        step, result = self._noted.popleft()
        self._size -= len(result.text)
        self._bare = max(self._bare - 1, 0)
        if self._first < self._sorted:
            self._coverage.remove(self._extents_of(step), self._first)
        self._first += 1

    def find(self, extents: tuple[Extent, ...]) -> Result | None:
        """The answer that covers a lookup; where only several together do, one without text; None where none do."""
        start = max(self._sorted, self._first)
        for number, (step, _) in enumerate(islice(self._noted, start - self._first, None), start):
            self._coverage.add(self._extents_of(step), number)
        self._sorted = self._first + len(self._noted)
        numbers = self._coverage.find(extents)
        if numbers is None:
            return None
        return self._noted[numbers[0] - self._first][1] if len(numbers) == 1 else _NO_TEXT

    def clear(self) -> None:
        """Forget everything: something was written."""
        self._noted.clear()
        self._coverage.clear()
        self._first = self._bare = self._size = self._sorted = 0
