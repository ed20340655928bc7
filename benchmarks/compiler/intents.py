"""From recorded sessions to intents, and from intents to procedures or refusals: what comes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.compiler.abstain import Outcome
from stretto.compiler.compiling import compile_traces
from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.measure import CallReduction, call_reduction, median_removable
from stretto.compiler.paper import Result
from stretto.compiler.settings import CompilerSettings

if TYPE_CHECKING:
    from benchmarks.compiler.sessions import Domain
    from stretto.compiler.compiling import Compilation
    from stretto.compiler.discover import Discovery

__all__ = ["Compiled", "compile_domain"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of one domain.

    Attributes:
        domain: it.
        found: its intents.
        made: of each supported intent, when nobody may be asked which way to go.
        asked: the same when a person may.
    """

    domain: Domain
    found: Discovery
    made: tuple[Compilation, ...]
    asked: tuple[Compilation, ...]

    def outcomes(self, *, asked: bool = False) -> Counter[str]:
        """How many intents were compiled, compiled with a person, refused; or needed no call at all (``no step``)."""
        held = self.asked if asked else self.made
        return Counter("no step" if _is_empty(each) else str(each.outcome) for each in held)

    @property
    def codes(self) -> Counter[str]:
        """How many of the refused intents have a reason of each code that refuses."""
        return Counter(
            code for each in self.made if each.refusal for code in {str(reason.code) for reason in each.refusal.reasons}
        )

    @property
    def removable(self) -> float:
        """The median share of calls that go without any analysis."""
        return median_removable(self.domain.traces)

    def reduction(self, *, asked: bool = True) -> CallReduction:
        """Calls of the traces that procedures were made of, and what the procedures call."""
        held = self.asked if asked else self.made
        each = [call_reduction(one.analysis) for one in held if one.procedure is not None and one.analysis is not None]
        return CallReduction(
            sum(one.observed for one in each), sum(one.cold for one in each), sum(one.warm for one in each)
        )

    def left_out(self, *, asked: bool = True) -> Counter[str]:
        """Traces that were left out and replayed, by what came of it; ``wrong, irreversible`` besides ``wrong``."""
        found: Counter[str] = Counter()
        for each in self.asked if asked else self.made:
            for replayed in each.left_out:
                found[str(replayed.result)] += 1
                found["wrong, irreversible"] += replayed.result is Result.WRONG and replayed.irreversible
        return found


def _is_empty(made: Compilation) -> bool:
    return made.outcome is Outcome.REFUSED and made.analysis is not None and not made.analysis.keys


def compile_domain(domain: Domain) -> Compiled:
    """Find the intents of a domain, and compile each that has traces enough."""
    settings = CompilerSettings()
    found = discover(domain.traces, TfidfEmbedder(), settings)
    each = [
        tuple(
            compile_traces(intent.name, intent.traces, domain.tools, settings, human=human)
            for intent in found.supported
        )
        for human in (False, True)
    ]
    return Compiled(domain, found, *each)
