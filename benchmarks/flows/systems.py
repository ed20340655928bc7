"""What is compared: the original's deciders, what this project adds to them, and each addition left out.

All of them are replays of two flows a fold, one learned with code features and one without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stretto._defaults import THRESHOLD
from stretto.deciders.habit import Habit
from stretto.deciders.reach import Reach
from stretto.learning import LearnOptions
from stretto.review.replay import replay_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.flows.sessions import Domain
    from stretto.deciders.model import Decider
    from stretto.flow.model import Flow
    from stretto.review.score import ReplayScore
    from stretto.sessions.episode import Episode

__all__ = [
    "ABLATION",
    "DEFAULT",
    "FRONTIER",
    "LEARNED",
    "MAIN",
    "PLAIN",
    "STAR",
    "SYSTEMS",
    "THRESHOLDS",
    "WEIGHED",
    "System",
    "star",
    "with_features",
]

#: By whether tools' outputs make their symbols differ: what a fold's flow is learned by.
LEARNED: Final = {False: LearnOptions(features=False), True: LearnOptions()}


@dataclass(frozen=True, slots=True)
class System:
    """One way to look things up with a flow.

    Attributes:
        name: its key.
        title: how tables call it.
        features: the flow was learned with code features.
        decider: ``reach`` or ``habit``.
        derived: bind derived values.
        record: bind arguments that come from one record.
        spoken: bind from the user's own words.
        uses: score by what was counted of uses.
    """

    name: str
    title: str
    features: bool = False
    decider: str = "reach"
    derived: bool = False
    record: bool = False
    spoken: bool = False
    uses: bool = False

    @property
    def chooser(self) -> Decider:
        """Who weighs the lookups."""
        return Habit() if self.decider == "habit" else Reach(uses=self.uses)

    def seen(self, flow: Flow) -> Flow:
        """A flow without the bindings that this system has not; the one given is not changed."""
        bindings = replace(
            flow.bindings,
            derived=flow.bindings.derived if self.derived else {},
            records=flow.bindings.records if self.record else {},
            spoken=flow.bindings.spoken if self.spoken else {},
        )
        return replace(flow, bindings=bindings)

    def replayed(
        self,
        flow: Flow,
        domain: Domain,
        episodes: Iterable[Episode],
        *,
        threshold: float = THRESHOLD,
        prompt_tokens: int = 0,
        weigh: bool = False,
    ) -> tuple[ReplayScore, ...]:
        """Replay sessions.

        Args:
            flow: learned with code features or without, as this system has it.
            domain: of the sessions.
            episodes: the sessions.
            threshold: see `stretto.review.replay.ReplayOptions`.
            prompt_tokens: likewise.
            weigh: likewise.
        """
        scores = replay_all(
            self.seen(flow),
            episodes,
            units=domain.units,
            decider=self.chooser,
            manifest=domain.manifest,
            threshold=threshold,
            prompt_tokens=prompt_tokens,
            weigh=weigh,
        )
        return tuple(scores)


def with_features(system: System) -> System:
    """The same system on the flow that was learned with code features."""
    return replace(system, name=f"{system.name}, features", title=f"{system.title}, code features", features=True)


PLAIN: Final = System("plain", "reach")
HABIT: Final = System("habit", "habit", decider="habit")
BOTH: Final = System("both", "reach + both", derived=True, record=True, spoken=True)
_ALL: Final = replace(BOTH, name="all", title="reach + all", uses=True)

#: Each adds one thing to `PLAIN`, the last ones several.
STEPS: Final = (
    HABIT,
    PLAIN,
    System("derived", "reach + derived", derived=True, record=True),
    System("words", "reach + the user's words", spoken=True),
    BOTH,
    System("uses", "reach + uses", uses=True),
    _ALL,
)

#: Ours, as it is learned and served if nothing else is asked for.
DEFAULT: Final = replace(with_features(_ALL), title="reach + all, the default")

#: `DEFAULT` with one thing left out.
ABLATION: Final = {
    "derived values": replace(DEFAULT, name="no derived", title="no derived values", derived=False),
    "arguments from one record": replace(DEFAULT, name="no record", title="no records", record=False),
    "the user's words": replace(DEFAULT, name="no spoken", title="no words of the user", spoken=False),
    "uses": with_features(BOTH),
    "code features": _ALL,
}

#: Systems of the main tables.
MAIN: Final = (*STEPS, *(with_features(each) for each in STEPS[:-1]), DEFAULT)

SYSTEMS: Final = {system.name: system for system in (*MAIN, *ABLATION.values())}

#: Of whose scores the calibration is measured.
WEIGHED: Final = (HABIT, PLAIN, with_features(HABIT), with_features(PLAIN), DEFAULT)

#: Systems of the frontier, and its thresholds.
FRONTIER: Final = (PLAIN, with_features(PLAIN), _ALL, DEFAULT)
THRESHOLDS: Final = (0.1, 0.2, THRESHOLD, 0.4, 0.5, 0.6, 0.7, 0.8)

#: Where a system is measured: at a threshold, by its number, or at the domain's own θ*.
STAR: Final = "θ*"


def star(factor: float) -> str:
    """θ* with a prompt that is so many times as long as assumed."""
    return STAR if factor == 1 else f"{STAR} at {factor:g}"
