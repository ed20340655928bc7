"""How well scores say what will happen, with intervals that resample tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from stretto.review.bootstrap import Row, ratio, resampled
from stretto.review.calibration import BINS, Scored, calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.flows.jobs import Said
    from stretto.review.bootstrap import Interval
    from stretto.review.calibration import Calibration

__all__ = ["Measures", "ece_difference", "measures"]

#: What an AUC is where all or none came true, in a resample: nothing is told apart.
_GUESSING = 0.5


@dataclass(frozen=True, slots=True)
class Measures:
    """How good some scores are, each measure with its interval.

    Attributes:
        of: the measures themselves.
        ece: expected calibration error.
        brier: Brier score.
        auc: area under the curve; None where all or none came true.
    """

    of: Calibration
    ece: Interval
    brier: Interval
    auc: Interval | None


def measures(said: Sequence[Said]) -> Measures:
    """Measure what was said; U units and n scores cost O(rounds · (U + n))."""
    found = calibration(Scored(each.score, each.used) for each in said)
    units = {each.unit for each in said}
    return Measures(
        found,
        resampled(units, _ece(said)),
        ratio(Row(each.unit, (each.score - each.used) ** 2, 1) for each in said),
        None if found.auc is None else resampled(units, _auc(said)),
    )


def ece_difference(ours: Sequence[Said], theirs: Sequence[Said]) -> Interval:
    """Our calibration error less theirs, on the same resamples."""
    mine, other = _ece(ours), _ece(theirs)
    units = {each.unit for each in (*ours, *theirs)}
    return resampled(units, lambda drawn: mine(drawn) - other(drawn))


def _ece(said: Sequence[Said]) -> Callable[[Sequence[str]], float]:
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * (BINS + 1))  # what each bin says too much, and n
    for unit, score, used, _ in said:
        sums[unit][min(BINS - 1, int(BINS * score))] += score - used
        sums[unit][BINS] += 1

    def measure(drawn: Sequence[str]) -> float:
        *bins, count = map(sum, zip(*(sums[unit] for unit in drawn), strict=True)) if drawn else (0.0,)
        return sum(map(abs, bins)) / count if count else 0.0

    return measure


def _auc(said: Sequence[Said]) -> Callable[[Sequence[str]], float]:
    ordered = sorted(said, key=lambda each: each.score)
    tied = [[(each.unit, each.used) for each in same] for _, same in groupby(ordered, key=lambda each: each.score)]

    def measure(drawn: Sequence[str]) -> float:
        times = Counter(drawn)
        wins = 0.0
        hits = below = 0
        for same in tied:
            tied_hits = tied_misses = 0
            for unit, used in same:
                if used:
                    tied_hits += times[unit]
                else:
                    tied_misses += times[unit]
            wins += tied_hits * (below + tied_misses / 2)
            hits += tied_hits
            below += tied_misses
        return wins / (hits * below) if hits and below else _GUESSING

    return measure
