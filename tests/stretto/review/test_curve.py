"""The learning curve, its points and its picture."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import pytest

from stretto.errors import UsageError
from stretto.review.curve import Point, learning_curve, pooled
from stretto.review.curve_plot import draw
from tests.stretto.review.replay_support import shop_flow, worked_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.flow.model import Flow

TEST = [dataclasses.replace(worked_example(), id=name, task_id=name) for name in ("t1", "t2")]


def learn(lessons: Sequence[int]) -> Flow:
    """A flow that knows the orders from three sessions on."""
    return shop_flow(likely=("get_user", "get_order") if len(lessons) >= 3 else ("get_user",))


def curve() -> list[Point]:
    return learning_curve(range(5), TEST, learn, sizes=(2, 4, 5, 9))


def test_more_sessions_save_more_turns_and_all_come_last() -> None:
    points = curve()
    assert [(point.size, point.learned_on) for point in points] == [(2, 2), (4, 4), (None, 5)]
    assert [point.saved.value for point in points] == [1 / 6, 2 / 6, 2 / 6]
    assert [point.detours.value for point in points] == [0, 1, 1]
    assert [len(point.scores) for point in points] == [6, 6, 2]  # three orders, and all sessions once


def test_orders_are_random_and_the_same_every_time() -> None:
    seen: list[tuple[int, ...]] = []

    def noting(lessons: Sequence[int]) -> Flow:
        seen.append(tuple(lessons))
        return shop_flow()

    learning_curve(range(8), TEST, noting, sizes=(2, 4))
    first = list(seen)
    assert len(set(first[:3])) > 1
    assert [longer[:2] for longer in first[3:6]] == first[:3]  # the first sessions of the same orders
    assert first[6] == tuple(range(8))
    seen.clear()
    learning_curve(range(8), TEST, noting, sizes=(2, 4))
    assert seen == first
    seen.clear()
    learning_curve(range(8), TEST, noting, sizes=(2, 4), seed=1)
    assert seen != first


def test_flows_are_replayed_with_the_options_given_and_each_is_reported() -> None:
    flows = 0

    def count() -> None:
        nonlocal flows
        flows += 1

    points = learning_curve(range(5), TEST, learn, sizes=(4,), orders=2, on_flow=count, threshold=0.99)
    assert [point.saved.value for point in points] == [0, 0]
    assert flows == 3


def test_curves_of_several_splits_are_put_together_by_size() -> None:
    longer = learning_curve(range(7), TEST, learn, sizes=(2, 6))
    both = pooled([curve(), longer])
    assert [(point.size, point.learned_on) for point in both] == [(2, 2), (4, 4), (6, 6), (None, 6)]
    assert [len(point.scores) for point in both] == [12, 6, 6, 4]


def test_the_picture_is_the_same_every_time() -> None:
    pytest.importorskip("matplotlib")
    curves = {"retail": curve(), "airline": curve()[1:]}
    picture = draw(curves)
    assert picture == draw(curves)
    assert b"sessions learned from" in picture
    assert b"retail" in picture
    assert b"<dc:date>" not in picture
    assert draw({}, kind="png").startswith(b"\x89PNG")


def test_a_format_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="svg or png, not as 'pdf'"):
        draw({}, kind="pdf")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'waggle-stretto\[results\]'"):
        draw({})
