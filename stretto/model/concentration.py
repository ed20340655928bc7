"""The concentration of the back-off counts: how strongly longer contexts lean on shorter ones, fitted to the sessions.

The likelihood is prequential: each step is predicted from the counts of all steps before it, then counted, episode
after episode. Its one parameter has a smooth posterior, which is integrated instead of drawn from: the same sessions
give the same number. Not responsible for which sessions are looked at; see `stretto.model.sample`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate, pairwise
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.model.alphabet import action_of
from stretto.model.counts import PADDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stretto.model.counts import Context

__all__ = ["Concentration", "Prequential", "fit"]

_PRIOR_SD: Final = 2.0  #: of the logarithm of alpha, which is normal around 0
_LIMIT: Final = 5.0  #: largest distance from 0 at which the logarithm of alpha is looked at
_GRID: Final = 512  #: cells in which the density is summed; one is less than a tenth of a standard deviation
_NATS: Final = 1e-3  #: error allowed in the logarithm of the density; the median then has five digits
#: Distance from the real axis to the nearest singularity of the likelihood in the logarithm of alpha. The poles of its
#: denominators are there; the zeros of its numerators, which are cubics, may be somewhat nearer.
_STRIP: Final = math.pi
_FEW: Final = 250  #: steps that are looked at over the whole range at once
_THIN: Final = 4  #: of more, every fourth says first where to look
_WIDTH: Final = 5.0  #: standard deviations of what every fourth step says, to both sides of its mean
_NEGLIGIBLE: Final = -12.0  #: logarithm of the density, relative to the largest, at which it may be cut off


class Concentration(NamedTuple):
    """The posterior of alpha: its median, which flows use, and the points below which 5 % and 95 % of it are."""

    median: float
    low: float
    high: float


class Prequential:
    """The prequential likelihood of episodes.

    What each step needs of the counts before it does not depend on alpha, and is collected once.

    Args:
        episodes: symbols of each one's steps; the order matters.
        vocab_size: actions there are, the unseen one included.

    Attributes:
        steps: how many there are.
    """

    def __init__(self, episodes: Iterable[Sequence[int]], vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._rows = list(_rows(episodes))
        self.steps = len(self._rows)

    def thinned(self, every: int) -> Prequential:
        """The part of the likelihood that comes from every n-th step, predicted from all steps before it."""
        part = Prequential((), self._vocab_size)
        part._rows = self._rows[::every]
        part.steps = len(part._rows)
        return part

    def log_likelihood(self, alpha: float) -> float:
        """Sum of ``ln p(action | history)`` over the steps, in nats. Cost: about 0.4 µs a step."""
        log, floor = math.log, alpha / self._vocab_size
        return sum(
            [
                log((n2 + alpha * (n1 + alpha * (n0 + floor) / (all0 + alpha)) / (all1 + alpha)) / (all2 + alpha))
                for n0, all0, n1, all1, n2, all2 in self._rows
            ]
        )


def _rows(episodes: Iterable[Sequence[int]]) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Of each step, before it is counted: its action's count and the total, in the contexts of 0, 1 and 2 symbols.

    A context that was not seen has 0 and 0, which leaves the chance of the shorter one as it is.
    """
    totals: dict[Context, int] = {}
    counts: dict[Context, int] = {}  # by context and action
    seen = 0
    for symbols in episodes:
        before = last = PADDING
        for symbol in symbols:
            action = action_of(symbol)
            shorter, longer = (last,), (before, last)
            in_none, in_shorter, in_longer = (action,), (last, action), (before, last, action)
            n0, n1, n2 = counts.get(in_none, 0), counts.get(in_shorter, 0), counts.get(in_longer, 0)
            all1, all2 = totals.get(shorter, 0), totals.get(longer, 0)
            yield n0, seen, n1, all1, n2, all2
            counts[in_none], counts[in_shorter], counts[in_longer] = n0 + 1, n1 + 1, n2 + 1
            totals[shorter], totals[longer] = all1 + 1, all2 + 1
            seen += 1
            before, last = last, symbol


