"""Recorded sessions as decisions: at each place what an agent did, and in which state. Pure.

A session serves when nobody spoke in it after the first call, so that what the agent did followed from the ticket, the
first text of the user, and from results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.procedure.trees.actions import say_action
from stretto.procedure.trees.binding import symbolise
from stretto.procedure.trees.state import State, value_of
from stretto.sessions.episode import Assistant, ToolResult, User

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Decision", "Demonstrated", "decisions", "demonstrated", "is_solo", "ticket_of"]


@dataclass(frozen=True, slots=True)
class Demonstrated:
    """A call that returned.

    Attributes:
        tool: what was called.
        arguments: no arguments are an empty object.
        ok: whether it succeeded.
        output: see `stretto.procedure.trees.state.value_of`.
    """

    tool: str
    arguments: JsonObject
    ok: bool
    output: JsonValue


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done in a state.

    Attributes:
        site: where the run was.
        features: of the state.
        action: as trees have it.
    """

    site: str
    features: frozenset[str]
    action: str


def is_solo(episode: Episode) -> bool:
    """Whether the user spoke, and not once after the first call."""
    acted = spoken = False
    for event in episode.events:
        if isinstance(event, User):
            if acted:
                return False
            spoken = True
        elif isinstance(event, Assistant) and event.calls:
            acted = True
    return spoken


def ticket_of(episode: Episode) -> str:
    """The first text of the user; empty where there is none."""
    return next((event.text for event in episode.events if isinstance(event, User)), "")


def demonstrated(episode: Episode) -> list[Demonstrated]:
    """The calls of a session that returned, in the order in which they were made.

    Raises:
        ValueError: arguments are no object.
    """
    results = {event.call_id: event for event in episode.events if isinstance(event, ToolResult)}
    found: list[Demonstrated] = []
    for turn in episode.turns():
        for call in turn.calls:
            result = results.get(call.id)
            if result is None:
                continue
            arguments = {} if call.arguments is None else call.arguments
            if not isinstance(arguments, dict):
                raise ValueError(f"the arguments of {call.name[:80]} are no object")  # noqa: TRY004 - of what was recorded
            found.append(Demonstrated(call.name, arguments, not result.error, value_of(result.content)))
    return found


def decisions(
    episode: Episode, *, vocab: Collection[str], reads: Collection[str], symbolic: bool, handoff: str, stop: str
) -> Iterator[Decision]:
    """The decisions of a session: one for each call that returned, and the last, to stop.

    Args:
        episode: a solo session.
        vocab: words that are features.
        reads: tools that change nothing.
        symbolic: whether identifiers stand as where they came from.
        handoff: the tool that passes to a person, whose arguments are left out.
        stop: the action of the last decision.

    Raises:
        ValueError: a call cannot be said as an action.
    """
    state = State(ticket_of(episode), vocab, reads, symbolic=symbolic)
    for call in demonstrated(episode):
        said = symbolise(call.arguments, state) if symbolic else call.arguments
        action = say_action(call.tool, {} if call.tool == handoff else said)
        yield Decision(state.site, state.features(), action)
        state.took(action, call.tool, call.arguments, call.output, ok=call.ok)
    yield Decision(state.site, state.features(), stop)
