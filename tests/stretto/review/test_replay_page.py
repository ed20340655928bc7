"""What a replay shows, for people and for programs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from stretto.review.ceiling import ceiling
from stretto.review.costs import costs
from stretto.review.curve import learning_curve
from stretto.review.replay import replay_all
from stretto.review.replay_page import ceiling_page, costs_page, curve_page, replay_page
from stretto.review.summary import compared, costs_json, curve_json, summary
from tests.stretto.episodes import episode, replied
from tests.stretto.review.replay_support import SHOP, find, order, shop_flow, user, worked_example
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.sessions.episode import Episode
    from tests.conftest import Golden


def sessions() -> list[Episode]:
    """The worked example and a session in which the flow does better."""
    return [worked_example(), episode(find(), user("#A1", "#B1"), order("#A1"), order("#B1"), replied(), name="smooth")]


def test_the_pages_read_as_they_did(golden: Golden) -> None:
    reach = summary(list(replay_all(shop_flow(), sessions(), weigh=True)))
    shy = summary(list(replay_all(shop_flow(), sessions(), threshold=0.825)))
    golden.check("stretto/replay.md", replay_page({"reach at 0.3": reach, "reach at 0.825": shy}))
    golden.check("stretto/ceiling.md", ceiling_page({"shop": list(ceiling(sessions(), SHOP))}))
    golden.check("stretto/costs.md", costs_page(costs(sessions(), SHOP)))
    points = learning_curve(range(4), sessions(), lambda _: shop_flow(), sizes=(2,))
    golden.check("stretto/learning-curve.md", curve_page({"shop": points}))
    assert jsonvalue.loads(jsonvalue.dumps(curve_json(points))) == curve_json(points)


def test_every_number_is_there_for_programs() -> None:
    scores = list(replay_all(shop_flow(), sessions(), weigh=True))
    found = summary(scores).as_json()
    assert jsonvalue.loads(jsonvalue.dumps(found)) == found
    assert (found["turns"], found["turns_saved"], found["episodes"]) == (11, 5, 2)
    assert (found["detours"], found["episodes_with_detour"]) == (1, 1)
    assert found["lists"] == {
        "first": {"turns": 2, "saved": 2, "lookups": 2, "used": 2},
        "later": {"turns": 1, "saved": 1, "lookups": 3, "used": 2},
    }
    measured = found["calibration"]
    assert isinstance(measured, dict)
    assert measured["count"] == 7
    assert "calibration" not in summary(list(replay_all(shop_flow(), sessions()))).as_json()


def test_costs_are_there_for_programs() -> None:
    found = costs_json(costs(sessions(), SHOP))
    assert list(found) == ["overall", "sites"]
    assert jsonvalue.loads(jsonvalue.dumps(found)) == found


def test_a_summary_of_nothing_is_all_zeros_and_can_be_shown() -> None:
    empty = summary([])
    assert empty.saved.value == 0
    assert replay_page({"nothing": empty}).endswith("|\n")
    assert ceiling_page({"nothing": []}).endswith("|\n")


def test_names_from_data_stay_in_their_cells() -> None:
    page = replay_page({"a | b\n# c": summary([])})
    assert "\n# c" not in page


def test_two_systems_are_compared_on_the_same_sessions() -> None:
    ours = list(replay_all(shop_flow(), sessions()))
    theirs = list(replay_all(shop_flow(likely=("get_user",)), sessions()))
    found = compared(ours, theirs)
    assert found.saved.value == pytest.approx((5 - 2) / 11)
    assert found.saved.low > 0
    assert found.detours.value == 0.5
    assert list(found.as_json()) == ["saved", "detours_per_episode"]
    with pytest.raises(ValueError, match="one side only"):
        compared(ours, theirs[:1])


def test_sums_do_not_depend_on_how_the_sessions_are_grouped() -> None:
    scores = list(replay_all(shop_flow(), sessions()))
    apart = summary(scores)
    together = summary([dataclasses.replace(score, unit="all") for score in scores])
    assert apart.saved.value == together.saved.value
    assert together.saved.low == together.saved.high == together.saved.value
    assert (apart.units, together.units) == (2, 1)
