"""The whole study: everything that the page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.compiler.agreement import agreements, embedders, parts
from benchmarks.compiler.bfcl import bfcl, counts
from benchmarks.compiler.decoys import DECOYS, Scene, decoys
from benchmarks.compiler.edges import SEVERAL, SINGLE, find, growth
from benchmarks.compiler.intents import compile_domain
from benchmarks.compiler.speed import cost_of
from benchmarks.compiler.tau import sessions_corpus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.compiler.agreement import Agreement, Part
    from benchmarks.compiler.edges import Found
    from benchmarks.compiler.intents import Compiled
    from benchmarks.compiler.sessions import Domain
    from benchmarks.compiler.speed import Cost
    from benchmarks.trees import TreesOf
    from stretto.compiler.measure import EdgeScores, Share
    from stretto.compiler.model import Trace

__all__ = ["ALONE", "PARTS", "Agreed", "Alone", "Study", "study"]

#: What can be measured by itself.
PARTS: Final = ("edges", "groups", "intents", "trees", "speed")

#: Domains whose sessions are τ-bench's.
_TAU: Final = ("airline-v1", "airline-v2", "retail")

#: With how many traces of each intent the rule is tried: of BFCL, which has the task's own world and eleven others.
_TRACES: Final = (1, 3, 5, 8, 12)

#: The ways of finding dependencies that are compared for one decoy at a time.
ALONE: Final = (SEVERAL, SINGLE, "only one candidate", "most recent candidate")


@dataclass(frozen=True, slots=True)
class Alone:
    """What one decoy by itself does: the value is the producer's, an id, and another in each trace.

    Attributes:
        decoy: where else the value stands; empty for nowhere.
        agree: whether it stands there in every trace.
        recall: of each way in `ALONE`.
    """

    decoy: str
    agree: bool
    recall: dict[str, Share]


@dataclass(frozen=True, slots=True)
class Agreed:
    """How the groups of a part of the sessions agree with labels.

    Attributes:
        part: of the sessions.
        rows: of each embedder, grouping and kind of label.
    """

    part: Part
    rows: tuple[Agreement, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """All that was measured; empty what was not.

    Attributes:
        edges: of each corpus.
        truth: how the argument values of BFCL were judged.
        growth: how good the rule is with so many traces of each intent of BFCL.
        alone: of each decoy.
        agreed: of all recorded sessions.
        domains: of the recorded sessions.
        trees: of the solo sessions among them.
        costs: by number of traces.
    """

    edges: tuple[Found, ...] = ()
    truth: dict[str, int] | None = None
    growth: dict[int, EdgeScores] | None = None
    alone: tuple[Alone, ...] = ()
    agreed: tuple[Agreed, ...] = ()
    domains: tuple[Compiled, ...] = ()
    trees: tuple[TreesOf, ...] = ()
    costs: tuple[Cost, ...] = ()

    def numbers(self) -> dict[str, Any]:
        """All numbers, unrounded, as JSON."""
        return {
            "edges": {
                found.corpus.name: {
                    name: {
                        "right": found.scores(name).precision.hits,
                        "found": found.scores(name).precision.count,
                        "true": found.scores(name).recall.count,
                    }
                    for name in found.rows
                }
                for found in self.edges
            },
            "truth": self.truth,
            "groups": [
                {
                    "part": row.part,
                    "embedder": row.embedder,
                    "groups": row.grouping,
                    "label": row.label,
                    "items": row.scores.coverage.count,
                    "covered": row.scores.coverage.hits,
                    "counted": row.scores.clusters,
                    "purity": [row.purity.value, row.purity.low, row.purity.high],
                    "ari": [row.ari.value, row.ari.low, row.ari.high],
                }
                for each in self.agreed
                for row in each.rows
            ],
            "growth": {
                str(size): {
                    "right": scores.precision.hits,
                    "found": scores.precision.count,
                    "true": scores.recall.count,
                }
                for size, scores in (self.growth or {}).items()
            },
            "domains": {
                each.domain.name: {
                    "sessions": each.domain.sessions,
                    "traces": len(each.domain.traces),
                    "intents": len(each.found.intents),
                    "supported": len(each.found.supported),
                    "outcomes": dict(each.outcomes()),
                    "outcomes with a person": dict(each.outcomes(asked=True)),
                    "codes": dict(each.codes),
                    "left out": dict(each.left_out()),
                }
                for each in self.domains
            },
            "trees": [
                {"domain": each.domain, "fitted": each.fitted, **{str(k): n for k, n in each.held_out.results.items()}}
                for each in self.trees
            ],
            "costs": {str(cost.traces): {"seconds": cost.seconds, "megabytes": cost.megabytes} for cost in self.costs},
        }


def study(
    domains: Sequence[Domain],
    only: Sequence[str],
    *,
    sessions: Sequence[Trace] = (),
    trees: Iterable[TreesOf] = (),
    every: int = 1,
    sizes: Sequence[int] = (),
) -> Study:
    """Measure.

    Args:
        domains: of recorded sessions.
        only: parts, of `PARTS`.
        sessions: recorded ones, whatever came of them.
        trees: of the solo sessions.
        every: of the generated combinations, one of so many.
        sizes: numbers of traces that are compiled for their costs.
    """
    edges: tuple[Found, ...] = ()
    alone: tuple[Alone, ...] = ()
    if "edges" in only:
        corpora = [bfcl(), decoys(every=every), *(sessions_corpus(each) for each in domains if each.name in _TAU)]
        edges = tuple(find(each) for each in corpora if each.intents)
        alone = tuple(
            _alone(decoy, agree=agree) for decoy in ("", *DECOYS[1:]) for agree in (True, False) if decoy or agree
        )
    agreed: tuple[Agreed, ...] = ()
    if "groups" in only:
        agreed = tuple(
            Agreed(part, tuple(row for embedder in embedders() for row in agreements(part, embedder)))
            for part in parts(sessions)
        )
    return Study(
        edges,
        counts() if "edges" in only else None,
        growth(bfcl(), _TRACES) if "edges" in only else None,
        alone,
        agreed,
        tuple(compile_domain(each) for each in domains) if "intents" in only else (),
        tuple(trees),
        tuple(cost_of(size) for size in sizes) if "speed" in only else (),
    )


def _alone(decoy: str, *, agree: bool) -> Alone:
    scene = Scene("producer", frozenset([decoy] if decoy else []), agree=agree, vary=True, small=False)
    found = find(decoys([scene] * 20))
    return Alone(decoy, agree, {name: found.scores(name).recall for name in ALONE})
