"""The graph of a procedure as a picture: SVG without scripts, links or fonts of its own. Pure.

Names of tools and values are data: they are escaped, and what XML cannot hold is replaced.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from stretto.review.procedure_layout import LINE, PAD, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.review.procedure_graph import Drawn, Kind, Shape
    from stretto.review.procedure_layout import Box, Path

__all__ = ["svg"]

#: What no XML document can hold, and what turns the direction of writing.
_BAD: Final = re.compile("[^\t\n\x20-\x7e\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Fill and stroke; a reader who sees no colours has the words in the box.
_COLOURS: Final[Mapping[Shape, tuple[str, str]]] = {
    "start": ("#ffffff", "#333333"),
    "end": ("#ffffff", "#333333"),
    "read": ("#eef6ee", "#2f6b2f"),
    "write": ("#fff3cd", "#8a6d00"),
    "final": ("#f8d7da", "#a01020"),
    "transform": ("#f2f2f2", "#555555"),
    "decision": ("#f3ecff", "#5a3a9a"),
    "person": ("#d8e8ff", "#20508a"),
    "model": ("#e8fbff", "#10707a"),
}
_DASHES: Final[Mapping[Kind, str]] = {
    "data": "",
    "asks": "",
    "effect": ' stroke-dasharray="6 4"',
    "flow": ' stroke-dasharray="2 3"',
}
_ROUND: Final[Mapping[Shape, int]] = {"start": 18, "end": 18, "transform": 10, "person": 10, "model": 10}
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#444"/></marker>'
)
_FONT: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(graph: Drawn, title: str) -> str:
    """The picture, with a line end; the same graph gives the same text.

    Args:
        graph: what is drawn.
        title: what a reader that speaks says of it.
    """
    placed = place(graph)
    width, height = _number(placed.width), _number(placed.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}" font-size="12">',
        f"<title>{_text(title)}</title>",
        f"<defs>{_TIP}</defs>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *(line for path in placed.paths for line in _path(path)),
        *(line for box in placed.boxes for line in _box(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _path(path: Path) -> Iterator[str]:
    points = path.points
    steps = [f"M{_number(points[0][0])} {_number(points[0][1])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        half = (y + to_y) / 2
        at = ((x, half), (to_x, half), (to_x, to_y))
        steps.append("C" + " ".join(f"{_number(a)} {_number(b)}" for a, b in at))
    dash = _DASHES[path.arrow.kind]
    yield f'<path d="{"".join(steps)}" fill="none" stroke="#444"{dash} marker-end="url(#tip)"/>'
    if path.arrow.label:
        x, y = ((one + other) / 2 for one, other in zip(points[-2], points[-1], strict=True))
        yield (
            f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="middle" fill="#5a3a9a" stroke="#fff"'
            f' stroke-width="4" paint-order="stroke">{_text(path.arrow.label)}</text>'
        )


def _box(box: Box) -> Iterator[str]:
    fill, stroke = _COLOURS[box.vertex.shape]
    left, top, right, bottom = (
        box.x - box.width / 2,
        box.y - box.height / 2,
        box.x + box.width / 2,
        box.y + box.height / 2,
    )
    paint = f'fill="{fill}" stroke="{stroke}" stroke-width="{2 if box.vertex.shape == "final" else 1}"'
    yield "<g>"
    if box.vertex.shape == "decision":
        corners = ((box.x, top), (right, box.y), (box.x, bottom), (left, box.y))
        yield f'<polygon points="{" ".join(f"{_number(x)},{_number(y)}" for x, y in corners)}" {paint}/>'
    else:
        yield (
            f'<rect x="{_number(left)}" y="{_number(top)}" width="{_number(box.width)}"'
            f' height="{_number(box.height)}" rx="{_ROUND.get(box.vertex.shape, 3)}" {paint}/>'
        )
    first = box.y - LINE * (len(box.vertex.lines) - 1) / 2 + PAD / 3
    for number, line in enumerate(box.vertex.lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        y = _number(first + LINE * number)
        yield f'<text x="{_number(box.x)}" y="{y}" text-anchor="middle"{weight}>{_text(line)}</text>'
    yield "</g>"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape(_BAD.sub("\N{REPLACEMENT CHARACTER}", text))
