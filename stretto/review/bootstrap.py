"""Shares with intervals, by resampling whole tasks: a task's trials stand or fall together.

A share is a ratio of sums, turns saved over turns. Two systems that were measured on the same sessions are compared on
the same resamples, so what makes a task easy for both does not blur their difference. Percentile bootstrap, 95 %; see
Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle._defaults import BOOTSTRAP_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

__all__ = ["Interval", "Row", "difference", "ratio", "resampled"]

_LOW: Final = 0.025
_HIGH: Final = 0.975


class Row(NamedTuple):
    """What one session adds to a share.

    Attributes:
        unit: to resample by: the task, or the customer whose tasks share records.
        part: of the numerator.
        whole: of the denominator.
    """

    unit: str
    part: float
    whole: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with the 95 % interval that resampling gives.

    Attributes:
        value: from all rows.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float


def ratio(rows: Iterable[Row], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS) -> Interval:
    """Sum of the parts over the sum of the wholes; 0 where the wholes add up to nothing.

    Args:
        rows: R rows of U units, in any order.
        seed: of the resampling; equal input gives equal output.
        rounds: resamples; the cost is O(rounds · U).
    """
    sums = _by_unit(rows)
    return resampled(sums, lambda drawn: _share([sums[unit] for unit in drawn]), seed=seed, rounds=rounds)


def difference(
    ours: Iterable[Row], theirs: Iterable[Row], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS
) -> Interval:
    """Our share less theirs, on the same resamples. Both must be of the same sessions.

    Raises:
        ValueError: the units differ.
    """
    mine, other = _by_unit(ours), _by_unit(theirs)
    if mine.keys() != other.keys():
        raise ValueError(f"not measured on the same tasks: {min(mine.keys() ^ other.keys())!r} is on one side only")
    return resampled(
        mine,
        lambda drawn: _share([mine[unit] for unit in drawn]) - _share([other[unit] for unit in drawn]),
        seed=seed,
        rounds=rounds,
    )


def resampled(
    units: Collection[str], measure: Callable[[Sequence[str]], float], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS
) -> Interval:
    """Any measure of units, with the interval that resampling them gives.

    Args:
        units: U of them, in any order.
        measure: of some units; one that was drawn several times stands among them as often.
        seed: of the resampling; equal input gives equal output.
        rounds: resamples.
    """
    named = sorted(units)
    draw = random.Random(seed)  # noqa: S311 - resampling, not a secret; seeded so that a report can be repeated
    drawn = (draw.choices(named, k=len(named)) for _ in range(rounds if named else 0))
    value = measure(named)
    return _interval(value, map(measure, drawn))


def _by_unit(rows: Iterable[Row]) -> dict[str, tuple[float, float]]:
    """Sums by unit."""
    sums: dict[str, tuple[float, float]] = {}
    for unit, part, whole in rows:
        known = sums.get(unit, (0, 0))
        sums[unit] = (known[0] + part, known[1] + whole)
    return sums


def _share(pairs: Sequence[tuple[float, float]]) -> float:
    whole = sum(pair[1] for pair in pairs)
    return sum(pair[0] for pair in pairs) / whole if whole else 0.0


def _interval(value: float, resampled: Iterable[float]) -> Interval:
    shares = sorted(resampled) or [value]
    last = len(shares) - 1
    return Interval(value, shares[int(_LOW * last)], shares[int(_HIGH * last)])
