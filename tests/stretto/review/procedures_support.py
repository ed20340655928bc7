"""Procedures that the tests of their pages, drawings and comparisons share."""

from __future__ import annotations

from functools import cache
from typing import Any

from stretto.compiler.compiling import compile_traces
from stretto.compiler.settings import CompilerSettings
from stretto.procedure import graph
from tests.stretto.compiler.stories import SHOP, refunds
from tests.stretto.compiler.test_abstain import search

SETTINGS = CompilerSettings(support_floor=3, constant_min=3)


@cache
def refund() -> graph.Procedure:
    """Four steps in a row, two of which change things for good."""
    made = compile_traces("refund", [story.trace for story in refunds()], SHOP, SETTINGS)
    assert made.procedure is not None
    return made.procedure


@cache
def looked_up() -> graph.Procedure:
    """A search, a decision on the number of matches, and a question for a person on one side of it."""
    stories = [search(number, int(number < 4)) for number in range(6)]
    made = compile_traces("orders", [story.trace for story in stories], SHOP, SETTINGS)
    assert made.procedure is not None
    return made.procedure


def with_node(procedure: graph.Procedure, name: str, **changes: Any) -> graph.Procedure:
    """The same with one node changed."""
    nodes = {**procedure.nodes, name: procedure.nodes[name].model_copy(update=changes)}
    return procedure.model_copy(update={"nodes": nodes})


def with_argument(procedure: graph.Procedure, name: str, path: str, value: Any) -> graph.Procedure:
    """The same with one argument bound otherwise."""
    node = procedure.nodes[name]
    assert isinstance(node, graph.ToolNode)
    binding = node.args.get(path, graph.Binding(value=value)).model_copy(update={"value": value})
    return with_node(procedure, name, args={**node.args, path: binding})


def without(procedure: graph.Procedure, name: str) -> graph.Procedure:
    """The same without a node, and the edges from and to it."""
    nodes = {each: node for each, node in procedure.nodes.items() if each != name}
    edges = [edge for edge in procedure.edges if name not in (edge.first, edge.then)]
    return procedure.model_copy(update={"nodes": nodes, "edges": edges})


def hostile(text: str) -> graph.Procedure:
    """A procedure in which every text of the data is the given one, in some place."""
    source = graph.Source(node=f"a.read#0{text}", path=f"$.x{text}")
    step: dict[str, Any] = {"app": "a", "server": text}
    nodes: dict[str, Any] = {
        f"a.read#0{text}": graph.ToolNode(layer=0, action="read", tool=f"read{text}", effect="read", **step),
        f"fork{text}": graph.DecisionNode(
            layer=1, predicate="equals", of=source, exits={f"go{text}": [text], "stop": [1]}, seen={f"go{text}": 2}
        ),
        f"ask{text}": graph.HumanNode(
            layer=2, asks=text, about=f"a.act#0{text}", path=f"$.q{text}", candidates=[text], shows=[source], code=text
        ),
        f"a.act#0{text}": graph.ToolNode(
            layer=3,
            action="act",
            tool=f"act{text}",
            effect="unknown",
            when=[[(f"fork{text}", f"go{text}")]],
            args={
                f"$.c{text}": graph.Binding(value=graph.Constant(value=text)),
                f"$.s{text}": graph.Binding(value=graph.Secret(secret=f"s{text}")),
                f"$.i{text}": graph.Binding(value=graph.Input(input=f"in{text}")),
                f"$.p{text}": graph.Binding(value=graph.Copied(sources=[source])),
                f"$.q{text}": graph.Binding(value=graph.FromNode(node=f"ask{text}")),
            },
            **step,
        ),
    }
    edges = [
        graph.Edge(first=f"a.read#0{text}", then=f"fork{text}", kind="data", verdict="strong", evidence=[0]),
        graph.Edge(first=f"ask{text}", then=f"a.act#0{text}", kind="asks"),
    ]
    note = graph.EvidenceNote(
        trace=0, argument=f"$.p{text}", place=f"$.x{text}", match=text, basis=text, value=text, found=[text]
    )
    return graph.Procedure(
        name=f"n{text}",
        summary=text,
        inputs={f"in{text}": graph.InputSpec(type="string", pattern="code")},
        outputs=[graph.Output(name=f"out{text}", source=source)],
        nodes=nodes,
        edges=edges,
        evidence=[note],
        contracts={f"{text}/x": graph.Contract()},
        forbidden_at_runtime=[text],
        compiled=graph.Compiled(
            version=text,
            embedder=text,
            agents=[text],
            warnings=[text],
            support=2,
            branches=[graph.Branch(steps=[f"a.read#0{text}"], traces=2)],
        ),
    )
