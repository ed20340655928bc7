"""The proxies of one host session, connected each to each other, and what one has told handed to those who come later.

Every proxy connects to those it finds, and they connect back; a connection carries what one says to the other. So it
makes no difference who was first. Whoever joins is told what the others have told before, as far as that is kept.

Nothing here waits for a peer but threads of this module's own: `Mesh.send` puts a line into a bounded queue. A peer
that does not read until its queue is full is left alone from then on. Not responsible for where proxies meet
(`stretto.proxy.peers.meeting`) nor for what they say (`stretto.proxy.peers.messages`).
"""

from __future__ import annotations

import hmac
import socket
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from stretto.proxy.peers.meeting import is_name
from stretto.proxy.peers.messages import MESSAGE_BYTES, Hello, decode, encode, hello
from stretto.proxy.streams import Cutter
from stretto.sessions.qualified import name_of_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stretto.proxy.peers.meeting import Door, Meeting
    from stretto.proxy.peers.messages import Message
    from waggle.background import Faults

__all__ = ["Listener", "Mesh", "Peer"]

#: Longest time until whoever connects has said who it is, seconds.
_HELLO_S: Final = 2.0

#: Most connections that are open at once: no agent has as many servers.
_CONNECTIONS: Final = 64

#: Most that waits for one peer to read it, bytes.
_QUEUE_BYTES: Final = 16 * 2**20

#: What is kept for those who come later, bytes; of a longer session the latest. Values of 200 results are looked for.
_KEPT_BYTES: Final = 4 * 2**20

_CHUNK_BYTES: Final = 64 * 1024


class Peer:
    """Another proxy of the host session.

    Attributes:
        name: of the proxy; no two have the same.
        server: as the user named its server.
    """

    def __init__(self, name: str, server: str) -> None:
        self.name = name
        self.server = server

    def __repr__(self) -> str:
        return f"Peer({self.name!r}, {self.server!r})"


class Listener(Protocol):
    """Is told what goes on, from several threads; of one peer in order. Must not wait."""

    def came(self, peer: Peer) -> None:
        """A peer can be talked to; nothing was heard of it before."""

    def heard(self, peer: Peer, message: Message) -> None:
        """A peer has said something."""

    def left(self, peer: Peer) -> None:
        """A peer is gone, and nothing more is heard of it."""

    def opened(self) -> None:
        """All that were there when this proxy came have come, or will not."""


class Mesh:
    """One proxy's connections to the others.

    Args:
        meeting: where they meet.
        server: the name of this proxy's server.
        faults: where what goes wrong is counted.
    """

    def __init__(self, meeting: Meeting, server: str, faults: Faults) -> None:
        self._meeting = meeting
        self._server = server
        self._faults = faults
        self._listener: Listener | None = None
        self._door: Door | None = None
        self._lock = threading.RLock()
        self._links: dict[str, _Link] = {}  # to other proxies, by name
        self._heard: dict[str, tuple[Peer, socket.socket]] = {}  # those who have connected to this one
        self._sockets: set[socket.socket] = set()  # connections of others
        self._expected: set[str] | None = None  # those who were there before, and have not connected back; None: done
        self._opened = False  # the listener has been told
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._open, name="stretto-mesh", daemon=True)

    def open(self, listener: Listener) -> None:
        """Begin to connect, on a thread of its own; what goes wrong leaves this proxy alone, which is reported once."""
        self._listener = listener
        self._thread.start()

    def send(self, message: Message, to: Peer | None = None, *, keep: bool = False) -> bool:
        """Say something, without waiting.

        Args:
            message: what is said.
            to: whom; None for all.
            keep: say it to those who come later, too.

        Returns:
            False for what cannot be said, which is reported once.
        """
        line = encode(message)
        if line is None:
            self._faults.note("something that happened is too long to be told to the proxies of other servers")
            return False
        with self._lock:
            if keep:
                self._keep(line)
            for name in (to.name,) if to else tuple(self._links):
                if name in self._links:
                    self._links[name].put(line)
        return True

    def close(self) -> None:
        """Leave; the end of the connections tells the others. Nothing of this proxy's is left in the directory."""
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            self._listener = None
            links, sockets, door = tuple(self._links.values()), tuple(self._sockets), self._door
        for link in links:
            link.close()
        for connection in sockets:
            _shut(connection)
        if door:
            self._meeting.leave(door)

    # --- connecting -------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        try:
            door = self._meeting.enter()
            with self._lock:
                self._door = None if self._over.is_set() else door
            if self._door is None:
                self._meeting.leave(door)
                return
            threading.Thread(target=self._accept, args=(door,), name="stretto-mesh-accept", daemon=True).start()
            found = self._meeting.others(door)
            with self._lock:
                self._expected = set(found) - set(self._heard)
                for name in found:
                    self._link_to(name)
            self._expect_no_more(None)
            self._meeting.sweep()
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._expect_no_more(None)
            self._faults.note("the proxies of other servers cannot be met", error)

    def _accept(self, door: Door) -> None:
        while not self._over.is_set():
            try:
                connection, _ = door.listener.accept()
            except OSError:
                return
            with self._lock:
                taken = not self._over.is_set() and len(self._sockets) < _CONNECTIONS
                if taken:
                    self._sockets.add(connection)
            if taken:
                threading.Thread(
                    target=self._listen, args=(connection, door.key), name="stretto-peer", daemon=True
                ).start()
            else:
                connection.close()

    def _link_to(self, name: str) -> None:
        """Have a link to a proxy, and tell it who this is and what there was; under the lock."""
        door = self._door
        if self._over.is_set() or door is None or name in self._links or len(self._links) >= _CONNECTIONS:
            return

        def connect() -> tuple[socket.socket, bytes] | None:
            found = self._meeting.connect(name)
            return (found[0], encode(hello(found[1], door.name, self._server)) or b"") if found else None

        link = self._links[name] = _Link(connect, partial(self._lost, name))
        for line in self._kept:
            link.put(line)

    def _lost(self, name: str, full: bool) -> None:  # noqa: FBT001 - as a link calls it
        """Know that a peer is gone, or does not read any more; then it is not listened to either."""
        with self._lock:
            self._links.pop(name, None)
            heard = self._heard.get(name)
        if full:
            self._faults.note("the proxy of another server does not listen any more, and is left alone")
        if heard:
            _shut(heard[1])
        self._expect_no_more(name)

    def _expect_no_more(self, name: str | None) -> None:
        """Know that somebody who was there before has connected back, or will not; None for nobody in particular."""
        with self._lock:
            if self._expected is None:
                if name is not None:
                    return
                self._expected = set()  # there was no place to look for anybody
            self._expected.discard(name or "")
            if not self._expected and self._listener and not self._opened:
                self._opened = True
                self._listener.opened()

    # --- listening ----------------------------------------------------------------------------------------------

    def _listen(self, connection: socket.socket, key: str) -> None:
        peer: Peer | None = None
        try:
            connection.settimeout(_HELLO_S)
            for message in _messages(connection):
                if peer is None:
                    peer = self._greeted(message, key, connection)
                    if peer is None:
                        break
                    connection.settimeout(None)
                elif message is None or isinstance(message, Hello):
                    self._faults.note("the proxy of another server said what cannot be understood, and is left alone")
                    break
                elif listener := self._listener:
                    listener.heard(peer, message)
        except OSError:
            pass  # it is gone, or has said nothing
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._faults.note("what the proxy of another server said could not be taken in", error)
        finally:
            self._ended(connection, peer)

    def _greeted(self, message: Message | None, key: str, connection: socket.socket) -> Peer | None:
        """Who has connected; it is connected back to. None for anybody who does not know the key."""
        if (
            not isinstance(message, Hello)
            or not hmac.compare_digest(message.key.encode("utf-8", "surrogatepass"), key.encode())
            or not is_name(message.name)
            or name_of_server(message.server) != message.server
        ):
            self._faults.note("somebody who is no proxy of this host session has connected, and was not listened to")
            return None
        peer = Peer(message.name, message.server)
        with self._lock:
            if self._over.is_set() or peer.name in self._heard:
                return None
            self._heard[peer.name] = (peer, connection)
            self._link_to(peer.name)
            if self._listener:
                self._listener.came(peer)
        self._expect_no_more(peer.name)
        return peer

    def _ended(self, connection: socket.socket, peer: Peer | None) -> None:
        with self._lock:
            self._sockets.discard(connection)
            link = None
            if peer:
                self._heard.pop(peer.name, None)
                link = self._links.pop(peer.name, None)
                if self._listener:
                    self._listener.left(peer)
        connection.close()
        if link:
            link.close()
        if peer:
            self._meeting.clear(peer.name)

    def _keep(self, line: bytes) -> None:
        self._kept.append(line)
        self._kept_bytes += len(line)
        while self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())


