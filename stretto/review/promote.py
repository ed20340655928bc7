"""Limiting a flow to the sites that have a record: lookups there were used by agents that had to ask for themselves.

Every result of the agent's own calls is decided on as if the flow had been served. A lookup is **used** when the agent
makes it in a later turn, and then the flow goes on from its recorded result, as it would live; otherwise it is a
**detour**. Pure. Not responsible for what it would have saved (`stretto.review.replay`).

A site that is only reached through lookups at sites that are not promoted is not reached when served. Sites are
therefore scored anew with chains that stop at sites not promoted, until the promotion stays as it is. What is decided
along a chain does not depend on the promotion, only how far the chain goes: decisions are made once, and counted often.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto._defaults import LOOKUPS_PER_CALL, PROMOTE_MIN_LOWER, PROMOTE_MIN_TASKS, PROMOTE_MIN_USED, THRESHOLD
from stretto.bindings.results import as_text
from stretto.deciders.decide import decide
from stretto.flow.model import Bar, Promotion, SiteRecord, site_name
from stretto.review.walk import Walker, is_own
from stretto.sessions.episode import Assistant, ToolCall

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from stretto.bindings.model import Bound
    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow
    from stretto.review.walk import Point
    from stretto.sessions.episode import Episode, ToolResult
    from waggle.jsonvalue import JsonObject

__all__ = ["BAR", "Chain", "Fate", "Promoted", "Scored", "chains_of", "promote", "promotion_of", "wilson_lower"]

_Z: Final = 1.6448536  # of a 90 % interval, two-sided
_ROUNDS: Final = 8  # scorings after the first, at most

#: What is asked of a site unless something else is.
BAR: Final = Bar(THRESHOLD, PROMOTE_MIN_USED, PROMOTE_MIN_LOWER, PROMOTE_MIN_TASKS)


def wilson_lower(hits: int, count: int) -> float:
    """The lower end of the 90 % interval of a share; 0 without cases. 3 of 3 give 0.526, 7 of 10 give 0.442.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
    """
    if not count:
        return 0.0
    share, square = hits / count, _Z * _Z
    half = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    return max(0.0, (share + square / (2 * count) - half) / (1 + square / count))


# --- what would have been decided -----------------------------------------------------------------------------


class Fate(Enum):
    """What became of a decision."""

    HANDED_BACK = auto()
    USED = auto()  #: the agent made the lookup in a later turn
    DETOUR = auto()  #: it did not
    SERVED = auto()  #: the flow made it while the session was recorded, so nobody knows what the agent would have done


class Scored(NamedTuple):
    """One decision at a site."""

    site: str
    fate: Fate


class Chain(NamedTuple):
    """The decisions after one result of the agent's, each after the lookup before it, and the task they belong to."""

    task: str
    decisions: tuple[Scored, ...]


class _Later:
    """The calls of a session, to be found by what a lookup passes."""

    def __init__(self, episode: Episode) -> None:
        self._results = episode.results()
        self._calls: defaultdict[str, list[tuple[int, ToolCall, dict[str, str]]]] = defaultdict(list)
        for index, event in enumerate(episode.events):
            for call in event.calls if isinstance(event, Assistant) else ():
                arguments = call.arguments if isinstance(call.arguments, dict) else {}
                texts = {name: as_text(value) for name, value in arguments.items()}
                self._calls[call.name].append((index, call, texts))

    def find(self, tool: str, bound: Bound, turn: int) -> tuple[Fate, ToolResult | None]:
        """What became of a lookup made in the turn that stands at this place, and what the same call returned."""
        passed = [(name, as_text(value)) for name, value in bound.arguments.items()]
        for index, call, texts in self._calls.get(tool, ()):
            served = is_own(call.id)
            if (index > turn or (served and index == turn)) and all(texts.get(name) == text for name, text in passed):
                return (Fate.SERVED if served else Fate.USED), self._results.get(call.id)
        return Fate.DETOUR, None


