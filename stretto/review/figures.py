"""Drift over the sessions, and the front of a search, as pictures; see `stretto.review.picture` for what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.picture import COLOURS, INK, picture, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stretto.review.drift import Drift
    from stretto.review.search import Searched

__all__ = ["draw_drift", "draw_front"]

_SERIES: Final = (("surprise", "surprise, nats"), ("disagreement", "disagreement"), ("unknown", "unknown tools"))


def draw_drift(drift: Drift, *, kind: str = "svg") -> bytes:
    """Draw the three series and the chance of a change below one another, with a line where each change began.

    Args:
        drift: what was seen.
        kind: of picture, ``svg`` or ``png``.

    Raises:
        UsageError: there is no such format, or matplotlib is not installed.
    """

    def paint(figure: Figure) -> None:
        rows = figure.subplots(len(_SERIES) + 1, sharex=True)
        sessions = range(1, len(drift.fits) + 1)
        for axes, (name, label), colour in zip(rows, _SERIES, COLOURS, strict=False):
            values = [getattr(fit, name) for fit in drift.fits]
            axes.plot(sessions, values, color=colour, marker="o", markersize=3, linewidth=0.8)
            tidy(axes, y=label)
        chance = rows[-1]
        chance.plot(sessions, drift.chances, color=COLOURS[len(_SERIES)])
        tidy(chance, x="sessions, in order of their start", y="chance of a change")
        chance.set_ylim(0, 1)
        for axes in rows:
            for alarm in drift.alarms:
                axes.axvline(alarm.changed + 1, color=INK, linestyle="--", linewidth=1)

    return picture(paint, kind=kind, size=(8, 9))


def draw_front(searched: Searched, *, kind: str = "svg") -> bytes:
    """Draw turns saved over detours: every setting tried as a dot, those of the front joined.

    Args:
        searched: what was found.
        kind: of picture, ``svg`` or ``png``.

    Raises:
        UsageError: there is no such format, or matplotlib is not installed.
    """

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        tried = [one.check for one in searched.tried]
        front = [one.check for one in searched.front]
        axes.scatter([one.detours for one in tried], [one.turns_saved for one in tried], s=14, color=INK, alpha=0.5)
        axes.plot([one.detours for one in front], [one.turns_saved for one in front], color=COLOURS[0], marker="o")
        tidy(axes, x="detours", y="turns saved")

    return picture(paint, kind=kind)
