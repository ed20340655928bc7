"""What is known since the last write: lookups that need not be made again, and their answers while there is room."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from waggle.calls import Result

if TYPE_CHECKING:
    from waggle.calls import CallKey
    from waggle.tools import Extent

__all__ = ["KnownLookups"]


class KnownLookups:
    """Answers by what they cover. Bounded by the text held and by the number of entries; the oldest go first.

    Args:
        limit: text held, in characters. Beyond it the oldest answers lose their text but stay known.
        entries: answers known at all.
    """

    def __init__(self, limit: int, *, entries: int = 4096) -> None:
        self._limit = limit
        self._entries = entries
        self._by_resource: dict[CallKey, dict[Extent, Result]] = {}
        self._order: deque[Extent] = deque()  # as added; the first `_bare` of them have lost their text
        self._bare = 0
        self._size = 0

    def add(self, extent: Extent, result: Result) -> None:
        """Note an answer."""
        answers = self._by_resource.setdefault(extent.resource, {})
        before = answers.get(extent)
        if before is not None:
            return  # nothing was written since: it says the same
        answers[extent] = result
        self._order.append(extent)
        self._size += len(result.text)
        while self._size > self._limit and self._bare < len(self._order):
            oldest = self._order[self._bare]
            self._size -= len(self._by_resource[oldest.resource][oldest].text)
            self._by_resource[oldest.resource][oldest] = Result(cut=True)
            self._bare += 1
        while len(self._order) > self._entries:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        oldest = self._order.popleft()
        self._bare = max(self._bare - 1, 0)
        answers = self._by_resource[oldest.resource]
        self._size -= len(answers.pop(oldest).text)
        if not answers:
            del self._by_resource[oldest.resource]

    def find(self, extent: Extent) -> Result | None:
        """The answer that covers a lookup, or None."""
        answers = self._by_resource.get(extent.resource)
        if not answers:
            return None
        if extent in answers:
            return answers[extent]
        return next((result for known, result in answers.items() if known.covers(extent)), None)

    def clear(self) -> None:
        """Forget everything: something was written."""
        self._by_resource.clear()
        self._order.clear()
        self._bare = self._size = 0
