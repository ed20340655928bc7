"""The miner: finds runs of read-only calls that repeat.

`mine` is the definition: pure, a full look at the steps it is given; `mine_sessions` counts over many sessions.
`waggle.incremental` gives the same answer for a ring of steps, call by call.

A **run** is a maximal stretch of successful reads with nothing between them; a **window** is a stretch of one run,
between `min_len` and `max_len` steps. Windows are grouped by the *shapes* of their calls (tool and argument names),
and, where `MineConfig.literal` is set, also by the calls themselves, values included. A group that occurs `k` times
without overlapping is a `Candidate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waggle._defaults import MAX_ROUTE_STEPS, MIN_OCCURRENCES, MIN_ROUTE_STEPS
from waggle.calls import Effect, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from waggle.calls import CallKey, Step

__all__ = [
    "BY_CALL",
    "BY_SHAPE",
    "Candidate",
    "MineConfig",
    "Param",
    "Runs",
    "candidate_of",
    "is_primitive",
    "mine",
    "mine_sessions",
    "non_overlapping",
    "rank",
]


@dataclass(frozen=True, slots=True)
class MineConfig:
    """What counts as a route.

    Attributes:
        min_len: shortest route, in steps, at least 1.
        max_len: longest route, in steps, at least `min_len`. Cost grows linearly with it.
        k: occurrences that do not overlap, at least 2.
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
        if not 1 <= self.min_len <= self.max_len or self.k < MIN_OCCURRENCES:
            raise ValueError(f"need 1 <= min_len <= max_len and k >= {MIN_OCCURRENCES}, not {self}")

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
        if step.effect is not Effect.READ or not step.replayable:
            self._open, self._failed = False, None
            return None
        if self._failed is not None and self._failed != step.key:
            self._open, self._failed = False, None
        if step.outcome is not Outcome.OK:
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
    ranked: list[tuple[Rank, Candidate]] = []
    for length in range(config.min_len, config.max_len + 1):
        windows = [
            _Window(start + i, session, tuple(run[i : i + length]))
            for start, session, run in runs
            for i in range(len(run) - length + 1)
        ]
        by_shape = _group(windows, lambda step: step.shape)
        groups = [(BY_SHAPE, group) for group in by_shape]
        if config.literal:
            known = {(group[0].start, len(group)) for group in by_shape}
            by_call = _group(windows, lambda step: step.key)
            # As many windows by call as by shape: the same group, and already there.
            groups += [(BY_CALL, group) for group in by_call if (group[0].start, len(group)) not in known]
        for kind, group in groups:
            count, _ = non_overlapping((window.start for window in group), length)
            if count >= config.k:
                support = len({window.session for window in group})
                candidate = candidate_of([window.steps for window in group], count, support)
                ranked.append((rank(length, count, kind, group[0].start), candidate))
    return [candidate for _, candidate in sorted(ranked, key=lambda item: item[0])]


Rank = tuple[int, int, int, int]

#: How a group of windows came together; of two candidates of equal weight, the one whose calls are identical is first.
BY_CALL, BY_SHAPE = 0, 1


def rank(length: int, count: int, kind: int, start: int) -> Rank:
    """Sort key of a candidate: calls spared first, then length, then kind, then first appearance."""
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


def non_overlapping(starts: Iterable[int], length: int) -> tuple[int, int]:
    """How many windows fit without overlap, greedily from the left (the most that fit), and where the last one ends."""
    count, end = 0, -1
    for start in starts:
        if start >= end:
            count, end = count + 1, start + length
    return count, end


def candidate_of(windows: Sequence[Sequence[Step]], count: int, support: int = 1) -> Candidate:
    """Compare every occurrence with the first, argument by argument."""
    first = windows[0]
    varying: set[Param] = set()
    for window in windows[1:]:
        for index, (one, other) in enumerate(zip(first, window, strict=True)):
            if one.parts != other.parts:
                compared = zip(one.shape[1:], one.parts, other.parts, strict=True)
                varying.update(Param(index, name) for name, a, b in compared if a != b)
    return Candidate(tuple(first), count, tuple(sorted(varying)), support)
