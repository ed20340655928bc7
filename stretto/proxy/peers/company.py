"""A session among those of other servers: what happens at each is told to all, and taken in by all in one order.

A flow that was learned over several servers decides from the calls of all. Each proxy tells the others what happens at
its own server. Before it decides, it lets them say that they have told everything so far, and takes in what happened up
to the call's answer, in order of time. What the host had seen when it made a call is therefore known when that call is
decided on: whoever told it to the host has put it into its own queue before. One that does not say so in time is not
waited for until it is heard again.

Everything here happens on the session's thread, to which what peers say is posted. Not responsible for connections
(`stretto.proxy.peers.mesh`) nor for what a lookup is (`stretto.proxy.serving.session`, `stretto.proxy.peers.lending`).
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from stretto.proxy.peers.messages import (
    Answered,
    Ask,
    Called,
    Dropped,
    Hello,
    Leave,
    Lends,
    Said,
    Sync,
    Synced,
    Told,
)
from stretto.proxy.peers.order import Order
from stretto.sessions.qualified import qualify, server_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.peers.mesh import Mesh, Peer
    from stretto.proxy.peers.messages import Event, Message
    from waggle.background import Faults
    from waggle.jsonvalue import JsonObject

__all__ = ["Company", "Member"]

#: Longest wait, before a decision, for peers to tell what they know, seconds: while an answer is held for it, which may
#: be for 1 s, and while nothing is. It takes less than one ms, on a busy machine a hundred.
_AGREE_HELD_S: Final = 0.25
_AGREE_S: Final = 1.0


class Member(Protocol):
    """What a session does in its company; see `stretto.proxy.serving.session.ServedSession`. Called on its thread."""

    def take(self, event: Event) -> None:
        """Take in what happened at any server, in order."""

    def asked(self, peer: Peer, ask: Ask) -> None:
        """Make a lookup for a peer."""

    def left(self, peer: Peer, number: int | None, reason: str) -> None:
        """Know that a peer waits for a lookup no more; None for whichever it had asked for."""

    def told(self, borrowed: str, told: Told) -> None:
        """Take in what a lookup at another server has returned."""


@dataclass(slots=True)
class _Known:
    """What is known of a peer."""

    lends: frozenset[str] = frozenset()
    synced: int = 0  # the number of the last agreement it has answered
    silent: bool = False  # it did not answer in time
    open: set[str] = field(default_factory=set)  # its calls without an answer


@dataclass(slots=True)
class _Agreement:
    """Something to be done when all have told what they know."""

    number: int
    until: float
    then: Callable[[], None]
    asked: list[Peer]


class Company:
    """The other proxies of one host session, as one of them sees them.

    Args:
        server: the name of this proxy's server.
        mesh: the connections to the others; None for a flow of one server, whose session is in no company.
        member: the session.
        post: lets something be done on its thread.
        faults: where what goes wrong is counted.
    """

    def __init__(
        self,
        server: str,
        mesh: Mesh | None,
        member: Member,
        post: Callable[[Callable[[], object]], None],
        faults: Faults,
    ) -> None:
        self._server = server
        self._mesh = mesh
        self._member = member
        self._post = post
        self._faults = faults
        self._peers: dict[Peer, _Known] = {}
        self._open = mesh is None  # whoever was there before has come
        self._order: Order[Event] = Order()
        self._heard_lines: dict[int, list[tuple[str, str]]] = {}  # of the conversation, in the n-th line of each
        self._lines = 0  # of the conversation as this proxy is told of it
        self._agreements: deque[_Agreement] = deque()
        self._number = 0
        self._borrowed: dict[str, tuple[Peer, int]] = {}
        self._lends: tuple[str, ...] = ()

    def enter(self) -> None:
        """Begin to look for the others."""
        if self._mesh:
            self._mesh.open(self)

    def leave(self) -> None:
        """Leave them; may be called again, and from any thread."""
        if self._mesh:
            self._mesh.close()

    # --- what a mesh tells, on any thread ---------------------------------------------------------------------------

    def came(self, peer: Peer) -> None:
        """See `stretto.proxy.peers.mesh.Listener`."""
        self._post(partial(self._came, peer))

    def heard(self, peer: Peer, message: Message) -> None:
        """See `stretto.proxy.peers.mesh.Listener`."""
        self._post(partial(self._heard, peer, message))

    def left(self, peer: Peer) -> None:
        """See `stretto.proxy.peers.mesh.Listener`."""
        self._post(partial(self._left, peer))

    def opened(self) -> None:
        """See `stretto.proxy.peers.mesh.Listener`."""
        self._post(self._opened)

    # --- what happens ---------------------------------------------------------------------------------------------

    def happened(self, event: Event, *, late: bool = False) -> None:
        """Tell the others what happened here, and take it in when its time has come; at once, where nobody else is.

        Args:
            event: what happened.
            late: of all that happened at that time, it is the last.
        """
        self.tell(event)
        self._put(event, late=late)

    def tell(self, event: Event) -> None:
        """Tell the others what this session has taken in already."""
        if self._mesh:
            self._mesh.send(event, keep=True)

    def said(self, role: str, text: str, at: float, *, late: bool = False) -> None:
        """Take in a line of the conversation, unless another proxy has told it: several may read the same."""
        event = Said(at, self._lines, role, text)
        self._lines += 1
        self.tell(event)
        if self._is_news(event):
            self._put(event, late=late)

    def catch_up(self, at: float = math.inf) -> None:
        """Take in what happened up to a time, on the clock of `time.monotonic`, as far as it is known."""
        for event in self._order.until(at):
            self._member.take(event)

    def _put(self, event: Event, *, late: bool = False) -> None:
        if self._open and not self._peers:
            self.catch_up()
            self._member.take(event)
            return
        now = time.monotonic()
        self._order.add(event, event.at, now, late=late)
        for settled in self._order.settled(now):
            self._member.take(settled)

    def _is_news(self, said: Said) -> bool:
        """Whether a line of the conversation is not another proxy's line of the same number."""
        if not self._mesh:
            return True
        told = self._heard_lines.setdefault(said.number, [])
        line = (said.role, said.text)
        if line in told:
            return False
        told.append(line)
        return True

    # --- agreeing ---------------------------------------------------------------------------------------------------

    @property
    def until(self) -> float:
        """When `check` is due, on the clock of `time.monotonic`; infinite when nothing is waited for."""
        return min((agreement.until for agreement in self._agreements), default=math.inf)

    def agreed(self, then: Callable[[], None], *, held: bool) -> None:
        """Do something when all have told what they know, but soon; at once, where nobody else is.

        Args:
            then: what is done; everything that was asked for before has been done by then.
            held: somebody waits for it.
        """
        self._number += 1
        until = time.monotonic() + (_AGREE_HELD_S if held else _AGREE_S)
        agreement = _Agreement(self._number, until, then, [])
        for peer, known in self._peers.items():
            if self._is_one(peer):
                self._say(Sync(self._number), peer)
                if not known.silent:
                    agreement.asked.append(peer)
        self._agreements.append(agreement)
        self.check()

    def check(self) -> None:
        """Do what is due."""
        while self._agreements:
            agreement = self._agreements[0]
            missing = [
                known
                for peer in agreement.asked
                if (known := self._peers.get(peer)) and known.synced < agreement.number and not known.silent
            ]
            if (missing or not self._open) and time.monotonic() < self.until:
                return
            self._open = True
            for known in missing:
                known.silent = True
            self._agreements.popleft()
            agreement.then()

    # --- lookups elsewhere ----------------------------------------------------------------------------------------

    def refusal(self, tool: str) -> str:
        """Why a lookup of another server's tool cannot be made, in words; empty when it can."""
        peer = self._peer_of(tool)
        if peer is None:
            return "its server's proxy is not there"
        if self._peers[peer].silent:
            return "its server's proxy does not answer"
        return "" if tool in self._peers[peer].lends else "its server's proxy does not let it be looked up now"

    def borrow(self, tool: str, arguments: JsonObject) -> str | None:
        """Have a lookup made by another server's proxy; what came of it goes to `Member.told`.

        Returns:
            What it is called there; None when it cannot be asked for.
        """
        peer = self._peer_of(tool)
        if peer is None:
            return None
        self._number += 1
        name = qualify(peer.server, str(self._number))
        if not self._say(Ask(self._number, tool, arguments), peer):
            return None
        self._borrowed[name] = (peer, self._number)
        return name

    def give_back(self, borrowed: str, reason: str) -> None:
        """Wait for a lookup no more."""
        asked = self._borrowed.pop(borrowed, None)
        if asked:
            self._say(Leave(asked[1], reason), asked[0])

    def lend(self, tools: tuple[str, ...]) -> None:
        """Let the others know which tools they may have looked up here."""
        if tools != self._lends:
            self._lends = tools
            for peer in self._peers:
                self._say(Lends(tools), peer)

    def reply(self, peer: Peer, told: Told) -> None:
        """Tell a peer what came of the lookup that it asked for."""
        self._say(told, peer)

    def _say(self, message: Message, peer: Peer) -> bool:
        return self._mesh is not None and self._mesh.send(message, peer)

    # --- what peers say -------------------------------------------------------------------------------------------

    def _came(self, peer: Peer) -> None:
        self._peers[peer] = _Known()
        self._say(Lends(self._lends), peer)
        if not self._is_one(peer):
            self._faults.note(
                f"two proxies of this host session are called {peer.server}, and what happens at either is not shared: "
                "give each server its own --server-name"
            )
            return
        if self._agreements:  # it may have something to tell, too
            self._say(Sync(self._agreements[-1].number), peer)
            for agreement in self._agreements:
                agreement.asked.append(peer)

    def _opened(self) -> None:
        self._open = True

    def _left(self, peer: Peer) -> None:
        known = self._peers.pop(peer, None)
        if known is None:
            return
        now = time.monotonic()
        for call in sorted(known.open):
            self._put(Dropped(now, call))
        self._member.left(peer, None, "nobody waits for it any more")
        for name, (other, number) in tuple(self._borrowed.items()):
            if other is peer:
                del self._borrowed[name]
                self._member.told(name, Told(number, False, False, "", "its server's proxy is gone"))

    def _heard(self, peer: Peer, message: Message) -> None:
        known = self._peers.get(peer)
        if known is None:
            return
        match message:
            case Sync(number):
                self._say(Synced(number), peer)
            case Synced(number):
                known.synced, known.silent = max(known.synced, number), False
            case Lends(tools):
                known.lends = frozenset(tools)
            case Hello():
                pass  # it has said so before
            case _ if not self._is_one(peer):
                pass  # nobody knows whose calls these are
            case Ask() | Leave() | Told():
                self._about_lookup(peer, message)
            case _:
                self._about_session(peer, known, message)

    def _about_lookup(self, peer: Peer, message: Ask | Leave | Told) -> None:
        if isinstance(message, Ask):
            self._member.asked(peer, message)
        elif isinstance(message, Leave):
            self._member.left(peer, message.number, message.reason)
        elif self._borrowed.pop(name := qualify(peer.server, str(message.number)), None):
            self._member.told(name, message)

    def _about_session(self, peer: Peer, known: _Known, event: Event) -> None:
        if isinstance(event, Said):
            if self._is_news(event):
                self._put(event)
        elif server_of(event.id) == peer.server:  # else it would be taken for another server's
            if isinstance(event, Called):
                known.open.add(event.id)
            elif isinstance(event, Answered | Dropped):
                known.open.discard(event.id)
            self._put(event)

    def _is_one(self, peer: Peer) -> bool:
        """Whether nobody else has the name of a peer's server: whose calls are whose could not be told."""
        return peer.server != self._server and all(
            other is peer or other.server != peer.server for other in self._peers
        )

    def _peer_of(self, tool: str) -> Peer | None:
        server = server_of(tool)
        return next((peer for peer in self._peers if peer.server == server and self._is_one(peer)), None)
