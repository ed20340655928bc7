"""A flow alone, as the engine of one session: turns as the record will have them, and the speculator's run.

Not responsible for deciding (`stretto.speculator`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stretto.block import lookup_block
from stretto.proxy.peers.messages import Answered, Called, Dropped, Found, LookedUp, Returned, Said
from stretto.proxy.peers.names import Names
from stretto.proxy.serving.turns import LiveTurns
from stretto.sessions.episode import ToolCall
from stretto.sessions.turns import commits
from waggle._defaults import FOLD_BYTES

if TYPE_CHECKING:
    from stretto.proxy.peers.messages import Event
    from stretto.sessions.manifest import Manifest
    from stretto.speculator import Speculator
    from waggle.calls import Result
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["FlowEngine"]


class FlowEngine:
    """An engine that asks one speculator; see `stretto.proxy.serving.engine.Engine`.

    Args:
        speculator: of this session.
        shadow: it looks nothing up.
        names: how the agent is told of the flow's tools.
    """

    name: Final = "the flow"
    longest_s: Final = math.inf

    def __init__(self, speculator: Speculator, *, shadow: bool = False, names: Names | None = None) -> None:
        self._speculator = speculator
        self._shadow = shadow
        self._names = names or Names()
        self.lookup_id = ""
        self._turns = LiveTurns()
        self._begins = False  # a turn has begun, and its first call is still to come
        self._lookup: Lookup | None = None
        self._made: list[Lookup] = []
        self._size_bytes = 0  # of their texts

    def offers(self, tool: str, *, failed: bool) -> bool:
        """See `Engine.offers`."""
        return not self._shadow and bool(self._speculator.prepared.flow.sites.options((tool, failed)))

    def take(self, event: Event) -> None:
        """See `Engine.take`."""
        match event:
            case Called():
                self._called(event)
            case LookedUp():
                self._speculator.lookup(ToolCall(event.id, event.tool, event.arguments))
            case Returned() | Found():
                self._speculator.result(event.id, error=event.error, content=event.text)
                self._turns.returned(event.text)
            case Answered():
                self._turns.answered(event.id, event.at)
            case Dropped():
                self._turns.dropped(event.id)
            case Said():
                self._said(event.role, event.text)

    def _called(self, call: Called) -> None:
        self._begins |= self._turns.call(call.id, call.arguments, call.at)
        if commits(call.tool):
            return  # the calls that it leads to are the agent's, and belong to its turn
        if self._begins:
            self._begins = False
            self._speculator.turn()
        self._speculator.call(ToolCall(call.id, call.tool, call.arguments))

    def _said(self, role: str, text: str) -> None:
        reply = role == "assistant" and bool(text)
        self._turns.said(text, speaks=reply or role == "user")
        if reply:
            self._speculator.reply(text)
        elif role == "user":
            self._speculator.user(text)

    def listed(self, manifest: Manifest) -> None:
        """See `Engine.listed`."""
        self._speculator.listed(manifest)

    def close(self) -> None:
        """See `Engine.close`; a run that still goes on is not logged."""

    # --- lookups for others ---------------------------------------------------------------------------------------

    def refusal(self, tool: str, arguments: JsonObject) -> str:
        """See `Engine.refusal`."""
        return self._speculator.refusal(tool, arguments)

    def lend(self, tool: str, arguments: JsonObject) -> str:
        """See `Engine.lend`."""
        return self._speculator.lend(tool, arguments)

    # --- the run --------------------------------------------------------------------------------------------------

    def glance(self, call_id: str) -> None:
        """See `Engine.glance`."""
        if self._speculator.begin(call_id) and self._speculator.next():
            self._speculator.withdraw()

    def begin(self, call_id: str) -> None:
        """See `Engine.begin`."""
        self._speculator.begin(call_id)

    def next(self) -> Lookup | None:
        """See `Engine.next`."""
        self._lookup = self._speculator.next()
        self.lookup_id = self._speculator.lookup_id or ""
        return self._lookup

    def settle(self, result: Result) -> bool:
        """See `Engine.settle`. What is too long to be added ends the run."""
        if self._lookup is None or self._speculator.lookup_id != self.lookup_id:
            return False  # the agent's next turn has ended the run
        self._size_bytes += result.size_bytes
        if self._size_bytes > FOLD_BYTES:
            faults = self._speculator.prepared.faults
            faults.note(f"what was looked up with {self._lookup.tool} is too long to be added")
            self._speculator.end()
            return False
        self._speculator.settle(result)
        self._turns.returned(result.text)
        self._made.append(replace(self._lookup, tool=self._names.shown(self._lookup.tool), result=result))
        return True

    def give_up(self) -> None:
        """See `Engine.give_up`; it ends the run."""
        self._speculator.end()

    def withdraw(self) -> None:
        """See `Engine.withdraw`; it ends the run."""
        if self._speculator.lookup_id == self.lookup_id:
            self._speculator.withdraw()

    def text(self) -> str:
        """See `Engine.text`."""
        return lookup_block(self._made) if self._made else ""

    def end(self, *, delivered: bool) -> None:
        """See `Engine.end`. What was looked up belongs to the session, whoever got it."""
        del delivered
        self._made, self._size_bytes, self._lookup = [], 0, None
