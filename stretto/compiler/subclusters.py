"""Clusters divided by what their traces changed: rather too many intents than two in one. Pure.

Splitting one intent in two costs little: two procedures that both work. Joining two spoils every later stage. So
traces that changed different things are compiled together only where the user says so (``join``), and a cluster that is
too small is reported, never thrown away. A task with an optional change is two sub-clusters, and neither knows of the
other: `branch_candidates` names them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from waggle.jsonvalue import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from stretto.compiler.model import Trace
    from stretto.procedure.graph import Procedure

__all__ = ["BranchCandidate", "SubCluster", "branch_candidates", "divide", "signature", "twins"]


@dataclass(frozen=True, slots=True)
class SubCluster:
    """Traces of one cluster that changed the same things.

    Attributes:
        cluster: number of the cluster they are of.
        signature: canonical actions with an effect that succeeded in each, sorted.
        traces: ids, sorted.
        guarded: actions in which its traces differ, since the user had them joined, sorted: before each a procedure has
            to decide whether it makes it.
    """

    cluster: int
    signature: tuple[str, ...]
    traces: tuple[str, ...]
    guarded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BranchCandidate:
    """Two sub-clusters of one cluster that differ by one action: they may be one task with an optional step.

    Attributes:
        action: the one.
        with_it: name of the sub-cluster whose traces made it.
        without: name of the other.
    """

    action: str
    with_it: str
    without: str


def signature(trace: Trace) -> frozenset[str]:
    """The canonical actions that succeeded and changed something, as far as is known."""
    return frozenset(call.name for call in trace.calls if call.ok and call.effect.changes)


def divide(clusters: Sequence[Sequence[Trace]], join: Collection[str] = ()) -> tuple[SubCluster, ...]:
    """Divide each cluster by its traces' signatures.

    Args:
        clusters: the traces of each.
        join: canonical actions that do not part traces: with and without them they are compiled together.

    Returns:
        Sub-clusters by cluster, the largest first, then by signature.
    """
    joined = frozenset(join)
    found = []
    for number, traces in enumerate(clusters):
        parts: defaultdict[tuple[str, ...], list[Trace]] = defaultdict(list)
        for trace in traces:
            parts[tuple(sorted(signature(trace) - joined))].append(trace)
        divided = [_sub_cluster(number, part, joined) for part in parts.values()]
        found += sorted(divided, key=lambda each: (-len(each.traces), each.signature))
    return tuple(found)


def _sub_cluster(number: int, traces: Iterable[Trace], joined: frozenset[str]) -> SubCluster:
    held = sorted(traces, key=lambda trace: trace.id)
    each = [signature(trace) for trace in held]
    common = frozenset.intersection(*each)
    guarded = (frozenset.union(*each) - common) & joined
    return SubCluster(number, tuple(sorted(common)), tuple(trace.id for trace in held), tuple(sorted(guarded)))


def branch_candidates(parts: Mapping[str, SubCluster]) -> tuple[BranchCandidate, ...]:
    """The pairs of sub-clusters, by name, of one cluster that one action tells apart; sorted by the names."""
    found = []
    for first, second in combinations(sorted(parts), 2):
        one, other = parts[first], parts[second]
        differ = set(one.signature) ^ set(other.signature)
        if one.cluster == other.cluster and len(differ) == 1:
            (action,) = differ
            pair = (first, second) if action in one.signature else (second, first)
            found.append(BranchCandidate(action, *pair))
    return tuple(found)


#: What of a procedure says where it comes from, and not what it does.
_OF_ORIGIN: Final[dict[str, Any]] = {
    **dict.fromkeys(["name", "summary", "parent", "evidence", "compiled", "contracts", "digest"], True),
    "edges": {"__all__": {"evidence"}},
    "nodes": {"__all__": {"args": {"__all__": {"support"}}, "seen": True}},
}


def twins(procedures: Mapping[str, Procedure]) -> tuple[tuple[str, ...], ...]:
    """The procedures, by name, that do the same: groups of two or more, each sorted, by their first names."""
    alike: defaultdict[bytes, list[str]] = defaultdict(list)
    for name in sorted(procedures):
        alike[canonical(procedures[name].model_dump(mode="json", exclude=_OF_ORIGIN))].append(name)
    return tuple(sorted(tuple(names) for names in alike.values() if len(names) > 1))
