"""Lookups that a proxy makes at its server for the proxies of other servers, as calls of its own.

They are checked here as the proxy's own lookups are, and their answers never reach its host. Not responsible for who
asks (`stretto.proxy.peers.company`), nor for what may be looked up (`stretto.speculator`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.proxy.peers.messages import Told
from waggle.calls import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.peers.mesh import Peer
    from stretto.proxy.peers.messages import Ask
    from waggle.calls import Result
    from waggle.jsonvalue import JsonObject

__all__ = ["Lending"]


class Lending:
    """The lookups that are under way for others, one a peer at a time. For one thread.

    Args:
        refusal: why a lookup is not made, given its tool and arguments; empty when it is, and then it counts.
        call: sends it to the server; gives the id of the call, None when the server is gone.
        leave: lets the server know that nobody waits for a call any more, and why.
        reply: tells a peer what came of it.
    """

    def __init__(
        self,
        *,
        refusal: Callable[[str, JsonObject], str],
        call: Callable[[str, JsonObject], str | None],
        leave: Callable[[str, str], None],
        reply: Callable[[Peer, Told], None],
    ) -> None:
        self._refusal = refusal
        self._call = call
        self._leave = leave
        self._reply = reply
        self._lent: dict[str, tuple[Peer, int]] = {}  # by the call's id: for whom, and its number of it

    def asked(self, peer: Peer, ask: Ask) -> None:
        """Make a lookup for a peer, or tell it why not."""
        if not isinstance(ask.arguments, dict):
            reason = "its arguments are no object"
        elif any(other is peer for other, _ in self._lent.values()):
            reason = "another lookup is being made for the same proxy"
        else:
            reason = self._refusal(ask.tool, ask.arguments)
            call_id = None if reason else self._call(ask.tool, ask.arguments)
            if call_id is not None:
                self._lent[call_id] = (peer, ask.number)
                return
            reason = reason or "its server is gone"
        self._reply(peer, _not_made(ask.number, reason))

    def answered(self, call_id: str, result: Result | None) -> bool:
        """Tell whoever asked for a lookup what came of it; False when it was none of these.

        Args:
            call_id: of the call.
            result: what it returned; None when the server asks for something instead.
        """
        lent = self._lent.pop(call_id, None)
        if lent is None:
            return False
        peer, number = lent
        if result is None:
            self._reply(peer, _not_made(number, "its server asks for something"))
        else:
            self._reply(peer, Told(number, not result.ok, result.outcome is Outcome.PROTOCOL_ERROR, result.text, ""))
        return True

    def left(self, peer: Peer, number: int | None, reason: str) -> None:
        """Know that a peer waits no more for a lookup; None for whichever it had asked for."""
        for call_id, lent in tuple(self._lent.items()):
            if lent[0] is peer and number in (None, lent[1]):
                del self._lent[call_id]
                self._leave(call_id, reason)

    def give_up(self, reason: str) -> None:
        """Make none of the lookups to its end."""
        lent, self._lent = self._lent, {}
        for call_id, (peer, number) in lent.items():
            self._leave(call_id, reason)
            self._reply(peer, _not_made(number, reason))


def _not_made(number: int, reason: str) -> Told:
    return Told(number, error=False, refused=False, text="", reason=reason)
