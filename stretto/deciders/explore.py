"""Exploration: now and then another lookup than the rule's, so that other rules can be judged by what came of it.

Every decision made so carries its *policy*: what was weighed, and how likely the action taken was. Not responsible for
judging (`stretto.review.evaluate`). The same session draws the same.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from stretto.bindings.model import Bound
from stretto.deciders.habit import habit_prior
from stretto.deciders.model import HAND_BACK, Decision
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.bindings.model import Unbound
    from stretto.flow.model import Flow
    from stretto.live import Situation
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Explorer", "SplitMix64"]

_MASK: Final = 2**64 - 1


class Explorer:
    """Explores in one session.

    Args:
        epsilon: chance of exploring where there is something to explore, 0 to 1.
        seed: of the draws.
        task: what the session works on.
    """

    def __init__(self, epsilon: float, seed: int, task: str = "") -> None:
        self._epsilon = epsilon
        self._seed = seed
        self._task = task
        self._events = 0
        self._digest = blake2b(f"{task}/".encode("utf-8", "surrogatepass"), digest_size=8)

    def tell(self, event: JsonObject) -> None:
        """Take in what happened, without ids and costs; what is drawn depends on all of it."""
        self._events += 1
        self._digest.update(jsonvalue.dumps(event) + b"\n")

    def explore(
        self, flow: Flow, situation: Situation, decision: Decision, *, decider: str, threshold: float
    ) -> tuple[Decision, JsonObject]:
        """Perhaps take another lookup.

        Args:
            flow: what was learned.
            situation: the session after the call.
            decision: the rule's; it has weighed its options.
            decider: the rule's name.
            threshold: the rule's.

        Returns:
            The decision to act on, and its policy as the flow log holds it.
        """
        prior = habit_prior(flow, situation.history, [option for option in decision.probs if option != HAND_BACK])
        found = {tool: situation.bind(tool) for tool in decision.probs if tool != HAND_BACK}
        greedy = decision.tool if decision.looks_up else None
        others = [
            (tool, prob, bound)
            for tool, prob in decision.probs.items()
            if prob > 0 and tool != greedy and isinstance(bound := found.get(tool), Bound)
        ]
        total = sum(prob for _, prob, _ in others)
        epsilon = self._epsilon if others else 0.0
        draws = SplitMix64(self._seed ^ int.from_bytes(self._digest.copy().digest(), "big"))
        explored = draws.uniform() < epsilon
        propensity = 1 - epsilon
        if explored:
            left = draws.uniform() * total
            for tool, prob, bound in others:
                left -= prob
                if left < 0 or tool == others[-1][0]:
                    decision = Decision(
                        decision.site, tool, bound, probs=decision.probs, prob=prob, binding=bound.chance
                    )
                    propensity = epsilon * prob / total
                    break
        policy: JsonObject = {
            "decider": decider,
            "threshold": threshold,
            "epsilon": self._epsilon,
            "explored": explored,
            "greedy": greedy,
            "propensity": propensity,
            "task_id": self._task,
            "events": self._events,
            "options": [self._option(tool, decision.probs[tool], prior[tool], bound) for tool, bound in found.items()],
        }
        return decision, policy

    @staticmethod
    def _option(tool: str, prob: float, habit: float, found: Bound | Unbound) -> JsonValue:
        option: JsonObject = {"tool": tool, "p": prob, "habit": habit}
        if isinstance(found, Bound):
            return option | {"binding": found.chance, "arguments": found.arguments}
        return option | {"binding": None, "arguments": None, "unbound": found.said}


class SplitMix64:
    """Uniform draws from a 64-bit seed.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).

    Args:
        seed: any integer; its lowest 64 bits count.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def next(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def uniform(self) -> float:
        """A number from 0 to below 1, of 53 bits."""
        return (self.next() >> 11) / 2**53
