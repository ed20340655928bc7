"""Proxies of one host session find each other, and nobody else; who misbehaves is left alone, and holds up nobody."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from stretto.proxy.peers.meeting import Meeting
from stretto.proxy.peers.messages import MESSAGE_BYTES, Answered, Lends, Sync, encode, hello
from tests.stretto.proxy.peers.peers_support import PATIENCE, Ears

if TYPE_CHECKING:
    import socket
    from pathlib import Path


def event(number: int, text: str = "") -> Answered:
    return Answered(1.0, f"a::{number}{text}")


@pytest.mark.parametrize("unix", [True, False], ids=["socket", "port"])
def test_each_hears_what_the_others_say_whoever_came_first(root: Path, unix: bool) -> None:  # noqa: FBT001 - a case
    servers = ["a", "b", "c", "d"]
    all_of_them = [Ears(root, server, unix=unix) for server in servers]  # at once: none waits for another
    for one in all_of_them:
        one.meets(3)
        assert one.servers == [server for server in servers if server != one.mesh._server]
        one.mesh.send(event(ord(one.mesh._server)))
    for one in all_of_them:
        one.hears(3)
        assert sorted(one.heard_of) == [
            (server, event(ord(server))) for server in servers if server != one.mesh._server
        ]
    for number, one in enumerate(all_of_them):
        one.mesh.close()
        for other in all_of_them[number + 1 :]:
            other.meets(2 - number)
    assert list(root.iterdir()) == []
    assert [one.faults.counts() for one in all_of_them] == [{}] * 4


def test_what_is_said_to_one_is_heard_by_one(root: Path) -> None:
    a, b, c = (Ears(root, server) for server in "abc")
    a.until(lambda: a.servers == ["b", "c"])
    b_there = next(peer for peer in a.there if peer.server == "b")
    a.mesh.send(Sync(1), b_there)
    a.mesh.send(Sync(2))
    b.until(lambda: b.heard_of == [("a", Sync(1)), ("a", Sync(2))])
    c.until(lambda: c.heard_of == [("a", Sync(2))])
    for one in (a, b, c):
        one.mesh.close()


def test_who_joins_late_hears_what_there_was_in_order_and_the_latest_of_much(root: Path) -> None:
    a = Ears(root, "a")
    for number in range(9):
        a.mesh.send(event(number, "x" * 2**20), keep=True)
        a.mesh.send(Sync(number))
    b = Ears(root, "b")
    b.until(lambda: len(b.heard_of) == 3)  # 4 MiB are kept
    a.mesh.send(Lends(("a::t",)))
    b.until(lambda: len(b.heard_of) == 4)
    assert b.heard_of == [*(("a", event(number, "x" * 2**20)) for number in (6, 7, 8)), ("a", Lends(("a::t",)))]
    a.mesh.close()
    b.mesh.close()


def test_the_proxies_of_another_host_session_are_not_seen(root: Path) -> None:
    a, b, other = Ears(root, "a", "host-1"), Ears(root, "b", "host-1"), Ears(root, "b", "host-2")
    a.until(lambda: a.servers == ["b"])
    a.mesh.send(Sync(1))
    b.until(lambda: b.heard_of == [("a", Sync(1))])
    other.until(lambda: other.is_open)
    assert (other.there, other.heard_of) == ([], [])
    for one in (a, b, other):
        one.mesh.close()


def test_a_place_that_cannot_be_used_leaves_a_proxy_alone_and_is_reported_once(root: Path) -> None:
    root.mkdir()
    root.chmod(0o755)
    a = Ears(root, "a")
    a.until(lambda: a.is_open)
    a.mesh.send(Sync(1))
    [(said, count)] = a.faults.counts().items()
    assert (said, count) == ("the proxies of other servers cannot be met", 1)
    a.mesh.close()
    assert list(root.iterdir()) == []


def stranger(a: Ears) -> socket.socket:
    found = Meeting(a.meeting.directory.parent, "h").connect(a.mesh._door.name)  # type: ignore[union-attr]
    assert found
    found[0].settimeout(PATIENCE)
    return found[0]


def ends(connection: socket.socket) -> bool:
    """Whether the other side ends the connection."""
    with closing(connection):
        try:
            return connection.recv(1) == b""
        except ConnectionError:
            return True


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"\x00\xff\n", id="garbage"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(encode(Sync(1)), id="no greeting"),
        pytest.param(encode(hello("k", "0123456789ab", "b")), id="wrong key"),
        pytest.param(b"x" * (MESSAGE_BYTES + 1), id="no end"),
    ],
)
def test_who_does_not_know_the_key_is_not_listened_to(root: Path, said: bytes) -> None:
    a = Ears(root, "a")
    a.until(lambda: a.is_open)
    with stranger(a) as connection:
        threading.Thread(target=_send, args=(connection, said), daemon=True).start()
        assert ends(connection)
    assert a.there == []
    b = Ears(root, "b")
    a.until(lambda: a.servers == ["b"])
    a.mesh.close()
    b.mesh.close()


def _send(connection: socket.socket, said: bytes) -> None:
    try:
        connection.sendall(said)
    except OSError:
        return


@pytest.mark.parametrize("name", ["../../../x", "", "0123456789AB", "0" * 13, "0123456789a\n"])
def test_a_name_that_is_no_proxys_never_becomes_a_path(root: Path, name: str) -> None:
    a = Ears(root, "a")
    a.until(lambda: a.is_open)
    key = a.mesh._door.key  # type: ignore[union-attr]
    for greeting in (hello(key, name, "b"), hello(key, "0123456789ab", "b::c")):
        with stranger(a) as connection:
            connection.sendall(encode(greeting) or b"")
            assert ends(connection)
    assert (a.there, a.mesh._links) == ([], {})
    a.mesh.close()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"{}\n", id="no message"),
        pytest.param(b"x" * (MESSAGE_BYTES + 1), id="no end"),
        pytest.param(b'{"kind": "answered", "at": 1, "id": "' + b"x" * MESSAGE_BYTES + b'"}\n', id="too long"),
        pytest.param(encode(hello("k", "0123456789ab", "b")), id="another greeting"),
    ],
)
def test_who_says_what_cannot_be_understood_is_left_alone(root: Path, said: bytes) -> None:
    a = Ears(root, "a")
    a.until(lambda: a.is_open)
    key = a.mesh._door.key  # type: ignore[union-attr]
    with stranger(a) as connection:
        connection.sendall(encode(hello(key, "0123456789ab", "b")) or b"")
        connection.sendall(encode(Sync(7)) or b"")
        threading.Thread(target=_send, args=(connection, said), daemon=True).start()
        assert ends(connection)
    a.until(lambda: a.there == [])
    assert a.heard_of == [("b", Sync(7))]
    a.mesh.close()


def test_a_peer_that_reads_nothing_is_left_alone_and_holds_up_nobody(root: Path) -> None:
    a, c = Ears(root, "a"), Ears(root, "c")
    a.until(lambda: a.servers == ["c"])
    place = Meeting(root, "h")
    door = place.enter()  # listens, and reads nothing
    with stranger(a) as connection:
        connection.sendall(encode(hello(a.mesh._door.key, door.name, "b")) or b"")  # type: ignore[union-attr]
        a.until(lambda: a.servers == ["b", "c"])
        for number in range(20):
            a.mesh.send(event(number, "x" * 2**20))
            c.hears(number + 1)
        assert ends(connection)
    a.until(lambda: a.servers == ["c"])
    assert a.faults.counts() == {"the proxy of another server does not listen any more, and is left alone": 1}
    for one in (a, c):
        one.mesh.close()
    place.leave(door)
    assert list(root.iterdir()) == []


def test_what_is_too_long_is_not_said_and_reported_once(root: Path) -> None:
    a = Ears(root, "a")
    a.meets(0)
    assert not a.mesh.send(event(0, "x" * MESSAGE_BYTES))
    assert not a.mesh.send(event(1, "x" * MESSAGE_BYTES), keep=True)
    assert a.mesh.send(Sync(1))
    assert list(a.faults.counts().values()) == [2]
    a.mesh.close()


def test_a_mesh_that_is_closed_before_it_has_opened_leaves_nothing(root: Path) -> None:
    for _ in range(20):
        a = Ears(root, "a")
        a.mesh.close()
        a.mesh.close()
        a.mesh._thread.join(PATIENCE)
        assert not a.mesh._thread.is_alive()
    assert list(root.iterdir()) == []


def test_no_thread_and_no_socket_is_left(root: Path) -> None:
    before = set(threading.enumerate())
    all_of_them: list[Any] = [Ears(root, server) for server in "abc"]
    for one in all_of_them:
        one.meets(2)
    for one in all_of_them:
        one.mesh.close()
    end = time.monotonic() + PATIENCE
    while not set(threading.enumerate()) <= before:
        assert time.monotonic() < end, threading.enumerate()
