"""`waggle.miner.mine` over a sliding window of steps, call by call: the same answers at constant work a call.

The windows of the ring are kept in groups, by the shapes of their calls and by the calls themselves. A new step adds
the few windows that end with it, and the oldest step takes away those that begin with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from waggle.miner import BY_CALL, BY_SHAPE, MineConfig, Runs, candidate_of, is_primitive, non_overlapping, rank

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from waggle.calls import Step
    from waggle.miner import Candidate

__all__ = ["IncrementalMiner"]


@dataclass(slots=True)
class _Item:
    """A step of the ring that is part of a run."""

    step: Step
    place: int  # position within its run, from 1
    shapes: tuple[int, ...]  # symbols of the run's last steps up to this one, at most max_len
    calls: tuple[int, ...]


class _Symbols:
    """Small integers for shapes and calls, so that a window hashes quickly; what leaves the ring is forgotten."""

    __slots__ = ("_ids", "_next")

    def __init__(self) -> None:
        self._ids: dict[Hashable, list[int]] = {}  # symbol -> [id, uses]
        self._next = 0

    def take(self, symbol: Hashable) -> int:
        entry = self._ids.get(symbol)
        if entry is None:
            self._next += 1
            entry = self._ids[symbol] = [self._next, 0]
        entry[1] += 1
        return entry[0]

    def give_back(self, symbol: Hashable) -> None:
        entry = self._ids[symbol]
        entry[1] -= 1
        if not entry[1]:
            del self._ids[symbol]


@dataclass(slots=True)
class _Group:
    """The windows of the ring that have equal symbols."""

    length: int
    starts: deque[int] = field(default_factory=deque)
    count: int = 0  # of those that do not overlap; -1 when it must be counted again
    end: int = -1  # where the last of them ends
    look_at: int = 0  # windows it must have before `IncrementalMiner.fresh` shows it again

    def add(self, start: int) -> None:
        self.starts.append(start)
        if self.count >= 0 and start >= self.end:
            self.count, self.end = self.count + 1, start + self.length

    def drop_first(self) -> None:
        start = self.starts.popleft()
        if self.starts and self.starts[0] < start + self.length:
            self.count = -1  # the next one overlaps the one that left: the greedy choice shifts
        elif self.count > 0:
            self.count -= 1

    def counted(self) -> int:
        if self.count < 0:
            self.count, self.end = non_overlapping(self.starts, self.length)
        return self.count


class _Groups:
    """Groups of windows over one kind of symbol.

    Most windows of a real session occur once, so a group with one window is only its start.
    """

    __slots__ = ("_groups", "_k", "_lengths", "fresh", "repeated")

    def __init__(self, config: MineConfig) -> None:
        self._groups: dict[tuple[int, ...], _Group | int] = {}
        self._lengths = range(config.min_len, config.max_len + 1)
        self._k = config.k
        self.repeated: dict[tuple[int, ...], _Group] = {}  # those with at least k windows
        self.fresh: dict[tuple[int, ...], _Group] = {}  # those of `repeated` to look at

    def __len__(self) -> int:
        return len(self._groups)

    def append(self, recent: tuple[int, ...], index: int) -> None:
        """Add the windows that end with the newest item; `recent` are the symbols of its run, at most `max_len`."""
        size = len(recent)
        groups = self._groups
        for length in self._lengths:
            if length > size:
                break
            symbols = recent[size - length :]
            start = index - length + 1
            group = groups.get(symbols)
            if group is None:
                if self._k > 1 or not is_primitive(symbols):
                    groups[symbols] = start
                    continue
                group = groups[symbols] = _Group(length)
            elif isinstance(group, int):
                if not is_primitive(symbols):
                    groups[symbols] = start  # never a route; only the newest is remembered, to be dropped with it
                    continue
                first, group = group, _Group(length)
                group.add(first)
                groups[symbols] = group
            group.add(start)
            windows = len(group.starts)
            if windows >= self._k:
                self.repeated[symbols] = group
                if windows >= group.look_at:
                    self.fresh[symbols] = group

    def drop(self, oldest: tuple[int, ...], index: int) -> None:
        """Remove the windows that start with the oldest item; `oldest` are its run's symbols, at most `max_len`."""
        groups = self._groups
        for length in self._lengths:
            if length > len(oldest):
                break
            symbols = oldest[:length]
            group = groups[symbols]
            if isinstance(group, int):
                if group == index:
                    del groups[symbols]
                continue
            group.drop_first()
            left = len(group.starts)
            if left < self._k:
                self.repeated.pop(symbols, None)
                self.fresh.pop(symbols, None)
                if not left:
                    del groups[symbols]

    def take_fresh(self) -> list[_Group]:
        """Take the groups to look at; each is due again when it has twice as many windows."""
        taken = list(self.fresh.values())
        self.fresh.clear()
        for group in taken:
            group.look_at = 2 * len(group.starts)
        return taken

    def windows(self, symbols: tuple[int, ...]) -> int:
        """How many windows have these symbols; 0 also where they are not primitive."""
        group = self._groups.get(symbols)
        return len(group.starts) if isinstance(group, _Group) else 0


