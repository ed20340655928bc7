"""A flow alone, as the engine of one session: turns as the record will have them, and the speculator's run.

Not responsible for deciding (`stretto.speculator`).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stretto.block import lookup_block
from stretto.proxy.turns import LiveTurns
from stretto.sessions.episode import ToolCall
from stretto.sessions.wire import COMMIT_TOOL
from waggle._defaults import FOLD_BYTES

if TYPE_CHECKING:
    from stretto.proxy.pending import HostCall
    from stretto.sessions.manifest import Manifest
    from stretto.speculator import Speculator
    from waggle.calls import Result
    from waggle.replay import Lookup

__all__ = ["FlowEngine"]


class FlowEngine:
    """An engine that asks one speculator; see `stretto.proxy.engine.Engine`.

    Args:
        speculator: of this session.
        shadow: it looks nothing up.
    """

    name: Final = "the flow"
    longest_s: Final = math.inf

    def __init__(self, speculator: Speculator, *, shadow: bool = False) -> None:
        self._speculator = speculator
        self._shadow = shadow
        self._turns = LiveTurns()
        self._begins = False  # a turn has begun, and its first call is still to come
        self._lookup: Lookup | None = None
        self._made: list[Lookup] = []
        self._size_bytes = 0  # of their texts

    def offers(self, tool: str, *, failed: bool) -> bool:
        """See `Engine.offers`."""
        return not self._shadow and bool(self._speculator.prepared.flow.sites.options((tool, failed)))

    def said(self, role: str, text: str) -> None:
        """See `Engine.said`."""
        reply = role == "assistant" and bool(text)
        self._turns.said(text, speaks=reply or role == "user")
        if reply:
            self._speculator.reply(text)
        elif role == "user":
            self._speculator.user(text)

    def called(self, call: HostCall) -> None:
        """See `Engine.called`."""
        self._begins |= self._turns.call(call.id, call.arguments, time.monotonic())
        if call.name == COMMIT_TOOL:
            return  # the calls that it leads to are the agent's, and belong to its turn
        if self._begins:
            self._begins = False
            self._speculator.turn()
        self._speculator.call(ToolCall(call.id, call.name, call.arguments))

    def answered(self, call: HostCall, result: Result) -> None:
        """See `Engine.answered`."""
        self._speculator.result(call.id, error=not result.ok, content=result.text)
        self._turns.returned(result.text)

    def dropped(self, call: HostCall) -> None:
        """See `Engine.dropped`."""
        self._turns.dropped(call.id)

    def delivered(self, call: HostCall) -> None:
        """See `Engine.delivered`."""
        self._turns.answered(call.id, time.monotonic())

    def listed(self, manifest: Manifest) -> None:
        """See `Engine.listed`."""
        self._speculator.listed(manifest)

    def close(self) -> None:
        """See `Engine.close`; a run that still goes on is not logged."""

    # --- the run --------------------------------------------------------------------------------------------------

    def glance(self, call: HostCall) -> None:
        """See `Engine.glance`."""
        if self._speculator.begin(call.id) and self._speculator.next():
            self._speculator.withdraw()

    def begin(self, call: HostCall) -> None:
        """See `Engine.begin`."""
        self._speculator.begin(call.id)

    def next(self) -> Lookup | None:
        """See `Engine.next`."""
        self._lookup = self._speculator.next()
        return self._lookup

    def settle(self, result: Result) -> None:
        """See `Engine.settle`. What is too long to be added ends the run."""
        if self._lookup is None or self._speculator.lookup_id is None:
            return  # the agent's next turn has ended the run
        self._size_bytes += result.size_bytes
        if self._size_bytes > FOLD_BYTES:
            faults = self._speculator.prepared.faults
            faults.note(f"what was looked up with {self._lookup.tool} is too long to be added")
            self._speculator.end()
        else:
            self._speculator.settle(result)
            self._turns.returned(result.text)
            self._made.append(replace(self._lookup, result=result))

    def give_up(self) -> None:
        """See `Engine.give_up`; it ends the run."""
        self._speculator.end()

    def withdraw(self) -> None:
        """See `Engine.withdraw`; it ends the run."""
        self._speculator.withdraw()

    def text(self) -> str:
        """See `Engine.text`."""
        return lookup_block(self._made) if self._made else ""

    def end(self, *, delivered: bool) -> None:
        """See `Engine.end`. What was looked up belongs to the session, whoever got it."""
        del delivered
        self._made, self._size_bytes, self._lookup = [], 0, None
