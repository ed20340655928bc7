"""Pieces of Markdown that the reviews' pages are made of.

Values are data: a tool's name or a session's id can end neither a cell nor a line. Not responsible for what a page
says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle.markdown import code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["code", "count", "number", "percent", "table"]


def percent(share: float | None) -> str:
    """A share of 0 to 1 in percent; a dash for none."""
    return "-" if share is None else f"{100 * share:.1f}%"


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many decimals; a dash for none."""
    if value is None:
        return "-"
    shown = f"{value:.{digits}f}"
    return shown[1:] if shown.startswith("-") and not shown.strip("-0.") else shown


def count(many: int, one: str, plural: str = "") -> str:
    """A number of things: ``1 session``, ``2,000 sessions``."""
    return f"{many:,} {one if many == 1 else plural or one + 's'}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A Markdown table.

    Args:
        head: C headings.
        rows: each with C cells; names from data go through `code`.
        words: columns at the left that hold words; the others hold numbers and are aligned to the right.
    """
    rule = ["---" if column < words else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in (head, rule, *rows))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
