"""How the reviews' pictures look, and how they are written. Needs matplotlib, which the extra ``results`` installs.

Not responsible for what is drawn.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "FORMATS", "INK", "picture", "tidy"]

#: Formats a picture can have.
FORMATS: Final = ("svg", "png")

#: Told apart by everybody, on white and on black; see Okabe and Ito, Color Universal Design.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
INK: Final = "#808080"
#: Text as text, and ids that depend on nothing: the same numbers give the same bytes.
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "stretto",
    "font.size": 11,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
_DOTS_PER_INCH: Final = 150


def picture(paint: Callable[[Figure], None], *, kind: str = "svg", size: tuple[float, float] = (8, 5)) -> bytes:
    """Paint a figure and write it down.

    Args:
        paint: draws on the figure it is given.
        kind: one of `FORMATS`.
        size: width and height, in inches.

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
        figure = Figure(figsize=size)
        paint(figure)
        figure.tight_layout()
        written = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(written, format=kind, transparent=True, dpi=_DOTS_PER_INCH, metadata=metadata)
    return written.getvalue()


def tidy(axes: Axes, *, x: str = "", y: str = "") -> None:
    """Label axes, begin the upright one at 0, and leave out all that says nothing."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, color=INK, alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
