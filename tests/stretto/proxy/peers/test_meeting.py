"""Where proxies meet: a place of the user's own, in which nothing is left behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from stretto.place import runtime_dir
from stretto.proxy.peers.meeting import Meeting, is_name
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    import socket
    from pathlib import Path


def test_the_place_is_the_users_alone_and_so_is_the_key(root: Path) -> None:
    meeting = Meeting(root, "host-1")
    door = meeting.enter()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root, meeting.directory)] == [0o700, 0o700]
    card = meeting.directory / f"{door.name}.peer"
    assert stat.S_IMODE(card.stat().st_mode) == 0o600
    assert door.key.encode() in card.read_bytes()
    assert is_name(door.name)
    meeting.leave(door)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("host", ["../../x", "a/b", "", "\0", "\udcff", "x" * 10_000])
def test_a_host_session_is_data_and_no_path(root: Path, host: str) -> None:
    meeting = Meeting(root, host)
    assert meeting.directory.parent == root
    assert meeting.directory != Meeting(root, host + "1").directory
    meeting.leave(meeting.enter())


def test_whoever_enters_finds_who_is_there_and_is_let_in(root: Path) -> None:
    first, second = Meeting(root, "h"), Meeting(root, "h")
    door, other = first.enter(), second.enter()
    assert second.others(other) == [door.name]
    found = second.connect(door.name)
    assert found
    connection, _ = door.listener.accept()
    found[0].sendall(b"x")
    assert connection.recv(1) == b"x"
    assert found[1] == door.key
    for each in (connection, found[0]):
        each.close()
    first.leave(door)
    assert second.others(other) == []
    second.leave(other)
    assert list(root.iterdir()) == []


def test_without_sockets_that_are_files_a_port_of_the_machine_is_listened_on(root: Path) -> None:
    meeting = Meeting(root, "h", unix=False)
    door = meeting.enter()
    found = meeting.connect(door.name)
    assert found
    assert found[0].getpeername()[0] == "127.0.0.1"
    found[0].close()
    meeting.leave(door)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
@pytest.mark.parametrize("which", ["root", "meeting"])
def test_a_place_that_others_can_look_into_is_refused(root: Path, mode: int, which: str) -> None:
    meeting = Meeting(root, "h")
    meeting.directory.mkdir(0o700, parents=True)
    root.chmod(0o700)
    {"root": root, "meeting": meeting.directory}[which].chmod(mode)
    with pytest.raises(StoreUnavailable, match="others than this user can look into it"):
        meeting.enter()


def test_a_place_below_one_that_everybody_can_write_to_is_refused(root: Path) -> None:
    open_to_all = root.parent / "all"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(StoreUnavailable, match="everybody can write to"):
        Meeting(open_to_all / "run", "h").enter()
    open_to_all.chmod(0o1777)  # as a temporary directory is
    meeting = Meeting(open_to_all / "run", "h")
    meeting.leave(meeting.enter())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
@pytest.mark.parametrize("which", ["root", "meeting", "above"])
def test_another_users_place_is_refused(root: Path, which: str) -> None:
    above = root.parent / "above"
    meeting = Meeting(above / "run", "h")
    meeting.directory.mkdir(0o700, parents=True)
    (above / "run").chmod(0o700)
    os.chown({"above": above, "root": above / "run", "meeting": meeting.directory}[which], 12345, -1)
    with pytest.raises(StoreUnavailable, match="another user's"):
        meeting.enter()


def test_a_file_or_a_link_in_the_way_is_refused(root: Path, tmp_path: Path) -> None:
    meeting = Meeting(root, "h")
    root.mkdir(0o700)
    meeting.directory.write_text("", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match="no directory"):
        meeting.enter()
    meeting.directory.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o700)
    meeting.directory.symlink_to(elsewhere)
    with pytest.raises(StoreUnavailable, match="no directory"):
        meeting.enter()
    assert list(elsewhere.iterdir()) == []


def test_a_path_that_is_too_long_for_a_socket_is_made_shorter_for_all_alike(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(root.parent))
    long = root / ("x" * 120)
    one, other = Meeting(long, "h"), Meeting(long, "h")
    assert one.directory == other.directory
    assert len({one.directory, Meeting(long, "i").directory, Meeting(long / "y", "h").directory}) == 3
    door, second = one.enter(), other.enter()
    assert other.others(second) == [door.name]
    one.leave(door)
    other.leave(second)


GONE = """
import os, signal, sys
from pathlib import Path
from stretto.proxy.peers.meeting import Meeting
door = Meeting(Path(sys.argv[1]), "h").enter()
print(door.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def left_behind(root: Path) -> str:
    """The name of a proxy that was killed."""
    done = subprocess.run(
        [sys.executable, "-c", GONE, str(root)], capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout.strip()


def test_what_a_killed_proxy_has_left_is_removed_by_the_next(root: Path) -> None:
    name = left_behind(root)
    meeting = Meeting(root, "h")
    door = meeting.enter()
    assert meeting.others(door) == [name]
    assert meeting.connect(name) is None
    assert meeting.others(door) == []
    meeting.leave(door)
    assert list(root.iterdir()) == []


def test_what_is_left_of_one_that_has_gone_is_removed_and_who_still_listens_is_left_alone(root: Path) -> None:
    name = left_behind(root)
    meeting = Meeting(root, "h")
    door, other = meeting.enter(), meeting.enter()
    for each in (name, other.name, "0123456789ab"):
        meeting.clear(each)
    assert meeting.others(door) == [other.name]
    meeting.leave(door)
    meeting.leave(other)


def test_what_an_old_meeting_has_left_is_swept_and_who_is_still_there_is_not(root: Path) -> None:
    left_behind(root)
    living = Meeting(root, "living")
    door = living.enter()
    (root / "notes").mkdir()
    for directory in root.iterdir():
        os.utime(directory, (1, 1))
    new = Meeting(root, "new")
    own = new.enter()
    new.sweep()
    assert {path.name for path in root.iterdir()} == {living.directory.name, new.directory.name, "notes"}
    assert [path.suffix for path in sorted(living.directory.iterdir())] == [".peer", ".sock"]
    living.leave(door)
    new.leave(own)


@pytest.mark.parametrize(
    "card", [b"", b"{}", b'{"port": "1", "key": "k"}', b'{"port": 70000, "key": "k"}', b"x" * 5000]
)
def test_a_card_that_is_none_leads_to_nobody(root: Path, card: bytes) -> None:
    meeting = Meeting(root, "h")
    door = meeting.enter()
    (meeting.directory / "0123456789ab.peer").write_bytes(card)
    (meeting.directory / "..peer").write_bytes(card)
    assert meeting.others(door) == ["0123456789ab"]
    assert meeting.connect("0123456789ab") is None
    assert meeting.connect("ba9876543210") is None
    meeting.leave(door)


def test_who_waits_for_others_is_woken_when_the_door_is_closed(root: Path) -> None:
    meeting = Meeting(root, "h")
    door = meeting.enter()
    accepted: list[socket.socket] = []
    thread = threading.Thread(target=lambda: accepted.append(door.listener.accept()[0]), daemon=True)
    thread.start()
    meeting.leave(door)
    thread.join(5)
    assert not thread.is_alive()
    accepted[0].close()


def test_proxies_that_come_and_go_at_once_do_not_take_each_others_place(root: Path) -> None:
    faults: list[BaseException] = []

    def come_and_go() -> None:
        try:
            for _ in range(50):
                meeting = Meeting(root, "h")
                meeting.leave(meeting.enter())
        except StoreUnavailable as error:
            faults.append(error)

    threads = [threading.Thread(target=come_and_go, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert faults == []
    assert list(root.iterdir()) == []


def test_the_place_of_running_processes_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STRETTO_HOME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_dir() == tmp_path / "stretto"
    monkeypatch.setenv("STRETTO_HOME", str(tmp_path / "home"))
    assert runtime_dir() == tmp_path / "home" / "run"
    monkeypatch.delenv("STRETTO_HOME")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert runtime_dir().is_absolute()
