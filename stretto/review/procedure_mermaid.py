"""The graph of a procedure as a Mermaid flowchart. Pure.

Names of tools and values are data: every character of theirs that could mean something to Mermaid, or end the fence it
stands in, is written as its number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.review.procedure_graph import Drawn, Kind, Shape

__all__ = ["mermaid"]

#: What stands around the text of a vertex.
_AROUND: Final[Mapping[Shape, tuple[str, str]]] = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "read": ("[", "]"),
    "write": ("[[", "]]"),
    "final": ("[[", "]]"),
    "transform": ("(", ")"),
    "decision": ("{", "}"),
    "person": ("[/", "/]"),
    "model": ("{{", "}}"),
}
_ARROWS: Final[Mapping[Kind, str]] = {"data": "-->", "effect": "-.->", "asks": "-->", "flow": "-.->"}
_PLAIN: Final = frozenset(" .,-_")
_STYLES: Final = (
    "classDef write fill:#fff3cd,stroke:#8a6d00,color:#000",
    "classDef final fill:#f8d7da,stroke:#a01020,color:#000",
    "classDef person fill:#d8e8ff,stroke:#20508a,color:#000",
)


def mermaid(graph: Drawn) -> str:
    """The flowchart, with a line end; the same graph gives the same text."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Drawn) -> Iterator[str]:
    ids = {vertex.name: f"n{number}" for number, vertex in enumerate(graph.vertices)}
    yield "flowchart TD"
    for vertex in graph.vertices:
        begin, end = _AROUND[vertex.shape]
        styled = f":::{vertex.shape}" if vertex.shape in ("write", "final", "person") else ""
        yield f'  {ids[vertex.name]}{begin}"{"<br/>".join(map(_text, vertex.lines))}"{end}{styled}'
    for arrow in graph.arrows:
        label = f'|"{_text(arrow.label)}"|' if arrow.label else ""
        yield f"  {ids[arrow.first]} {_ARROWS[arrow.kind]}{label} {ids[arrow.then]}"
    yield from (f"  {style}" for style in _STYLES)


def _text(text: str) -> str:
    return "".join(
        each if each in _PLAIN or (each.isalnum() and each.isprintable()) else f"#{ord(each)};" for each in text
    )
