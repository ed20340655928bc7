"""What decides on the lookups of one session, as the session's thread drives it.

Not responsible for time, for messages, or for what the host is promised (`stretto.proxy.session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from stretto.proxy.pending import HostCall
    from stretto.sessions.manifest import Manifest
    from waggle.calls import Result
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
    def longest_s(self) -> float:
        """For how long a run may last, seconds."""

    def offers(self, tool: str, *, failed: bool) -> bool:
        """Whether lookups can follow the answer to a call of this tool; from any thread, and cheap."""

    # --- what happens ---------------------------------------------------------------------------------------------

    def said(self, role: str, text: str) -> None:
        """Take in what was said beside the calls."""

    def called(self, call: HostCall) -> None:
        """Take in a call of the agent."""

    def answered(self, call: HostCall, result: Result) -> None:
        """Take in the answer to a call, which is final."""

    def dropped(self, call: HostCall) -> None:
        """Know that a call gets no answer, or that nobody waits for it any more. It may have been answered."""

    def delivered(self, call: HostCall) -> None:
        """Know that the agent has a call's answer."""

    def listed(self, manifest: Manifest) -> None:
        """Take in what the server lists now."""

    def close(self) -> None:
        """Know that the session has ended."""

    # --- the run --------------------------------------------------------------------------------------------------

    def glance(self, call: HostCall) -> None:
        """Decide after an answer that is not held, for the record; nothing is looked up."""

    def begin(self, call: HostCall) -> None:
        """Begin a run after a call whose answer is held."""

    def next(self) -> Lookup | None:
        """The lookup to make now; None to hand back. Its tool is named as the server does."""

    def settle(self, result: Result) -> None:
        """Take in the answer to the lookup that `next` gave."""

    def give_up(self) -> None:
        """Know that the lookup that `next` gave has been sent, and that its answer, if one comes, is nobody's."""

    def withdraw(self) -> None:
        """Know that the lookup that `next` gave was not sent."""

    def text(self) -> str:
        """What is to be added to the answer that is held; empty for nothing."""

    def end(self, *, delivered: bool) -> None:
        """End the run; `delivered` when the agent gets the text."""
