"""The graph of a procedure as it is drawn: vertices with their texts, arrows with theirs. Pure.

`stretto.review.procedure_mermaid` and `stretto.review.procedure_svg` draw it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from stretto.procedure.graph import DecisionNode, HumanNode, ToolNode, TransformNode
from stretto.review.procedure_words import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.procedure.graph import Node, Procedure

__all__ = ["Arrow", "Drawn", "Kind", "Shape", "Vertex", "drawn"]

#: What is drawn in one way.
Shape: TypeAlias = Literal["start", "end", "read", "write", "final", "transform", "decision", "person", "model"]
Kind: TypeAlias = Literal["data", "effect", "asks", "flow"]

_LONGEST: Final = 44  # characters of a line; the page has the whole text
_SHAPES: Final[dict[str, Shape]] = {
    "read": "read",
    "auth": "read",
    "write": "write",
    "irreversible": "final",
    "unknown": "final",
}


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex.

    Attributes:
        name: unique in the graph; empty for the start, a space for the end.
        shape: how it is drawn.
        lines: of text.
        layer: 0 for the start; the others below it.
    """

    name: str
    shape: Shape
    lines: tuple[str, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow: ``data`` for a value, ``effect`` for an order, ``asks`` for what is waited for, ``flow`` otherwise."""

    first: str
    then: str
    kind: Kind
    label: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A graph: vertices by layer, then by name; arrows by their ends."""

    vertices: tuple[Vertex, ...]
    arrows: tuple[Arrow, ...]


START: Final = ""
END: Final = " "


def drawn(procedure: Procedure) -> Drawn:
    """The graph of a procedure between a start, with its inputs, and an end, with its outputs.

    Edges that others imply are left out; an arrow from a decision or a question has the exit that is taken.
    """
    last = max((node.layer for node in procedure.nodes.values()), default=-1) + 2
    inputs = ", ".join(sorted(procedure.inputs)) or "no inputs"
    outputs = ", ".join(each.name for each in procedure.outputs) or "no outputs"
    vertices = [
        Vertex(START, "start", ("start", _short(inputs)), 0),
        *(_vertex(name, node) for name, node in procedure.nodes.items()),
        Vertex(END, "end", ("end", _short(outputs)), last),
    ]
    return Drawn(
        tuple(sorted(vertices, key=lambda each: (each.layer, each.name))),
        tuple(sorted(_arrows(procedure), key=lambda each: (each.first, each.then))),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _vertex(name: str, node: Node) -> Vertex:
    shape, says = _drawn_as(node)
    return Vertex(name, shape, (_short(name), _short(says)), node.layer + 1)


def _drawn_as(node: Node) -> tuple[Shape, str]:
    if isinstance(node, ToolNode):
        return _SHAPES[node.effect], EFFECTS[node.effect] + (", repeated" if node.repeat is not None else "")
    if isinstance(node, TransformNode):
        return "transform", node.name
    if isinstance(node, DecisionNode):
        return "decision", f"{node.predicate}; else: stops"
    return ("person", "asks a person") if isinstance(node, HumanNode) else ("model", "asks a model")


def _arrows(procedure: Procedure) -> Iterator[Arrow]:
    exits: dict[tuple[str, str], set[str]] = {}
    for name, node in procedure.nodes.items():
        for fork, exit_ in (pair for way in node.when for pair in way):
            exits.setdefault((fork, name), set()).add(exit_)
    kept = {(edge.first, edge.then): edge.kind for edge in procedure.edges if not edge.implied}
    for first, then in sorted({*kept, *exits}):
        taken = exits.get((first, then), set())
        label = " or ".join(_exit(procedure, first, each) for each in sorted(taken))
        yield Arrow(first, then, kept.get((first, then), "asks"), _short(label))
    ends = {(edge.first, edge.then) for edge in procedure.edges} | set(exits)
    for name in procedure.nodes:
        if all(then != name for _, then in ends):
            yield Arrow(START, name, "flow")
        if all(first != name for first, _ in ends):
            yield Arrow(name, END, "flow")


def _exit(procedure: Procedure, fork: str, exit_: str) -> str:
    node = procedure.nodes.get(fork)
    seen = node.exits.get(exit_) if isinstance(node, DecisionNode) else None
    return ", ".join(map(str, seen)) if seen else exit_
