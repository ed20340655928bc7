"""Two systems at as many detours: thresholds are not alike, so one system's frontier is read where the other stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.flows.systems import DEFAULT, THRESHOLDS
from stretto.review.bootstrap import resampled
from stretto.review.score import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.flows.study import Study
    from stretto.review.bootstrap import Interval
    from stretto.review.score import ReplayScore

__all__ = ["Alike", "alike", "more_at_as_many_detours"]


@dataclass(frozen=True, slots=True)
class Alike:
    """The original's ``reach`` at one threshold, and ours at as many detours.

    Attributes:
        at: its threshold.
        detours: it makes.
        saved: turns it saves.
        turns: of all sessions.
        more: what ours saves more, as a share of all turns; None where ours makes so many detours at no threshold.
    """

    at: float
    detours: int
    saved: int
    turns: int
    more: Interval | None


def alike(study: Study) -> list[Alike]:
    """Compare the frontiers, at each threshold of the original's."""
    plain = study.better("plain").name
    ours = [study.scores(DEFAULT.name, f"{at}") for at in THRESHOLDS]
    found: list[Alike] = []
    for at in THRESHOLDS:
        theirs = study.scores(plain, f"{at}")
        sums = total(theirs)
        found.append(Alike(at, sums.detours, sums.saved, sums.turns, more_at_as_many_detours(ours, theirs)))
    return found


def more_at_as_many_detours(ours: Sequence[Sequence[ReplayScore]], theirs: Sequence[ReplayScore]) -> Interval | None:
    """What one system saves more than another at as many detours, as a share of all turns.

    Args:
        ours: a score for each of N sessions, at each of at least 2 thresholds.
        theirs: the other's, of the same sessions.

    Returns:
        On the straight line between the two nearest thresholds; None where both are on one side. In a resample in which
        they are, the nearer one counts.
    """
    detours = [total(scores).detours for scores in ours]
    if not min(detours) <= total(theirs).detours <= max(detours):
        return None
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, scores in enumerate(ours):
        for score in scores:
            sums[score.unit].update({f"detours {number}": score.detours, f"saved {number}": score.saved})
    for score in theirs:
        sums[score.unit].update(turns=score.turns, detours=score.detours, saved=score.saved)

    def measure(drawn: Sequence[str]) -> float:
        found: Counter[str] = Counter()
        for unit, times in Counter(drawn).items():
            for name, count in sums[unit].items():
                found[name] += times * count
        line = sorted((found[f"detours {number}"], found[f"saved {number}"]) for number in range(len(ours)))
        return (_height(line, found["detours"]) - found["saved"]) / max(found["turns"], 1)

    return resampled(sums, measure)


def _height(line: Sequence[tuple[int, int]], x: int) -> float:
    """The height of a line at x; of its nearer end outside of it."""
    for (left, low), (right, high) in pairwise(line):
        if x <= right:
            return low + (high - low) * max(x - left, 0) / (right - left) if right > left else high
    return line[-1][1]
