"""The learning curve as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.results.study import Point

__all__ = ["draw"]

#: Told apart by everybody, on white and on black.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_INK: Final = "#808080"
#: Text as text; the same numbers give the same bytes.
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "waggle",
    "font.size": 11,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
}


def draw(curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Draw one line a group with its interval as a band, in percent of turns over sessions learned on."""
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(8, 5))
        for colour, (group, points) in zip(_COLOURS, curves.items(), strict=False):
            learned = [point.learned_on for point in points]
            low, middle, high = (
                [100 * getattr(point.saved, end) for point in points] for end in ("low", "value", "high")
            )
            axes.fill_between(learned, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(learned, middle, color=colour, marker="o", markersize=4, label=group)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("sessions learned on")
        axes.set_ylabel("turns saved on the next sessions, %")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, color=_INK, alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left")
        figure.tight_layout()
        figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