class IncrementalMiner:
    """`mine` over a sliding window of steps, without looking at the window again.

    After any sequence of `append` and `evict`, `candidates` equals `mine` of the steps appended and not evicted. A call
    costs O(max_len) dictionary look-ups; memory is bounded by the steps held.
    """

    def __init__(self, config: MineConfig | None = None) -> None:
        self.config = config or MineConfig()
        self._runs = Runs()
        self._cells: deque[bool] = deque()  # for each step held, whether it is part of a run
        self._items: deque[_Item] = deque()
        self._first = 0  # index of _items[0] among all items ever
        self._shape_ids, self._call_ids = _Symbols(), _Symbols()
        self._by_shape, self._by_call = _Groups(self.config), _Groups(self.config)
        self._recent_shapes: tuple[int, ...] = ()  # symbols of the newest run's last steps, at most max_len
        self._recent_calls: tuple[int, ...] = ()

    def append(self, step: Step) -> None:
        """Take in the next step."""
        continues = self._runs.admit(step)
        self._cells.append(continues is not None)
        if continues is None:
            return
        if not continues:
            self._recent_shapes = self._recent_calls = ()
        items, longest = self._items, self.config.max_len
        place = items[-1].place + 1 if continues and items else 1
        index = self._first + len(items)
        self._recent_shapes = shapes = (*self._recent_shapes, self._shape_ids.take(step.shape))[-longest:]
        self._by_shape.append(shapes, index)
        if self.config.literal:
            self._recent_calls = (*self._recent_calls, self._call_ids.take(step.key))[-longest:]
            self._by_call.append(self._recent_calls, index)
        items.append(_Item(step, place, shapes, self._recent_calls))

    def evict(self) -> None:
        """Forget the oldest step held.

        Raises:
            IndexError: no step is held.
        """
        if not self._cells.popleft():
            return
        items = self._items
        # Places count on within a run and begin again at 1, so equal distance means the same run.
        length, first = min(len(items), self.config.max_len), items[0].place
        while items[length - 1].place != first + length - 1:
            length -= 1
        last, oldest = items[length - 1], items.popleft().step
        self._by_shape.drop(last.shapes[-length:], self._first)
        self._shape_ids.give_back(oldest.shape)
        if self.config.literal:
            self._by_call.drop(last.calls[-length:], self._first)
            self._call_ids.give_back(oldest.key)
        self._first += 1
        if len(self._recent_shapes) > len(self._items):  # the newest run has lost its beginning
            self._recent_shapes, self._recent_calls = self._recent_shapes[1:], self._recent_calls[1:]

    def candidates(self) -> list[Candidate]:
        """Everything that repeats in the steps held, in the order of `mine`."""
        return list(self.ranked())

    def ranked(self) -> Iterator[Candidate]:
        """Give the candidates one by one, best first; each is built only when asked for. Not valid across `append`."""
        found = [(BY_SHAPE, group) for group in self._by_shape.repeated.values()]
        found += [(BY_CALL, group) for group in self._by_call.repeated.values()]
        for group in self._sorted(found):
            yield self._candidate(group)

    def fresh(self) -> list[Candidate]:
        """Candidates worth a look, best first: new ones, and those seen twice as often as when last shown.

        Those that vary in their last step are left out: what comes after their prefix is not known, so they cannot
        fire. The cost depends on what has changed, not on what is held: a group is shown at most log2(N) times while N
        steps pass.
        """
        found = [(BY_SHAPE, group) for group in self._by_shape.take_fresh() if self._ends_alike(group)]
        found += [(BY_CALL, group) for group in self._by_call.take_fresh()]
        return [self._candidate(group) for group in self._sorted(found)]

    def _sorted(self, found: list[tuple[int, _Group]]) -> list[_Group]:
        ranks = [
            (rank(group.length, count, kind, group.starts[0]), group)
            for kind, group in found
            if (count := group.counted()) >= self.config.k and (kind == BY_SHAPE or not self._is_known_by_shape(group))
        ]
        ranks.sort(key=lambda item: item[0])
        return [group for _, group in ranks]

    def _candidate(self, group: _Group) -> Candidate:
        return candidate_of([self._window(start, group.length) for start in group.starts], group.counted())

    def _ends_alike(self, group: _Group) -> bool:
        """Whether the first and the newest window of a group end with the same call."""
        last = group.length - 1 - self._first
        one, other = self._items[group.starts[0] + last].step, self._items[group.starts[-1] + last].step
        return one.parts == other.parts

    def _is_known_by_shape(self, group: _Group) -> bool:
        """Whether the windows of a group by call are also the windows of a group by shape."""
        offset = group.starts[0] - self._first
        shapes = self._items[offset + group.length - 1].shapes[-group.length :]
        return self._by_shape.windows(shapes) == len(group.starts)

    def _window(self, start: int, length: int) -> list[Step]:
        offset = start - self._first
        return [item.step for item in islice(self._items, offset, offset + length)]
