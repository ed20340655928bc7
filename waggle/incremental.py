"""`waggle.miner.mine` over a sliding window of steps, call by call: the same answers at constant work a call.

The windows of the ring are kept in groups, by the shapes of their calls and by the calls themselves. A new step adds
the few windows that end with it, and the oldest step takes away those that begin with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from waggle.miner import BY_CALL, BY_SHAPE, MineConfig, Runs, candidate_of, is_primitive, non_overlapping, rank

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

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


class _Group(deque[int]):
    """Where the windows of the ring that have equal symbols start, ascending."""

    __slots__ = ("length", "look_at")

    def __init__(self, starts: Iterable[int], length: int, look_at: int) -> None:
        super().__init__(starts)
        self.length = length
        self.look_at = look_at  # windows it must have before `IncrementalMiner.fresh` shows it

    def count(self) -> int:  # type: ignore[override] # a group is asked how often it occurs, not where
        """How many of the windows fit without overlap."""
        return non_overlapping(self, self.length)[0]


class _Groups:
    """Groups of windows over one kind of symbol.

    Most windows of a real session occur once, so a group with one window is only its start. One whose symbols are not
    primitive is never a route; of it only the newest start is remembered.
    """

    __slots__ = ("_fresh", "_groups", "_k", "_lengths")

    def __init__(self, config: MineConfig) -> None:
        self._groups: dict[tuple[int, ...], _Group | int] = {}
        self._lengths = tuple(range(config.min_len, config.max_len + 1))
        self._k = config.k
        self._fresh: dict[tuple[int, ...], _Group] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def append(self, recent: tuple[int, ...], index: int) -> None:
        """Add the windows that end with the newest item; `recent` are the symbols of its run, at most `max_len`."""
        size, after = len(recent), index + 1
        groups = self._groups
        for length in self._lengths:
            if length > size:
                return
            symbols = recent[size - length :]
            group = groups.get(symbols)
            if group is None:
                groups[symbols] = after - length
            elif isinstance(group, int):
                first = after - length
                groups[symbols] = _Group((group, first), length, self._k) if is_primitive(symbols) else first
                if self._k == 2:  # noqa: PLR2004 - the second window is enough
                    self._mark(symbols)
            else:
                group.append(after - length)
                if len(group) >= group.look_at:
                    self._fresh[symbols] = group

    def _mark(self, symbols: tuple[int, ...]) -> None:
        group = self._groups[symbols]
        if isinstance(group, _Group):
            self._fresh[symbols] = group

    def drop(self, oldest: tuple[int, ...], index: int) -> None:
        """Remove the windows that start with the oldest item; `oldest` are its run's symbols, at most `max_len`."""
        groups = self._groups
        for length in self._lengths:
            if length > len(oldest):
                return
            symbols = oldest[:length]
            group = groups[symbols]
            if isinstance(group, int):
                if group == index:
                    del groups[symbols]
            else:
                group.popleft()
                if not group:
                    del groups[symbols]

    def repeated(self) -> list[_Group]:
        """Groups with at least `k` windows. Costs a look at every window held."""
        return [group for group in self._groups.values() if isinstance(group, _Group) and len(group) >= self._k]

    def take_fresh(self) -> list[_Group]:
        """Take the groups to look at; each is due again when it has twice as many windows."""
        taken = [group for group in self._fresh.values() if len(group) >= self._k]
        self._fresh.clear()
        for group in taken:
            group.look_at = 2 * len(group)
        return taken

    def windows(self, symbols: tuple[int, ...]) -> int:
        """How many windows have these symbols; 0 also where they are not primitive, or stand alone."""
        group = self._groups.get(symbols)
        return len(group) if isinstance(group, _Group) else 0


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
        found = [(BY_SHAPE, group) for group in self._by_shape.repeated()]
        found += [(BY_CALL, group) for group in self._by_call.repeated()]
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
            (rank(group.length, count, kind, group[0]), group)
            for kind, group in found
            if (count := group.count()) >= self.config.k and (kind == BY_SHAPE or not self._is_known_by_shape(group))
        ]
        ranks.sort(key=lambda item: item[0])
        return [group for _, group in ranks]

    def _candidate(self, group: _Group) -> Candidate:
        return candidate_of([self._window(start, group.length) for start in group], group.count())

    def _ends_alike(self, group: _Group) -> bool:
        """Whether the first and the newest window of a group end with the same call."""
        last = group.length - 1 - self._first
        one, other = self._items[group[0] + last].step, self._items[group[-1] + last].step
        return one.parts == other.parts

    def _is_known_by_shape(self, group: _Group) -> bool:
        """Whether the windows of a group by call are also the windows of a group by shape."""
        offset = group[0] - self._first
        shapes = self._items[offset + group.length - 1].shapes[-group.length :]
        return self._by_shape.windows(shapes) == len(group)

    def _window(self, start: int, length: int) -> list[Step]:
        offset = start - self._first
        return [item.step for item in islice(self._items, offset, offset + length)]
