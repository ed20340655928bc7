"""The learning curve: what a flow saves that was learned from ten sessions, thirty, a hundred, all.

The sessions are put in some random orders, a flow is learned from the first n of each, and all flows are replayed on
the same other sessions. Not responsible for drawing it (`stretto.review.curve_plot`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from stretto._defaults import CURVE_ORDERS, CURVE_SIZES
from stretto.review.replay import ReplayOptions, replay_all
from stretto.review.score import ReplayScore, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Unpack

    from stretto.flow.model import Flow
    from stretto.review.bootstrap import Interval
    from stretto.sessions.episode import Episode

__all__ = ["Point", "learning_curve", "pooled"]

_Lesson = TypeVar("_Lesson")


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve.

    Attributes:
        size: sessions learned from, as asked for; None for all there are.
        learned_on: sessions learned from in each replay, the mean over the orders.
        scores: of every replayed session, once for each order.
    """

    size: int | None
    learned_on: float
    scores: tuple[ReplayScore, ...]

    @property
    def saved(self) -> Interval:
        """Share of turns saved, over all orders, with the interval that resampling tasks gives."""
        return shares(self.scores, "saved", "turns")

    @property
    def detours(self) -> Interval:
        """Detours a session, over all orders."""
        return shares(self.scores, "detours")


def learning_curve(
    lessons: Sequence[_Lesson],
    episodes: Sequence[Episode],
    learn: Callable[[Sequence[_Lesson]], Flow],
    *,
    sizes: Sequence[int] = CURVE_SIZES,
    orders: int = CURVE_ORDERS,
    seed: int = 0,
    units: Mapping[str, str] | None = None,
    on_flow: Callable[[], None] = lambda: None,
    **options: Unpack[ReplayOptions],
) -> list[Point]:
    """Learn from more and more sessions, and replay others each time.

    Args:
        lessons: sessions to learn from. Failed ones teach nothing and should not be among them.
        episodes: sessions of other tasks, to replay.
        learn: makes a flow of some of the lessons, in the order given.
        sizes: sessions to learn from, in rising order; those that are not fewer than there are lessons are left out.
        orders: random orders of the lessons, at least 1. All lessons together are learned from once.
        seed: of the orders; equal input gives equal output.
        units: by session id, what to resample by.
        on_flow: called after each flow that was replayed.
        options: see `ReplayOptions`.

    Returns:
        A point for each size, then one for all lessons.
    """
    shuffled: list[list[_Lesson]] = []
    for order in range(orders):
        lined = list(lessons)
        random.Random(f"{seed} {order}").shuffle(lined)  # noqa: S311 - an order, not a secret; seeded to be repeated
        shuffled.append(lined)

    def measured(chosen: Sequence[_Lesson]) -> list[ReplayScore]:
        scores = list(replay_all(learn(chosen), episodes, units=units, **options))
        on_flow()
        return scores

    points = [
        Point(size, size, tuple(score for lined in shuffled for score in measured(lined[:size])))
        for size in sizes
        if size < len(lessons)
    ]
    return [*points, Point(None, len(lessons), tuple(measured(lessons)))]


def pooled(curves: Iterable[Sequence[Point]]) -> list[Point]:
    """Put the curves of several splits together, point by point; sizes that only some of them reach are kept."""
    by_size: dict[int | None, list[Point]] = {}
    for curve in curves:
        for point in curve:
            by_size.setdefault(point.size, []).append(point)
    ordered = sorted(by_size, key=lambda size: (size is None, size or 0))
    return [
        Point(
            size,
            sum(point.learned_on for point in by_size[size]) / len(by_size[size]),
            tuple(score for point in by_size[size] for score in point.scores),
        )
        for size in ordered
    ]
