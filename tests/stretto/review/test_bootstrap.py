"""Intervals by resampling whole tasks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.review.bootstrap import Interval, Row, difference, ratio

ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 5)).map(lambda pair: Row(pair[0], pair[1], 5)), min_size=1
)


def test_a_share_is_a_ratio_of_sums() -> None:
    assert ratio([Row("a", 1, 10), Row("b", 8, 10)]).value == 0.45


def test_the_trials_of_a_task_are_drawn_together() -> None:
    """Two tasks of many trials each are two draws, however many rows there are."""
    rows = [Row("a", 0, 1)] * 50 + [Row("b", 1, 1)] * 50
    assert ratio(rows) == Interval(0.5, 0.0, 1.0)
    apart = ratio([Row(str(number), row.part, row.whole) for number, row in enumerate(rows)])
    assert 0.35 < apart.low < 0.45
    assert 0.55 < apart.high < 0.65


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = random.Random(1)  # noqa: S311 - a sample, seeded to be repeated
    inside = 0
    for seed in range(60):
        found = ratio([Row(str(n), draw.random() < 0.3, 1) for n in range(60)], seed=seed, rounds=200)
        inside += found.low <= 0.3 <= found.high
    assert inside >= 52


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_plays_no_part_and_equal_seeds_give_equal_intervals(
    rows: list[Row], shuffler: random.Random
) -> None:
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert ratio(rows, rounds=20) == ratio(mixed, rounds=20)
    found = ratio(rows, rounds=20)
    assert 0 <= found.low <= found.high <= 1


@given(ROWS)
def test_a_system_is_exactly_as_good_as_itself(rows: list[Row]) -> None:
    assert difference(rows, rows, rounds=20) == Interval(0, 0, 0)


def test_what_makes_a_task_easy_for_both_does_not_blur_their_difference() -> None:
    theirs = [Row(str(n), n % 10, 10) for n in range(40)]
    ours = [Row(unit, part + 1, whole) for unit, part, whole in theirs]
    found = difference(ours, theirs)
    assert found.value == pytest.approx(0.1)
    assert found.high - found.low < 1e-9 < ratio(ours).high - ratio(ours).low


def test_systems_are_compared_on_the_same_tasks_only() -> None:
    with pytest.raises(ValueError, match="'b' is on one side only"):
        difference([Row("a", 1, 1)], [Row("a", 1, 1), Row("b", 1, 1)])


def test_nothing_measured_is_zero() -> None:
    assert ratio([]) == Interval(0, 0, 0)
    assert ratio([Row("a", 0, 0)]) == Interval(0, 0, 0)
