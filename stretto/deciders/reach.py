"""The decider ``reach``: which lookup will be asked for at some time before the next write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.bindings.model import Bound
from stretto.bindings.uses import UseKey, kind_of, stage_of
from stretto.deciders.choose import best_by_uses, best_that_binds
from stretto.deciders.model import HAND_BACK
from stretto.errors import BadFlow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.deciders.model import Decision
    from stretto.flow.model import Flow, Site
    from stretto.live import Situation

__all__ = ["Reach"]


class Reach:
    """Takes the lookup with the largest score of those that bind.

    Several lookups may all come before the next write, so their probabilities need not sum to 1, and that of handing
    back is given as 0.

    Args:
        uses: where the flow counts uses (`stretto.bindings.uses`), score by them; off, by the original's product.
    """

    name = "reach"

    def __init__(self, *, uses: bool = True) -> None:
        self._uses = uses

    def scores_by_uses(self, flow: Flow) -> bool:
        """Whether the lookups of a flow are scored by what it counted of uses."""
        return self._uses and bool(flow.uses.counts)

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        """See `stretto.deciders.model.Decider.decide`."""
        reach = flow.reach
        if reach is None:
            raise BadFlow(
                "the flow has no reach counts, so it cannot serve the decider reach: learn it anew, or use habit"
            )
        chances = reach.probabilities(situation.history, [flow.vocabulary.action(tool) for tool in options])
        probs = dict(zip(options, chances, strict=True))
        probs[HAND_BACK] = 0.0
        if self.scores_by_uses(flow):
            return best_by_uses(site, probs, _scored(flow, situation, site, probs, threshold), threshold)
        return best_that_binds(site, probs, situation.bind, threshold)


def _scored(
    flow: Flow, situation: Situation, site: Site, probs: Mapping[str, float], threshold: float
) -> Iterator[tuple[float, str, Bound]]:
    """Every way to make the lookups that may reach the threshold, with its score."""
    stage = stage_of(situation.made)
    for tool, prob in probs.items():
        if tool == HAND_BACK or flow.uses.most(site, tool, stage, prob) < threshold:
            continue
        for bound in situation.ways(tool):
            if isinstance(bound, Bound):
                key = UseKey(*site, tool, kind_of(bound), bound.pick, stage)
                yield flow.uses.score(key, prob * bound.chance), tool, bound
