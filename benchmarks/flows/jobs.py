"""What is measured, cut into jobs that two processes can share, and kept so that a run that stopped can go on.

One job is one fold: its flows are learned once, and every system is replayed with them. The learning curves are jobs of
their own.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.flows.sessions import Collection, learned
from benchmarks.flows.systems import (
    ABLATION,
    DEFAULT,
    FRONTIER,
    LEARNED,
    MAIN,
    PLAIN,
    STAR,
    SYSTEMS,
    THRESHOLDS,
    WEIGHED,
    star,
)
from benchmarks.kept import path_of
from stretto._defaults import CURVE_SIZES, THRESHOLD
from stretto.replayer import flow_strategy, hint_tools
from stretto.review.ceiling import ceiling
from stretto.review.costs import costs
from stretto.review.curve import learning_curve
from stretto.review.together import learn_routes, replay_together
from waggle import files
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.flows.sessions import Domain
    from stretto.flow.model import Flow
    from stretto.review.ceiling import CeilingScore
    from stretto.review.costs import Cost
    from stretto.review.curve import Point
    from stretto.review.score import ReplayScore
    from stretto.review.split import Fold

__all__ = ["FACTORS", "MANAGED", "Job", "Measured", "Said", "Workplace", "curve_of"]

#: β of a retail turn as the original counted it in sessions whose tokens were recorded. That it also comes out of ours
#: tells how long the prompt is that our recordings do not show.
PUBLISHED_BETA: Final = 5_820

#: How many times as long the prompt could be.
FACTORS: Final = (0.0, 0.5, 1.0, 2.0)

#: Threshold beside the default at which coding sessions are measured, since little is looked up there.
LOWER: Final = 0.1

#: Who makes lookups where routes and flows are compared, each through a manager.
MANAGED: Final = ("routes alone", "the flow alone", "both together")


class Job(NamedTuple):
    """One fold, or one fold of a learning curve.

    Attributes:
        domain: of the sessions.
        fold: its number.
        parts: what is measured: of ``main``, ``frontier``, ``ablation``, ``calibration``, ``together``, ``coding``; or
            ``curve`` alone.
        agent: whose sessions a curve is of; empty for all agents of the domain.
    """

    domain: str
    fold: int
    parts: tuple[str, ...]
    agent: str = ""


class Said(NamedTuple):
    """What was said of one lookup that was weighed, and what happened."""

    unit: str
    score: float
    used: bool
    succeeded: bool  #: the session did


@dataclass(frozen=True, slots=True)
class Measured:
    """What one job gave.

    Attributes:
        learned_on: sessions.
        costs: by factor of the prompt's length, counted on the sessions learned from.
        ceiling: of the sessions replayed.
        scores: by system and threshold: one a session replayed.
        weighed: by system.
        curve: by system.
    """

    learned_on: int
    costs: Mapping[float, Cost] = field(default_factory=dict)
    ceiling: tuple[CeilingScore, ...] = ()
    scores: Mapping[tuple[str, str], tuple[ReplayScore, ...]] = field(default_factory=dict)
    weighed: Mapping[str, tuple[Said, ...]] = field(default_factory=dict)
    curve: Mapping[str, Sequence[Point]] = field(default_factory=dict)


def runs_of(parts: Sequence[str]) -> list[tuple[str, str]]:
    """The systems that some parts replay, and at which thresholds."""
    runs: dict[tuple[str, str], None] = {}
    if "main" in parts:
        runs |= dict.fromkeys((system.name, at) for system in MAIN for at in (f"{THRESHOLD}", STAR))
        runs |= dict.fromkeys((system.name, star(factor)) for system in (PLAIN, DEFAULT) for factor in FACTORS)
    if "frontier" in parts:
        runs |= dict.fromkeys((system.name, f"{at}") for system in FRONTIER for at in THRESHOLDS)
    if "ablation" in parts:
        runs |= dict.fromkeys((system.name, f"{THRESHOLD}") for system in (DEFAULT, *ABLATION.values()))
    if "coding" in parts:
        runs |= dict.fromkeys((system.name, f"{at}") for system in (PLAIN, DEFAULT) for at in (LOWER, THRESHOLD))
    return list(runs)


def curve_of(domain: Domain, agent: str) -> Domain | None:
    """The sessions of a curve; None where some split leaves too few of them to learn from."""
    own = domain.of(agent) if agent else domain
    least = min((sum(each.succeeded for each in fold.learn) for fold in own.folds), default=0)
    return own if least > CURVE_SIZES[0] else None


class Workplace:
    """What one process works with: the sessions, and a folder with what was measured so far.

    Args:
        traces: folder of recorded sessions.
        kept: folder for results; another process may use it at the same time.
    """

    def __init__(self, traces: Path, kept: Path) -> None:
        self.sessions = Collection(traces)
        self._kept = kept

    @cached_property
    def prompt_tokens(self) -> int:
        """Length of the system prompt and the tools' descriptions, tokens; 0 where there is no retail to tell it by."""
        retail = self.sessions.tools.get("retail")
        if retail is None:
            return 0
        counted = costs((each for each in retail.episodes if each.succeeded), retail.manifest).overall
        return max(0, round(PUBLISHED_BETA - counted.beta))

    def path(self, job: Job) -> Path:
        """Where a job's result is kept."""
        return path_of(self._kept, job)

    def done(self, job: Job) -> Measured:
        """The result of a job that was run."""
        measured = pickle.loads(self.path(job).read_bytes())  # noqa: S301 - we wrote it
        assert isinstance(measured, Measured)  # noqa: S101 - tells the type checker
        return measured

    def work(self, job: Job) -> None:
        """Run a job and keep its result."""
        measured = self._curve(job) if job.parts == ("curve",) else self._measure(job)
        files.replace(self.path(job), pickle.dumps(measured))

    def _curve(self, job: Job) -> Measured:
        own = curve_of(self.sessions[job.domain], job.agent)
        assert own is not None  # noqa: S101 - no job is made of it otherwise
        fold = own.folds[job.fold]
        lessons = [each for each in fold.learn if each.succeeded]
        found = {
            system.name: learning_curve(
                lessons,
                fold.replay,
                lambda chosen, system=system: system.seen(learned(own, chosen, LEARNED[system.features])),  # type: ignore[misc]
                units=own.units,
                decider=system.chooser,
                manifest=own.manifest,
            )
            for system in (PLAIN, DEFAULT)
        }
        return Measured(len(lessons), curve=found)

    def _measure(self, job: Job) -> Measured:
        domain = self.sessions[job.domain]
        fold = domain.folds[job.fold]
        flows = {features: learned(domain, fold.learn, options) for features, options in LEARNED.items()}
        lessons = [each for each in fold.learn if each.succeeded]
        counted = costs(lessons, domain.manifest).overall
        # What is not recorded is the same in every turn, so β grows by it and nothing else changes.
        by_factor = {
            factor: replace(counted, beta=counted.beta + factor * self.prompt_tokens * bool(counted.turns))
            for factor in FACTORS
        }
        thresholds = {star(factor): _or_default(cost.theta) for factor, cost in by_factor.items()}
        scores: dict[tuple[str, str], tuple[ReplayScore, ...]] = {}
        for name, at in runs_of(job.parts):
            scores[name, at] = SYSTEMS[name].replayed(
                flows[SYSTEMS[name].features],
                domain,
                fold.replay,
                threshold=thresholds[at] if at in thresholds else float(at),
                prompt_tokens=self.prompt_tokens,
            )
        if {"together", "coding"} & {*job.parts}:
            for name, found in _together(domain, fold, flows[True], self.prompt_tokens).items():
                scores[name, f"{THRESHOLD}"] = found
        weighed: dict[str, tuple[Said, ...]] = {}
        for system in WEIGHED if "calibration" in job.parts else ():
            replayed = system.replayed(flows[system.features], domain, fold.replay, weigh=True)
            weighed[system.name] = tuple(
                Said(score.unit, each.score, each.used, episode.succeeded)
                for episode, score in zip(fold.replay, replayed, strict=True)
                for each in score.weighed
            )
        return Measured(
            len(lessons),
            by_factor,
            tuple(ceiling(fold.replay, domain.manifest, units=dict(domain.units))),
            scores,
            weighed,
        )


def _or_default(theta: float | None) -> float:
    return THRESHOLD if theta is None else theta


def _together(domain: Domain, fold: Fold, flow: Flow, prompt_tokens: int) -> dict[str, tuple[ReplayScore, ...]]:
    """Routes alone, the flow alone, and both, each through a manager, with its default settings."""
    library = learn_routes((each for each in fold.learn if each.succeeded), domain.manifest)
    tools = ToolTable()
    hint_tools(tools, domain.manifest)
    strategies = [flow_strategy(flow, tools=tools)]
    return {
        name: tuple(
            replay_together(
                episode,
                domain.manifest,
                library=library if has_routes else None,
                strategies=strategies if has_flow else (),
                unit=domain.units[episode.id],
                prompt_tokens=prompt_tokens,
            )
            for episode in fold.replay
        )
        for name, has_routes, has_flow in zip(MANAGED, (True, False, True), (False, True, True), strict=True)
    }
