"""The learning curve as a picture; see `stretto.review.picture`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.picture import COLOURS, picture, tidy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from stretto.review.curve import Point

__all__ = ["draw"]


def draw(curves: Mapping[str, Sequence[Point]], *, kind: str = "svg") -> bytes:
    """Draw one line a curve, turns saved with its interval as a band above, detours a session below.

    Args:
        curves: points by name.
        kind: one of `stretto.review.picture.FORMATS`.

    Returns:
        The picture's bytes; equal input gives equal output with the same matplotlib.

    Raises:
        UsageError: there is no such format, or matplotlib is not installed.
    """

    def paint(figure: Figure) -> None:
        saved, detours = figure.subplots(2, sharex=True, height_ratios=(2, 1))
        for place, (name, points) in enumerate(curves.items()):
            colour = COLOURS[place % len(COLOURS)]
            learned = [point.learned_on for point in points]
            intervals = [point.saved for point in points]
            low, middle, high = ([100 * getattr(each, end) for each in intervals] for end in ("low", "value", "high"))
            saved.fill_between(learned, low, high, color=colour, alpha=0.15, linewidth=0)
            saved.plot(learned, middle, color=colour, marker="o", markersize=4, label=name)
            detours.plot(learned, [point.detours.value for point in points], color=colour, marker="o", markersize=4)
        tidy(saved, y="turns saved on other tasks, %")
        tidy(detours, x="sessions learned from", y="detours a session")
        detours.set_xscale("log")
        detours.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if sizes := sorted({point.size for points in curves.values() for point in points if point.size}):
            detours.set_xticks(sizes)
            detours.minorticks_off()
        if curves:
            saved.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)

    return picture(paint, kind=kind, size=(8, 7))
