"""The learning curve as a picture. Needs matplotlib, which is installed with the extra ``results``."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.review.curve import Point

__all__ = ["FORMATS", "draw"]

#: Formats a picture can have.
FORMATS: Final = ("svg", "png")

#: Told apart by everybody, on white and on black; see Okabe and Ito, Color Universal Design.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_INK: Final = "#808080"
#: Text as text, and ids that depend on nothing: the same numbers give the same bytes.
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "stretto",
    "font.size": 11,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
}
_DOTS_PER_INCH: Final = 150


def draw(curves: Mapping[str, Sequence[Point]], *, kind: str = "svg") -> bytes:
    """Draw one line a curve, turns saved with its interval as a band above, detours a session below.

    Args:
        curves: points by name.
        kind: one of `FORMATS`.

    Returns:
        The picture's bytes; equal input gives equal output with the same matplotlib.

    Raises:
        UsageError: there is no such format, or matplotlib is not installed.
    """
    if kind not in FORMATS:
        raise UsageError(f"a picture is written as {' or '.join(FORMATS)}, not as {kind!r}")
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an optional extra, and slow to load
        from matplotlib.figure import Figure  # noqa: PLC0415 - as above
    except ImportError as error:
        raise UsageError("pictures need matplotlib: pip install 'waggle-stretto[results]'") from error
    with rc_context(_STYLE):
        figure = Figure(figsize=(8, 7))
        saved, detours = figure.subplots(2, sharex=True, height_ratios=(2, 1))
        for place, (name, points) in enumerate(curves.items()):
            colour = _COLOURS[place % len(_COLOURS)]
            learned = [point.learned_on for point in points]
            intervals = [point.saved for point in points]
            low, middle, high = ([100 * getattr(each, end) for each in intervals] for end in ("low", "value", "high"))
            saved.fill_between(learned, low, high, color=colour, alpha=0.15, linewidth=0)
            saved.plot(learned, middle, color=colour, marker="o", markersize=4, label=name)
            detours.plot(learned, [point.detours.value for point in points], color=colour, marker="o", markersize=4)
        for axes, label in ((saved, "turns saved on other tasks, %"), (detours, "detours a session")):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.grid(visible=True, color=_INK, alpha=0.25, linewidth=0.5)
            axes.spines[["top", "right"]].set_visible(False)
        detours.set_xscale("log")
        detours.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if sizes := sorted({point.size for points in curves.values() for point in points if point.size}):
            detours.set_xticks(sizes)
            detours.minorticks_off()
        detours.set_xlabel("sessions learned from")
        if curves:
            saved.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        figure.tight_layout()
        written = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(written, format=kind, transparent=True, dpi=_DOTS_PER_INCH, metadata=metadata)
    return written.getvalue()
