"""Intents: from traces of whatever an agent did to groups of those that did the same. Pure.

Traces are parted where they mix intents, embedded, clustered, and divided by what they changed; each group gets a name.
Nothing is thrown away: what is too small to be compiled is reported with its count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.compiler.asking import Asking
from stretto.compiler.clusters import Cluster, cluster
from stretto.compiler.compiling import distinct
from stretto.compiler.consulting import title_of
from stretto.compiler.documents import document
from stretto.compiler.naming import intent_names
from stretto.compiler.schemas import Tools
from stretto.compiler.splitting import Split, split_traces
from stretto.compiler.subclusters import BranchCandidate, branch_candidates, divide
from stretto.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from stretto.compiler.advising import Adviser, Dropped
    from stretto.compiler.answers import Answers
    from stretto.compiler.embed import Embedder, Vector
    from stretto.compiler.model import Trace
    from stretto.compiler.settings import CompilerSettings

__all__ = ["Discovery", "Intent", "discover"]

#: Traces that are clustered at once, 128 MB of distances. More are parted by the apps that they use first.
_TOGETHER: Final = 4000


@dataclass(frozen=True, slots=True)
class Intent:
    """Traces that did the same, as far as is known.

    Attributes:
        name: see `stretto.compiler.naming`.
        traces: sorted by id.
        signature: canonical actions with an effect that succeeded in each of them, sorted.
        supported: whether there are enough of them to compile.
        guarded: actions that only some of them made, joined at the user's word.
        cluster: number of the cluster they are of.
        farthest: the two traces of that cluster that are least alike; None of a single one.
        distance: of these two, 0 to 2.
        title: what an adviser calls it, for people: one line, and data; empty where there is none.
    """

    name: str
    traces: tuple[Trace, ...]
    signature: tuple[str, ...]
    supported: bool
    guarded: tuple[str, ...]
    cluster: int
    farthest: tuple[str, str] | None
    distance: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found in traces.

    Attributes:
        embedder: name of what made the vectors.
        threshold: largest mean distance in a cluster.
        intents: the largest first, then by name; below the support floor, too.
        splits: traces that were parted, by id.
        branch_candidates: pairs of intents that may be one with an optional step.
        copies: traces that were left out, since another has the same content.
        adviser: name and version of who was asked; None where nobody was.
        dropped: what it proposed and what did not stand, sorted.
    """

    embedder: str
    threshold: float
    intents: tuple[Intent, ...]
    splits: tuple[Split, ...]
    branch_candidates: tuple[BranchCandidate, ...]
    copies: int
    adviser: tuple[str, str] | None = None
    dropped: tuple[Dropped, ...] = ()

    @property
    def supported(self) -> tuple[Intent, ...]:
        """The intents that have traces enough to be compiled."""
        return tuple(intent for intent in self.intents if intent.supported)

    @property
    def below_support(self) -> tuple[Intent, ...]:
        """The others."""
        return tuple(intent for intent in self.intents if not intent.supported)


def discover(
    traces: Iterable[Trace],
    embedder: Embedder,
    settings: CompilerSettings,
    *,
    join: Collection[str] = (),
    adviser: Adviser | None = None,
    answers: Answers | None = None,
    tools: Tools | None = None,
) -> Discovery:
    """Find the intents of traces.

    The order of the traces changes nothing. An embedder that takes something from a corpus takes it from these traces,
    before they are parted.

    Args:
        traces: with different ids.
        embedder: what makes vectors.
        settings: the compiler's.
        join: canonical actions that do not part traces; see `stretto.compiler.subclusters.divide`.
        adviser: whom to ask for titles and boundaries; see `stretto.compiler.advising`.
        answers: what it has answered before; what it answers is added.
        tools: what is known of the actions: which values an adviser must not see. Nothing else is asked of them here.

    Raises:
        UsageError: two traces have one id, too many use the same apps, or the extra ``compiler`` is not installed.
        ValueError: the embedder gave a vector with a number that is not finite.
    """
    given = list(traces)
    kept = distinct(given)
    fitted = embedder.fitted([document(trace, settings.document_max_chars) for trace in kept])
    asking = None if adviser is None else Asking(adviser, answers, tools or Tools(), kept)
    parts, splits = split_traces(kept, fitted, settings, asking)
    by_id = {trace.id: trace for trace in parts}
    twice = [name for name, count in Counter(trace.id for trace in parts).items() if count > 1]
    if twice:
        raise UsageError(f"two traces are called {min(twice)[:80]!r}: give them different ids")
    vectors = fitted.embed([document(trace, settings.document_max_chars) for trace in parts])
    threshold = fitted.distance_threshold if settings.distance_threshold is None else settings.distance_threshold
    clusters = _clusters(parts, vectors, threshold)
    divided = divide([[by_id[name] for name in each.members] for each in clusters], join)
    names = intent_names(divided, by_id)
    intents = (
        Intent(
            name,
            tuple(by_id[trace] for trace in part.traces),
            part.signature,
            len(part.traces) >= settings.support_floor,
            part.guarded,
            part.cluster,
            clusters[part.cluster].farthest,
            clusters[part.cluster].distance,
            title_of([by_id[trace] for trace in part.traces], settings, asking),
        )
        for name, part in zip(names, divided, strict=True)
    )
    found = tuple(sorted(intents, key=lambda intent: (-len(intent.traces), intent.name)))
    return Discovery(
        fitted.name,
        threshold,
        found,
        splits,
        branch_candidates(dict(zip(names, divided, strict=True))),
        len(given) - len(kept),
        None if asking is None else (asking.name, asking.version),
        () if asking is None else asking.dropped,
    )


def _clusters(traces: Sequence[Trace], vectors: Sequence[Vector], threshold: float) -> list[Cluster]:
    """The clusters, the largest first, then by their smallest ids."""
    vector_of = {trace.id: vector for trace, vector in zip(traces, vectors, strict=True)}
    found = [each for part in _parts(traces, vector_of) for each in cluster(part, threshold)]
    return sorted(found, key=lambda each: (-len(each.members), each.members))


def _parts(traces: Sequence[Trace], vectors: Mapping[str, Vector]) -> Iterator[dict[str, Vector]]:
    if len(traces) <= _TOGETHER:
        yield dict(vectors)
        return
    by_apps: defaultdict[frozenset[str], dict[str, Vector]] = defaultdict(dict)
    for trace in traces:
        by_apps[frozenset(call.app for call in trace.calls)][trace.id] = vectors[trace.id]
    for apps, part in by_apps.items():
        if len(part) > _MOST:
            named = ", ".join(sorted(apps))[:80]
            raise UsageError(
                f"{len(part)} traces use {named}: at most {_MOST} are clustered at once; give a part of them"
            )
        yield part


#: Traces that use the same apps, at most: 2 GB of distances, with what is made of them.
_MOST: Final = 8 * _TOGETHER // 2
