"""A compiled procedure as a reviewer sees it: values, which `stretto.review.procedure_show` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.review.document import Data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.procedure.graph import AdviserNote, Contract, InjectedValue, InputSpec, Procedure
    from stretto.review.document import Line
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "ArgumentShown",
    "DecisionShown",
    "EvidenceShown",
    "ExitShown",
    "ProcedureShown",
    "QuestionShown",
    "StepShown",
    "shown_json",
    "text_of",
]


@dataclass(frozen=True, slots=True)
class ArgumentShown:
    """An argument of a step.

    Attributes:
        path: exact path.
        origin: where its value comes from.
        observed: traces in which it was passed.
        of: traces in all.
        basis: what that rests on, a word of `stretto.compiler.evidence.Basis`; empty for none.
    """

    path: str
    origin: Line
    observed: int
    of: int
    basis: str


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step that calls a tool.

    Attributes:
        name: its key.
        tool: that it calls.
        server: of it; empty where there is one.
        effect: see `stretto.compiler.model.Effect`.
        layer: steps of one layer that only read may run side by side.
        when: when it is made; empty for always.
        repeat: how often; empty for once.
        observed: traces in which it was made.
        of: traces in all.
        arguments: by path.
    """

    name: str
    tool: str
    server: str
    effect: str
    layer: int
    when: Line
    repeat: Line
    observed: int
    of: int
    arguments: tuple[ArgumentShown, ...]


@dataclass(frozen=True, slots=True)
class ExitShown:
    """One exit of a decision: what has to be the case, what was seen there, in how many traces, what comes then."""

    name: str
    condition: Line
    seen: tuple[JsonValue, ...]
    observed: int
    then: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DecisionShown:
    """A decision; anything that no exit has was never seen, and stops the run."""

    name: str
    predicate: str
    looks_at: Line
    exits: tuple[ExitShown, ...]


@dataclass(frozen=True, slots=True)
class QuestionShown:
    """A question that is asked before the run goes on.

    Attributes:
        name: of the node.
        who: ``person`` or ``model``.
        asks: the question.
        about: the step that waits for it.
        argument: that it fills; empty for none.
        why: why it is asked; empty where that is not known.
        answers: what may be answered.
        shows: what whoever answers may see.
        deadline_s: seconds until the run stops without an answer; 0 for none.
    """

    name: str
    who: str
    asks: str
    about: str
    argument: str
    why: Line
    answers: Line
    shows: Line
    deadline_s: float


@dataclass(frozen=True, slots=True)
class EvidenceShown:
    """What an argument's edge rests on, over all traces.

    Attributes:
        first: the step whose output has the value.
        then: the step that is called with it.
        verdict: of the edge.
        argument: exact path in the arguments.
        place: general path in the output.
        match: ``exact``, or a transform's name.
        basis: see `stretto.compiler.evidence.Basis`.
        traces: how many show it.
        looked_at: other origins that were searched, with texts, fields or calls, over all traces.
        found: what spoke against it.
    """

    first: str
    then: str
    verdict: str
    argument: str
    place: str
    match: str
    basis: str
    traces: int
    looked_at: Mapping[str, int]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcedureShown:
    """A procedure as a reviewer sees it: the procedure, and what is computed of it, in the order in which it runs."""

    procedure: Procedure
    steps: tuple[StepShown, ...]
    decisions: tuple[DecisionShown, ...]
    questions: tuple[QuestionShown, ...]
    evidence: tuple[EvidenceShown, ...]
    orders: tuple[tuple[str, str, bool], ...]
    unseen_max: float


def text_of(line: Line) -> str:
    """A line as plain text."""
    return "".join(part.text if isinstance(part, Data) else part for part in line)


