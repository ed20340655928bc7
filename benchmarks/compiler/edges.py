"""What is found of the dependencies of a corpus: by the rule, and by what it is compared with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stretto.compiler.analysis import analyse
from stretto.compiler.baselines import BASELINES
from stretto.compiler.compiling import distinct
from stretto.compiler.depend import trace_edges
from stretto.compiler.evidence import Verdict
from stretto.compiler.measure import dependencies, score_edges
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.tracing import Tracing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.compiler.corpus import Corpus, Intent
    from stretto.compiler.evidence import Edge
    from stretto.compiler.measure import Dependency, EdgeScores

__all__ = ["SEVERAL", "SINGLE", "Found", "find", "growth"]

#: The rule over all traces of an intent, and over each trace by itself.
SEVERAL, SINGLE = "the rule, several traces", "the rule, one trace"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a corpus.

    Attributes:
        corpus: it.
        rows: the dependencies that each way of finding them gives, by its name.
        suspected: dependencies that the rule over several traces reports as suspected.
    """

    corpus: Corpus
    rows: dict[str, frozenset[Dependency]]
    suspected: frozenset[Dependency]

    def scores(self, name: str) -> EdgeScores:
        """How good one way is."""
        return score_edges(self.rows[name], self.corpus.gold)

    def missed(self, name: str = SEVERAL) -> Counter[str]:
        """True dependencies that one way misses, by what makes them hard."""
        return Counter(self.corpus.reasons.get(each, "") for each in self.corpus.gold - self.rows[name])

    def wrong(self, name: str = SEVERAL) -> Counter[str]:
        """What one way finds and is not there, by why it is not."""
        return Counter(self.corpus.reasons.get(each, "no value passes") for each in self.rows[name] - self.corpus.gold)

    def of(self, reason: str) -> frozenset[Dependency]:
        """The true dependencies that are hard for one reason."""
        return frozenset(each for each in self.corpus.gold if self.corpus.reasons.get(each) == reason)


def find(corpus: Corpus) -> Found:
    """Find dependencies in every way."""
    settings = CompilerSettings()
    known = {trace.id: Tracing(trace, intent.tools, settings) for intent in corpus.intents for trace in intent.traces}
    scored = [known[trace.id] for trace, _ in corpus.scored]
    by_rule = [edge for intent in corpus.intents for edge in _edges(intent, settings)]
    alone: set[Dependency] = set()
    for tracing in scored:
        alone |= dependencies(trace_edges(tracing, {call.index: str(call.index) for call in tracing.trace.calls}))
    rows = {SEVERAL: dependencies(by_rule), SINGLE: alone}
    rows |= {name: baseline(scored) for name, baseline in BASELINES.items()}
    suspected = dependencies(by_rule, verdicts=[Verdict.SUSPECTED]) - rows[SEVERAL]
    return Found(corpus, {name: _counted(corpus, each) for name, each in rows.items()}, _counted(corpus, suspected))


def growth(corpus: Corpus, sizes: Sequence[int]) -> dict[int, EdgeScores]:
    """How good the rule over several traces is with so many of each intent, the first ones, by their number."""
    settings = CompilerSettings()
    found = {}
    for size in sizes:
        cut = [replace(intent, traces=intent.traces[:size]) for intent in corpus.intents]
        edges = dependencies(edge for intent in cut for edge in _edges(intent, settings))
        found[size] = score_edges(_counted(corpus, edges), corpus.gold)
    return found


def _edges(intent: Intent, settings: CompilerSettings) -> tuple[Edge, ...]:
    return analyse(distinct(intent.traces), intent.tools, settings).edges


def _counted(corpus: Corpus, found: Iterable[Dependency]) -> frozenset[Dependency]:
    return frozenset(each for each in found if each[0] in corpus.counted and each not in corpus.open - corpus.gold)
