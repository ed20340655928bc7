"""The pictures of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.flows.systems import DEFAULT, FRONTIER, THRESHOLDS
from stretto.review import curve_plot
from stretto.review.picture import COLOURS, picture, tidy
from stretto.review.score import shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from benchmarks.flows.study import Study

__all__ = ["draw_curves", "draw_frontier"]

#: Domains in which less is saved have no line of their own, share of turns.
_LEAST_SAVED: Final = 0.06


def draw_frontier(study: Study, kind: str) -> bytes:
    """Turns saved over detours a session, a line a system and a point a threshold.

    Args:
        study: with the frontier measured.
        kind: of picture, ``svg`` or ``png``.
    """

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for colour, system in zip(COLOURS, FRONTIER, strict=False):
            found = [study.scores(system.name, f"{at}") for at in THRESHOLDS]
            detours = [shares(scores, "detours").value for scores in found]
            saved = [100 * shares(scores, "saved", "turns").value for scores in found]
            axes.plot(detours, saved, color=colour, marker="o", markersize=4, label=system.title)
            if system in (FRONTIER[0], DEFAULT):
                for at, x, y in zip(THRESHOLDS, detours, saved, strict=True):
                    axes.annotate(
                        f"{at}", (x, y), xytext=(4, -11), textcoords="offset points", fontsize=8, color=colour
                    )
        tidy(axes, x="detours a session", y="turns saved, %")
        axes.set_xlim(left=0)
        axes.legend(frameon=False, loc="lower right")

    return picture(paint, kind=kind)


def draw_curves(study: Study, kind: str) -> bytes:
    """The learning curves of ours in the domains with something to save, those with most sessions first."""
    sessions = {domain.name: len(domain.recorded) for domain in study.tools}
    lines = {
        curve.title: curve.points[DEFAULT.name]
        for curve in sorted(study.curves, key=lambda curve: -sessions[curve.domain])
        if curve.stands_for_own or not curve.agent
        if (last := curve.at(DEFAULT, None)) and last.saved.value >= _LEAST_SAVED
    }
    return curve_plot.draw(dict(list(lines.items())[: len(COLOURS)]), kind=kind)
