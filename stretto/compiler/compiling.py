"""From the traces of one intent to a procedure, a procedure with a person in it, or a refusal. Pure.

A procedure is checked before anybody sees it: its structure, a replay on paper of every trace it was made of, and of
traces that were left out when it was made. There is no repair: what fails is a finding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stretto.compiler.abstain import Code, Outcome, Reason, Refusal, reasons, refuse
from stretto.compiler.advising import NOTHING
from stretto.compiler.analysis import analyse
from stretto.compiler.asking import Asking
from stretto.compiler.cautions import cautions
from stretto.compiler.consulting import consult, note_of, title_of
from stretto.compiler.emit import Origin, emit
from stretto.compiler.injected import used
from stretto.compiler.inputs import find_inputs, inputs_of
from stretto.compiler.model import Unlogged
from stretto.compiler.paper import Replayed, Result, replay
from stretto.compiler.repeats import repeats_alike
from stretto.compiler.steps import Run
from stretto.compiler.tracing import Tracing
from stretto.procedure import atoms
from stretto.procedure.checks import faults

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from stretto.compiler.advising import Advised, Adviser, Dropped
    from stretto.compiler.analysis import Analysis
    from stretto.compiler.answers import Answers
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings
    from stretto.procedure.graph import Procedure
    from waggle.jsonvalue import JsonValue

__all__ = ["Compilation", "compile_traces", "distinct"]

#: Parts that the traces are divided into for leaving one out: one a trace, up to so many.
_PARTS: Final = 20


@dataclass(frozen=True)
class Compilation:
    """What became of the traces of one intent.

    Attributes:
        name: of the intent.
        traces: distinct traces, sorted by id.
        analysis: what they show; None below the support floor.
        reasons: what speaks against steps, strictest first.
        procedure: what was made; None of a refusal.
        refusal: why nothing was made; None of a procedure.
        replayed: each trace, replayed on paper.
        left_out: each trace, replayed on paper by a procedure made without it; ``escalated`` where none was made.
        warnings: for people.
        title: what an adviser calls the intent, for people: one line, and data; empty where there is none.
        dropped: what an adviser proposed and what did not stand, sorted.
    """

    name: str
    traces: tuple[Trace, ...]
    analysis: Analysis | None
    reasons: tuple[Reason, ...] = ()
    procedure: Procedure | None = None
    refusal: Refusal | None = None
    replayed: tuple[Replayed, ...] = ()
    left_out: tuple[Replayed, ...] = ()
    warnings: tuple[str, ...] = ()
    title: str = ""
    dropped: tuple[Dropped, ...] = ()

    @cached_property
    def outcome(self) -> Outcome:
        """What became of them."""
        if self.procedure is None:
            return Outcome.REFUSED
        asks = any(node.type == "human" for node in self.procedure.nodes.values())
        return Outcome.WITH_PERSON if asks else Outcome.COMPILED


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for beside a procedure, and what an adviser said; see `compile_traces`."""

    human: bool
    joined: tuple[str, ...]
    advised: Advised = NOTHING


