"""Steps and symbols: an episode as the sequence that is counted.

A step is a reply or one call; a parallel turn becomes several steps, in the order of its calls. A step's **action** is
what it does, its **symbol** what a later step sees of it: action, outcome and, for tools with code features, one number
for what the output said.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.sessions.episode import Assistant, ToolResult, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.sessions.episode import Episode

__all__ = ["FEATURES", "RESPOND", "Step", "StepOutcome", "Vocabulary", "action_of", "steps_of", "symbol"]

#: The action of replying to the user.
RESPOND: Final = 0

#: Feature numbers a symbol has room for; larger ones are clipped.
FEATURES: Final = 4096
_OUTCOMES: Final = 4

#: Symbols of one action.
SYMBOLS: Final = _OUTCOMES * FEATURES


class StepOutcome(IntEnum):
    """What came of a step; the numbers are part of the file format."""

    OK = 0  #: the call succeeded
    ERROR = 1  #: it failed, or has no result
    REPLIED = 2  #: a reply that the user answered before the agent called anything
    ENDED = 3  #: any other reply


class Step(NamedTuple):
    """One reply or call.

    Attributes:
        tool: the tool's name, None for a reply.
        outcome: what came of it.
        content: the call's result as text, whether it failed or not; None without one.
    """

    tool: str | None
    outcome: StepOutcome
    content: str | None = None


def steps_of(episode: Episode) -> list[Step]:
    """The steps of an episode, in order. Cost: one pass over its events."""
    results = {event.call_id: event for event in episode.events if isinstance(event, ToolResult)}
    steps: list[Step] = []
    waiting: int | None = None  # place of the reply that nobody has answered yet
    for event in episode.events:
        if isinstance(event, Assistant):
            if not event.calls:
                waiting = len(steps)
                steps.append(Step(None, StepOutcome.ENDED))
                continue
            waiting = None
            for call in event.calls:
                result = results.get(call.id)
                if result is None:
                    steps.append(Step(call.name, StepOutcome.ERROR))
                else:
                    outcome = StepOutcome.ERROR if result.error else StepOutcome.OK
                    steps.append(Step(call.name, outcome, result.content))
        elif waiting is not None and isinstance(event, User):
            steps[waiting] = Step(None, StepOutcome.REPLIED)
            waiting = None
    return steps


class Vocabulary:
    """The actions there are, as numbers: 0 for a reply, then the tools by name; one number more for any other.

    Args:
        tools: names, in any order, repeated or not.
    """

    __slots__ = ("_ids", "tools")

    def __init__(self, tools: Iterable[str]) -> None:
        #: Names, sorted; the first has number 1.
        self.tools: tuple[str, ...] = tuple(sorted(set(tools)))
        self._ids: Mapping[str, int] = {name: number for number, name in enumerate(self.tools, RESPOND + 1)}

    @property
    def size(self) -> int:
        """Actions there are, the unseen one included."""
        return len(self.tools) + 2

    def action(self, tool: str | None) -> int:
        """A tool's number, or a reply's; the last one for a tool that is not known."""
        return RESPOND if tool is None else self._ids.get(tool, len(self.tools) + 1)


def symbol(action: int, outcome: int, feature: int = 0) -> int:
    """What later steps see of a step: ``(action * 4 + outcome) * 4096 + feature``."""
    seen = feature if 0 <= feature < FEATURES else min(max(feature, 0), FEATURES - 1)
    return (action * _OUTCOMES + outcome) * FEATURES + seen


def action_of(symbol: int) -> int:
    """The action of a step by its symbol."""
    return symbol // SYMBOLS
