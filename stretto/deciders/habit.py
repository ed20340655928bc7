"""The decider ``habit``: which lookup the agent makes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.deciders.choose import likeliest
from stretto.deciders.model import HAND_BACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.deciders.model import Decision
    from stretto.flow.model import Flow, Site
    from stretto.live import Situation

__all__ = ["Habit", "habit_prior"]


class Habit:
    """Takes the likeliest lookup, or none."""

    name = "habit"

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        """See `stretto.deciders.model.Decider.decide`."""
        return likeliest(site, habit_prior(flow, situation.history, options), situation.bind, threshold)


def habit_prior(flow: Flow, history: Sequence[int], options: Sequence[str]) -> dict[str, float]:
    """The habit over the options of a site.

    Args:
        flow: what was learned.
        history: the latest symbols.
        options: lookups, by name.

    Returns:
        Probability by option, in the order given; `HAND_BACK` comes last and has all that is left: replies, writes,
        lookups that are not offered, and what was never seen.
    """
    actions = [flow.vocabulary.action(tool) for tool in options]
    prior = dict(zip(options, flow.habit.probabilities(history, actions, flow.group), strict=True))
    prior[HAND_BACK] = max(0.0, 1.0 - sum(prior.values()))
    return prior
