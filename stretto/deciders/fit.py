"""Fitting an arbiter's weights: how much to believe the habit, the model and its predicates, from decisions of agents.

A conditional logit with a quadratic penalty, maximised by Newton's method; pure Python, since there are about eight
weights. Not responsible for asking the model, nor for collecting the decisions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.deciders.arbiter import features, reliability
from stretto.flow.model import Fold, site_name
from stretto.model.sample import FOLDS, fold_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.deciders.arbiter import Told
    from stretto.flow.model import Predicate, Site

__all__ = ["Case", "fit_folds", "fit_weights", "rates_of"]

_STEPS: Final = 100  # of Newton; some five are needed
_HALVINGS: Final = 40
_SETTLED: Final = 1e-10  # improvement, in nats, below which the fit ends

#: The options' features, and the place of the one that was taken.
Row: TypeAlias = "tuple[Sequence[Sequence[float]], int]"


@dataclass(frozen=True, slots=True)
class Case:
    """One decision of an agent at which the model was asked.

    Attributes:
        task: it belongs to.
        site: of the call that returned.
        prior: the habit over the options, handing back included; learned without this task.
        told: what the model answered.
        step: the option the agent took; None when it read something that was not offered.
    """

    task: str
    site: Site
    prior: Mapping[str, float]
    told: Told
    step: str | None


def rates_of(cases: Sequence[Case]) -> Fold:
    """How often the model's pick was the agent's step, and how often that was offered: by site and over all.

    Returns:
        A fold without weights; its shares are 0 without cases.
    """
    sites: dict[str, list[float]] = {}
    for case in cases:
        counts = sites.setdefault(site_name(case.site), [0.0, 0.0, 0.0])
        counts[0] += 1
        counts[1] += case.told.pick == case.step
        counts[2] += case.step is not None
    decisions, agreed, covered = (math.fsum(counts[place] for counts in sites.values()) for place in range(3))
    shares = {name: (counts[0], counts[1], counts[2]) for name, counts in sorted(sites.items())}
    return Fold((), shares, agreed / decisions if decisions else 0.0, covered / decisions if decisions else 0.0)


def fit_folds(cases: Sequence[Case], predicates: Sequence[Predicate], *, held_out: bool = True) -> tuple[Fold, ...]:
    """Fit weights and shares.

    Args:
        cases: in any order.
        predicates: the weighed ones.
        held_out: fit each fold of tasks on the cases of all others, so that a task is never judged by weights it was
            fitted on. Otherwise on all cases: for a flow that serves tasks nobody has seen.

    Returns:
        One for each fold of tasks, in order (`stretto.model.sample.fold_of`); all equal when nothing is held out.
    """
    if not held_out:
        return (_fitted(cases, predicates),) * FOLDS
    return tuple(_fitted([case for case in cases if fold_of(case.task) != fold], predicates) for fold in range(FOLDS))


def _fitted(cases: Sequence[Case], predicates: Sequence[Predicate]) -> Fold:
    rates = rates_of(cases)
    rows: list[Row] = []
    for case in cases:
        if case.step is not None:
            reliable = reliability(rates, site_name(case.site))
            by_option = features(case.prior, case.told, predicates, case.site[0], reliable)
            rows.append((list(by_option.values()), list(by_option).index(case.step)))
    return Fold(fit_weights(rows, 5 + len(predicates)), rates.sites, rates.agree, rates.cover)


def fit_weights(rows: Sequence[Row], size: int, *, penalty: float = 1.0) -> tuple[float, ...]:
    """The weights that maximise ``sum ln P(taken) - penalty * |w|^2 / 2``, with P a share of ``exp(w · x)``.

    The target is concave, so what Newton's method with halved steps comes to does not depend on where it starts.

    Args:
        rows: N decisions of one or more options each, with `size` features an option.
        size: number of weights, at least 1.
        penalty: above 0.

    Returns:
        The weights; zeros without rows.
    """
    weights = [0.0] * size
    value = _objective(rows, weights, penalty)
    for _ in range(_STEPS):
        step = _solved(*_derivatives(rows, weights, penalty))
        for halving in range(_HALVINGS):
            tried = [weight + part / 2**halving for weight, part in zip(weights, step, strict=True)]
            better = _objective(rows, tried, penalty)
            if better >= value:
                break
        else:
            break
        gained, weights, value = better - value, tried, better
        if gained < _SETTLED:
            break
    return tuple(weights)


def _scores(options: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    return [math.fsum(w * x for w, x in zip(weights, option, strict=True)) for option in options]


def _objective(rows: Sequence[Row], weights: Sequence[float], penalty: float) -> float:
    terms = [-penalty * math.fsum(w * w for w in weights) / 2]
    for options, taken in rows:
        scores = _scores(options, weights)
        largest = max(scores)
        terms.append(scores[taken] - largest - math.log(math.fsum(math.exp(score - largest) for score in scores)))
    return math.fsum(terms)


def _derivatives(
    rows: Sequence[Row], weights: Sequence[float], penalty: float
) -> tuple[list[list[float]], list[float]]:
    """Minus the matrix of second derivatives, which is positive definite, and the gradient."""
    size = len(weights)
    gradient = [-penalty * weight for weight in weights]
    curvature = [[penalty * (i == j) for j in range(size)] for i in range(size)]
    for options, taken in rows:
        scores = _scores(options, weights)
        largest = max(scores)
        odds = [math.exp(score - largest) for score in scores]
        total = math.fsum(odds)
        shares = [odd / total for odd in odds]
        mean = [math.fsum(p * x[i] for p, x in zip(shares, options, strict=True)) for i in range(size)]
        for i in range(size):
            gradient[i] += options[taken][i] - mean[i]
        for share, option in zip(shares, options, strict=True):
            away = [x - m for x, m in zip(option, mean, strict=True)]
            for i in range(size):
                if away[i]:
                    for j in range(i + 1):
                        curvature[i][j] += share * away[i] * away[j]
    for i in range(size):
        for j in range(i):
            curvature[j][i] = curvature[i][j]
    return curvature, gradient


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve for a positive definite matrix, by Cholesky's decomposition; both are overwritten."""
    size = len(right)
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - math.fsum(matrix[i][k] * matrix[j][k] for k in range(j))
            matrix[i][j] = math.sqrt(rest) if i == j else rest / matrix[j][j]
    for i in range(size):
        right[i] = (right[i] - math.fsum(matrix[i][k] * right[k] for k in range(i))) / matrix[i][i]
    for i in reversed(range(size)):
        right[i] = (right[i] - math.fsum(matrix[k][i] * right[k] for k in range(i + 1, size))) / matrix[i][i]
    return right