def chains_of(
    flow: Flow,
    episodes: Iterable[Episode],
    decider: str | Decider,
    threshold: float = THRESHOLD,
    oracle: Oracle | None = None,
) -> list[Chain]:
    """Decide after every result of recorded sessions as if the flow had been served without a promotion.

    Args:
        flow: the flow.
        episodes: recorded sessions; streamed.
        decider: who weighs the lookups.
        threshold: score from which on a lookup is made, 0 to 1.
        oracle: whom an arbiter asks.

    Returns:
        One chain a result of the agent's own calls, in order; empty after a tool that the flow does not know, which is
        no site of it.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    whole = replace(flow, promoted=None)
    known = frozenset((*flow.vocabulary.tools, *flow.manifest.tools))
    walker = Walker(whole, decider, oracle)
    chains: list[Chain] = []
    for episode in episodes:
        served = _Served(whole, known, walker.decider(episode), threshold, _Later(episode))
        chains.extend(
            Chain(episode.task, tuple(served.decisions(point)))
            for point in walker.points(episode)
            if not is_own(point.call_id)
        )
    return chains


@dataclass(frozen=True, slots=True)
class _Served:
    """A flow as it would have been served in one session."""

    flow: Flow
    known: frozenset[str]  # its tools
    decider: Decider
    threshold: float
    later: _Later

    def decisions(self, point: Point) -> Iterator[Scored]:
        live = point.live
        for number in range(LOOKUPS_PER_CALL):
            decision = decide(self.flow, live.situation(), self.decider, self.threshold)
            if decision.site is None or decision.site[0] not in self.known:
                return
            site = site_name(decision.site)
            if not decision.looks_up or decision.tool is None or decision.bound is None:
                yield Scored(site, Fate.HANDED_BACK)
                return
            fate, result = self.later.find(decision.tool, decision.bound, point.turn)
            yield Scored(site, fate)
            if result is None:
                return
            if live is point.live:
                live = point.apart()
            lookup = ToolCall(f"lookup {number}", decision.tool, decision.bound.arguments)
            live.call(lookup)
            live.result(lookup.id, error=result.error, content=result.content)


# --- counting -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promoted:
    """What a promotion found.

    Attributes:
        promotion: the record of every site reached, and which are promoted.
        rounds: times the sites were scored.
        settled: whether the last scoring changed nothing.
        served: lookups that were served while the sessions were recorded, and are neither used nor detours.
    """

    promotion: Promotion
    rounds: int
    settled: bool
    served: int

    def applied(self, flow: Flow) -> Flow:
        """The flow, limited to the promoted sites."""
        return replace(flow, promoted=self.promotion)

    def as_json(self) -> JsonObject:
        """All of it, unrounded; sites by name."""
        bar = self.promotion.bar
        return {
            "bar": {
                "threshold": bar.threshold,
                "min_used": bar.min_used,
                "min_lower": bar.min_lower,
                "min_tasks": bar.min_tasks,
            },
            "rounds": self.rounds,
            "settled": self.settled,
            "served": self.served,
            "sites": {
                name: {
                    "decisions": record.decisions,
                    "lookups": record.lookups,
                    "used": record.used,
                    "tasks": record.tasks,
                    "lower": record.lower,
                    "promoted": record.promoted,
                }
                for name, record in sorted(self.promotion.sites.items())
            },
        }


def promote(
    flow: Flow,
    episodes: Iterable[Episode],
    *,
    decider: str | Decider | None = None,
    bar: Bar = BAR,
    oracle: Oracle | None = None,
) -> Promoted:
    """Find the sites whose lookups agents would have used.

    Args:
        flow: the flow; a promotion it has is set aside.
        episodes: recorded sessions. Where no task is known every session is its own.
        decider: who weighs the lookups; None for the flow's own default.
        bar: what is asked of a site; its threshold is the one served.
        oracle: whom an arbiter asks.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    return promotion_of(chains_of(flow, episodes, decider or flow.default_decider, bar.threshold, oracle), bar)


def promotion_of(chains: Sequence[Chain], bar: Bar = BAR) -> Promoted:
    """Count chains until the promotion stays as it is: first through all sites, then through the promoted ones only."""
    records = _records(chains, bar, None)
    rounds, settled = 1, False
    while not settled and rounds <= _ROUNDS:
        through = {site for site, record in records.items() if record.promoted}
        records = _records(chains, bar, through)
        settled = through == {site for site, record in records.items() if record.promoted}
        rounds += 1
    served = sum(one.fate is Fate.SERVED for chain in chains for one in chain.decisions)
    return Promoted(Promotion(bar, records), rounds, settled, served)


def _records(chains: Iterable[Chain], bar: Bar, through: Collection[str] | None) -> Mapping[str, SiteRecord]:
    """Each site's record by name; a chain goes on only through these sites, or through all."""
    decisions: defaultdict[str, int] = defaultdict(int)
    lookups: defaultdict[str, int] = defaultdict(int)
    used: defaultdict[str, int] = defaultdict(int)
    tasks: defaultdict[str, set[str]] = defaultdict(set)
    for task, chain in chains:
        for site, fate in chain:
            decisions[site] += 1
            if fate in (Fate.USED, Fate.DETOUR):
                lookups[site] += 1
                used[site] += fate is Fate.USED
                tasks[site].add(task)
            if through is not None and site not in through:
                break
    return {
        site: _record(decisions[site], lookups[site], used[site], len(tasks[site]), bar) for site in sorted(decisions)
    }


def _record(decisions: int, lookups: int, used: int, tasks: int, bar: Bar) -> SiteRecord:
    lower = wilson_lower(used, lookups)
    passes = lookups > 0 and used >= bar.min_used * lookups and lower >= bar.min_lower and tasks >= bar.min_tasks
    return SiteRecord(decisions, lookups, used, tasks, lower, passes)
