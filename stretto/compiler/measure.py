"""How good what was found is, where the truth is known: edges, clusters, calls. Pure.

Shares come with Wilson's interval at 95 %, which keeps inside of 0 and 1 and holds for few observations. What edges are
compared with is in `stretto.compiler.baselines`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.compiler.evidence import Verdict
from stretto.compiler.model import Effect
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.evidence import Edge
    from stretto.compiler.model import Trace

__all__ = [
    "CallReduction",
    "ClusterScores",
    "Dependency",
    "EdgeScores",
    "Share",
    "call_reduction",
    "dependencies",
    "median_removable",
    "removable",
    "score_clusters",
    "score_edges",
]

#: One dependency as it is counted: trace, index of the producer call, index of the consumer call.
Dependency: TypeAlias = tuple[str, int, int]

#: Standard deviations of a normal distribution that hold 95 % of it.
_Z: Final = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many.

    Attributes:
        hits: 0 to `count`.
        count: 0 or more.
    """

    hits: int
    count: int

    @property
    def value(self) -> float:
        """The share, 0 to 1; 0 of none."""
        return self.hits / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 %; all of 0 to 1 of none.

        Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
        """
        if not self.count:
            return 0.0, 1.0
        share, square = self.value, _Z * _Z
        middle = share + square / (2 * self.count)
        spread = _Z * math.sqrt(share * (1 - share) / self.count + square / (4 * self.count**2))
        whole = 1 + square / self.count
        return max((middle - spread) / whole, 0.0), min((middle + spread) / whole, 1.0)


# --- edges --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EdgeScores:
    """How found dependencies compare with true ones.

    Attributes:
        precision: found ones that are true.
        recall: true ones that were found.
    """

    precision: Share
    recall: Share

    @property
    def f1(self) -> float:
        """The harmonic mean of both, 0 to 1; 0 where nothing is right."""
        return 2 * self.recall.hits / ((self.precision.count + self.recall.count) or 1)


def score_edges(found: Collection[Dependency], gold: Collection[Dependency]) -> EdgeScores:
    """Compare found dependencies with true ones, each counted once."""
    told, true = set(found), set(gold)
    right = len(told & true)
    return EdgeScores(Share(right, len(told)), Share(right, len(true)))


def dependencies(
    edges: Iterable[Edge], *, verdicts: Collection[Verdict] = (Verdict.STRONG, Verdict.CONDITIONAL)
) -> set[Dependency]:
    """The dependencies that edges of these verdicts tell of, one a pair of calls that has evidence."""
    return {
        (evidence.consumer.trace, evidence.producer.index, evidence.consumer.index)
        for edge in edges
        if edge.verdict in verdicts
        for evidence in edge.evidence
    }


# --- clusters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """How clusters compare with labels, over the items of clusters at or above a floor.

    A finer partition than the labels is pure and has a small adjusted Rand index: both say something else.

    Attributes:
        purity: items that carry their cluster's most frequent label.
        ari: adjusted Rand index, at most 1; 0 is chance. 1 where both partitions are one cluster, or all single items.
        coverage: items that are in such clusters.
        clusters: how many there are.
    """

    purity: Share
    ari: float
    coverage: Share
    clusters: int


def score_clusters(
    clusters: Sequence[Collection[str]], labels: Mapping[str, Hashable], *, floor: int = 1
) -> ClusterScores:
    """Compare clusters with labels.

    Args:
        clusters: that share no item. Items without a label are left out.
        labels: by item.
        floor: items of the smallest cluster that is looked at.

    Source: Hubert and Arabie, "Comparing partitions" (1985).
    """
    labelled = [[labels[item] for item in each if item in labels] for each in clusters]
    whole = sum(map(len, labelled))
    kept = [each for each in labelled if each and len(each) >= floor]
    tables = [Counter(each) for each in kept]
    covered = sum(map(len, kept))
    together = sum(_pairs(count) for table in tables for count in table.values())
    of_clusters = sum(_pairs(len(each)) for each in kept)
    of_labels = sum(_pairs(count) for count in sum(tables, Counter()).values())
    chance = of_clusters * of_labels / (_pairs(covered) or 1)
    spread = (of_clusters + of_labels) / 2 - chance
    return ClusterScores(
        Share(sum(max(table.values()) for table in tables), covered),
        (together - chance) / spread if spread else 1.0,
        Share(covered, whole),
        len(kept),
    )


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


# --- calls --------------------------------------------------------------------------------------------------------


def removable(trace: Trace) -> Share:
    """The calls of a trace that go without any analysis: those for documentation, and repeats of equal calls.

    Equal means the same action with the same bytes of canonical JSON, whatever came of it. Calls that were taken over
    from before (`stretto.compiler.splitting`) count in the part they were made in.
    """
    seen: set[tuple[str, bytes]] = set()
    calls = [call for call in trace.calls if not call.inherited]
    gone = 0
    for call in calls:
        made = (call.name, atoms.key(dict(call.args)))
        gone += call.discovery or made in seen
        seen.add(made)
    return Share(gone, len(calls))


def median_removable(traces: Iterable[Trace]) -> float:
    """The median of what is removable of each trace that calls anything; 0 of none."""
    shares = [share.value for trace in traces if (share := removable(trace)).count]
    return median(shares) if shares else 0.0


@dataclass(frozen=True, slots=True)
class CallReduction:
    """What a procedure would have called in the place of what was called, over the same traces.

    Attributes:
        observed: calls of the traces.
        cold: calls of the procedure when it logs in first.
        warm: calls of it with a session that is valid already.
    """

    observed: int
    cold: int
    warm: int


def call_reduction(analysis: Analysis) -> CallReduction:
    """Count what the procedure of an analysis calls in each of its traces: the calls of the steps that are kept."""
    steps = [step for run in analysis.runs for step in run.steps]
    logins = sum(len(step.calls) for step in steps if analysis.effect(step.key) is Effect.AUTH)
    cold = sum(len(step.calls) for step in steps)
    return CallReduction(sum(len(run.trace.calls) for run in analysis.runs), cold, cold - logins)
