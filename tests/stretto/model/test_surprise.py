"""How much a choice surprises a habit, and the gate's threshold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.alphabet import StepOutcome, Vocabulary, steps_of, symbol
from stretto.model.counts import Successions
from stretto.model.features import EMPTY
from stretto.model.sample import Sample, fold_of
from stretto.model.surprise import gate_threshold, largest_mean, surprise
from tests.stretto.episodes import called, episode, replied
from tests.stretto.model.model_support import published_habit

EMAIL, USER, ORDER = 65536, 147456, 114688
TOOLS = Vocabulary(["a", "b", "c"])


@pytest.mark.parametrize(
    ("took", "chance"),
    [
        pytest.param(7, 0.591905, id="an-order"),
        pytest.param(8, 0.160800, id="a-product"),
        pytest.param(None, 0.247295, id="a-reply"),
        pytest.param(9, 0.247295, id="a-lookup-that-was-not-offered"),
    ],
)
def test_whatever_is_not_offered_counts_as_handing_back(took: int | None, chance: float) -> None:
    found = surprise(published_habit(), (ORDER, ORDER), (7, 8), took)
    assert found == pytest.approx(-math.log(chance), abs=5e-6)


def test_nothing_surprises_without_bound() -> None:
    """What is all but ruled out surprises as what has a chance of one in a million."""
    successions = Successions()
    for _ in range(1000):
        successions.add([symbol(1, StepOutcome.OK)] * 50, ())
    habit = successions.habit(0.0067, 4)
    assert surprise(habit, [symbol(1, StepOutcome.OK)] * 2, (1, 2), 2) == pytest.approx(-math.log(1e-6))


@pytest.mark.parametrize(
    ("values", "window", "mean"),
    [
        pytest.param([1.0, 5.0, 3.0, 0.0], 2, 4.0, id="in-the-middle"),
        pytest.param([1.0, 5.0], 1, 5.0, id="of-one"),
        pytest.param([1.0, 5.0], 2, 3.0, id="of-all"),
        pytest.param([1.0, 5.0], 3, None, id="too-few"),
        pytest.param([], 1, None, id="none"),
    ],
)
def test_the_largest_mean_of_consecutive_values(values: list[float], window: int, mean: float | None) -> None:
    assert largest_mean(values, window) == mean


#: In each session the agent calls a, then b so many times, then c, then replies.
LENGTHS = (1, 2, 2, 3, 1, 2, 4, 2, 3, 2)


def sessions() -> Sample:
    sample = Sample()
    for number, length in enumerate(LENGTHS):
        calls = [called(tool, {}, "x") for tool in ["a", *["b"] * length, "c"]]
        made = episode(*calls, replied(), name=f"s{number}", task=f"t{number}")
        sample.add(made, steps_of(made))
    return sample


def offered(site: tuple[str, bool]) -> tuple[str, ...]:
    return {"a": ("b",), "b": ("b", "c")}.get(site[0], ()) if not site[1] else ()


def largest_by_hand(window: int) -> list[float]:
    """Each session's largest mean, the sessions one by one, each under a habit of the other folds' sessions."""
    a, b, c, end = (symbol(action, outcome) for action, outcome in ((1, 0), (2, 0), (3, 0), (0, StepOutcome.ENDED)))
    made = [[a, *[b] * length, c, end] for length in LENGTHS]
    largest = []
    for number, symbols in enumerate(made):
        successions = Successions()
        for other, steps in enumerate(made):
            if fold_of(f"t{other}") != fold_of(f"t{number}"):
                successions.add(steps, ())
        habit = successions.habit(2.0, TOOLS.size)
        values = [surprise(habit, symbols[:1], (2,), 2)]
        for place in range(2, len(symbols) - 1):
            took = 2 if symbols[place] == b else 3
            values.append(surprise(habit, symbols[:place], (2, 3), took))
        means = [sum(values[at : at + window]) / window for at in range(len(values) - window + 1)]
        largest += [max(means)] if means else []
    return sorted(largest)


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize(
    ("quantile", "rank"), [(0.01, lambda _: 0), (0.5, lambda n: -(-n // 2) - 1), (1, lambda n: n - 1)]
)
def test_the_threshold_is_the_value_at_the_rank_of_sessions_scored_by_the_others(
    window: int, quantile: float, rank: object
) -> None:
    expected = largest_by_hand(window)
    found = gate_threshold(sessions(), TOOLS, EMPTY, 2.0, offered, window=window, quantile=quantile)
    assert callable(rank)
    assert found == pytest.approx(expected[rank(len(expected))])


def test_sessions_too_short_for_a_window_say_nothing() -> None:
    assert gate_threshold(sessions(), TOOLS, EMPTY, 2.0, offered, window=6, quantile=0.5) is None
    assert gate_threshold(Sample(), TOOLS, EMPTY, 2.0, offered, window=1, quantile=0.5) is None


@given(st.sampled_from([0.1, 0.3, 0.7, 0.9, 1.0]), st.sampled_from([0.2, 0.5, 0.8]))
def test_a_larger_share_of_sessions_needs_a_larger_threshold(more: float, less: float) -> None:
    low, high = sorted((more, less))
    sample = sessions()
    one = gate_threshold(sample, TOOLS, EMPTY, 2.0, offered, window=2, quantile=low)
    other = gate_threshold(sample, TOOLS, EMPTY, 2.0, offered, window=2, quantile=high)
    assert one is not None
    assert other is not None
    assert one <= other
