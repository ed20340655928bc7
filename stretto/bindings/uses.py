"""How often a lookup that could have been made at a site would have been used: counted, without a model between.

The chance of a tool times the chance of its arguments takes the two for independent, and both for alike at every site.
Where enough was counted, what was seen to happen is better: of the times that this lookup could have been made here,
with arguments found in this way, how often did the agent make that very call before its next write?

Not in the original. `UseCounts` are integers that add; `Uses` says what they mean for a score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.bindings.model import Bound, Pick

__all__ = ["UseCounts", "UseKey", "Uses", "kind_of", "pooled_score", "stage_of"]


class UseKey(NamedTuple):
    """What is counted apart.

    Attributes:
        tool: that just returned.
        failed: it returned an error.
        lookup: that could be made.
        kind: of its arguments' origins (`kind_of`).
        pick: what the arguments say about the user.
        stage: lookups made before it in the same run (`stage_of`).
    """

    tool: str
    failed: bool
    lookup: str
    kind: str
    pick: Pick
    stage: int


class UseCounts(NamedTuple):
    """Counts of one key.

    Attributes:
        used: lookups the agent made itself before its next write.
        weighed: lookups that could have been made.
        companions: calls in the turns in which it made them, summed over `used`: as many as `used` for an agent that
            makes one call a turn, more for one that batches.
    """

    used: int
    weighed: int
    companions: int


def stage_of(made: int) -> int:
    """How far a run is: 0 for the first lookup, then 1, 2, and 3 for every later one."""
    return min(made, _LAST_STAGE)


def kind_of(bound: Bound) -> str:
    """The kinds of a lookup's origins, sorted and joined by ``+``; ``bare`` without arguments."""
    return "+".join(sorted({origin.kind for origin in bound.origins})) or "bare"


_LAST_STAGE: Final = 3

#: Kinds of origins whose sources were chosen because they fit the very sessions on which their chance is counted.
_CHOSEN: Final = ("derived", "record", "spoken")

#: Share of such a chance that is believed until uses were counted, 0 to 1.
_BELIEVED: Final = 0.5

#: Weight of the score without these counts, in lookups weighed. On held-out tasks of seven domains 8 was as good as 4
#: and 16; the weight of the coarser level is 8 in waggle's counts, too.
_PRIOR: Final = 8.0


@dataclass(slots=True)
class Uses:
    """The counts of a flow.

    Attributes:
        counts: by key.
    """

    counts: dict[UseKey, UseCounts] = field(default_factory=dict)
    _by_stage: dict[tuple[str, bool, str, int], list[UseCounts]] | None = field(default=None, repr=False, compare=False)

    def merge(self, other: Uses) -> None:
        """Add the counts of other sessions."""
        self._by_stage = None
        for key, (used, weighed, companions) in other.counts.items():
            mine = self.counts.get(key, _NONE)
            self.counts[key] = UseCounts(mine.used + used, mine.weighed + weighed, mine.companions + companions)

    def chance(self, key: UseKey, prior: float) -> float:
        """The chance that a lookup is used, 0 to 1: ``(used + 8 * prior) / (weighed + 8)``.

        Args:
            key: of the lookup.
            prior: its score without these counts, 0 to 1. Of one whose sources were chosen because they fit the
                sessions, half is believed.
        """
        used, weighed, _ = self.counts.get(key, _NONE)
        believed = prior * _BELIEVED if any(kind in key.kind for kind in _CHOSEN) else prior
        return (used + _PRIOR * believed) / (weighed + _PRIOR)

    def score(self, key: UseKey, prior: float) -> float:
        """The chance that a lookup saves a turn, in terms of lookups that are alone in theirs, 0 to 1.

        An agent that makes m calls in the turn in which it uses a lookup is spared only a part of that turn: at a
        value β of a turn and a cost δ of a detour, it is worth making when ``chance * β / m >= (1 - chance) * δ``, so
        its odds count one m-th.

        Args:
            key: of the lookup.
            prior: as for `chance`.
        """
        return _alone(self.chance(key, prior), self.counts.get(key, _NONE))

    def most(self, site: tuple[str, bool], lookup: str, stage: int, prob: float) -> float:
        """What the score of a lookup is at most, however its arguments are found.

        Args:
            site: the tool that just returned and whether it failed.
            lookup: the tool.
            stage: of the run.
            prob: of the tool, 0 to 1.
        """
        if self._by_stage is None:
            self._by_stage = {}
            for key, counts in self.counts.items():
                self._by_stage.setdefault((key.tool, key.failed, key.lookup, key.stage), []).append(counts)
        known = self._by_stage.get((*site, lookup, stage), ())
        scores = [_alone((each.used + _PRIOR * prob) / (each.weighed + _PRIOR), each) for each in known]
        return max(prob, *scores) if scores else prob


def pooled_score(counts: Iterable[UseCounts], prior: float) -> float:
    """The score of lookups that are counted together; see `Uses.score`."""
    pooled = UseCounts(*map(sum, zip(_NONE, *counts, strict=True)))
    return _alone((pooled.used + _PRIOR * prior) / (pooled.weighed + _PRIOR), pooled)


def _alone(chance: float, counts: UseCounts) -> float:
    calls = (counts.companions + _PRIOR) / (counts.used + _PRIOR)
    return chance / (chance + calls * (1 - chance))


_NONE: Final = UseCounts(0, 0, 0)