def fit(episodes: Iterable[Sequence[int]], vocab_size: int) -> Concentration:
    """The posterior of alpha under a prior that is normal in its logarithm, with mean 0 and standard deviation 2.

    The logarithm of alpha is looked at from -5 to 5. Without steps, the prior's points are given. Cost: about a dozen
    evaluations of the likelihood.

    Args:
        episodes: symbols of each one's steps; the order matters.
        vocab_size: actions there are, the unseen one included.
    """
    density = _posterior(Prequential(episodes, vocab_size))
    median, low, high = (_rounded(math.exp(density.quantile(share))) for share in (0.5, 0.05, 0.95))
    return Concentration(median, low, high)


def _rounded(value: float) -> float:
    """Six digits: the next ones are no better than the grid, and the last ones differ between machines' logarithms."""
    return float(f"{value:.6g}")


def _posterior(likelihood: Prequential) -> _Density:
    """The posterior of the logarithm of alpha, over the range that matters.

    The more steps, the narrower it is, and the fewer evaluations a narrow range takes. Where to look is asked of a part
    of the steps, whose posterior is wider; should the range turn out to cut something off, all of it is looked at.
    """
    if likelihood.steps > _FEW:
        mean, deviation = _posterior(likelihood.thinned(_THIN)).moments()
        reach = _WIDTH * deviation
        density = _Density(likelihood, max(-_LIMIT, mean - reach), min(_LIMIT, mean + reach))
        if density.is_whole:
            return density
    return _Density(likelihood, -_LIMIT, _LIMIT)


class _Density:
    """The density of the logarithm of alpha between two points.

    The log-likelihood is evaluated at Chebyshev points, as many as its smoothness asks for, and interpolated at the
    points of an even grid.
    """

    def __init__(self, likelihood: Prequential, low: float, high: float) -> None:
        middle, half = (low + high) / 2, (high - low) / 2
        ellipse = _STRIP / half + math.hypot(1, _STRIP / half)  # the error falls by this factor with every point
        last = max(4, math.ceil(math.log((likelihood.steps + 1) / _NATS) / math.log(ellipse)))
        places = [middle - half * math.cos(math.pi * place / last) for place in range(last + 1)]
        values = [likelihood.log_likelihood(math.exp(place)) for place in places]
        self._points = [low + (high - low) * cell / _GRID for cell in range(_GRID + 1)]
        logs = [
            value - (point / _PRIOR_SD) ** 2 / 2
            for point, value in zip(self._points, _interpolated(places, values, self._points), strict=True)
        ]
        largest = max(logs)
        self._edges = logs[0] - largest, logs[-1] - largest
        self._weights = [math.exp(value - largest) for value in logs]
        cells = [(one + other) / 2 for one, other in pairwise(self._weights)]
        self._below = [0.0, *accumulate(cells)]

    @property
    def is_whole(self) -> bool:
        """Whether nothing that matters is cut off, other than by the limits of the range."""
        low, high = self._edges
        return (low < _NEGLIGIBLE or self._points[0] <= -_LIMIT) and (high < _NEGLIGIBLE or self._points[-1] >= _LIMIT)

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation."""
        total = sum(self._weights)
        mean = sum(map(mul, self._weights, self._points)) / total
        spread = sum(weight * (point - mean) ** 2 for weight, point in zip(self._weights, self._points, strict=True))
        return mean, math.sqrt(spread / total)

    def quantile(self, share: float) -> float:
        """The point below which this share of the density is; linear between the points of the grid."""
        sought = share * self._below[-1]
        cell = bisect_left(self._below, sought, 1) - 1
        inside = (sought - self._below[cell]) / (self._below[cell + 1] - self._below[cell])
        return self._points[cell] + inside * (self._points[cell + 1] - self._points[cell])


def _interpolated(places: Sequence[float], values: Sequence[float], points: Sequence[float]) -> Iterator[float]:
    """The polynomial through values at Chebyshev points, the ends included, evaluated elsewhere.

    Source: the barycentric formula; of these points the weights are 1 and -1 in turn, and halves at the ends.
    """
    weights = [(-1.0) ** place for place in range(len(places))]
    weights[0] /= 2
    weights[-1] /= 2
    for point in points:
        above = below = 0.0
        for place, value, weight in zip(places, values, weights, strict=True):
            if point == place:
                yield value
                break
            share = weight / (point - place)
            above += share * value
            below += share
        else:
            yield above / below