def shown_json(shown: ProcedureShown) -> JsonObject:
    """The same as JSON; lines are plain text."""
    procedure = shown.procedure
    compiled = procedure.compiled
    return {
        "kind": "graph",
        "name": procedure.name,
        "summary": procedure.summary,
        "digest": procedure.digest,
        "parent": procedure.parent,
        "inputs": {name: _input(spec) for name, spec in sorted(procedure.inputs.items())},
        "scope": dict(sorted(procedure.scope.items())),
        "injected": {name: _injected(each) for name, each in sorted(procedure.injected.items())},
        "outputs": {each.name: f"{each.source.path} of {each.source.node}" for each in procedure.outputs},
        "steps": [_step(step) for step in shown.steps],
        "decisions": [_decision(decision) for decision in shown.decisions],
        "questions": [_question(question) for question in shown.questions],
        "evidence": [_evidence(each) for each in shown.evidence],
        "orders": [{"first": first, "then": then, "arbitrary": any_} for first, then, any_ in shown.orders],
        "contracts": {name: _contract(each) for name, each in sorted(procedure.contracts.items())},
        "forbidden": [*procedure.forbidden_at_runtime],
        "support": compiled.support,
        "since": compiled.since,
        "until": compiled.until,
        "calls": dict(sorted(compiled.calls.items())),
        "branches": [{"steps": [*each.steps], "traces": each.traces} for each in compiled.branches],
        "unseen": compiled.unseen,
        "unseen_max": shown.unseen_max,
        "warnings": [*compiled.warnings],
        "agents": [*compiled.agents],
        "embedder": compiled.embedder,
        "compiler": compiled.version,
        "adviser": _adviser(compiled.adviser),
        "settings": dict(sorted(compiled.settings.items())),
    }


def _input(spec: InputSpec) -> JsonObject:
    return {"type": spec.type, "many": spec.many, "pattern": spec.pattern, "optional": spec.optional}


def _injected(each: InjectedValue) -> JsonObject:
    return {
        "value": each.value,
        "tool": each.tool,
        "path": each.path,
        "observed": each.observed,
        "days": each.days,
        "refresh": None if each.refresh is None else each.refresh.tool,
    }


def _adviser(adviser: AdviserNote | None) -> JsonObject | None:
    if adviser is None:
        return None
    doubts: list[JsonValue] = [{"first": each.first, "then": each.then, "says": each.says} for each in adviser.doubts]
    return {
        "name": adviser.name,
        "version": adviser.version,
        "title": adviser.title,
        "proposed": [*adviser.proposed],
        "doubts": doubts,
    }


def _contract(contract: Contract) -> JsonObject:
    return {"input": contract.input, "output": contract.output, "annotations": contract.annotations}


def _step(step: StepShown) -> JsonObject:
    return {
        "name": step.name,
        "tool": step.tool,
        "server": step.server,
        "effect": step.effect,
        "layer": step.layer,
        "when": text_of(step.when),
        "repeat": text_of(step.repeat),
        "observed": step.observed,
        "of": step.of,
        "arguments": [
            {
                "path": each.path,
                "origin": text_of(each.origin),
                "observed": each.observed,
                "of": each.of,
                "basis": each.basis,
            }
            for each in step.arguments
        ],
    }


def _decision(decision: DecisionShown) -> JsonObject:
    return {
        "name": decision.name,
        "predicate": decision.predicate,
        "looks_at": text_of(decision.looks_at),
        "exits": [
            {
                "name": each.name,
                "condition": text_of(each.condition),
                "seen": list(each.seen),
                "observed": each.observed,
                "then": [*each.then],
            }
            for each in decision.exits
        ],
        "else": "stops",
    }


def _question(question: QuestionShown) -> JsonObject:
    return {
        "name": question.name,
        "who": question.who,
        "asks": question.asks,
        "about": question.about,
        "argument": question.argument,
        "why": text_of(question.why),
        "answers": text_of(question.answers),
        "shows": text_of(question.shows),
        "deadline_s": question.deadline_s,
    }


def _evidence(each: EvidenceShown) -> JsonObject:
    return {
        "first": each.first,
        "then": each.then,
        "verdict": each.verdict,
        "argument": each.argument,
        "place": each.place,
        "match": each.match,
        "basis": each.basis,
        "traces": each.traces,
        "looked_at": dict(sorted(each.looked_at.items())),
        "found": [*each.found],
    }
