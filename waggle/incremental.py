"""`waggle.miner.mine` over a sliding window of steps, call by call: the same answers at constant work a call.

The windows of the ring are paths in two trees, one by the shapes of their calls and one by the calls themselves. A new
step makes the few windows that end with it one step longer, and the oldest step takes away those that begin with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from waggle.miner import BY_CALL, BY_SHAPE, MineConfig, Runs, candidate_of, is_primitive, non_overlapping, rank

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from waggle.calls import Step
    from waggle.miner import Candidate

__all__ = ["IncrementalMiner"]

_NEVER: Final = 1 << 60  # windows


@dataclass(slots=True, eq=False)
class _Group:
    """The windows of the ring that have equal symbols; the path that leads here spells them."""

    length: int
    look_at: int  # windows it must have before `IncrementalMiner.fresh` shows it; infinite when it is never a route
    starts: list[int] = field(default_factory=list)
    longer: dict[int, _Group | int] = field(default_factory=dict)  # by the symbol of the step that comes next


class _Tree:
    """The windows of the ring over one kind of symbol.

    A window that occurs once is only its start and is not followed further, until another one comes to the same place:
    whatever begins with it occurs once, too. So what does not repeat costs one entry a step.
    """

    __slots__ = ("_config", "_first", "_ids", "_items", "_newest", "_root", "fresh")

    def __init__(self, config: MineConfig) -> None:
        self._config = config
        self._ids: dict[Hashable, int] = {}  # a symbol is held as the index of the first item that had it
        self._items: deque[tuple[int, int, Hashable]] = deque()  # number of the symbol, place within its run, symbol
        self._first = 0  # index of _items[0] among all items ever
        self._root = _Group(0, _NEVER)
        self._newest: list[_Group] = []  # groups whose last window ends with the newest item, shortest first
        self.fresh: set[_Group] = set()  # those to look at

    def append(self, symbol: Hashable, place: int) -> None:
        """Add the windows that end with the next item; `place` is its position within its run, from 1."""
        config, items = self._config, self._items
        start = self._first + len(items)
        number = self._ids.setdefault(symbol, start)
        items.append((number, place, symbol))
        newest: list[_Group] = []
        for parent in (self._root, *self._newest[: config.max_len - 1]) if place > 1 else (self._root,):
            longer = parent.longer
            group = longer.get(number)
            if group is None:
                longer[number] = start
            else:
                if isinstance(group, int):
                    group = longer[number] = self._group(parent.length + 1, start, group)
                starts = group.starts
                starts.append(start)
                if len(starts) >= group.look_at:
                    self.fresh.add(group)
                newest.append(group)
            start -= 1
        self._newest = newest

    def _group(self, length: int, start: int, alone: int) -> _Group:
        """Make a group for the window at `start`, with the one in it that was alone until now, gone on by one step."""
        config, items, first = self._config, self._items, self._first
        symbols = tuple([items[i - first][0] for i in range(start, start + length)])
        is_route = length >= config.min_len and is_primitive(symbols)
        group = _Group(length, config.k if is_route else _NEVER, [alone])
        last = alone + length - 1 - first
        (_, place, _), (number, next_place, _) = items[last], items[last + 1]
        if length < config.max_len and next_place == place + 1:
            group.longer[number] = alone
        return group

    def evict(self) -> None:
        """Remove the windows that start with the oldest item."""
        items = self._items
        if self._newest and self._newest[-1].length == len(items):
            self._newest.pop()
        parent, place = self._root, items[0][1]
        for number, its_place, _ in islice(items, self._config.max_len):
            if its_place != place:
                break
            group = parent.longer[number]
            if type(group) is not _Group:
                del parent.longer[number]
                break
            starts = group.starts
            del starts[0]
            if not starts:
                del parent.longer[number]
                break
            parent = group
            place += 1
        number, _, symbol = items.popleft()
        if number not in self._root.longer:
            del self._ids[symbol]
        self._first += 1

    def take_fresh(self) -> list[_Group]:
        """Take the groups to look at; each is due again when it has twice as many windows."""
        taken = [group for group in self.fresh if len(group.starts) >= self._config.k]
        self.fresh.clear()
        for group in taken:
            group.look_at = 2 * len(group.starts)
        return taken

    def repeated(self) -> list[_Group]:
        """The groups with at least `k` windows."""
        groups = [self._root]
        for group in groups:  # the list grows while it is walked
            groups += [longer for longer in group.longer.values() if isinstance(longer, _Group)]
        return [group for group in groups if len(group.starts) >= self._config.k and group.look_at < _NEVER]

    def windows(self, start: int, length: int) -> int:
        """How many windows have the symbols of this one; 0 where they are never a route."""
        group: _Group | int | None = self._root
        for number, _, _ in islice(self._items, start - self._first, start - self._first + length):
            group = group.longer.get(number) if isinstance(group, _Group) else None
        return len(group.starts) if isinstance(group, _Group) and group.look_at < _NEVER else 0


class IncrementalMiner:
    """`mine` over a sliding window of steps, without looking at the window again.

    After any sequence of `append` and `evict`, `candidates` equals `mine` of the steps appended and not evicted. A call
    costs O(max_len) dictionary look-ups; memory is bounded by the steps held.
    """

    def __init__(self, config: MineConfig | None = None) -> None:
        self.config = config or MineConfig()
        self._runs = Runs()
        self._cells: deque[bool] = deque()  # for each step held, whether it is part of a run
        self._steps: deque[Step] = deque()  # those that are
        self._first = 0  # index of _steps[0] among all that ever were
        self._place = 0  # of the newest one within its run
        self._by_shape, self._by_call = _Tree(self.config), _Tree(self.config)

    def append(self, step: Step) -> None:
        """Take in the next step."""
        continues = self._runs.admit(step)
        self._cells.append(continues is not None)
        if continues is None:
            return
        self._place = self._place + 1 if continues else 1
        self._steps.append(step)
        self._by_shape.append(step.shape, self._place)
        if self.config.literal:
            self._by_call.append(step.key, self._place)

    def evict(self) -> None:
        """Forget the oldest step held.

        Raises:
            IndexError: no step is held.
        """
        if not self._cells.popleft():
            return
        self._steps.popleft()
        self._first += 1
        self._by_shape.evict()
        if self.config.literal:
            self._by_call.evict()

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
            (rank(group.length, count, kind, group.starts[0]), group)
            for kind, group in found
            if (count := non_overlapping(group.starts, group.length)[0]) >= self.config.k
            and (kind == BY_SHAPE or not self._is_known_by_shape(group))
        ]
        ranks.sort(key=lambda item: item[0])
        return [group for _, group in ranks]

    def _candidate(self, group: _Group) -> Candidate:
        windows = [self._window(start, group.length) for start in group.starts]
        return candidate_of(windows, non_overlapping(group.starts, group.length)[0])

    def _ends_alike(self, group: _Group) -> bool:
        """Whether the first and the newest window of a group end with the same call."""
        last = group.length - 1 - self._first
        return self._steps[group.starts[0] + last].parts == self._steps[group.starts[-1] + last].parts

    def _is_known_by_shape(self, group: _Group) -> bool:
        """Whether the windows of a group by call are also the windows of a group by shape."""
        return self._by_shape.windows(group.starts[0], group.length) == len(group.starts)

    def _window(self, start: int, length: int) -> list[Step]:
        offset = start - self._first
        return list(islice(self._steps, offset, offset + length))
