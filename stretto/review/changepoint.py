"""Bayesian online change-point detection over short series of numbers, one value a series and session.

After each session there is a chance for every run length r: that the last r sessions belong together and the one
before them did not. Not responsible for where the numbers come from (`stretto.review.drift`). Deterministic, and
independent of what comes later, apart from the priors, which are made from whole series.

Source: Adams and MacKay, "Bayesian Online Changepoint Detection" (2007), with a normal-gamma prior and, so that a
single odd value is no change, a mixture of the run's prediction with the prior's: a value counts in its run as much as
it is likely to belong there. The mixture is made for each series: one odd value says nothing of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Belief", "Detector", "Prior", "prior_of"]

_HAZARD: Final = 0.01  # chance that a session is the last of its run
_OUTLIER: Final = 0.05  # chance that a value is no sign of its run
_LEAST_SCALE: Final = 0.05  # of a series that hardly moves, in its own units
_MAD: Final = 1.4826  # median absolute deviation to standard deviation, for normal values
_KAPPA: Final = 0.1  # sessions that the prior's mean is worth
_ALPHA: Final = 1.0

#: Sessions that tell a change from an outlier; sessions after which it is old news; sessions there must be before it.
_LEAST_RUN: Final = 3
_WINDOW: Final = 10
_PAST: Final = 10

#: Runs less likely than this are let go: together they weigh too little to be seen, and there is one more each session.
_NEGLIGIBLE: Final = math.log(1e-15)


class Prior(NamedTuple):
    """What is expected of a series: its level, and how far it moves from one session to the next."""

    mean: float
    scale: float


def prior_of(series: Sequence[float | None]) -> Prior:
    """The prior of a series: its median, and the scale that the median step between neighbours shows.

    Steps of neighbours hardly see a change of level, so the scale is that of the noise. Missing values are skipped.
    """
    known = [value for value in series if value is not None]
    steps = [abs(later - earlier) for earlier, later in pairwise(known)]
    scale = _MAD * median(steps) / math.sqrt(2) if steps else 0.0
    return Prior(median(known) if known else 0.0, max(_LEAST_SCALE, scale))


@dataclass(slots=True)
class _Moments:
    """Weight, mean and squared deviations of one series within one run."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float, weight: float) -> None:
        self.weight += weight
        delta = value - self.mean
        self.mean += weight * delta / self.weight
        self.squares += weight * delta * (value - self.mean)

    def log_density(self, value: float, prior: Prior) -> float:
        """Of the next value: Student's t, from the normal-gamma prior and what was seen."""
        kappa = _KAPPA + self.weight
        alpha = _ALPHA + self.weight / 2
        mean = (_KAPPA * prior.mean + self.weight * self.mean) / kappa
        off = self.mean - prior.mean
        beta = prior.scale**2 + self.squares / 2 + _KAPPA * self.weight * off * off / (2 * kappa)
        freedom = 2 * alpha
        variance = beta * (kappa + 1) / (alpha * kappa)
        return (
            math.lgamma((freedom + 1) / 2)
            - math.lgamma(freedom / 2)
            - 0.5 * math.log(math.pi * freedom * variance)
            - (freedom + 1) / 2 * math.log1p((value - mean) ** 2 / (freedom * variance))
        )


@dataclass(slots=True)
class _Run:
    length: int
    log_mass: float
    series: list[_Moments] = field(default_factory=list)


class Belief(NamedTuple):
    """What is believed after a session."""

    chance: float  #: that there was a change of late, 0 to 1
    length: int  #: sessions since that change, most likely; 0 when there were too few sessions to tell


class Detector:
    """Watches series for a change.

    Args:
        priors: one a series.
    """

    def __init__(self, priors: Sequence[Prior]) -> None:
        self._priors = tuple(priors)
        self._runs = [self._new_run(0.0)]
        self._seen = 0

    def _new_run(self, log_mass: float) -> _Run:
        return _Run(0, log_mass, [_Moments() for _ in self._priors])

    def observe(self, values: Sequence[float | None]) -> Belief:
        """Take in one session.

        Args:
            values: one a series; None where the session has none.

        Returns:
            The belief after it. Costs one density a series and live run; there are seldom more than a few hundred.
        """
        empty = _Moments()
        present = [
            (place, value, prior, math.log(_OUTLIER) + empty.log_density(value, prior))
            for place, (value, prior) in enumerate(zip(values, self._priors, strict=True))
            if value is not None
        ]
        joints: list[float] = []
        for run in self._runs:
            joint = run.log_mass
            for place, value, prior, outlier in present:
                own = math.log1p(-_OUTLIER) + run.series[place].log_density(value, prior)
                density = _log_sum((own, outlier))
                run.series[place].add(value, math.exp(own - density))
                joint += density
            run.length += 1
            joints.append(joint)
        total = _log_sum(joints)
        for run, joint in zip(self._runs, joints, strict=True):
            run.log_mass = joint - total + math.log1p(-_HAZARD)
        fresh = self._new_run(math.log(_HAZARD))
        self._runs = [fresh, *(run for run in self._runs if run.log_mass > _NEGLIGIBLE)]
        self._seen += 1
        return self._belief()

    def _belief(self) -> Belief:
        longest = min(_WINDOW, self._seen - _PAST)
        recent = [run for run in self._runs if _LEAST_RUN <= run.length <= longest]
        if not recent:
            return Belief(0.0, 0)
        likeliest = max(recent, key=lambda run: run.log_mass)
        return Belief(min(1.0, sum(math.exp(run.log_mass) for run in recent)), likeliest.length)


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(sum(math.exp(one - top) for one in logs))
