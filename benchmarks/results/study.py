"""The whole study: which jobs there are, and their results put together."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.results.jobs import FOLDS, Job
from benchmarks.results.rows import ABLATION, DEFAULT, FLOOR, MAIN, MODES, ROWS, SWEEP
from waggle.evaluate import Report, bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.results.jobs import Lesson, Measured, Workplace
    from waggle.evaluate import Interval
    from waggle.routes import Route

__all__ = ["PARTS", "Point", "Skill", "Study"]

#: What can be measured by itself.
PARTS: Final = ("main", "floor", "ablation", "curve", "commands", "skills")

CURVE_GROUPS: Final = 4
CURVE_ORDERS: Final = 3
#: Fewer sessions than this to replay tell nothing.
_LEAST_BLOCK: Final = 6
#: Routes that fired most, of which each is then replayed alone.
_CANDIDATES: Final = 12
_SHOWN_SKILLS: Final = 3


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a learning curve.

    Attributes:
        learned_on: sessions.
        replayed: sessions, over all orders.
        saved: share of their turns.
    """

    learned_on: int
    replayed: int
    saved: Interval


@dataclass(frozen=True, slots=True)
class Skill:
    """One of the most useful routes.

    Attributes:
        group: whose.
        route: learned from all sessions of the group.
        lookups: that it made on sessions held out, alone.
        used: of those.
        saved: turns.
    """

    group: str
    route: Route
    lookups: int
    used: int
    saved: int


class Study:
    """Plans jobs, and reads what they gave.

    Args:
        place: with the sessions and the results.
        only: parts to measure, of `PARTS`.
    """

    def __init__(self, place: Workplace, only: Sequence[str] = PARTS) -> None:
        self.place = place
        self.only = frozenset(only)
        self.groups = list(place.groups)

    # --- planning -----------------------------------------------------------------------------------------------------

    def lessons(self) -> list[Lesson]:
        """Every session, played once for each way of reading its calls."""
        modes = list(MODES) if self.only & {"main", "ablation"} else [DEFAULT.mode]
        return self.place.lessons(modes, self.groups)

    def jobs(self) -> list[Job]:
        """Everything that does not depend on other results, group after group."""
        names = dict.fromkeys(
            row.name
            for part, rows in (("main", MAIN), ("floor", (*SWEEP, *FLOOR)), ("ablation", (DEFAULT, *ABLATION)))
            for row in rows
            if part in self.only
        )
        if "skills" in self.only:
            names[DEFAULT.name] = None
        jobs: list[Job] = []
        for group in self.groups:
            folds = range(self.folds(group))
            jobs += [Job(group, "fold", fold, name) for fold in folds for name in names]
            if "main" in self.only:
                jobs += [Job(group, "half", 0, row.name) for row in MAIN]
            if "curve" in self.only and group in self.curve_groups():
                jobs += [job for size in self.sizes(group) for job in self._curve_jobs(group, size)]
        return jobs

    def folds(self, group: str) -> int:
        """Folds of a group: five, or one a task where there are fewer."""
        return min(FOLDS, len({trace.split_key for trace in self.place.groups[group]}))

    def curve_groups(self) -> list[str]:
        """The groups with most turns, of those with sessions enough."""
        enough = [group for group in self.groups if self.sizes(group)]
        return sorted(enough, key=lambda group: -self.turns(group))[:CURVE_GROUPS]

    def turns(self, group: str) -> int:
        """Turns of a group's sessions."""
        return sum(len({step.turn for step in trace.steps}) for trace in self.place.groups[group])

    def sizes(self, group: str) -> list[int]:
        """Sessions learned on for a group's curve: 1, 2, 4, … while enough are left to replay."""
        sessions = len(self.place.groups[group])
        return [2**power for power in range(20) if 2**power + _LEAST_BLOCK <= sessions]

    @staticmethod
    def _curve_jobs(group: str, size: int) -> list[Job]:
        return [Job(group, "curve", order, DEFAULT.name, size) for order in range(CURVE_ORDERS)]

    def candidates(self) -> list[tuple[str, str]]:
        """Groups and names of the routes that made most lookups on sessions held out."""
        fired: Counter[tuple[str, str]] = Counter()
        for group in self.groups:
            for measured in self._folds(group, DEFAULT.name):
                for score in measured.scores:
                    fired.update({(group, name): count for name, count in score.fired.items()})
        return [key for key, _ in fired.most_common(_CANDIDATES)]

    def skill_jobs(self, candidates: Iterable[tuple[str, str]]) -> list[Job]:
        """Replay each of these routes alone."""
        return [
            Job(group, "fold", fold, DEFAULT.name, route=name)
            for group, name in candidates
            for fold in range(self.folds(group))
        ]

    # --- reading ------------------------------------------------------------------------------------------------------

    def _folds(self, group: str, row: str, route: str = "") -> list[Measured]:
        return [self.place.done(Job(group, "fold", fold, row, route=route)) for fold in range(self.folds(group))]

    def report(self, row: str, group: str | None = None, kind: str = "fold") -> Report:
        """What a row showed on a group, or on all: every session replayed once, or those of the second half."""
        groups = self.groups if group is None else [group]
        found: list[Measured] = []
        for each in groups:
            found += self._folds(each, row) if kind == "fold" else [self.place.done(Job(each, "half", 0, row))]
        scores = tuple(score for measured in found for score in measured.scores)
        learned, routes = (
            round(sum(getattr(measured, what) for measured in found) / len(found)) for what in ("learned_on", "routes")
        )
        return Report(group or "all", ROWS[row].title, learned, routes, scores, bootstrap(scores))

    def thresholds(self, group: str) -> float:
        """The counted θ* of a group, mean of its folds."""
        found = [measured.threshold or 0.0 for measured in self._folds(group, "counted")]
        return sum(found) / len(found)

    def curve(self, group: str) -> list[Point]:
        """The learning curve of a group; intervals resample the tasks of all orders together."""
        points: list[Point] = []
        for size in self.sizes(group):
            scores = [score for job in self._curve_jobs(group, size) for score in self.place.done(job).scores]
            points.append(Point(size, len(scores), bootstrap(scores)))
        return points

    def skills(self) -> list[Skill]:
        """The routes of which most lookups were used, each replayed alone, the most useful first."""
        used: list[tuple[int, int, int, str, str]] = []
        for group, name in self.candidates():
            totals: dict[str, int] = defaultdict(int)
            for measured in self._folds(group, DEFAULT.name, name):
                for score in measured.scores:
                    for what in ("used", "saved", "lookups"):
                        totals[what] += getattr(score, what)
            used.append((totals["used"], totals["saved"], totals["lookups"], group, name))
        best: list[Skill] = []
        for count, saved, lookups, group, name in sorted(used, reverse=True):
            library = self.place.library(Job(group, "fold", 0, DEFAULT.name, route=name))
            if library.routes:  # what is learned from a part need not be learned from the whole
                best.append(Skill(group, library.routes[0], lookups, count, saved))
            if len(best) == _SHOWN_SKILLS:
                break
        return best
