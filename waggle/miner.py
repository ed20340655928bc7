"""The miner: finds runs of read-only calls that repeat.

`mine` is the definition: pure, a full look at the steps it is given. `IncrementalMiner` gives the same answer for a
ring of steps, at constant work a call. `mine_sessions` counts over many sessions.

A **run** is a maximal stretch of successful reads with nothing between them; a **window** is a stretch of one run,
between `min_len` and `max_len` steps. Windows are grouped by the *shapes* of their calls (tool and argument names),
and, where `MineConfig.literal` is set, also by the calls themselves, values included. A group that occurs `k` times
without overlapping is a `Candidate`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from waggle._defaults import MAX_ROUTE_STEPS, MIN_OCCURRENCES, MIN_ROUTE_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from waggle.calls import CallKey, Step

__all__ = ["Candidate", "IncrementalMiner", "MineConfig", "Param", "Runs", "mine", "mine_sessions"]


@dataclass(frozen=True, slots=True)
class MineConfig:
    """What counts as a route.

    Attributes:
        min_len: shortest route, in steps, at least 1.
        max_len: longest route, in steps, at least `min_len`. Cost grows linearly with it.
        k: occurrences that do not overlap, at least 1.
        literal: look for repeated calls too, not only for repeated shapes, so that one odd value does not turn a habit
            into wildcards. Off in `original`.

    Raises:
        ValueError: a bound is out of range.
    """

    min_len: int = MIN_ROUTE_STEPS
    max_len: int = MAX_ROUTE_STEPS
    k: int = MIN_OCCURRENCES
    literal: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.min_len <= self.max_len or self.k < 1:
            raise ValueError(f"need 1 <= min_len <= max_len and k >= 1, not {self}")

    @classmethod
    def original(cls) -> MineConfig:
        """Return the rules of the original: grouping by shape alone."""
        return cls(literal=False)


@dataclass(frozen=True, slots=True, order=True)
class Param:
    """An argument whose value varies between the occurrences of a route.

    Attributes:
        step: index of the step, from 0.
        key: the argument's name.
    """

    step: int
    key: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run of calls that repeats.

    Attributes:
        steps: the first occurrence.
        count: occurrences that do not overlap.
        params: arguments in which any occurrence, overlapping ones included, differs from the first; by step and name.
        support: sessions it occurs in.
    """

    steps: tuple[Step, ...]
    count: int
    params: tuple[Param, ...] = ()
    support: int = 1


class Runs:
    """Decides, step by step, what stands next to what; the one notion of it for mining and for matching.

    A read that failed is not part of a run. If the very next step is the same call and succeeds, it was a retry and the
    run goes on as if the failure had not been; otherwise the run ends. Writes, and calls that could not be kept
    exactly, end a run too.
    """

    __slots__ = ("_failed", "_open")

    def __init__(self) -> None:
        self._open = False  # a run can be continued
        self._failed: CallKey | None = None  # the failed read that the next step may retry

    def admit(self, step: Step) -> bool | None:
        """Place the next step: True continues the run, False begins a new one, None is part of none."""
        if not step.reads or not step.replayable:
            self._open, self._failed = False, None
            return None
        if self._failed is not None and self._failed != step.key:
            self._open, self._failed = False, None
        if not step.ok:
            self._failed = step.key
            return None
        self._failed = None
        continues, self._open = self._open, True
        return continues


