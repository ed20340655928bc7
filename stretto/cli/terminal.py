"""Pages as text for a terminal: tables by rich, everything that comes from data escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.document import Data, Heading, Items, Paragraph, Table
from waggle import _render

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.review.document import Block, Line

__all__ = ["as_text"]


def as_text(blocks: Iterable[Block]) -> str:
    """A page as text, to be printed with `waggle._render.out`; drawings are left out."""
    return "\n\n".join(text for block in blocks if (text := "\n".join(_lines(block))))


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, line):
            text = _said(line)
            yield text
            yield ("=" if level == 1 else "-") * len(text)
        case Paragraph(line):
            yield _said(line)
        case Items(items):
            for line, below in items:
                yield f"* {_said(line)}"
                yield from (f"    {_said(each)}" for each in below)
        case Table(head, rows):
            yield _render.table(
                [_render.Column(title) for title in head], [[_said(cell) for cell in row] for row in rows]
            )
        case _:
            return


def _said(line: Line) -> str:
    return "".join(_render.plain(part.text) if isinstance(part, Data) else part.replace("*", "") for part in line)
