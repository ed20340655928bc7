"""What sessions teach, one by one and put together.

A session is played once for each way of reading its calls; what it taught is kept. Since counts add, and a session's
mined routes depend on no other session, a library of any sessions is put together from those parts, and is the one that
`waggle.evaluate.learn` makes of them (a test says so). That makes folds, thresholds and ablations cheap.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle._defaults import BYTES_PER_TOKEN
from waggle.calls import Effect
from waggle.evaluate import Library, play
from waggle.manager import Manager
from waggle.playback import arguments_of, directory_of
from waggle.reach.targets import AFTER, BEFORE, CallTarget, LinesTarget, read_target
from waggle.traces import split_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from waggle.calls import Result
    from waggle.config import ManagerConfig
    from waggle.reach.counts import ReachCounts
    from waggle.reach.targets import Cell, Target
    from waggle.routes import Route
    from waggle.tools import ToolTable
    from waggle.traces import Trace

__all__ = [
    "Part",
    "all_bound",
    "all_fixed",
    "around",
    "counted_threshold",
    "kept_levels",
    "kept_targets",
    "learn_alone",
    "put_together",
]


@dataclass(frozen=True, slots=True)
class Part:
    """What one session taught.

    Attributes:
        mined: runs of calls that it repeated, as routes.
        counts: what it read after what.
    """

    mined: tuple[Route, ...]
    counts: ReachCounts


def learn_alone(trace: Trace, config: ManagerConfig, tools: ToolTable) -> Part:
    """Play one session to a manager that knows nothing else."""
    manager = Manager(replace(config, learn=True, replay=False, threshold=1.0), tools=tools)  # no chance is 1: none is
    play(trace, manager.session(directory=directory_of(trace)))  # promoted before all sessions are together
    manager.close()
    return Part(tuple(manager.learned()), manager.counts())


def put_together(
    parts: Iterable[Part],
    config: ManagerConfig,
    tools: ToolTable,
    *,
    mined: bool = True,
    change: Callable[[ReachCounts], ReachCounts] | None = None,
) -> Library:
    """Make the library of some sessions, promoting after each as a manager does.

    Args:
        parts: in the order in which the sessions took place.
        config: the rules; those of playing a session were applied when the parts were made.
        tools: what is known of the host's tools.
        mined: with the mined routes.
        change: leaves out part of the counts of each session.
    """
    manager = _Pupil(replace(config, replay=False), tools=tools)
    for part in parts:
        manager.take_routes(part.mined if mined else ())
        if config.reach:
            counts = change(part.counts) if change else part.counts
            manager.take_counts(counts)
    return Library(tuple(manager.learned()), manager.counts())


class _Pupil(Manager):
    """A manager that is told what sessions taught; it promotes by the rules of every manager."""

    def take_routes(self, routes: Iterable[Route]) -> None:
        """Learn the routes that were mined from one session."""
        for route in routes:
            is_there = route.name in self._scopes if self.config.rules == "original" else self._known.has(route)
            if not is_there:
                self._know(route, usable=True)
                self._promote(route)

    def take_counts(self, counts: ReachCounts) -> None:
        """Add the counts of one session, and promote as every manager does."""
        for target, site in self._reach.add(counts):
            self._promote_reach(target, site, self._reach.counts if self.config.across_sessions else counts)


# --- leaving out --------------------------------------------------------------------------------------------------


def kept_targets(counts: ReachCounts, keep: Callable[[Target], bool]) -> ReachCounts:
    """Only the targets for which `keep` is true."""
    return replace(
        counts,
        reached={target: sites for target, sites in counts.reached.items() if keep(read_target(target))},
        sessions=Counter({key: n for key, n in counts.sessions.items() if keep(read_target(key[0]))}),
    )


def all_bound(target: Target) -> bool:
    """Whether every value of a target comes from the call before it."""
    return isinstance(target, LinesTarget) or (
        bool(target.args) and all(source.place is not None for _, source in target.args)
    )


def all_fixed(target: Target) -> bool:
    """Whether no value of a target comes from the call before it."""
    return isinstance(target, CallTarget) and all(source.place is None for _, source in target.args)


def kept_levels(counts: ReachCounts, levels: int) -> ReachCounts:
    """Only the coarsest levels of each site: 1 for what a result names, 2 with its size."""

    def is_kept(key: str) -> bool:
        return key.partition(" > ")[0].count(" | ") <= levels

    return replace(
        counts,
        seen=Counter({key: n for key, n in counts.seen.items() if is_kept(key)}),
        reached={
            target: {site: cells for site, cells in sites.items() if is_kept(site)}
            for target, sites in counts.reached.items()
        },
    )


def around(counts: ReachCounts, lines: int) -> ReachCounts:
    """The floor: after a search, a fixed range around the first line of the first file, by the share at such a search.

    Every read within the range counts as one of exactly that range, and every other as none, so that no other range is
    ever chosen.
    """
    whole: Cell = (BEFORE.index(lines), AFTER.index(lines))
    first = kept_targets(counts, _is_first_line)

    def within(cells: Counter[Cell]) -> Counter[Cell]:
        return Counter({whole: sum(n for (b, a), n in cells.items() if b <= whole[0] and a <= whole[1])})

    reached = {
        target: {site: within(cells) for site, cells in sites.items() if site.startswith(_SEARCH)}
        for target, sites in first.reached.items()
    }
    searched = Counter({key: n for key, n in first.sessions.items() if key[1].startswith(_SEARCH)})
    return replace(first, reached=reached, sessions=searched)


_SEARCH: Final = "search |"


def _is_first_line(target: Target) -> bool:
    return isinstance(target, LinesTarget) and (target.around, target.nth) == ("line", 0) and target.file in (-1, 0)


# --- what a turn is worth -----------------------------------------------------------------------------------------


def counted_threshold(traces: Sequence[Trace], tools: ToolTable) -> float:
    """θ* of an agent as one number, δ / (β + δ), from the tokens of its sessions.

    β is what a saved turn is worth: the context at a turn that only reads, and its calls in every turn after it. δ is
    what a detour costs: the mean result of a read, in as many turns as are left after one. Both are means over those
    turns and reads; 1 where nothing reads.
    """
    worth: list[int] = []
    results: list[int] = []
    lefts: list[int] = []
    for trace in traces:
        turns: dict[int, list[int]] = {}
        for index, step in enumerate(trace.steps):
            turns.setdefault(step.turn, []).append(index)
        said = [(message.at, len(message.text) // BYTES_PER_TOKEN) for message in trace.messages]
        called = [len(jsonvalue.dumps(arguments_of(step.call, tools))) // BYTES_PER_TOKEN for step in trace.steps]
        context = 0
        for left, indexes in zip(range(len(turns) - 1, -1, -1), turns.values(), strict=True):
            start = trace.steps[indexes[0]].started
            now = context + sum(tokens for at, tokens in said if at < start)
            reads = [index for index in indexes if _reads(trace, index, tools)]
            if len(reads) == len(indexes):
                worth.append(now + left * sum(called[index] for index in indexes))
            results += [_tokens(trace.steps[index].result) for index in reads]
            lefts += [left for _ in reads]
            context += sum(called[index] + _tokens(trace.steps[index].result) for index in indexes)
    if not worth:
        return 1.0
    beta, delta = sum(worth) / len(worth), sum(results) / len(results) * sum(lefts) / len(lefts)
    return delta / (beta + delta) if beta + delta else 1.0


def _reads(trace: Trace, index: int, tools: ToolTable) -> bool:
    step = trace.steps[index]
    return not step.args_cut and tools.effect(step.call.tool, arguments_of(step.call, tools)) is Effect.READ


def _tokens(result: Result | None) -> int:
    return result.est_tokens + split_cut(result.text)[1] // BYTES_PER_TOKEN if result else 0
