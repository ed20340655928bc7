"""τ-bench's recorded sessions, with dependencies by the uniqueness of values.

True is: a distinctive value of an argument that the user had not said, and that the output of exactly one call before
holds, which was not given it itself. That is close to the rule's own condition for one trace, so that it tells nothing
of that rule's precision; it does tell what looking at several traces keeps and loses, and what the baselines give.
Where several calls hold the value, nobody knows: those pairs count neither way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.compiler.corpus import Corpus, Intent, kept_whole
from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.model import Unlogged
from stretto.compiler.settings import CompilerSettings
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.compiler.sessions import Domain
    from stretto.compiler.measure import Dependency
    from stretto.compiler.model import Call, Trace
    from waggle.jsonvalue import JsonValue

__all__ = ["sessions_corpus"]


def sessions_corpus(domain: Domain) -> Corpus:
    """The sessions of one domain, the intents those that are found in them."""
    settings = CompilerSettings()
    found = discover(domain.traces, TfidfEmbedder(), settings)
    intents = tuple(
        Intent(tuple(kept_whole(trace) for trace in intent.traces), domain.tools, intent.name)
        for intent in found.intents
    )
    gold: set[Dependency] = set()
    doubtful: set[Dependency] = set()
    traces = [trace for intent in intents for trace in intent.traces]
    for trace in traces:
        for call, producers in _holders(trace, settings):
            side = gold if len(producers) == 1 else doubtful
            side |= {(trace.id, each.index, call.index) for each in producers}
    return Corpus(
        domain.name,
        intents,
        frozenset(gold),
        frozenset(doubtful),
        frozenset(trace.id for trace in traces),
        dict.fromkeys(gold, "unique"),
    )


def _holders(trace: Trace, settings: CompilerSettings) -> Iterator[tuple[Call, list[Call]]]:
    """For each distinctive value that the user had not said: the call, and the calls before that hold it."""
    held = {call.index: _values(call) for call in trace.calls}
    given = {call.index: {atoms.key(value) for value in atoms.arguments(call.args).values()} for call in trace.calls}
    for call in trace.calls:
        for value in atoms.arguments(call.args).values() if call.ok else ():
            said = any(atoms.said(value, text) for _, text in trace.said_before(call.index))
            if said or not settings.is_distinctive(value):
                continue
            wanted = atoms.key(value)
            found: dict[bytes, Call] = {}
            for each in trace.calls:
                if each.precedes(call) and wanted in held[each.index] and wanted not in given[each.index]:
                    found.setdefault(atoms.key([each.name, dict(each.args), _output(each)]), each)
            if found:
                yield call, list(found.values())


def _values(call: Call) -> set[bytes]:
    output = _output(call) if call.ok else None
    lines = output.split("\n") if isinstance(output, str) else []
    return {atoms.key(value) for _, value in atoms.atoms(output)} | {atoms.key(line.strip()) for line in lines}


def _output(call: Call) -> JsonValue:
    return None if isinstance(call.output, Unlogged) else call.output
