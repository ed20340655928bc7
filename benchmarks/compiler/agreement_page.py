"""The section of the page on what sessions were about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.compiler.agreement import FLOOR
from benchmarks.compiler.markdown import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.compiler.agreement import Agreement
    from benchmarks.compiler.study import Agreed
    from stretto.review.bootstrap import Interval

__all__ = ["agreement_section"]

_TITLES: Final = {
    "held out": "Domains that the thresholds were not chosen on",
    "chosen on": "Domains that they were chosen on",
}
_EMBEDDERS: Final = {"tfidf-1": "words (TF-IDF)", "all-minilm-l6-v2": "sentence model"}
_GROUPINGS: Final = {"clusters": "clusters", "intents": "intents, after the split by effects"}


def agreement_section(agreed: tuple[Agreed, ...]) -> Iterator[str]:
    """The parts of the section.

    Args:
        agreed: of each part of the sessions.
    """
    yield "## What sessions were about"
    yield _ABOUT.format(floor=FLOOR).strip()
    for each in agreed:
        yield f"### {_TITLES[each.part.name]}"
        yield f"{len(each.part.traces):,} sessions of {each.part.domains} domains."
        yield table(_HEAD, [_row(one) for one in each.rows])
    has_model = any(one.embedder != "tfidf-1" for each in agreed for one in each.rows)
    yield _MODEL if has_model else "The sentence model was not installed here."
    yield _ROUTER.strip()


def _row(found: Agreement) -> list[str]:
    scores = found.scores
    measured = [_told(found.purity), _told(found.ari)] if scores.purity.count else ["-", "-"]
    return [
        f"by {found.label}",
        _EMBEDDERS.get(found.embedder, found.embedder),
        _GROUPINGS[found.grouping],
        f"{scores.coverage.count:,}",
        f"{scores.clusters:,} of {found.whole.clusters:,}",
        f"{scores.coverage.value:.1%}",
        *measured,
        f"{found.whole.purity.value:.3f}",
        f"{found.whole.ari:.3f}",
    ]


def _told(share: Interval) -> str:
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


_HEAD: Final = (
    "labels",
    "told alike by",
    "groups",
    "items",
    f"groups of {FLOOR} or more",
    "coverage",
    "purity",
    "ARI",
    "purity, all groups",
    "ARI, all groups",
)

_ABOUT: Final = """
All tool sessions, whatever came of them, grouped without their labels, then compared with the names of their domains
and with the benchmarks' tasks. **Purity** is the share of items that carry their group's most frequent label. The
**adjusted Rand index** compares pairs of items, together or apart, in groups and in labels; 0 is chance, 1 is the same
partition. **Coverage** is the share of items in groups of {floor} or more, which can be compiled; purity and ARI are
over these items, and beside them over all. An item is a session, or a part of one that mixed two wishes. Groups are the
clusters, and the *intents* that are made of them: sessions of one cluster that changed different things are parted.

The thresholds were chosen on nine domains, against the domains' names; the other domains are held out, and tasks were
never looked at. Intervals at 95 %: whole tasks are drawn anew 1,000 times, and nothing is compared with its copy; where
all is right, no draw can show anything else. Sessions whose task nobody named are left out of the rows by task.
"""

_MODEL: Final = (
    "The sentence model makes smaller groups: nearer to tasks, and fewer of them large enough to be compiled."
)

_ROUTER: Final = """
Purity by domain says whether sessions of two kinds of work are taken for one, which would be a fault. A group is finer
than a domain, which has many intents, hence the low ARI; and it is coarser than a task, and meant to be: tasks of a
benchmark that differ in their values alone (another customer, another flight) are one intent, so by task neither number
can be 1. What the split by effects takes from clusters is what could not be one procedure: it leaves groups that are
purer, and more that are too small.

How often a new request finds its intent is in
[reviewing procedures](procedures-review.md#how-well-it-works).
"""
