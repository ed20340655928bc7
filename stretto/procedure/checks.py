"""Whether a procedure fits together: what must hold before one is saved, and before one is run. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.procedure.contracts import contract_key
from stretto.procedure.graph import (
    Copied,
    DecisionNode,
    FromNode,
    HumanNode,
    Injected,
    Input,
    ModelNode,
    Source,
    ToolNode,
    TransformNode,
)
from stretto.procedure.order import layers
from stretto.procedure.shapes import SHAPES
from stretto.procedure.transforms import TEMPLATE, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.procedure.graph import Node, Procedure

__all__ = ["faults"]


def faults(procedure: Procedure) -> list[str]:
    """What is wrong with a procedure, each with where, in order of the nodes; empty when it is sound.

    Acyclic; every source of a binding comes before it, in a layer before; every way names exits that are there; every
    strong edge has evidence; every transform is registered; what a node needs of an input is declared, and so is the
    shape of each; no step calls what is never to be called.
    """
    found = [
        f"$.inputs.{name}: there is no shape {spec.pattern}"
        for name, spec in sorted(procedure.inputs.items())
        if spec.pattern and spec.pattern not in SHAPES
    ]
    found += _of_edges(procedure)
    for name, node in procedure.nodes.items():
        found += [f"$.nodes.{name}: {fault}" for fault in _of_node(procedure, name, node)]
    found += _of_forbidden(procedure)
    for output in procedure.outputs:
        if output.source.node not in procedure.nodes:
            found.append(f"$.outputs: {output.name} comes from {output.source.node}, which is no node")
    return found


def _of_forbidden(procedure: Procedure) -> Iterator[str]:
    forbidden = set(procedure.forbidden_at_runtime)
    for name, node in procedure.tools():
        if contract_key(node.server, node.tool) in forbidden:
            yield f"$.nodes.{name}: calls {node.tool}, which is never to be called"


def _of_edges(procedure: Procedure) -> Iterator[str]:
    before: dict[str, set[str]] = {}
    for number, edge in enumerate(procedure.edges):
        missing = {edge.first, edge.then} - set(procedure.nodes)
        if missing:
            yield f"$.edges[{number}]: {', '.join(sorted(missing))} is no node"
            continue
        before.setdefault(edge.then, set()).add(edge.first)
        if procedure.nodes[edge.first].layer >= procedure.nodes[edge.then].layer:
            yield f"$.edges[{number}]: {edge.first} is not in a layer before {edge.then}"
        if edge.verdict in ("strong", "conditional") and not edge.evidence:
            yield f"$.edges[{number}]: a {edge.verdict} edge without evidence"
        if any(each >= len(procedure.evidence) for each in edge.evidence):
            yield f"$.edges[{number}]: evidence that is not there"
    try:
        layers(list(procedure.nodes), before, dict.fromkeys(procedure.nodes, 0))
    except ValueError as error:
        yield f"$.edges: {error}"


def _of_node(procedure: Procedure, name: str, node: Node) -> Iterator[str]:
    yield from _of_ways(procedure, node)
    for origin in _origins(node):
        if isinstance(origin, Injected):
            if origin.injected not in procedure.injected:
                yield f"takes {origin.injected}, which is not injected"
        elif isinstance(origin, Input):
            if origin.input not in procedure.inputs:
                yield f"takes input {origin.input}, which is not declared"
        else:
            yield from _of_origin(procedure, name, node, origin)
    if isinstance(node, TransformNode) and node.name != TEMPLATE:
        known = registry().get(node.name)
        if known is None or known.version != node.version:
            yield f"needs transform {node.name} version {node.version}, which is not there"
    repeat = node.repeat if isinstance(node, ToolNode) else None
    if isinstance(node, ToolNode) and repeat is not None and repeat.kind == "each" and repeat.path not in node.args:
        yield f"is made for each of {repeat.path}, which is not bound"


def _of_ways(procedure: Procedure, node: Node) -> Iterator[str]:
    for fork, exit_ in (pair for way in node.when for pair in way):
        decides = procedure.nodes.get(fork)
        exits = decides.exits if isinstance(decides, DecisionNode | HumanNode | ModelNode) else ()
        if decides is None or exit_ not in exits:
            yield f"waits for exit {exit_} of {fork}, which is not there"
        elif decides.layer >= node.layer:
            yield f"waits for {fork}, which does not come before it"


def _of_origin(procedure: Procedure, name: str, node: Node, origin: Source | FromNode) -> Iterator[str]:
    source = procedure.nodes.get(origin.node)
    if source is None or origin.node == name:
        yield f"takes a value of {origin.node}, which is no other node"
    elif source.layer >= node.layer:
        yield f"takes a value of {origin.node}, which does not come before it"
    elif isinstance(origin, Source) and "[*]" in origin.path and origin.select is None:
        yield f"takes one of {origin.node} {origin.path}, and does not say which"


def _origins(node: Node) -> Iterator[Source | Injected | Input | FromNode]:
    if isinstance(node, ToolNode):
        for binding in node.args.values():
            value = binding.value
            if isinstance(value, Copied):
                yield from value.sources
            elif isinstance(value, Injected | Input | FromNode):
                yield value
    elif isinstance(node, TransformNode | DecisionNode):
        yield node.of
    else:
        yield from node.shows
        if node.choices is not None:
            yield node.choices.model_copy(update={"path": node.choices.path.partition("[*]")[0]})
