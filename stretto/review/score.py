"""What one replayed session shows: counts that add, so that the score of many sessions is their sum.

Not responsible for counting (`stretto.review.scoring`) nor for how scores are shown (`stretto.review.replay_page`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from stretto.review.bootstrap import Row, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.review.bootstrap import Interval

__all__ = ["COUNTS", "ReplayScore", "Weighed", "rows", "shares", "total"]


class Weighed(NamedTuple):
    """One lookup that was weighed at one decision, and what the agent did.

    Attributes:
        decision: number of the decision in its session, from 0.
        site: name of the site.
        tool: the lookup.
        prob: probability of the tool, 0 to 1.
        binding: chance of its arguments, 0 to 1.
        chosen: it was made.
        used: the agent makes exactly this call later, before the next write.
        next: it is the very next of the agent's calls that nothing answers yet.
        spared: share of a turn that it spares: 1 over the calls of the recorded turn if it is used, else 0.
        by_uses: chance that it is used, by what was counted of uses; None where it was weighed without.
    """

    decision: int
    site: str
    tool: str
    prob: float
    binding: float
    chosen: bool
    used: bool
    next: bool
    spared: float
    by_uses: float | None = None

    @property
    def score(self) -> float:
        """The chance that it is used, as it was weighed: that by uses, else probability times chance."""
        return self.prob * self.binding if self.by_uses is None else self.by_uses


@dataclass(frozen=True, slots=True)
class ReplayScore:
    """What one replayed session shows. All but `session`, `unit`, `sources` and `weighed` are counts that add.

    Attributes:
        session: its id.
        unit: to resample by: its task, or a group of tasks.
        turns: the agent's turns, replies to the user included, the greeting left out.
        saved: turns all of whose calls were answered.
        calls: the agent's calls.
        skipped: calls that were answered.
        lookups: made.
        used: lookups that answered a call.
        used_next: of these, those with no executed turn between lookup and use.
        spoiled: sessions with a detour, 0 or 1.
        ceiling: turns that could be saved with values from results; see `stretto.review.ceiling`.
        ceiling_words: the same with values the user wrote.
        tokens: context read over all turns.
        tokens_saved: for each saved turn, the context it would have read, and its calls in every turn after it.
        tokens_spent: for each detour, its result in every turn after it.
        batched: turns with several calls.
        batched_saved: of these, saved.
        first: turns that start a list; see `stretto.review.fanout`.
        first_saved: of these, saved.
        later: turns that continue one.
        later_saved: of these, saved.
        first_lookups: lookups that start a list.
        first_used: of these, used.
        later_lookups: lookups that continue one.
        later_used: of these, used.
        sources: by what they come from: lookups made, and of these used.
        weighed: the lookups that were weighed, where they were asked for.
    """

    session: str
    unit: str
    turns: int = 0
    saved: int = 0
    calls: int = 0
    skipped: int = 0
    lookups: int = 0
    used: int = 0
    used_next: int = 0
    spoiled: int = 0
    ceiling: int = 0
    ceiling_words: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    tokens_spent: int = 0
    batched: int = 0
    batched_saved: int = 0
    first: int = 0
    first_saved: int = 0
    later: int = 0
    later_saved: int = 0
    first_lookups: int = 0
    first_used: int = 0
    later_lookups: int = 0
    later_used: int = 0
    sources: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    weighed: tuple[Weighed, ...] = ()

    @property
    def detours(self) -> int:
        """Lookups that answered nothing."""
        return self.lookups - self.used

    @property
    def tokens_net(self) -> int:
        """Tokens saved less tokens spent."""
        return self.tokens_saved - self.tokens_spent

    @property
    def used_later(self) -> int:
        """Lookups that were used after the agent had taken another turn."""
        return self.used - self.used_next


#: The counts of a score, in their order.
COUNTS = tuple(
    name for name in ReplayScore.__dataclass_fields__ if name not in ("session", "unit", "sources", "weighed")
)


def total(scores: Iterable[ReplayScore], name: str = "") -> ReplayScore:
    """The sum of scores, as the score of one session of this name; what was weighed is put together in order."""
    sums: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    made: Counter[str] = Counter()
    used: Counter[str] = Counter()
    weighed: list[Weighed] = []
    for score in scores:
        for count in COUNTS:
            sums[count] += getattr(score, count)
        for source, (lookups, hits) in score.sources.items():
            made[source] += lookups
            used[source] += hits
        weighed += score.weighed
    sources = {source: (made[source], used[source]) for source in sorted(made)}
    return ReplayScore(name, name, **sums, sources=sources, weighed=tuple(weighed))


def shares(scores: Iterable[ReplayScore], part: str, whole: str = "") -> Interval:
    """One count over another, both summed over the sessions, with the interval that resampling units gives.

    Args:
        scores: the sessions.
        part: a count of `ReplayScore`, or ``detours``.
        whole: another; empty for the number of sessions.
    """
    return ratio(rows(scores, part, whole))


def rows(scores: Iterable[ReplayScore], part: str, whole: str = "") -> list[Row]:
    """What each session adds to a share, for `stretto.review.bootstrap`; arguments as `shares`."""
    return [Row(score.unit, getattr(score, part), getattr(score, whole) if whole else 1) for score in scores]