class _Link:
    """A connection to a peer, which a thread makes, and on which it writes what it is given.

    Args:
        connect: makes it, and gives what is to be written first; None when there is nobody.
        on_lost: called once when there is nobody any more, or with True when what waits for the peer is not read; not
            after `close`.
    """

    def __init__(
        self, connect: Callable[[], tuple[socket.socket, bytes] | None], on_lost: Callable[[bool], None]
    ) -> None:
        self._connect = connect
        self._connection: socket.socket | None = None
        self._on_lost = on_lost
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._ready = threading.Condition()
        self._closed = False
        self._full = False
        threading.Thread(target=self._work, name="stretto-link", daemon=True).start()

    def put(self, line: bytes) -> None:
        """Let a line be written."""
        with self._ready:
            if self._bytes + len(line) > _QUEUE_BYTES:
                self._full = True
                self._lines.clear()
                self._shut()
            elif not self._full:
                self._lines.append(line)
                self._bytes += len(line)
            self._ready.notify()

    def close(self) -> None:
        """Write no more."""
        with self._ready:
            self._closed = True
            self._shut()
            self._ready.notify()

    def _shut(self) -> None:
        if self._connection:
            _shut(self._connection)

    def _work(self) -> None:
        if found := self._connect():
            connection, lines = found
            with self._ready:
                self._connection = connection
            with suppress(OSError):
                connection.sendall(lines)
                while lines := self._next():
                    connection.sendall(lines)
        with self._ready:
            if self._connection:
                self._connection.close()
            self._connection = None
            closed = self._closed
        if not closed:
            self._on_lost(self._full)

    def _next(self) -> bytes:
        """What is to be written; empty at the end."""
        with self._ready:
            while not (self._lines or self._closed or self._full):
                self._ready.wait()
            if self._closed or self._full:
                return b""
            lines = b"".join(self._lines)
            self._lines.clear()
            self._bytes = 0
            return lines


def _messages(connection: socket.socket) -> Iterator[Message | None]:
    """What is said on a connection; None for a line that is no message, or too long for one."""
    cutter = Cutter(MESSAGE_BYTES)
    while chunk := connection.recv(_CHUNK_BYTES):
        for piece in cutter.feed(chunk):
            yield decode(piece.raw) if piece.whole else None


def _shut(connection: socket.socket) -> None:
    """End a connection, so that whoever reads or writes on it in another thread is woken."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