def is_primitive(symbols: tuple[Hashable, ...]) -> bool:
    """Whether a sequence is no shorter sequence repeated a whole number of times; of length 1 it always is."""
    length = len(symbols)
    return not any(
        length % period == 0 and symbols == symbols[:period] * (length // period)
        for period in range(1, length // 2 + 1)
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """A stretch of one run: where it starts among all steps that are part of a run, in which session, and its steps."""

    start: int
    session: int
    steps: tuple[Step, ...]


def mine(steps: Sequence[Step], config: MineConfig | None = None) -> list[Candidate]:
    """Find the runs of calls that repeat in one session.

    Args:
        steps: N steps in order of starting.
        config: the rules; the defaults are `MineConfig()`.

    Returns:
        Candidates by ``len(steps) * count``, largest first; ties go to the longer, then to one whose calls are
        identical, then to the one seen first. Sub-windows of a candidate are candidates too. Cost O(N · max_len²).
    """
    return mine_sessions([steps], config)


def mine_sessions(sessions: Iterable[Sequence[Step]], config: MineConfig | None = None) -> list[Candidate]:
    """Find the runs of calls that repeat over many sessions.

    A window never spans two sessions. Sessions with the same calls are one session, however often they are given.

    Args:
        sessions: the steps of each session, in order of starting.
        config: the rules; `k` counts occurrences over all sessions.

    Returns:
        Candidates in the order of `mine`, each with the number of sessions it occurs in. Memory grows with the number
        of steps times the number of lengths.
    """
    config = config or MineConfig()
    runs = _runs(sessions)
    ranked: list[tuple[_Rank, Candidate]] = []
    for length in range(config.min_len, config.max_len + 1):
        windows = [
            _Window(start + i, session, tuple(run[i : i + length]))
            for start, session, run in runs
            for i in range(len(run) - length + 1)
        ]
        by_shape = _group(windows, lambda step: step.shape)
        groups = [(_BY_SHAPE, group) for group in by_shape]
        if config.literal:
            known = {(group[0].start, len(group)) for group in by_shape}
            by_call = _group(windows, lambda step: step.key)
            # As many windows by call as by shape: the same group, and already there.
            groups += [(_BY_CALL, group) for group in by_call if (group[0].start, len(group)) not in known]
        for kind, group in groups:
            count = _non_overlapping((window.start for window in group), length)
            if count >= config.k:
                support = len({window.session for window in group})
                candidate = _candidate([window.steps for window in group], count, support)
                ranked.append((_rank(length, count, kind, group[0].start), candidate))
    return [candidate for _, candidate in sorted(ranked, key=lambda item: item[0])]


_Rank = tuple[int, int, int, int]
_BY_CALL, _BY_SHAPE = 0, 1


def _rank(length: int, count: int, kind: int, start: int) -> _Rank:
    return (-length * count, -length, kind, start)


def _runs(sessions: Iterable[Sequence[Step]]) -> list[tuple[int, int, list[Step]]]:
    """Split sessions into runs; each with the index of its first step among all steps of runs, and its session."""
    runs: list[tuple[int, int, list[Step]]] = []
    index = 0
    seen: set[tuple[CallKey, ...]] = set()
    for session, steps in enumerate(sessions):
        identity = tuple(step.key for step in steps)
        if identity in seen:
            continue
        seen.add(identity)
        place = Runs()
        for step in steps:
            continues = place.admit(step)
            if continues is None:
                continue
            if continues:
                runs[-1][2].append(step)
            else:
                runs.append((index, session, [step]))
            index += 1
    return runs


def _group(windows: Iterable[_Window], symbol: Callable[[Step], Hashable]) -> list[list[_Window]]:
    """Windows with equal, primitive symbols; groups and the windows of each in order of appearance."""
    groups: dict[tuple[Hashable, ...], list[_Window]] = {}
    for window in windows:
        groups.setdefault(tuple([symbol(step) for step in window.steps]), []).append(window)
    return [group for symbols, group in groups.items() if is_primitive(symbols)]


def _non_overlapping(starts: Iterable[int], length: int) -> int:
    """How many windows fit without overlap, greedily from the left (for equal lengths the most that fit)."""
    count, end = 0, -1
    for start in starts:
        if start >= end:
            count, end = count + 1, start + length
    return count


def _candidate(windows: Sequence[Sequence[Step]], count: int, support: int = 1) -> Candidate:
    """Compare every occurrence with the first, argument by argument."""
    first = windows[0]
    varying: set[Param] = set()
    for window in windows[1:]:
        for index, (one, other) in enumerate(zip(first, window, strict=True)):
            if one.parts != other.parts:
                compared = zip(one.shape[1:], one.parts, other.parts, strict=True)
                varying.update(Param(index, name) for name, a, b in compared if a != b)
    return Candidate(tuple(first), count, tuple(sorted(varying)), support)


# --- the same, call by call -----------------------------------------------------------------------------------


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
            self.count, self.end = 0, -1
            for start in self.starts:
                if start >= self.end:
                    self.count, self.end = self.count + 1, start + self.length
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
        found = [(_BY_SHAPE, group) for group in self._by_shape.repeated.values()]
        found += [(_BY_CALL, group) for group in self._by_call.repeated.values()]
        for group in self._sorted(found):
            yield self._candidate(group)

    def fresh(self) -> list[Candidate]:
        """Candidates worth a look, best first: new ones, and those seen twice as often as when last shown.

        Those that vary in their last step are left out: what comes after their prefix is not known, so they cannot
        fire. The cost depends on what has changed, not on what is held: a group is shown at most log2(N) times while N
        steps pass.
        """
        found = [(_BY_SHAPE, group) for group in self._by_shape.take_fresh() if self._ends_alike(group)]
        found += [(_BY_CALL, group) for group in self._by_call.take_fresh()]
        return [self._candidate(group) for group in self._sorted(found)]

    def _sorted(self, found: list[tuple[int, _Group]]) -> list[_Group]:
        ranks = [
            (_rank(group.length, count, kind, group.starts[0]), group)
            for kind, group in found
            if (count := group.counted()) >= self.config.k and (kind == _BY_SHAPE or not self._is_known_by_shape(group))
        ]
        ranks.sort(key=lambda item: item[0])
        return [group for _, group in ranks]

    def _candidate(self, group: _Group) -> Candidate:
        return _candidate([self._window(start, group.length) for start in group.starts], group.counted())

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
