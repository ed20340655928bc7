"""Where the vertices and arrows of a graph whose layers are known are drawn. Pure.

The way of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981):
an arrow over several layers goes through a bend in each; vertices of a layer are put in the order of the mean place of
their neighbours, a few times down and up, which leaves few crossings; then they are set side by side. Layers are given,
so the two costly parts of it are not needed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.review.procedure_graph import Arrow, Drawn, Vertex

__all__ = ["LINE", "PAD", "Box", "Path", "Placed", "place"]

CHARACTER: Final = 7.3  #: width of a character of 12 px in a font of equal widths, px
LINE: Final = 16.0  #: height of a line of text, px
PAD: Final = 12.0  #: between a box and its text, px
_ACROSS: Final = 28.0  # between two boxes of one layer, px
_DOWN: Final = 56.0  # between two layers, px
_MARGIN: Final = 20.0
_BEND: Final = 14.0  # room for an arrow that passes a layer, px
_SWEEPS: Final = 8


@dataclass(frozen=True, slots=True)
class Box:
    """Where a vertex is: its centre and size, px."""

    vertex: Vertex
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Path:
    """The points that an arrow goes through, from top to bottom, px."""

    arrow: Arrow
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with places; width and height hold all of it."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    paths: tuple[Path, ...]


def columns(text: str) -> int:
    """How wide a text is, in characters of a font of equal widths."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


@dataclass(eq=False, slots=True)
class _Item:
    """A vertex, or a bend, in its layer."""

    vertex: Vertex | None
    width: float
    x: float = 0.0


def place(graph: Drawn) -> Placed:
    """Set a graph out. Cost: arrows times layers; the same graph gives the same places."""
    rows: dict[int, list[_Item]] = {}
    items: dict[str, _Item] = {}
    for vertex in graph.vertices:
        width = 2 * PAD + CHARACTER * max(map(columns, vertex.lines), default=0)
        item = items[vertex.name] = _Item(vertex, width + (4 * PAD if vertex.shape == "decision" else PAD))
        rows.setdefault(vertex.layer, []).append(item)
    chains = [_chain(arrow, items, rows, graph) for arrow in graph.arrows]
    layers = [rows[number] for number in sorted(rows)]
    _order(layers, chains)
    for row in layers:
        _spread(row)
    _shift(layers)
    spans, height = _spans(layers)
    boxes = {
        item: Box(item.vertex, item.x, sum(spans[item]) / 2, item.width, _height(item.vertex))
        for item in items.values()
        if item.vertex is not None
    }
    width = max((item.x + item.width / 2 for row in layers for item in row), default=0.0) + _MARGIN
    paths = tuple(
        Path(arrow, tuple(_points(chain, boxes, spans))) for arrow, chain in zip(graph.arrows, chains, strict=True)
    )
    return Placed(width, height, tuple(boxes.values()), paths)


def _chain(arrow: Arrow, items: Mapping[str, _Item], rows: dict[int, list[_Item]], graph: Drawn) -> list[_Item]:
    """What an arrow goes through: its first vertex, a bend in each layer between, the other."""
    layer = {vertex.name: vertex.layer for vertex in graph.vertices}
    chain = [items[arrow.first]]
    for number in range(layer[arrow.first] + 1, layer[arrow.then]):
        bend = _Item(None, _BEND)
        rows.setdefault(number, []).append(bend)
        chain.append(bend)
    return [*chain, items[arrow.then]]


def _order(layers: Sequence[list[_Item]], chains: Sequence[Sequence[_Item]]) -> None:
    """Put each layer in the order of the mean place of its neighbours above, or below, in turns."""
    above: dict[_Item, list[_Item]] = {}
    below: dict[_Item, list[_Item]] = {}
    for chain in chains:
        for first, then in pairwise(chain):
            above.setdefault(then, []).append(first)
            below.setdefault(first, []).append(then)
    place_of = {item: float(number) for row in layers for number, item in enumerate(row)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in layers if down else reversed(layers):
            near = above if down else below
            mean = {
                item: sum(place_of[each] for each in near[item]) / len(near[item]) if item in near else place_of[item]
                for item in row
            }
            row.sort(key=mean.__getitem__)
            place_of.update({item: float(number) for number, item in enumerate(row)})


def _spread(row: Sequence[_Item]) -> None:
    """Set a layer's items side by side, its middle at 0."""
    whole = sum(item.width for item in row) + _ACROSS * max(len(row) - 1, 0)
    at = -whole / 2
    for item in row:
        item.x = at + item.width / 2
        at += item.width + _ACROSS


def _shift(layers: Sequence[Sequence[_Item]]) -> None:
    left = min((item.x - item.width / 2 for row in layers for item in row), default=0.0)
    for row in layers:
        for item in row:
            item.x += _MARGIN - left


def _height(vertex: Vertex) -> float:
    return 2 * PAD + LINE * len(vertex.lines) + (2 * PAD if vertex.shape == "decision" else 0)


def _spans(layers: Sequence[Sequence[_Item]]) -> tuple[dict[_Item, tuple[float, float]], float]:
    """The top and the bottom of each item's layer, and the height of all."""
    found: dict[_Item, tuple[float, float]] = {}
    at = _MARGIN
    for row in layers:
        tallest = max((_height(item.vertex) for item in row if item.vertex is not None), default=0.0)
        found.update(dict.fromkeys(row, (at, at + tallest)))
        at += tallest + _DOWN
    return found, max(at - _DOWN, 0.0) + _MARGIN


def _points(
    chain: Sequence[_Item], boxes: Mapping[_Item, Box], spans: Mapping[_Item, tuple[float, float]]
) -> list[tuple[float, float]]:
    """What an arrow goes through; it passes a layer straight down, so that it meets no box of it."""
    first, last = boxes[chain[0]], boxes[chain[-1]]
    bends = [(item.x, y) for item in chain[1:-1] for y in spans[item]]
    return [(first.x, first.y + first.height / 2), *bends, (last.x, last.y - last.height / 2)]
