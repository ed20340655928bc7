"""How well a score says what will happen: calibration error, Brier score, and how well it ranks.

A score is the chance that a lookup will be used, what happened is 1 or 0. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Bin", "Calibration", "Scored", "calibration"]

#: Equal bins of the score, the usual number.
BINS: Final = 10


class Scored(NamedTuple):
    """One prediction.

    Attributes:
        score: 0 to 1.
        used: what happened.
    """

    score: float
    used: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """The predictions of one bin, for a reliability diagram.

    Attributes:
        low: its lower end.
        high: its upper end.
        count: predictions in it.
        score: their mean score.
        used: share that came true.
    """

    low: float
    high: float
    count: int
    score: float
    used: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How good the scores are; every measure is 0 to 1.

    Attributes:
        count: predictions.
        used: share that came true.
        ece: expected calibration error: the bins' distance between mean score and share that came true, weighted by
            their counts. 0 is best.
        brier: mean squared distance between score and outcome. 0 is best.
        auc: chance that one that came true has the higher score than one that did not, ties counted half; None when all
            or none came true. 1 is best, 0.5 is guessing.
        bins: those with predictions, by score.
    """

    count: int
    used: float
    ece: float
    brier: float
    auc: float | None
    bins: tuple[Bin, ...]


def calibration(predictions: Iterable[Scored]) -> Calibration:
    """Measure predictions; without any, everything is 0. Bin ``min(9, floor(10 · score))``. Cost: O(n log n).

    Args:
        predictions: n of them, in any order.

    Raises:
        ValueError: a score is outside of 0 to 1.
    """
    scored = sorted(predictions)
    if not all(0 <= each.score <= 1 for each in scored):
        raise ValueError("a score is a chance, from 0 to 1")
    if not scored:
        return Calibration(0, 0.0, 0.0, 0.0, None, ())
    count = len(scored)
    bins = tuple(
        _bin(number, list(within))
        for number, within in groupby(scored, key=lambda each: min(BINS - 1, int(BINS * each.score)))
    )
    return Calibration(
        count,
        sum(each.used for each in scored) / count,
        sum(each.count * abs(each.score - each.used) for each in bins) / count,
        sum((each.score - each.used) ** 2 for each in scored) / count,
        _auc(scored),
        bins,
    )


def _bin(number: int, within: Sequence[Scored]) -> Bin:
    count = len(within)
    score, used = sum(each.score for each in within) / count, sum(each.used for each in within) / count
    return Bin(number / BINS, (number + 1) / BINS, count, score, used)


def _auc(scored: Sequence[Scored]) -> float | None:
    """The Mann-Whitney statistic over its maximum, in one pass over the sorted scores."""
    hits = sum(each.used for each in scored)
    misses = len(scored) - hits
    if not hits or not misses:
        return None
    wins, misses_below = 0.0, 0
    for _, tied in groupby(scored, key=lambda each: each.score):
        outcomes = [each.used for each in tied]
        tied_hits = sum(outcomes)
        tied_misses = len(outcomes) - tied_hits
        wins += tied_hits * (misses_below + tied_misses / 2)
        misses_below += tied_misses
    return wins / (hits * misses)
