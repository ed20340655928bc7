"""Numbers and their intervals as cells, and rows of cells that several tables share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.page import percent
from stretto.review.score import shares, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.review.bootstrap import Interval
    from stretto.review.score import ReplayScore

__all__ = ["HEAD", "cells", "mean", "points", "share", "short", "signed"]

#: Columns of `cells`.
HEAD: Final = ("turns saved", "of all turns", "of the ceiling", "detours", "a session", "tokens net")


def share(interval: Interval) -> str:
    """A share in percent, with its interval."""
    return f"{percent(interval.value)} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def mean(interval: Interval, digits: int = 2) -> str:
    """A number with its interval."""
    return f"{interval.value:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def points(interval: Interval) -> str:
    """A difference of shares in points, with its interval."""
    return f"{100 * interval.value:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def signed(interval: Interval, digits: int = 2) -> str:
    """A difference with its interval."""
    return f"{interval.value:+.{digits}f} [{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"


def cells(scores: Sequence[ReplayScore]) -> list[str]:
    """The cells under `HEAD`."""
    sums = total(scores)
    return [
        f"{sums.saved:,}",
        share(shares(scores, "saved", "turns")),
        share(shares(scores, "saved", "ceiling")) if sums.ceiling else "-",
        f"{sums.detours:,}",
        mean(shares(scores, "detours")),
        share(shares(scores, "tokens_net", "tokens")),
    ]


def short(scores: Sequence[ReplayScore]) -> str:
    """Turns saved with their share, and detours a session, in one cell."""
    sums = total(scores)
    if not sums.lookups:
        return "-"
    return f"{sums.saved:,}: {share(shares(scores, 'saved', 'turns'))}; {mean(shares(scores, 'detours'))}"
