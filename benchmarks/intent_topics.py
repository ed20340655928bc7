"""What is measured of intents: the clusters of recorded sessions against their labels, and calls that go unanalysed.

The sessions are the full collection beside the checkout; without it there is nothing to measure, and it is said. Half
of the domains are those that the embedders' thresholds were chosen on, and are shown apart.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from benchmarks.compiler.agreement import FLOOR, agreements, embedders, parts
from benchmarks.compiler.sessions import FULL, read_sessions
from benchmarks.timing import Row
from stretto.compiler.measure import median_removable, removable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stretto.compiler.model import Trace

__all__ = ["INTENT_TOPICS"]


def sessions() -> list[Trace]:
    """The recorded tool sessions, whatever came of them; none, and a word on why, where they are not there."""
    if not FULL.is_dir():
        print(f"not measured: there is no {FULL}", file=sys.stderr)
        return []
    return read_sessions(FULL)


def intents() -> Iterator[Row]:
    """Clusters and intents against the sessions' domains and tasks, by each embedder that is installed."""
    for part in parts(sessions()):
        for embedder in embedders():
            found = list(agreements(part, embedder))
            what = f"{found[0].embedder}, {part.name}"
            yield Row(f"{what}: discover {len(part.traces)} traces", found[0].seconds, "s")
            for each in found:
                beside = (
                    f"{each.purity.low:.3f} to {each.purity.high:.3f}, ARI {each.ari.value:.3f}, "
                    f"{each.scores.coverage.value:.1%} in {each.scores.clusters}"
                )
                about = f"{each.grouping} of {FLOOR} or more, purity by {each.label}"
                yield Row(f"{what}: {about}", each.purity.value, "", None, beside)


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
