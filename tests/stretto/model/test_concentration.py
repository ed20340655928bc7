"""The concentration: the likelihood's worked examples, and the posterior against other ways to get it."""

from __future__ import annotations

import math
import random
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from stretto.model.alphabet import StepOutcome, action_of, symbol
from stretto.model.concentration import Prequential, fit
from stretto.model.counts import Backoff
from tests.stretto.model.model_support import VOCAB_SIZE, episodes

if TYPE_CHECKING:
    from collections.abc import Sequence


def acted(*actions: int) -> list[int]:
    return [symbol(action, StepOutcome.OK) for action in actions]


def routine(sessions: int, steps: int, noise: float, seed: int = 1) -> list[list[int]]:
    """Sessions that walk through four actions in turn, with a share of steps at random."""
    draws = random.Random(seed)  # noqa: S311 - made data
    return [
        acted(*(draws.randrange(5) if draws.random() < noise else step % 4 + 1 for step in range(steps)))
        for _ in range(sessions)
    ]


REGULAR = [acted(*(1, 2, 3) * 3)] * 10


def test_the_likelihood_of_two_steps() -> None:
    assert Prequential([acted(1, 2)], 4).log_likelihood(1) == pytest.approx(-3.4657, abs=5e-5)


def test_regular_sessions_want_a_small_concentration() -> None:
    likelihood = Prequential(REGULAR, 6)
    assert likelihood.log_likelihood(0.1) == pytest.approx(-12.04, abs=5e-3)
    assert likelihood.log_likelihood(50) == pytest.approx(-75.89, abs=5e-3)


@given(episodes())
def test_the_likelihood_is_that_of_the_backoff_counted_step_by_step(sessions: list[list[int]]) -> None:
    backoff, expected = Backoff(2.5, VOCAB_SIZE), 0.0
    for symbols in sessions:
        for place, each in enumerate(symbols):
            expected += math.log(backoff.probability(symbols[:place], action_of(each)))
            backoff.observe(symbols[:place], (action_of(each),))
    assert Prequential(sessions, VOCAB_SIZE).log_likelihood(2.5) == pytest.approx(expected)


def summed(sessions: list[list[int]], cells: int = 600) -> list[float]:
    """The points of the posterior from the likelihood in the middle of every cell of an even grid."""
    likelihood, width = Prequential(sessions, VOCAB_SIZE), 10 / cells
    logs = [-5 + width * (cell + 0.5) for cell in range(cells)]
    densities = [likelihood.log_likelihood(math.exp(log)) - log * log / 8 for log in logs]
    masses = [math.exp(density - max(densities)) for density in densities]
    below = list(accumulate(masses))
    points = []
    for share in (0.5, 0.05, 0.95):
        cell = next(number for number, mass in enumerate(below) if mass >= share * below[-1])
        inside = (below[cell] - share * below[-1]) / masses[cell]
        points.append(math.exp(logs[cell] + width * (0.5 - inside)))
    return points


@pytest.mark.parametrize(
    "sessions",
    [
        pytest.param([], id="nothing"),
        pytest.param([acted(1, 2)], id="two-steps"),
        pytest.param(REGULAR, id="always-the-same"),
        pytest.param(routine(10, 20, 0.2), id="few-steps"),
        pytest.param(routine(30, 20, 0.2), id="many-steps"),
        pytest.param(routine(30, 20, 1.0), id="nothing-but-noise"),
        pytest.param([*[acted(1, 2, 3, 4) * 5] * 10, *routine(20, 20, 1.0)], id="first-regular-then-noise"),
    ],
)
def test_the_posterior_is_that_of_a_fine_grid(sessions: list[list[int]]) -> None:
    """Median and both points, to 0.1 %."""
    assert list(fit(sessions, VOCAB_SIZE)) == pytest.approx(summed(sessions), rel=1e-3)


def drawn(sessions: Sequence[Sequence[int]], draws: int, warm_up: int, seed: int) -> list[float]:
    """Adaptive Metropolis-Hastings on the logarithm of alpha."""
    chance, likelihood = random.Random(seed), Prequential(sessions, VOCAB_SIZE)  # noqa: S311 - a simulation
    at, width, kept = 0.0, 1.0, list[float]()
    density = likelihood.log_likelihood(1.0)
    for step in range(warm_up + draws):
        proposal = at + chance.gauss(0, width)
        proposed = likelihood.log_likelihood(math.exp(proposal)) - proposal**2 / 8
        accepted = math.log(chance.random() or 1e-300) < proposed - density
        if accepted:
            at, density = proposal, proposed
        if step < warm_up:
            width *= math.exp((accepted - 0.44) / math.sqrt(step + 1))
        else:
            kept.append(math.exp(at))
    return kept


@pytest.mark.parametrize("noise", [0.05, 0.4])
def test_the_median_is_that_of_draws_from_the_posterior(noise: float) -> None:
    """Within a fifth of the posterior's width, which is what 3,000 correlated draws can tell."""
    sessions = routine(12, 15, noise)
    found = fit(sessions, VOCAB_SIZE)
    expected = median(drawn(sessions, 3000, 500, seed=7))
    assert abs(math.log(found.median / expected)) < 0.2 * math.log(found.high / found.low) / 3.29


def test_the_same_sessions_give_the_same_number() -> None:
    assert fit(routine(20, 20, 0.3), VOCAB_SIZE) == fit(routine(20, 20, 0.3), VOCAB_SIZE)


def test_the_order_of_the_points() -> None:
    found = fit(routine(20, 20, 0.3), VOCAB_SIZE)
    assert found.low < found.median < found.high
