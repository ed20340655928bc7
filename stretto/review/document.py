"""A page as blocks, in which what comes from data is told apart from our words; written as Markdown here.

Whoever writes a page decides what is `Data`; each way of writing it then sees to it that data ends nothing: as inline
code in Markdown, escaped in a terminal (`stretto.cli.terminal`). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from stretto.review.words import name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Block", "Data", "Drawing", "Heading", "Items", "Line", "Paragraph", "Table", "as_markdown", "joined"]


@dataclass(frozen=True, slots=True)
class Data:
    """A text that comes from data: a name, a path, a value."""

    text: str


#: A line: our words, and data.
Line: TypeAlias = "tuple[str | Data, ...]"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the page's."""

    level: int
    line: Line


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of text."""

    line: Line


@dataclass(frozen=True, slots=True)
class Items:
    """A list, each entry with a list below it."""

    items: tuple[tuple[Line, tuple[Line, ...]], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; each row has as many cells as there are headings."""

    head: tuple[str, ...]
    rows: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph as Mermaid, under a heading; only Markdown shows either."""

    title: str
    mermaid: str


Block: TypeAlias = "Heading | Paragraph | Items | Table | Drawing"


def joined(lines: Iterable[Line], between: str = ", ") -> Line:
    """Lines as one."""
    found: list[str | Data] = []
    for line in lines:
        found += [between, *line] if found else line
    return tuple(found)


def as_markdown(blocks: Iterable[Block]) -> str:
    """The page as Markdown, with a line end; the same blocks give the same page."""
    return "\n\n".join("\n".join(_lines(block)) for block in blocks) + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(level, line):
            yield f"{'#' * level} {_said(line)}"
        case Paragraph(line):
            yield _said(line)
        case Items(items):
            for line, below in items:
                yield f"- {_said(line)}"
                yield from (f"  - {_said(each)}" for each in below)
        case Table(head, rows):
            yield f"| {' | '.join(head)} |"
            yield f"|{'---|' * len(head)}"
            yield from (f"| {' | '.join(map(_said, row))} |" for row in rows)
        case Drawing(title, mermaid):
            yield from (f"## {title}", "", "```mermaid", mermaid.rstrip("\n"), "```")


def _said(line: Line) -> str:
    return "".join(name(part.text) if isinstance(part, Data) else part for part in line)
