"""What a reviewer should know of a compiled procedure, computed from the procedure alone. Pure.

It says what traces show and never what a task needs: "observed in n of m traces". It stands here and not beside the
graph because it is only ever read by people, as the reviews of flows are; `stretto.review.procedure_page` renders it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stretto.compiler.settings import number_of
from stretto.procedure import atoms
from stretto.procedure.graph import DecisionNode, HumanNode, ModelNode
from stretto.review.document import Data, joined
from stretto.review.procedure_shown import (
    ArgumentShown,
    DecisionShown,
    EvidenceShown,
    ExitShown,
    ProcedureShown,
    QuestionShown,
    StepShown,
)
from stretto.review.procedure_words import (
    WHY_ASKED,
    exit_said,
    known,
    looked_at,
    origin,
    place,
    repeat_said,
    values,
    way_said,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.procedure.graph import Node, Procedure, ToolNode
    from stretto.review.document import Line

__all__ = ["show_procedure", "unseen_max"]


def show_procedure(procedure: Procedure) -> ProcedureShown:
    """Everything a reviewer is shown of a procedure, each part in the order in which it runs."""
    ordered = sorted(procedure.nodes.items(), key=lambda each: (each[1].layer, each[0]))
    return ProcedureShown(
        procedure=procedure,
        steps=tuple(_step(procedure, name, node) for name, node in procedure.tools()),
        decisions=tuple(_decision(procedure, name, node) for name, node in ordered if isinstance(node, DecisionNode)),
        questions=tuple(_questions(ordered)),
        evidence=tuple(_evidence(procedure)),
        orders=tuple(sorted((e.first, e.then, e.arbitrary) for e in procedure.edges if e.kind == "effect")),
        unseen_max=unseen_max(procedure),
    )


def unseen_max(procedure: Procedure) -> float:
    """The largest estimated chance of a way nobody has seen at which a procedure that changes something is routed."""
    return number_of(procedure.compiled.settings, "unseen_max")


def _step(procedure: Procedure, name: str, node: ToolNode) -> StepShown:
    compiled = procedure.compiled
    return StepShown(
        name=name,
        tool=node.tool,
        server=node.server,
        effect=node.effect,
        layer=node.layer,
        when=way_said(procedure, node.when),
        repeat=repeat_said(node),
        observed=sum(branch.traces for branch in compiled.branches if name in branch.steps),
        of=compiled.support,
        arguments=tuple(
            ArgumentShown(path, origin(procedure, binding), binding.support, compiled.support, binding.basis)
            for path, binding in sorted(node.args.items())
        ),
    )


def _decision(procedure: Procedure, name: str, node: DecisionNode) -> DecisionShown:
    then: dict[str, list[str]] = {exit_: [] for exit_ in node.exits}
    for other, each in sorted(procedure.nodes.items(), key=lambda pair: (pair[1].layer, pair[0])):
        for exit_ in sorted({exit_ for way in each.when for fork, exit_ in way if fork == name}):
            then[exit_].append(other)
    return DecisionShown(
        name,
        node.predicate,
        looked_at(node.of),
        tuple(
            ExitShown(exit_, exit_said(node, exit_), tuple(seen), node.seen.get(exit_, 0), tuple(then[exit_]))
            for exit_, seen in sorted(node.exits.items())
        ),
    )


def _questions(ordered: list[tuple[str, Node]]) -> Iterator[QuestionShown]:
    for name, node in ordered:
        if isinstance(node, HumanNode | ModelNode):
            is_person = isinstance(node, HumanNode)
            yield QuestionShown(
                name=name,
                who="person" if is_person else "model",
                asks=node.asks,
                about=node.about,
                argument=node.path,
                why=known(WHY_ASKED, node.code) if isinstance(node, HumanNode) else ("nothing in the traces tells",),
                answers=_answers(node),
                shows=joined(map(place, node.shows)),
                deadline_s=node.deadline_s if isinstance(node, HumanNode) else 0,
            )


def _answers(node: HumanNode | ModelNode) -> Line:
    if node.exits:
        return ("one of the ways ", *joined((Data(exit_),) for exit_ in node.exits))
    if node.choices is not None:
        return ("one of ", Data(node.choices.path), " of ", Data(node.choices.node))
    if node.candidates:
        return ("one of ", *values(node.candidates))
    return ("any ", Data(node.answer)) if node.answer else ("yes or no",)


def _evidence(procedure: Procedure) -> Iterator[EvidenceShown]:
    for edge in sorted(procedure.edges, key=lambda each: (each.first, each.then)):
        together: dict[tuple[str, str, str, str], list[int]] = {}
        for number in edge.evidence:
            note = procedure.evidence[number]
            key = (note.argument, atoms.general(note.place), note.match, note.basis)
            together.setdefault(key, []).append(number)
        for (argument, where, match, basis), numbers in sorted(together.items()):
            notes = [procedure.evidence[number] for number in numbers]
            searched: Counter[str] = Counter()
            for note in notes:
                searched.update(note.looked_at)
            found = sorted({each for note in notes for each in note.found})
            traces = len({note.trace for note in notes})
            counts = dict(sorted(searched.items()))
            yield EvidenceShown(
                edge.first, edge.then, edge.verdict, argument, where, match, basis, traces, counts, tuple(found)
            )
