"""The order of a graph's nodes: layers, and which edges others imply. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["implied", "layers"]


def layers(nodes: Sequence[str], before: Mapping[str, Collection[str]], rank: Mapping[str, int]) -> list[list[str]]:
    """Sort nodes into layers: those of one layer do not depend on each other (Kahn's algorithm).

    Of the nodes that are ready, all with the lowest rank 0 are the next layer, side by side; when there is none, the
    first of the others by rank and name is a layer of its own.

    Args:
        nodes: all.
        before: for each, the nodes that come before it.
        rank: 0 for what may run side by side.

    Raises:
        ValueError: the nodes depend on each other in a circle.
    """
    left = {node: set(before.get(node, ())) & set(nodes) for node in nodes}
    found: list[list[str]] = []
    while left:
        ready = sorted((rank[node], node) for node, waits in left.items() if not waits)
        if not ready:
            raise ValueError(f"{', '.join(sorted(left))} depend on each other")
        together = [node for number, node in ready if number == 0]
        layer = together or [ready[0][1]]
        found.append(layer)
        for node in layer:
            del left[node]
        for waits in left.values():
            waits.difference_update(layer)
    return found


def implied(edges: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges of a graph without circles that longer ways imply. Cost: nodes times edges."""
    after: dict[str, set[str]] = {}
    for first, then in edges:
        after.setdefault(first, set()).add(then)
    return {(first, then) for first, then in edges if _reaches(after, first, then)}


def _reaches(after: Mapping[str, Collection[str]], first: str, then: str) -> bool:
    """Whether a way of two edges or more leads from one node to another."""
    todo, seen = [node for node in after[first] if node != then], set[str]()
    while todo:
        node = todo.pop()
        if node == then:
            return True
        if node not in seen:
            seen.add(node)
            todo += after.get(node, ())
    return False
