"""The detector sounds for changes that last and keeps still for noise and single odd sessions."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.review import changepoint
from stretto.review.changepoint import Belief, Detector, Prior, prior_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def watch(series: Sequence[Sequence[float | None]]) -> list[Belief]:
    detector = Detector([prior_of(column) for column in zip(*series, strict=True)])
    return [detector.observe(values) for values in series]


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - made sessions, seeded so that a failure can be repeated


def noise(draw: random.Random, count: int, level: float) -> list[tuple[float, float]]:
    return [(max(0.0, draw.gauss(level, 0.3)), min(1.0, max(0.0, draw.gauss(level / 3, 0.1)))) for _ in range(count)]


def alarms(beliefs: Sequence[Belief]) -> list[int]:
    return [t for t, belief in enumerate(beliefs) if belief.chance > 0.5 >= (beliefs[t - 1].chance if t else 0)]


def test_the_prior_of_a_series_is_its_median_and_the_scale_of_its_steps() -> None:
    assert prior_of([1.0, None, 3.0, 2.0]) == pytest.approx(Prior(2.0, 1.4826 * 1.5 / math.sqrt(2)))
    assert prior_of([0.5, 0.5]) == Prior(0.5, 0.05)
    assert prior_of([None]) == Prior(0.0, 0.05)


def test_the_first_prediction_is_the_prior_students_t() -> None:
    """Df 2, kappa 0.1, scale^2 = s^2 * 1.1 / 0.1: the density of t2 at its middle is 1 / (2 sqrt 2 scale)."""
    moments = changepoint._Moments()
    scale = math.sqrt(0.04 * 1.1 / 0.1)
    assert math.exp(moments.log_density(1.0, Prior(1.0, 0.2))) == pytest.approx(1 / (2 * math.sqrt(2) * scale))


def test_a_worse_fit_sounds_within_ten_sessions_and_is_put_where_it_began() -> None:
    draw = seeded(3)
    delays, places = [], []
    for _ in range(20):
        beliefs = watch(noise(draw, 30, 0.6) + noise(draw, 20, 1.8))
        first = alarms(beliefs)[0]
        delays.append(first + 1 - 30)
        places.append(first + 1 - beliefs[first].length)
    assert sorted(delays)[10] <= 5
    assert max(delays) <= 10
    assert all(abs(place - 30) <= 3 for place in places)


def test_shuffles_of_one_kind_of_session_hardly_ever_sound() -> None:
    """The original counted 5 false alarms in 160 shuffles."""
    draw = seeded(4)
    sessions = noise(draw, 40, 0.6)
    false = 0
    for _ in range(40):
        draw.shuffle(sessions)
        false += bool(alarms(watch(sessions)))
    assert false <= 2


def test_one_odd_session_is_no_change() -> None:
    sessions = noise(seeded(5), 40, 0.6)
    sessions[25] = (5.0, 1.0)
    assert not alarms(watch(sessions))


def test_nothing_sounds_before_there_is_a_past() -> None:
    beliefs = watch([(0.1,)] * 5 + [(3.0,)] * 7)
    assert all(belief.chance == 0 for belief in beliefs)


def test_an_old_change_is_no_longer_one() -> None:
    draw = seeded(6)
    beliefs = watch(noise(draw, 30, 0.6) + noise(draw, 40, 1.8))
    assert beliefs[-1].chance < 0.5


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.floats(0, 20))] * 3), max_size=40))
def test_any_series_gives_chances_and_lengths_that_can_be(series: list[tuple[float | None, ...]]) -> None:
    for t, (chance, length) in enumerate(watch(series) if series else []):
        assert 0 <= chance <= 1
        assert length == 0 or 3 <= length <= min(10, t + 1 - 10)


def test_letting_go_of_runs_changes_nothing_that_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = noise(seeded(7), 120, 0.6)
    quick = watch(sessions)
    monkeypatch.setattr(changepoint, "_NEGLIGIBLE", -math.inf)
    for one, other in zip(quick, watch(sessions), strict=True):
        assert one.length == other.length
        assert one.chance == pytest.approx(other.chance, abs=1e-9)
