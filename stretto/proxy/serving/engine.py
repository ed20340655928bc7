"""What decides on the lookups of one session, as the session's thread drives it.

Not responsible for time, for messages, or for what the host is promised (`stretto.proxy.serving.session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from stretto.proxy.peers.messages import Event
    from stretto.sessions.manifest import Manifest
    from waggle.calls import Result
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["Engine"]


class Engine(Protocol):
    """Decides on lookups. Called on the session's thread, but for `offers`.

    A run begins after an answer of the server that is held, and there is one at a time: `begin`, then `next` and one of
    `settle`, `give_up` and `withdraw` for each lookup, then `text` and `end`. What raises ends all lookups of the
    session.
    """

    @property
    def name(self) -> str:
        """What it is called in a message to people."""

    @property
    def lookup_id(self) -> str:
        """Id, in the session, of the lookup that `next` gave last; other servers' proxies know it by that."""

    @property
    def longest_s(self) -> float:
        """For how long a run may last, seconds."""

    def offers(self, tool: str, *, failed: bool) -> bool:
        """Whether lookups can follow the answer to a call of this tool; from any thread, and cheap."""

    # --- what happens ---------------------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """Take in what has happened at this server, or, for a flow over several, at another one; in order of time."""

    def listed(self, manifest: Manifest) -> None:
        """Take in what the server lists now."""

    def close(self) -> None:
        """Know that the session has ended."""

    # --- lookups for others ---------------------------------------------------------------------------------------

    def refusal(self, tool: str, arguments: JsonObject) -> str:
        """Why a lookup is left to the agent, whoever wants to make it, in words; empty when it may be made."""

    def lend(self, tool: str, arguments: JsonObject) -> str:
        """The same of a lookup that is made for another proxy if it may be, and counts then."""

    # --- the run --------------------------------------------------------------------------------------------------

    def glance(self, call_id: str) -> None:
        """Decide after an answer that is not held, for the record; nothing is looked up."""

    def begin(self, call_id: str) -> None:
        """Begin a run after a call whose answer is held."""

    def next(self) -> Lookup | None:
        """The lookup to make now; None to hand back. Its tool is named as the events have it."""

    def settle(self, result: Result) -> bool:
        """Take in the answer to the lookup that `next` gave; whether it belongs to the session."""

    def give_up(self) -> None:
        """Know that the lookup that `next` gave has been sent, and that its answer, if one comes, is nobody's."""

    def withdraw(self) -> None:
        """Know that the lookup that `next` gave was not sent."""

    def text(self) -> str:
        """What is to be added to the answer that is held; empty for nothing."""

    def end(self, *, delivered: bool) -> None:
        """End the run; `delivered` when the agent gets the text."""
