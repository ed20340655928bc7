"""The whole study: which jobs there are, and their results put together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from benchmarks.flows.jobs import Job, curve_of
from benchmarks.flows.published import PUBLISHED
from benchmarks.flows.systems import SYSTEMS
from stretto._defaults import CURVE_ORDERS, THRESHOLD
from stretto.review.bootstrap import Row, ratio
from stretto.review.costs import Cost
from stretto.review.curve import Point, pooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.flows.jobs import Measured, Said, Workplace
    from benchmarks.flows.sessions import Domain
    from benchmarks.flows.systems import System
    from stretto.review.bootstrap import Interval
    from stretto.review.ceiling import CeilingScore
    from stretto.review.score import ReplayScore

__all__ = ["DEFAULT_AT", "EACH", "PARTS", "Curve", "Study"]

#: What can be measured by itself.
PARTS: Final = ("main", "frontier", "ablation", "calibration", "together", "curve", "coding")

#: The threshold that tables which show only one are at.
DEFAULT_AT: Final = f"{THRESHOLD}"


#: The agent of a curve that is that of every agent by itself, put together.
EACH: Final = "each"


@dataclass(frozen=True, slots=True)
class Curve:
    """Learning curves of some sessions, one for each system, all on the same sessions.

    Attributes:
        domain: of the sessions.
        agent: whose; empty for all agents of the domain learned from together, `EACH` for every agent learned from by
            itself, put together.
        points: by system.
        stands_for_own: it says what agents' own sessions give in the domain: it is `EACH`, or the only agent's.
    """

    domain: str
    agent: str
    points: Mapping[str, Sequence[Point]]
    stands_for_own: bool = False

    @property
    def title(self) -> str:
        """Whose curve it is, in words."""
        if self.agent == EACH:
            return f"{self.domain}, each agent from its own"
        return f"{self.domain}, {self.agent or 'all agents together'}"

    def at(self, system: System, size: int | None) -> Point | None:
        """The point of a size; None where the curve has none."""
        return next((point for point in self.points[system.name] if point.size == size), None)

    def share(self, system: System, size: int) -> Interval | None:
        """What is saved when so many sessions were learned, over what is saved when all were; None for nothing."""
        some, whole = self.at(system, size), self.at(system, None)
        if some is None or whole is None or not sum(score.saved for score in whole.scores):
            return None
        rows = [Row(score.unit, score.saved, 0) for score in some.scores]
        return ratio(rows + [Row(score.unit, 0, CURVE_ORDERS * score.saved) for score in whole.scores])


class Study:
    """Plans jobs, and reads what they gave.

    Args:
        place: with the sessions and the results.
        only: parts to measure, of `PARTS`.
    """

    def __init__(self, place: Workplace, only: Sequence[str] = PARTS) -> None:
        self.place = place
        self.only = frozenset(only)
        self.tools: Sequence[Domain] = list(place.sessions.tools.values())
        self.coding: Sequence[Domain] = list(place.sessions.coding.values()) if "coding" in self.only else []
        self._done: dict[Job, Measured] = {}

    # --- planning -----------------------------------------------------------------------------------------------------

    def jobs(self) -> list[Job]:
        """Everything, the largest domains first."""
        parts = tuple(part for part in PARTS if part in self.only - {"curve", "coding"})
        jobs = [job for domain in self.tools for job in _each_fold(domain, parts)] if parts else []
        jobs += [job for domain in self.coding for job in _each_fold(domain, ("coding",))]
        if "curve" in self.only:
            jobs += [
                job for domain in self.tools for agent in self.curve_agents(domain) for job in _curve(domain, agent)
            ]
        return sorted(jobs, key=lambda job: -len(self.place.sessions[job.domain].recorded))

    def curve_agents(self, domain: Domain) -> list[str]:
        """Whose curves are drawn: every agent with sessions enough, and all together where there are several."""
        agents = domain.agents if len(domain.agents) == 1 else ["", *domain.agents]
        return [agent for agent in agents if curve_of(domain, agent)]

    def short_of_sessions(self) -> list[str]:
        """Agents that have too few sessions for a curve, with their domains."""
        return [
            f"{domain.name} {agent}" for domain in self.tools for agent in domain.agents if not curve_of(domain, agent)
        ]

    # --- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def families(self) -> dict[str, list[Domain]]:
        """Domains by what they are shown together with, those with published figures first."""
        found: defaultdict[str, list[Domain]] = defaultdict(list)
        for domain in self.tools:
            found[domain.family].append(domain)
        first = [name for name in PUBLISHED if name in found]
        return {name: found[name] for name in (*first, *sorted(found.keys() - set(first)))}

    @property
    def shown(self) -> list[tuple[str, Sequence[Domain]]]:
        """What tables have rows for: all domains together, and each family."""
        return [("all domains", self.tools), *self.families.items()]

    def turns(self, domain: Domain) -> int:
        """Turns of a domain's agents, replies included."""
        return sum(score.turns for score in self.ceiling([domain]))

    def ceiling(self, domains: Iterable[Domain]) -> list[CeilingScore]:
        """One a session."""
        return [score for measured in self._measured(domains) for score in measured.ceiling]

    def scores(self, system: str, at: str = DEFAULT_AT, domains: Iterable[Domain] | None = None) -> list[ReplayScore]:
        """What a system showed, one a session.

        Args:
            system: its name.
            at: where it was measured.
            domains: all domains of sessions with tools when left out.
        """
        chosen = self.tools if domains is None else domains
        return [score for measured in self._measured(chosen) for score in measured.scores[system, at]]

    def weighed(self, system: str, domains: Iterable[Domain]) -> list[Said]:
        """What a system said of the lookups that it weighed."""
        return [said for measured in self._measured(domains) for said in measured.weighed[system]]

    def cost(self, domain: Domain, factor: float = 1.0) -> Cost:
        """β and δ of a domain, with a prompt that is so many times as long as assumed: the mean of its folds."""
        found = [measured.costs[factor] for measured in self._measured([domain])]
        turns, results = sum(each.turns for each in found), sum(each.results for each in found)
        return Cost(
            turns,
            results,
            sum(each.beta * each.turns for each in found) / max(turns, 1),
            sum(each.delta * each.results for each in found) / max(results, 1),
        )

    def learned_on(self, domain: Domain) -> float:
        """Sessions learned from, mean of the folds."""
        found = [measured.learned_on for measured in self._measured([domain])]
        return sum(found) / len(found)

    def better(self, name: str) -> System:
        """A system on the flow, with code features or without, with which it saves more turns in total."""
        pair = [system for system in SYSTEMS.values() if system.name in (name, f"{name}, features")]
        return max(pair, key=lambda system: sum(score.saved for score in self.scores(system.name)))

    @cached_property
    def curves(self) -> list[Curve]:
        """Of every domain: of all agents together, of each by itself, and the latter put together."""
        return [curve for domain in self.tools for curve in self._curves(domain)]

    def _curves(self, domain: Domain) -> list[Curve]:
        found = {
            agent: _whole([self._read(job) for job in _curve(domain, agent)]) for agent in self.curve_agents(domain)
        }
        own = [points for agent, points in found.items() if agent]
        curves = [Curve(domain.name, agent, points, bool(agent) and len(own) == 1) for agent, points in found.items()]
        if len(own) > 1:
            together = {name: _common([points[name] for points in own]) for name in own[0]}
            curves.append(Curve(domain.name, EACH, together, stands_for_own=True))
        return curves

    def _measured(self, domains: Iterable[Domain]) -> list[Measured]:
        parts = tuple(part for part in PARTS if part in self.only - {"curve", "coding"})
        return [
            self._read(job)
            for domain in domains
            for job in _each_fold(domain, parts if domain.name in self.place.sessions.tools else ("coding",))
        ]

    def _read(self, job: Job) -> Measured:
        if job not in self._done:
            self._done[job] = self.place.done(job)
        return self._done[job]


def _each_fold(domain: Domain, parts: tuple[str, ...]) -> list[Job]:
    return [Job(domain.name, fold, parts) for fold in range(len(domain.folds))]


def _curve(domain: Domain, agent: str) -> list[Job]:
    own = curve_of(domain, agent)
    return [Job(domain.name, fold, ("curve",), agent) for fold in range(len(own.folds))] if own else []


def _whole(folds: Sequence[Measured]) -> dict[str, list[Point]]:
    """The curves of all folds put together, by system."""
    return {name: _common([measured.curve[name] for measured in folds]) for name in folds[0].curve}


def _common(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """Curves put together, at the sizes that all of them reach: at other sizes they would be of other sessions."""
    sizes = set.intersection(*({point.size for point in points} for points in curves))
    return [point for point in pooled(curves) if point.size in sizes]