def distinct(traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """One trace of those with equal content, the one with the smallest id; sorted by id.

    Support counts what happened, not files: a trace that was copied is one.
    """
    seen: dict[bytes, Trace] = {}
    for trace in sorted(traces, key=lambda trace: trace.id):
        seen.setdefault(_content(trace), trace)
    return tuple(sorted(seen.values(), key=lambda trace: trace.id))


def _content(trace: Trace) -> bytes:
    calls: list[JsonValue] = [
        [call.name, dict(call.args), None if isinstance(call.output, Unlogged) else [call.output], call.ok]
        for call in trace.calls
    ]
    said: list[JsonValue] = [each.text for each in trace.utterances]
    return atoms.key([trace.context, trace.request, said, calls, trace.answer])


def compile_traces(
    name: str,
    traces: Sequence[Trace],
    tools: Tools,
    settings: CompilerSettings,
    *,
    origin: Origin | None = None,
    human: bool = False,
    joined: Collection[str] = (),
    adviser: Adviser | None = None,
    answers: Answers | None = None,
) -> Compilation:
    """Compile traces of one intent.

    Args:
        name: of the intent.
        traces: in any order.
        tools: what is known of the actions.
        settings: the compiler's.
        origin: what is known of the procedure beside its traces.
        human: whether a person may be asked which way to go where nothing tells.
        joined: actions that only some of the traces make, and that did not part them (`Intent.guarded`). Where nothing
            tells when one is made, nothing is compiled, unless a person may be asked.
        adviser: whom to ask for proposals; see `stretto.compiler.advising`.
        answers: what it has answered before; what it answers is added.
    """
    kept = distinct(traces)
    origin = replace(origin or Origin(name), name=name)
    if len(kept) < settings.support_floor:
        says = f"{len(kept)} distinct traces, and it takes {settings.support_floor}"
        return Compilation(name, kept, None, warnings=(says,))
    wanted = _Wanted(human, tuple(joined))
    known = {trace.id: Run(Tracing(trace, tools, settings)) for trace in kept}
    if adviser is None:
        return _checked(kept, tools, settings, origin, known=known, wanted=wanted)
    asking = Asking(adviser, answers, tools, kept)
    advised = consult(kept, tools, settings, asking, known=known)
    made = _checked(kept, tools, settings, origin, known=known, wanted=replace(wanted, advised=advised))
    made = replace(made, title=title_of(kept, settings, asking), dropped=asking.dropped)
    if made.procedure is None:
        return made
    note = note_of(asking, advised, made.title)
    compiled = made.procedure.compiled.model_copy(update={"adviser": note})
    return replace(made, procedure=made.procedure.model_copy(update={"compiled": compiled}))


def _checked(
    kept: tuple[Trace, ...],
    tools: Tools,
    settings: CompilerSettings,
    origin: Origin,
    *,
    known: Mapping[str, Run],
    wanted: _Wanted,
) -> Compilation:
    """Compile traces and leave out each of them."""
    made = _compiled(kept, tools, settings, origin, known=known, wanted=wanted)
    if made.procedure is None or made.analysis is None:
        return made
    left_out = tuple(_without_each(made, tools, settings, origin, known=known, wanted=wanted))
    wrong = [each for each in left_out if each.result is Result.WRONG and each.irreversible]
    if wrong:
        return _refused(made, wrong[0], replayed=made.replayed, left_out=left_out)
    return replace(made, left_out=left_out)


def _compiled(
    traces: Sequence[Trace],
    tools: Tools,
    settings: CompilerSettings,
    origin: Origin,
    *,
    known: Mapping[str, Run],
    wanted: _Wanted,
    whole: bool = True,
) -> Compilation:
    """Compile traces; with `whole`, replay each of them. Without its evidence is left out, too."""
    analysis, not_fixed = _analysed(traces, tools, settings, known, wanted.advised)
    warnings = (*not_fixed, *cautions(analysis)) if whole else ()
    found = (
        *_never_succeeding(analysis),
        *_open_repeats(analysis),
        *reasons(analysis, analysis.forks, human=wanted.human, joined=wanted.joined),
    )
    refusal = refuse(origin.name, analysis, found)
    made = Compilation(origin.name, tuple(traces), analysis, found, refusal=refusal, warnings=warnings)
    if refusal is not None or not analysis.keys:
        return made
    told = replace(origin, warnings=(*origin.warnings, *warnings))
    try:
        procedure = emit(analysis, found, told, evidence=whole)
    except ValueError as error:
        return _refused(made, Replayed("", Result.WRONG, analysis.keys[0], str(error)))
    if not whole:
        return replace(made, procedure=procedure)
    wrong = faults(procedure)
    if wrong:
        return _refused(made, Replayed("", Result.WRONG, analysis.keys[0], wrong[0]))
    inputs = find_inputs(analysis)
    replayed = tuple(replay(procedure, run, inputs_of(inputs, analysis, run)) for run in analysis.runs)
    failed = [each for each in replayed if each.result is Result.WRONG]
    if failed:
        return _refused(made, failed[0], replayed=replayed)
    return replace(made, procedure=procedure, replayed=replayed)


def _analysed(
    traces: Sequence[Trace], tools: Tools, settings: CompilerSettings, known: Mapping[str, Run], advised: Advised
) -> tuple[Analysis, tuple[str, ...]]:
    """What traces show, and which of the values that the user names are not fixed, with why.

    A value is not fixed where its read is made for something else as well: then it costs nothing to have it anew.
    """
    analysis = analyse(traces, tools, settings, known=known, advised=advised)
    kept = {key.rpartition("#")[0] for key in analysis.keys}
    fixed = used(analysis)
    read_anyway = [each for each in fixed if each.action in kept]
    if read_anyway:
        rest = tuple(each for each in settings.inject if each not in read_anyway)
        analysis = analyse(traces, tools, replace(settings, inject=rest), known=known, advised=advised)
    called = {call.name for trace in traces for call in trace.calls}
    warnings = [f"{each.name} is not fixed: {each.action} is called for something else, too" for each in read_anyway]
    warnings += [
        f"{each.name} is not fixed: no argument always had it, and it alone"
        for each in settings.inject
        if each not in fixed and each.action in called
    ]
    return analysis, tuple(warnings)


def _never_succeeding(analysis: Analysis) -> tuple[Reason, ...]:
    """The steps that failed in every trace: nothing is known of their arguments, and a run stops where a call fails."""
    return tuple(
        Reason(
            Code.SELF_CHECK,
            key,
            "",
            "it failed in every trace that made it, and a procedure stops where a call fails",
            f"traces in which {key.rpartition('#')[0]} succeeds, or none that makes it",
        )
        for key in analysis.keys
        if not any(key in run.succeeded for run in analysis.runs)
    )


def _open_repeats(analysis: Analysis) -> tuple[Reason, ...]:
    """The steps of which it is not clear how often, and with what, they are made."""
    return tuple(
        Reason(
            Code.OPEN_ARGUMENT,
            key,
            "",
            "its calls differ in more than one argument, or are repeated in different ways",
            "traces in which they differ in one",
        )
        for key in analysis.keys
        if not repeats_alike(analysis, key)
    )


def _refused(
    made: Compilation, wrong: Replayed, *, replayed: tuple[Replayed, ...] = (), left_out: tuple[Replayed, ...] = ()
) -> Compilation:
    """The same without a procedure, since a check failed."""
    analysis = made.analysis
    keys = analysis.keys if analysis is not None else ("",)
    step = wrong.node if wrong.node in keys else keys[0]
    says = f"{wrong.trace or 'the graph'}: {wrong.node}: {wrong.says}"
    reason = Reason(Code.SELF_CHECK, step, "", says, "more traces of what differs there")
    refusal = refuse(made.name, analysis, (reason,)) if analysis is not None else None
    return replace(
        made,
        reasons=(reason, *made.reasons),
        procedure=None,
        refusal=refusal,
        replayed=replayed or made.replayed,
        left_out=left_out,
    )


def _without_each(
    made: Compilation,
    tools: Tools,
    settings: CompilerSettings,
    origin: Origin,
    *,
    known: Mapping[str, Run],
    wanted: _Wanted,
) -> list[Replayed]:
    """Each trace, replayed by a procedure made without it: without its part, where there are more than `_PARTS`."""
    assert made.analysis is not None  # noqa: S101 - the caller has looked
    floor = replace(settings, support_floor=1)
    runs = {run.trace.id: run for run in made.analysis.runs}
    parts = min(len(made.traces), _PARTS)
    found = []
    for part in range(parts):
        left = made.traces[part::parts]
        gone = {trace.id for trace in left}
        rest = [trace for trace in made.traces if trace.id not in gone]
        other = _compiled(rest, tools, floor, origin, known=known, wanted=wanted, whole=False)
        taken = find_inputs(other.analysis) if other.analysis is not None else ()
        for trace in left:
            if other.procedure is None or other.analysis is None:
                says = "; ".join(reason.says for reason in other.reasons[:1]) or "nothing was compiled without it"
                found.append(Replayed(trace.id, Result.ESCALATED, "", says))
            else:
                inputs = inputs_of(taken, other.analysis, runs[trace.id])
                found.append(replay(other.procedure, runs[trace.id], inputs))
    return sorted(found, key=lambda each: each.trace)
