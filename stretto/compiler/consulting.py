"""Asks an adviser about traces of one intent, and keeps what stands at its check.

Each proposal may open what the next is about, so the traces are looked at again until nothing new stands. A doubt
stays: an edge is never raised again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.compiler.advising import NOTHING, Advised
from stretto.compiler.analysis import decide, survey
from stretto.compiler.binding import BindingClass
from stretto.compiler.documents import document
from stretto.compiler.evidence import Verdict
from stretto.compiler.proposed_guards import fault_of_guard, open_forks
from stretto.compiler.proposed_transforms import fault_of_transform, fitting
from stretto.procedure.graph import AdviserNote, Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.compiler.advising import GuardAt, Place
    from stretto.compiler.analysis import Analysis
    from stretto.compiler.asking import Asking
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings
    from stretto.compiler.steps import Run

__all__ = ["consult", "note_of", "title_of"]


def consult(
    traces: Sequence[Trace], tools: Tools, settings: CompilerSettings, asking: Asking, *, known: Mapping[str, Run]
) -> Advised:
    """What an adviser says of traces, as far as it stands.

    Args:
        traces: as `stretto.compiler.analysis.analyse` takes them.
        tools: what is known of the actions.
        settings: the compiler's.
        asking: asks.
        known: the traces' runs.
    """
    advised = NOTHING
    while True:
        surveyed = survey(traces, tools, settings, known=known, advised=advised)
        analysis = decide(surveyed)
        more = advised.more(
            Advised(
                _doubts(analysis, asking), frozenset(_guards(surveyed, asking)), dict(_transforms(analysis, asking))
            )
        )
        if more == advised:
            return advised
        advised = more


def title_of(traces: Sequence[Trace], settings: CompilerSettings, asking: Asking | None) -> str:
    """What an adviser calls traces of one intent; empty without one."""
    if asking is None:
        return ""
    ordered = sorted(traces, key=lambda trace: trace.id)
    return asking.title(ordered, [document(trace, settings.document_max_chars) for trace in ordered])


def note_of(asking: Asking, advised: Advised, title: str) -> AdviserNote:
    """What a procedure says of an adviser: who it is, and what of its word is in there."""
    guards = (f"{predicate}({step or 'input'} {path})" for _, predicate, step, path in advised.guards)
    made = (f"{key} {path}: {name} of {' '.join(place)}" for (key, path), (place, name) in advised.transforms.items())
    return AdviserNote(
        name=asking.name,
        version=asking.version,
        title=title,
        proposed=sorted([*guards, *made]),
        doubts=[Doubt(first=first, then=then, says=says) for (first, then), says in sorted(advised.doubts.items())],
    )


def _doubts(analysis: Analysis, asking: Asking) -> dict[tuple[str, str], str]:
    """The edges that order steps, and are doubted."""
    strong = (edge for edge in analysis.edges if edge.verdict is not Verdict.SUSPECTED)
    return {(edge.producer, edge.consumer): doubt for edge in strong if (doubt := asking.doubt(edge))}


def _guards(analysis: Analysis, asking: Asking) -> Iterator[GuardAt]:
    for fork in open_forks(analysis, asking.masks):
        exits = tuple(exit_.name for exit_ in fork.exits)
        about = " or ".join(exits)
        for predicate, step, path in asking.guards(about, fork):
            fault = fault_of_guard(analysis, fork, predicate, step, path)
            if fault:
                asking.drop("propose_guards", about, f"{predicate}({step} {path})", fault)
            else:
                yield exits, predicate, step, path


def _transforms(analysis: Analysis, asking: Asking) -> Iterator[tuple[tuple[str, str], tuple[Place, str]]]:
    for (key, path), binding in sorted(analysis.bindings.items()):
        if binding.kind is not BindingClass.DYNAMIC or binding.optional or path in analysis.classifier.varying(key):
            continue
        found = fitting(analysis.classifier.seen(key, path))
        if found is None:
            continue
        for place, sources in found.sources.items():
            about = f"{key} {path} of {place[0]} {place[1]}"
            for name in asking.transforms(about, list(zip(sources, found.targets, strict=True))):
                fault = fault_of_transform(found, place, name)
                if fault:
                    asking.drop("propose_transforms", about, name, fault)
                else:
                    yield (key, path), (place, name)
