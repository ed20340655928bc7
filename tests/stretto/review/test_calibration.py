"""How well a score says what will happen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.review.calibration import Bin, Scored, calibration

PREDICTIONS = st.lists(st.builds(Scored, st.floats(0, 1), st.booleans()))


def test_bins_are_weighed_by_their_counts() -> None:
    """Half of the predictions are off by 0.3, half by 0.5."""
    found = calibration([Scored(0.7, used=True), Scored(0.5, used=False)])
    assert found.ece == pytest.approx(0.40)
    assert found.brier == pytest.approx((0.3**2 + 0.5**2) / 2)
    assert found.auc == 1.0
    assert found.used == 0.5
    assert found.bins == (Bin(0.5, 0.6, 1, 0.5, 0.0), Bin(0.7, 0.8, 1, 0.7, 1.0))


def test_a_score_of_one_is_in_the_last_bin() -> None:
    assert calibration([Scored(1.0, used=True)]).bins == (Bin(0.9, 1.0, 1, 1.0, 1.0),)


def test_scores_that_are_right_on_average_have_no_calibration_error() -> None:
    found = calibration([Scored(0.25, used=number == 0) for number in range(4)])
    assert found.ece == 0
    assert found.auc == 0.5


def test_without_both_outcomes_there_is_no_ranking() -> None:
    assert calibration([Scored(0.4, used=True)]).auc is None
    assert calibration([]).auc is None
    assert calibration([]).count == 0


@pytest.mark.parametrize("score", [-0.1, 1.5, float("nan")])
def test_a_score_that_is_no_chance_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        calibration([Scored(score, used=True)])


@given(PREDICTIONS)
def test_the_ranking_is_the_share_of_pairs_in_the_right_order(predictions: list[Scored]) -> None:
    hits = [each.score for each in predictions if each.used]
    misses = [each.score for each in predictions if not each.used]
    pairs = [(hit > miss) + (hit == miss) / 2 for hit in hits for miss in misses]
    assert calibration(predictions).auc == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


@given(PREDICTIONS)
def test_every_measure_is_a_share_and_the_order_plays_no_part(predictions: list[Scored]) -> None:
    found = calibration(predictions)
    assert found == calibration(predictions[::-1])
    assert sum(each.count for each in found.bins) == found.count == len(predictions)
    assert 0 <= found.ece <= 1 + 1e-12
    assert 0 <= found.brier <= 1
    assert all(each.low <= each.score + 1e-12 and each.score <= each.high + 1e-12 for each in found.bins)
