"""Recorded sessions as a served flow would have met them: result by result, with what had been sent by then.

Shared by the reviews that ask a flow what it would have done. Not responsible for what they make of the answer, nor for
replaying what a session would have become (`stretto.review.replay`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from stretto.deciders.decide import decider_named
from stretto.live import LiveSession, binder_of
from stretto.sessions.episode import Assistant, ToolResult, User
from stretto.sessions.qualified import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow
    from stretto.live import Situation
    from stretto.sessions.episode import Episode, Event, ToolCall

__all__ = ["NextStep", "Point", "Walker", "is_own", "next_step"]

_OWN: Final = "stretto-"  # what the proxy's ids begin with, after the server's name in merged sessions

_Told: TypeAlias = "Callable[[LiveSession], None]"


def is_own(call_id: str) -> bool:
    """Whether a call is a lookup that a flow made while the session was recorded, not the agent's."""
    return call_id.rpartition(SEPARATOR)[2].startswith(_OWN)


class NextStep(NamedTuple):
    """What came after a result.

    Attributes:
        tool: the first call of the agent's next turn; None for a reply, for the user speaking, or for the end.
        own: it is a lookup of the flow that was served, so what the agent would have done is not known.
    """

    tool: str | None
    own: bool = False


def next_step(events: Sequence[Event], index: int) -> NextStep | None:
    """What followed the result at a place.

    Returns:
        None where another result or nothing follows: then the turn's answers are not all in, or the session ends.
    """
    following = events[index + 1] if index + 1 < len(events) else None
    if following is None or isinstance(following, ToolResult):
        return None
    if isinstance(following, Assistant) and following.calls:
        return NextStep(following.calls[0].name, is_own(following.calls[0].id))
    return NextStep(None)


class _Tape:
    """A session that is told event by event, and what it was told."""

    def __init__(self, fresh: Callable[[], LiveSession], sent_after: Mapping[str, int]) -> None:
        self._fresh = fresh
        self._sent_after = sent_after
        self._told: list[_Told] = []
        self._unsent: list[ToolCall] = []  # of the turn, in order
        self._running: set[str] = set()
        self._back = 0  # results of the turn
        self.live = fresh()

    def _tell(self, what: _Told) -> None:
        self._told.append(what)
        what(self.live)

    def again(self) -> LiveSession:
        live = self._fresh()
        for tell in self._told:
            tell(live)
        return live

    def user(self, text: str) -> None:
        self._send()
        self._tell(partial(LiveSession.user, text=text))

    def turn(self, calls: Sequence[ToolCall]) -> None:
        self._send()
        self._tell(LiveSession.turn if calls else LiveSession.reply)
        self._unsent, self._running, self._back = list(calls), set(), 0

    def _send(self, before: int | None = None) -> None:
        """Send the calls sent before so many results of the turn were back; all that are left without a number."""
        while self._unsent and (before is None or self._sent_after.get(self._unsent[0].id, 0) < before):
            call = self._unsent.pop(0)
            self._running.add(call.id)
            self._tell(partial(LiveSession.call, call=call))

    def result(self, result: ToolResult) -> bool:
        """Tell a result; whether it is one that the turn waited for."""
        awaited = result.call_id in self._running or any(call.id == result.call_id for call in self._unsent)
        if awaited:
            self._back += 1
            self._send(self._back)
            if result.call_id not in self._running:  # it was answered, whatever is recorded of when it was sent
                self._send()
            self._running.remove(result.call_id)
        self._tell(partial(LiveSession.result, call_id=result.call_id, error=result.error, content=result.content))
        return awaited


@dataclass(frozen=True, slots=True)
class Point:
    """A result, and the session up to it.

    Attributes:
        index: of the result among the episode's events.
        turn: of the turn that made the call, among the events.
        call_id: of the call that returned.
    """

    index: int
    turn: int
    call_id: str
    _tape: _Tape

    @property
    def live(self) -> LiveSession:
        """The session; it goes on with the walk."""
        return self._tape.live

    def situation(self) -> Situation:
        """Where the session stands; good until the walk goes on."""
        return self.live.situation()

    def apart(self) -> LiveSession:
        """The session up to here once more, to be told what did not happen. Costs what the walk to here cost."""
        return self._tape.again()


class Walker:
    """Walks recorded sessions under one flow, and asks it what it would do.

    Args:
        flow: the flow.
        decider: who weighs the lookups, or its name.
        oracle: whom a decider that is named asks, if it asks anybody.
    """

    def __init__(self, flow: Flow, decider: str | Decider = "reach", oracle: Oracle | None = None) -> None:
        self._fresh = partial(LiveSession, flow, binder_of(flow))
        self._decider = decider
        self._oracle = oracle

    def decider(self, episode: Episode) -> Decider:
        """Who decides in a session.

        Raises:
            UsageError: there is no such decider, or it needs an oracle.
        """
        if isinstance(self._decider, str):
            return decider_named(self._decider, self._oracle, task=episode.task)
        return self._decider

    def points(self, episode: Episode) -> Iterator[Point]:
        """Every result that came while its turn lasted, but for one that ends the session, in order.

        At each, the calls of the turn that had been sent by then and were unanswered are running; those sent later are
        not known yet.
        """
        tape = _Tape(self._fresh, episode.sent_after)
        turn, last = 0, len(episode.events) - 1
        for index, event in enumerate(episode.events):
            if isinstance(event, User):
                tape.user(event.text)
            elif isinstance(event, Assistant):
                tape.turn(event.calls)
                turn = index
            elif tape.result(event) and index < last:
                yield Point(index, turn, event.call_id, tape)
