"""Proxies of one host session, for tests: meshes that are listened to, and a shop whose tools are two servers'."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from stretto.proxy.peers.meeting import Meeting
from stretto.proxy.peers.mesh import Mesh
from stretto.proxy.peers.names import Names
from tests.stretto.proxy.proxy_support import LISTED, Bench, shop_answer
from tests.stretto.shop import KINDS, shop_flow
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.proxy.peers.mesh import Peer
    from stretto.proxy.peers.messages import Message

PATIENCE = 10.0

#: Which server has which of the shop's tools.
SERVERS = {tool: "people" if tool in ("find_user", "get_user") else "orders" for tool in KINDS}


def two_server_flow(**changes: Any) -> Flow:
    """The shop's flow, as if it had been learned over the servers ``people`` and ``orders``."""
    return shop_flow(called=lambda tool: f"{SERVERS[tool]}::{tool}", **changes)


class Ears:
    """A mesh, and what it has told so far.

    Attributes:
        heard: what was told, by the peer's server.
        there: who is there.
    """

    def __init__(self, root: Path, server: str, host: str = "h", **options: Any) -> None:
        self.meeting = Meeting(root, host, **options)
        self.faults = Faults()
        self.mesh = Mesh(self.meeting, server, self.faults)
        self.heard_of: list[tuple[str, Message]] = []
        self.there: list[Peer] = []
        self.is_open = False
        self._changed = threading.Condition()
        self.mesh.open(self)

    def came(self, peer: Peer) -> None:
        with self._changed:
            self.there.append(peer)
            self._changed.notify_all()

    def heard(self, peer: Peer, message: Message) -> None:
        with self._changed:
            assert peer in self.there
            self.heard_of.append((peer.server, message))
            self._changed.notify_all()

    def left(self, peer: Peer) -> None:
        with self._changed:
            self.there.remove(peer)
            self._changed.notify_all()

    def opened(self) -> None:
        with self._changed:
            assert not self.is_open
            self.is_open = True
            self._changed.notify_all()

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for something to hold; bounded."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), (self.there, self.heard_of, self.faults.counts())

    def meets(self, count: int) -> None:
        """Wait until so many others are there."""
        self.until(lambda: self.is_open and len(self.there) == count)

    def hears(self, count: int) -> None:
        """Wait until so many messages were told."""
        self.until(lambda: len(self.heard_of) == count)

    @property
    def servers(self) -> list[str]:
        return sorted(peer.server for peer in self.there)


class Office(Bench):
    """The shop behind the proxy of one of its two servers, with a mesh to the other."""

    def __init__(self, server: str, root: Path, flow: Flow | None = None, *, host: str = "h", **options: Any) -> None:
        self.name = server
        self.mesh_faults = Faults()
        mesh = Mesh(Meeting(root, host), server, self.mesh_faults)
        super().__init__(flow or two_server_flow(), names=Names(server), mesh=mesh, **options)
        self.number = 0
        self.answer_lookups()

    def lists(self) -> None:
        """The host asks for the tools, and gets them."""
        self.host_says({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
        tools: Any = [tool for tool in LISTED if SERVERS[tool["name"]] == self.name]
        assert self.server_says({"jsonrpc": "2.0", "id": "list", "result": {"tools": tools}})

    def answers(self, tool: str, **arguments: str) -> Any:
        """The agent calls, and the server answers; the line that the host gets."""
        self.number += 1
        request = {
            "jsonrpc": "2.0",
            "id": self.number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        self.host_says(request)
        count = len(self.host)
        self.server_says(shop_answer(request))
        self.until(lambda: len(self.host) > count)
        return self.host[count]

    def decides(self) -> None:
        """Wait until a decision was made, which may be later than the answer."""
        self.until(lambda: bool(self.log))

    @property
    def company(self) -> Any:
        return self.serving._session._company

    def knows(self, tools: int) -> None:
        """Wait until other proxies let so many tools be looked up."""
        end = time.monotonic() + PATIENCE
        while sum(len(known.lends) for known in tuple(self.company._peers.values())) != tools:
            assert time.monotonic() < end, self.company._peers
            threading.Event().wait(0.005)
