"""A replay as a picture: what was saved of what could be, and whether the scores hold; see `stretto.review.picture`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.picture import COLOURS, INK, picture, tidy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stretto.review.summary import Summary

__all__ = ["draw_replay"]

#: Areas of the dots, points squared, and the room around 0 and 1 that a large one needs.
_SMALLEST: Final = 8
_LARGEST: Final = 200
_MARGIN: Final = 0.05


def draw_replay(results: Mapping[str, Summary], *, kind: str = "svg") -> bytes:
    """Draw a bar a replay, turns saved with its interval before the ceiling; beside it, use over score, bin by bin.

    Args:
        results: replays by name.
        kind: of picture, ``svg`` or ``png``.

    Raises:
        UsageError: there is no such format, or matplotlib is not installed.
    """

    def paint(figure: Figure) -> None:
        saved, held = figure.subplots(1, 2)
        _saved(saved, results)
        _held(held, results)

    return picture(paint, kind=kind, size=(10, 4.5))


def _saved(axes: Axes, results: Mapping[str, Summary]) -> None:
    places = range(len(results))
    shares = [each.saved for each in results.values()]
    axes.bar(places, [100 * each.ceiling.value for each in results.values()], color=INK, alpha=0.2, label="ceiling")
    axes.bar(
        places,
        [100 * each.value for each in shares],
        width=0.5,
        color=COLOURS[0],
        label="saved",
        yerr=(
            [100 * (each.value - each.low) for each in shares],
            [100 * (each.high - each.value) for each in shares],
        ),
        ecolor=INK,
        capsize=3,
    )
    axes.set_xticks(places, labels=list(results))
    tidy(axes, y="turns, %")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)


def _held(axes: Axes, results: Mapping[str, Summary]) -> None:
    axes.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1)
    for place, (name, each) in enumerate(results.items()):
        bins = each.calibration.bins if each.calibration else ()
        most = max((one.count for one in bins), default=1)
        axes.scatter(
            [one.score for one in bins],
            [one.used for one in bins],
            s=[_SMALLEST + _LARGEST * one.count / most for one in bins],
            color=COLOURS[place % len(COLOURS)],
            alpha=0.6,
            linewidths=0,
            label=name,
        )
    tidy(axes, x="score", y="share used (dot: by lookups)")
    axes.set_xlim(0, 1)
    axes.set_ylim(-_MARGIN, 1 + _MARGIN)
    for handle in axes.legend(frameon=False, loc="lower right").legend_handles:
        if handle is not None:
            handle.set(sizes=[_SMALLEST + _LARGEST / 4])
