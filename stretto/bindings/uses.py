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
    from stretto.bindings.model import Bound, Pick

__all__ = ["UseCounts", "UseKey", "Uses", "kind_of", "stage_of"]


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
    """The counts of a flow."""

    counts: dict[UseKey, UseCounts] = field(default_factory=dict)

    def merge(self, other: Uses) -> None:
        """Add the counts of other sessions."""
        for key, (used, weighed, companions) in other.counts.items():
            mine = self.counts.get(key, _NONE)
            self.counts[key] = UseCounts(mine.used + used, mine.weighed + weighed, mine.companions + companions)

    def score(self, key: UseKey, prior: float) -> float:
        """The chance that a lookup saves a turn, in terms of lookups that are alone in theirs, 0 to 1.

        ``q = (used + 8 * prior) / (weighed + 8)`` is the chance that it is used. An agent that makes m calls in the
        turn it is used in is spared only a part of that turn: at a value β of a turn and a cost δ of a detour, the
        lookup is worth making when ``q * β / m >= (1 - q) * δ``, so its odds count one m-th.

        Args:
            key: of the lookup.
            prior: its score without these counts, 0 to 1.
        """
        used, weighed, companions = self.counts.get(key, _NONE)
        if any(kind in key.kind for kind in _CHOSEN):
            prior *= _BELIEVED
        chance = (used + _PRIOR * prior) / (weighed + _PRIOR)
        calls = (companions + _PRIOR) / (used + _PRIOR)
        return chance / (chance + calls * (1 - chance))


_NONE: Final = UseCounts(0, 0, 0)
