"""The surprise gate: a session that is unlike the learned ones is left alone.

The agent's steps are scored where the flow had something to offer; once the mean surprise of a window of them passes
the threshold, the flow hands back for the rest of the session. Not responsible for finding that threshold
(`stretto.model.surprise`).
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from stretto.deciders.model import HandBack
from stretto.model.surprise import surprise

if TYPE_CHECKING:
    from stretto.flow.model import Flow, Gate
    from stretto.live import Situation

__all__ = ["SurpriseGate", "step_surprise"]


def step_surprise(flow: Flow, situation: Situation, tool: str | None) -> float | None:
    """How much the agent's step after a call surprises the habit.

    Args:
        flow: what was learned.
        situation: the session before the step, all answers of the turn in.
        tool: what the agent called; None for a reply, or for the user speaking.

    Returns:
        As `stretto.model.surprise.surprise`; None where the flow offers nothing.
    """
    options = flow.sites.options(situation.site) if situation.site else ()
    if not options:
        return None
    action = flow.vocabulary.action
    took = None if tool is None else action(tool)
    return surprise(flow.habit, situation.history, [action(option) for option in options], took)


class SurpriseGate:
    """One session's gate.

    Args:
        gate: window and threshold.
    """

    def __init__(self, gate: Gate) -> None:
        self._threshold = gate.threshold
        self._latest: deque[float] = deque(maxlen=gate.window)
        #: Why the flow hands back from now on; empty as long as it does not.
        self.said = ""

    def step(self, surprise: float) -> None:
        """Take in the surprise of one step of the agent, in nats."""
        self._latest.append(surprise)
        if self.said or len(self._latest) < (window := self._latest.maxlen or 1):
            return
        mean = math.fsum(self._latest) / window
        if mean > self._threshold:
            detail = f"{window} of the agent's steps had a mean surprise of {mean:.2f}, above {self._threshold:.2f}"
            self.said = HandBack.SURPRISED.say(detail=detail)
