"""The page of a compiled procedure: what a reviewer reads before anybody runs it.

Not responsible for what it says of each part: that is `stretto.review.procedure_show`; nor for how it is written
(`stretto.review.document`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.document import Data, Drawing, Heading, Items, Paragraph, Table, joined
from stretto.review.page import count
from stretto.review.procedure_graph import drawn
from stretto.review.procedure_mermaid import mermaid
from stretto.review.procedure_words import BASES, EFFECTS, fixed, known, place
from stretto.review.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.procedure.graph import AdviserNote, Compiled, Procedure
    from stretto.review.document import Block, Line
    from stretto.review.procedure_shown import ArgumentShown, EvidenceShown, ProcedureShown, QuestionShown, StepShown

__all__ = ["procedure_page"]


def procedure_page(shown: ProcedureShown) -> list[Block]:
    """The blocks of the page; what may go wrong stands before what happens."""
    return [
        *_head(shown),
        *_warnings(shown),
        *_interface(shown),
        Drawing("Graph", mermaid(drawn(shown.procedure))),
        *_steps(shown),
        *_decisions(shown),
        *_questions(shown),
        *_evidence(shown),
        *_origin(shown),
        *_contracts(shown),
    ]


def _observed(number: int, of: int) -> str:
    return f"observed in {number:,} of {count(of, 'trace')}"


def _head(shown: ProcedureShown) -> Iterator[Block]:
    procedure = shown.procedure
    yield Heading(1, ("Procedure ", Data(procedure.name)))
    if procedure.summary:
        yield Paragraph((Data(procedure.summary),))
    adviser = procedure.compiled.adviser
    if adviser is not None and adviser.title:
        yield Paragraph(("An adviser calls it: ", Data(adviser.title)))
    changing = [step for step in shown.steps if step.effect not in ("read", "auth")]
    said: Line = (f"{count(len(shown.steps), 'step')}, compiled from {count(procedure.compiled.support, 'trace')}. ",)
    if changing:
        each = joined((Data(step.name), f" ({EFFECTS[step.effect]})") for step in changing)
        said = (*said, "It **changes** things: ", *each, ".")
    else:
        said = (*said, "It only reads.")
    yield Paragraph(said)
    who = [question.who for question in shown.questions]
    asks = [f"a {each} (up to {count(who.count(each), 'question')})" for each in ("person", "model") if each in who]
    yield Paragraph((f"It asks {' and '.join(asks)}." if asks else "It asks nobody: neither a person nor a model.",))


def _warnings(shown: ProcedureShown) -> Iterator[Block]:
    procedure = shown.procedure
    unseen, most = procedure.compiled.unseen, shown.unseen_max
    lines: list[Line] = [(Data(each),) for each in procedure.compiled.warnings]
    if unseen > most and procedure.changes():
        lines.append(
            (f"The chance of a way that nobody has seen is above {percent(most)}: it is not routed by itself.",)
        )
    without = sorted({step.tool for step in shown.steps if f"{step.server}/{step.tool}" not in procedure.contracts})
    if without:
        lines.append(
            ("Of these tools it is not known what they were, so that no change is noticed: ", *_names(without))
        )
    if not procedure.digest:
        lines.append(("The file has no digest: whatever is changed in it is not noticed.",))
    if lines:
        yield Heading(2, ("Warnings",))
        yield Items(tuple((line, ()) for line in lines))


def _names(names: list[str]) -> Line:
    return joined((Data(each),) for each in names)


def _interface(shown: ProcedureShown) -> Iterator[Block]:
    procedure = shown.procedure
    yield Heading(2, ("Inputs",))
    if procedure.inputs:
        yield Table(
            ("input", "type", "looks like", "needed"),
            tuple(
                (
                    (Data(name),),
                    (f"list of {spec.type}" if spec.many else spec.type,),
                    (Data(spec.pattern),) if spec.pattern else ("anything",),
                    ("may be left out" if spec.optional else "yes",),
                )
                for name, spec in sorted(procedure.inputs.items())
            ),
        )
    else:
        yield Paragraph(("None.",))
    yield from _fixed(procedure)
    yield Heading(2, ("Outputs",))
    if procedure.outputs:
        yield Items(tuple(((Data(each.name), ": ", *place(each.source)), ()) for each in procedure.outputs))
    else:
        yield Paragraph(("None.",))


def _fixed(procedure: Procedure) -> Iterator[Block]:
    if procedure.injected:
        yield Heading(2, ("Fixed values",))
        whom = joined((f"{kind} ", Data(name)) for kind, name in sorted(procedure.scope.items()))
        yield Paragraph(("They hold for ", *whom, " alone: it runs for nobody else."))
        yield Items(tuple(((Data(name), ": ", *fixed(each)), ()) for name, each in sorted(procedure.injected.items())))


def _steps(shown: ProcedureShown) -> Iterator[Block]:
    yield Heading(2, ("Steps",))
    yield Paragraph(("In order; steps of one layer that only read may run side by side.",))
    for step in shown.steps:
        yield Heading(3, (f"{step.layer}. ", Data(step.name)))
        yield Items(tuple((line, ()) for line in _step(step)))
        if step.arguments:
            rows = tuple(((Data(each.path),), each.origin, _seen(each)) for each in step.arguments)
            yield Table(("argument", "where from", "evidence"), rows)
        else:
            yield Paragraph(("No arguments.",))


def _step(step: StepShown) -> Iterator[Line]:
    server: Line = (" at server ", Data(step.server)) if step.server else ()
    yield ("calls ", Data(step.tool), *server, f"; effect: {step.effect} ({EFFECTS[step.effect]})")
    yield (_observed(step.observed, step.of),)
    if step.when:
        yield ("made when ", *step.when)
    if step.repeat:
        yield ("repeated: ", *step.repeat)


def _seen(argument: ArgumentShown) -> Line:
    observed, basis = _observed(argument.observed, argument.of), known(BASES, argument.basis)
    return (observed, "; ", *basis) if basis else (observed,)


def _decisions(shown: ProcedureShown) -> Iterator[Block]:
    if not shown.decisions:
        return
    yield Heading(2, ("Decisions",))
    for decision in shown.decisions:
        yield Heading(3, (Data(decision.name),))
        yield Paragraph(("Looks at ", *decision.looks_at, f" ({decision.predicate})."))
        exits: list[Line] = [
            (
                *each.condition,
                f" ({_observed(each.observed, shown.procedure.compiled.support)}): ",
                *(_names(list(each.then)) if each.then else ("nothing more here",)),
            )
            for each in decision.exits
        ]
        yield Items((*((line, ()) for line in exits), (("else: stops, and hands over what was done",), ())))


def _questions(shown: ProcedureShown) -> Iterator[Block]:
    if not shown.questions:
        return
    yield Heading(2, ("Questions",))
    yield Items(tuple(((f"for a {q.who}: ", Data(q.asks)), tuple(_question(q))) for q in shown.questions))


def _question(question: QuestionShown) -> Iterator[Line]:
    fills: Line = (", for argument ", Data(question.argument)) if question.argument else ()
    yield ("before ", Data(question.about), *fills)
    if question.why:
        yield ("why: ", *question.why)
    yield ("answers: ", *question.answers)
    yield ("shown: ", *(question.shows or ("nothing",)))
    if question.deadline_s:
        yield (f"stops without an answer after {question.deadline_s:g} s",)


def _evidence(shown: ProcedureShown) -> Iterator[Block]:
    if shown.evidence:
        yield Heading(2, ("Evidence",))
        yield Paragraph(("Why a value is said to come from a step, and which other origins were searched.",))
        yield Table(
            ("from", "to", "argument", "place", "match", "verdict", "traces", "searched", "against"),
            tuple(_evidence_row(each) for each in shown.evidence),
        )
    if shown.orders:
        yield Heading(2, ("Orders without a value",))
        yield Items(tuple((_order(*order), ()) for order in shown.orders))


def _order(first: str, then: str, arbitrary: bool) -> Line:  # noqa: FBT001 - the parts of one tuple
    said = "; traces disagreed, the more frequent order is kept" if arbitrary else "; so in every trace"
    return (Data(first), " before ", Data(then), said)


def _evidence_row(each: EvidenceShown) -> tuple[Line, ...]:
    return (
        (Data(each.first),),
        (Data(each.then),),
        (Data(each.argument),),
        (Data(each.place),),
        (Data(each.match),),
        (each.verdict or "none", *((", ", Data(each.basis)) if each.basis else ())),
        (str(each.traces),),
        joined((Data(origin), f" {number:,}") for origin, number in each.looked_at.items()) or ("nothing",),
        joined((Data(found),) for found in each.found) or ("nothing",),
    )


def _origin(shown: ProcedureShown) -> Iterator[Block]:
    compiled = shown.procedure.compiled
    yield Heading(2, ("Where it comes from",))
    lines: list[Line] = [
        (f"{count(compiled.support, 'distinct trace')}", *_of("of ", compiled.agents)),
        *_span(compiled),
        (f"chance that the next run takes a way that nobody has seen: {percent(compiled.unseen)}",),
        ("compiler ", Data(compiled.version or "not named"), "; alike by ", Data(compiled.embedder or "not named")),
        ("digest ", Data(shown.procedure.digest or "none"), *_of("takes the place of ", [shown.procedure.parent])),
    ]
    yield Items((*((line, ()) for line in lines), *_adviser(compiled.adviser)))
    if compiled.calls:
        rows = tuple(((Data(label),), (f"{number:,}",)) for label, number in sorted(compiled.calls.items()))
        yield Table(("calls in the traces, by label", "number"), rows)
    if compiled.branches:
        yield Table(
            ("steps that traces took", "traces"),
            tuple((_names(each.steps) or ("none",), (f"{each.traces:,}",)) for each in compiled.branches),
        )


def _span(compiled: Compiled) -> list[Line]:
    return [("traces that began from ", Data(compiled.since), " to ", Data(compiled.until))] if compiled.since else []


def _adviser(adviser: AdviserNote | None) -> Iterator[tuple[Line, tuple[Line, ...]]]:
    """Who was asked for proposals, and which of them stood."""
    if adviser is not None:
        proposed: list[Line] = [("proposed, and checked: ", Data(each)) for each in adviser.proposed]
        doubts: list[Line] = [
            ("doubts that ", Data(each.then), " needs ", Data(each.first), ": ", Data(each.says))
            for each in adviser.doubts
        ]
        yield ("adviser ", Data(adviser.name), " ", Data(adviser.version)), (*proposed, *doubts)


def _of(before: str, names: list[str]) -> Line:
    found = [each for each in names if each]
    return (f"; {before}", *_names(found)) if found else ()


def _contracts(shown: ProcedureShown) -> Iterator[Block]:
    procedure = shown.procedure
    if procedure.contracts:
        yield Heading(2, ("Contracts",))
        yield Paragraph(("What was known of each tool; before a run it is compared with what the server says then.",))
        yield Items(
            tuple(
                ((Data(name), ": ", _pinned(each.input, each.output, each.annotations)), ())
                for name, each in sorted(procedure.contracts.items())
            )
        )
    if procedure.forbidden_at_runtime:
        yield Heading(2, ("Never called",))
        yield Items(tuple(((Data(each),), ()) for each in procedure.forbidden_at_runtime))


def _pinned(takes: str, output: str, annotations: str) -> str:
    found = [name for name, it in (("arguments", takes), ("output", output), ("annotations", annotations)) if it]
    return ", ".join(found) or "nothing"
