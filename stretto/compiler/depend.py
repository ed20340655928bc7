"""The dependency rule: which call's output an argument is proven to come from. Pure.

**Order is not dependence.** An edge is admitted as strong only where a value can be traced to one call and every other
origin of it is excluded; where another origin remains, the edge is suspected: reported, and no order. Rule and evidence
are those of S. El Yadouni and G. Li, *TraceCompiler*, arXiv:2608.02680; what a single trace cannot settle, several may,
by refuting candidates (`refuted`), never by taking the most recent one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.compiler.evidence import Basis, CallRef, Edge, Evidence, Exclusion, Other, Verdict, note
from stretto.compiler.model import Effect
from stretto.compiler.tracing import Candidate
from stretto.procedure.atoms import general, key
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stretto.compiler.model import Call, Trace
    from stretto.compiler.seen import Seen
    from stretto.compiler.settings import CompilerSettings
    from stretto.compiler.steps import Run
    from stretto.compiler.tracing import Argument, Tracing

__all__ = [
    "INFERRED",
    "Judged",
    "Producer",
    "edge_of",
    "evidence_of",
    "judge",
    "producers_of",
    "refuted",
    "trace_edges",
]

#: What `Candidate.match` says of an output that nobody recorded.
INFERRED: Final = "inferred"

#: A place that several traces can be compared by: step key, general path, match.
Producer = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Judged:
    """What one trace says of one argument.

    Attributes:
        argument: it.
        verdict: of the edges to it; None where there are none: the value has another origin, or none.
        basis: what the verdict rests on.
        producers: where it comes from if the verdict is strong; else from where it may have come.
    """

    argument: Argument
    verdict: Verdict | None
    basis: Basis = Basis.EXCLUSION
    producers: tuple[Candidate, ...] = ()

    @property
    def is_strong(self) -> bool:
        """Whether this trace alone proves the producer."""
        return self.verdict is Verdict.STRONG


def judge(argument: Argument, tracing: Tracing, *, session: bool = False) -> Judged:
    """What one trace says of an argument.

    Args:
        argument: of the trace.
        tracing: of the trace.
        session: whether the argument holds what a login yields, as other traces or its schema say.
    """
    if isinstance(argument.value, str) and is_masked(argument.value):
        login = _last_login(argument.call, tracing.trace) if session else None
        found = (Candidate(login, (), INFERRED),) if login else ()
        return Judged(argument, Verdict.STRONG if found else None, Basis.SESSION, found)
    elsewhere = any(each.found for each in argument.others if each.origin is not Other.UNLOGGED_CALL)
    if argument.candidates:
        alone = len(argument.candidates) == 1 and argument.distinctive
        alone = alone and not elsewhere and not argument.unlogged and argument.known is None
        return Judged(argument, Verdict.STRONG if alone else Verdict.SUSPECTED, Basis.EXCLUSION, argument.candidates)
    if argument.unlogged:
        unseen = tuple(Candidate(call, (), INFERRED) for call in _distinct(argument.unlogged))
        alone = len(unseen) == 1 and not elsewhere and argument.distinctive
        return Judged(argument, Verdict.STRONG if alone else Verdict.SUSPECTED, Basis.INFERRED, unseen)
    only_failed = all(not each.found or each.origin is Other.FAILED_CALL for each in argument.others)
    failed = tracing.failed(argument.call, argument.value) if elsewhere and only_failed else ()
    return Judged(argument, Verdict.SUSPECTED if failed else None, Basis.EXCLUSION, failed)


def _distinct(calls: Sequence[Call]) -> list[Call]:
    """Calls of which no two have the same action and arguments; the first of each."""
    return list({(call.name, key(dict(call.args))): call for call in reversed(calls)}.values())[::-1]


def _last_login(call: Call, trace: Trace) -> Call | None:
    logins = [
        each
        for each in trace.calls
        if each.effect is Effect.AUTH and each.ok and each.app == call.app and each.precedes(call)
    ]
    return logins[-1] if logins else None


def refuted(seen: Sequence[Seen], settings: CompilerSettings) -> frozenset[Producer]:
    """The producers of one argument that every trace allows, when there are traces enough to settle it; else none.

    Enough are `cross_trace_min` traces with two different values or more (three, where the values are not distinctive),
    in none of which the user, the context or the schema explains the value, and one of which no call that failed, or
    whose output nobody recorded, may explain.

    Args:
        seen: what each trace says of the argument, one a trace in which it is present.
        settings: the compiler's.
    """
    least = 2 if all(each.judged.argument.distinctive for each in seen) else 3
    if len(seen) < settings.cross_trace_min or len({each.key for each in seen}) < least:
        return frozenset()
    if any(each.is_told for each in seen) or all(each.is_unseen for each in seen):
        return frozenset()
    return frozenset.intersection(*(each.producers for each in seen))


def producers_of(judged: Judged, run: Run) -> set[Producer]:
    """The candidates of an argument as places that traces can be compared by; of no output, the empty path."""
    return {
        (place[0], general(place[1]) if candidate.paths else "", candidate.match)
        for candidate in judged.producers
        for path in candidate.paths or ("$",)
        if (place := run.place(candidate.call.index, path)) is not None
    }


def evidence_of(judged: Judged, candidate: Candidate, trace: Trace, *, secret: bool = False) -> Evidence:
    """The evidence that an argument comes from one candidate, its rivals among the exclusions."""
    argument = judged.argument
    rivals = [each for each in judged.producers if each is not candidate]
    other_calls = Exclusion(
        Other.OTHER_CALL,
        sum(call.precedes(argument.call) for call in trace.calls) - 1,
        (
            *(f"call {each.call.index} {each.paths[0] if each.paths else 'not recorded'}" for each in rivals),
            *(f"call {known.index} was given it" for known in [argument.known] if known is not None),
        ),
    )
    order = list(Other)
    return Evidence(
        consumer=_ref(argument.call, trace),
        arg_path=argument.path,
        value=note(argument.value, salt=f"{trace.id} {argument.call.index} {argument.path}", secret=secret),
        producer=_ref(candidate.call, trace),
        producer_paths=candidate.paths,
        match=candidate.match,
        basis=judged.basis,
        exclusions=tuple(sorted((*argument.others, other_calls), key=lambda each: order.index(each.origin))),
    )


def _ref(call: Call, trace: Trace) -> CallRef:
    return CallRef(trace.id, call.index, call.name)


def trace_edges(
    tracing: Tracing, keys: Mapping[int, str], *, is_session: Callable[[str, str], bool] = lambda _name, _path: False
) -> tuple[Edge, ...]:
    """The edges that one trace by itself shows, by producer and consumer.

    Args:
        tracing: of the trace.
        keys: the step key of each call that is a step, by its index; others are no consumers.
        is_session: whether an argument holds what a login yields, by ``app.action`` and path.
    """
    found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]] = {}
    for argument in tracing.arguments:
        consumer = keys.get(argument.call.index)
        if consumer is None:
            continue
        judged = judge(argument, tracing, session=is_session(argument.call.name, argument.path))
        for candidate in judged.producers:
            producer = keys.get(candidate.call.index, f"{candidate.call.name}!{candidate.call.index}")
            if judged.verdict is not None:
                evidence = evidence_of(judged, candidate, tracing.trace)
                found.setdefault((producer, consumer), []).append((judged.verdict, evidence))
    return tuple(edge_of(producer, consumer, each) for (producer, consumer), each in sorted(found.items()))


def edge_of(producer: str, consumer: str, found: Iterable[tuple[Verdict, Evidence]]) -> Edge:
    """One edge of all that speaks for it: strong when one argument makes it strong."""
    pairs = list(found)
    strong = [evidence for verdict, evidence in pairs if verdict is Verdict.STRONG]
    verdict = Verdict.STRONG if strong else Verdict.SUSPECTED
    return Edge(producer, consumer, verdict, tuple(strong or [evidence for _, evidence in pairs]))
