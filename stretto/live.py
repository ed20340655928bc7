"""A session as it unfolds under one flow: what its last steps were, where it stands, and what its lookups would bind.

Fed with what happens, in order, whether by a served session or from a record. Not responsible for deciding
(`stretto.deciders`), nor for making lookups (`stretto.speculator`). What a step costs does not grow with the session.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.bindings.binder import Binder, likeliest
from stretto.bindings.session import SessionValues
from stretto.model.alphabet import StepOutcome
from stretto.model.counts import ORDER
from stretto.sessions.episode import Assistant, User

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.bindings.model import Bound, Unbound
    from stretto.flow.model import Flow, Site
    from stretto.sessions.episode import Event, ToolCall

__all__ = ["LiveSession", "Situation", "binder_of"]


def binder_of(flow: Flow, *, derive: bool = True, speak: bool = True) -> Binder:
    """The binder of a flow; sessions of one flow share it.

    Args:
        flow: the flow.
        derive: use derived values, where the flow has them.
        speak: use the user's own words, where the flow has them.
    """
    docs = flow.manifest.docs if flow.sites.every_read else None
    return Binder(flow.bindings, docs, derive=derive, speak=speak)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a session stands after a result.

    Attributes:
        site: the tool that just returned and whether it failed; None when the last step is no call.
        history: symbols of the last steps, the latest last; at most as many as the longest context.
        session: the session, as long as nothing further happens in it.
        made: lookups made since the agent's own last result.
    """

    site: Site | None
    history: tuple[int, ...]
    session: LiveSession
    made: int = 0

    def bind(self, tool: str) -> Bound | Unbound:
        """Fill a lookup's arguments from what the session has shown, in the likeliest way."""
        return likeliest(self.session.ways(tool))

    def ways(self, tool: str) -> Sequence[Bound | Unbound]:
        """The ways to fill a lookup's arguments; see `Binder.ways`."""
        return self.session.ways(tool)


@dataclass(slots=True)
class _Made:
    """A call of the current turn."""

    call: ToolCall
    own: bool
    symbol: int | None = None  # None while it runs


class LiveSession:
    """One session under one flow.

    Args:
        flow: what was learned.
        binder: of the flow, made once for many sessions; None makes one.

    Attributes:
        flow: as given.
        values: what the session has shown.
    """

    def __init__(self, flow: Flow, binder: Binder | None = None) -> None:
        self.flow = flow
        self.values = SessionValues()
        self._binder = binder or binder_of(flow)
        self._before: deque[int] = deque(maxlen=ORDER)  # symbols of the turns before this one
        self._turn: dict[str, _Made] = {}
        self._last: str | None = None  # id of the call that returned last
        self._site: Site | None = None
        self._late: dict[str, ToolCall] = {}  # calls of earlier turns that still run
        self._lookups = 0  # since the agent's own last result
        self._waiting = False  # the last step is a reply that nobody answered yet
        self._ways: dict[str, tuple[object, Sequence[Bound | Unbound]]] = {}

    # --- what happens ---

    def tell(self, event: Event) -> None:
        """Take in one event of an episode."""
        if isinstance(event, User):
            self.user(event.text)
        elif isinstance(event, Assistant):
            if event.calls:
                self.turn()
                for call in event.calls:
                    self.call(call)
            else:
                self.reply()
        else:
            self.result(event.call_id, error=event.error, content=event.content)

    def user(self, text: str) -> None:
        """Take in a message of the user."""
        self.values.hear(text)
        if self._waiting:
            self._before[-1] = self.flow.symbol(None, StepOutcome.REPLIED)
            self._waiting = False

    def reply(self) -> None:
        """Take in a turn of the agent without calls."""
        self._end_turn()
        self._before.append(self.flow.symbol(None, StepOutcome.ENDED))
        self._waiting = True

    def turn(self) -> None:
        """Begin a turn of the agent with calls."""
        self._end_turn()
        self._waiting = False

    def call(self, call: ToolCall, *, own: bool = True) -> None:
        """Take in a call of the current turn; it runs until its result.

        Args:
            call: the call.
            own: the agent makes it; False for a lookup that is made on its behalf.
        """
        self._turn[call.id] = _Made(call, own)
        self.values.call(call.name, call.arguments)

    def result(self, call_id: str, *, error: bool, content: str) -> None:
        """Take in the result of a call; one that no call waits for is passed over.

        What comes after its turn is a value like any other, and no place to decide at.
        """
        made = self._turn.get(call_id)
        if made is None:
            late = self._late.pop(call_id, None)
            if late and not error:
                self.values.result(late.name, late.arguments, content)
            return
        if made.symbol is not None:
            return
        call = made.call
        made.symbol = self.flow.symbol(call.name, StepOutcome.ERROR if error else StepOutcome.OK, content)
        if not error:
            self.values.result(call.name, call.arguments, content)
        self._lookups = 0 if made.own else self._lookups + 1
        self._last = call_id
        self._site = (call.name, error)

    def _end_turn(self) -> None:
        """Put the turn's steps behind: in the order of its calls, those without a result as failed."""
        for key, made in self._turn.items():
            symbol = made.symbol
            if symbol is None:
                symbol = self.flow.symbol(made.call.name, StepOutcome.ERROR)
                self._late[key] = made.call
            self._before.append(symbol)
        self._turn.clear()
        self._last = self._site = None

    # --- where it stands ---

    def situation(self) -> Situation:
        """Where the session stands; of the current turn, the call that returned last is the last step."""
        history = [*self._before]
        if self._last is not None:
            history += [
                made.symbol for key, made in self._turn.items() if made.symbol is not None and key != self._last
            ]
            last = self._turn[self._last].symbol
            if last is not None:
                history.append(last)
        return Situation(self._site, tuple(history[-ORDER:]), self, self._lookups)

    def ways(self, tool: str) -> Sequence[Bound | Unbound]:
        """The ways to fill a lookup's arguments; kept until something happens that they depend on."""
        stamp = self._binder.stamp(tool, self.values)
        kept = self._ways.get(tool)
        if kept is None or kept[0] != stamp:
            kept = self._ways[tool] = (stamp, self._binder.ways(tool, self.values))
        return kept[1]
