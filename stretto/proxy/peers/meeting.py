"""Where the proxies of one host session meet: a directory of the user's own, and in it a file and a socket for each.

The file ``NAME.peer`` says that the proxy ``NAME`` listens, and holds the key that it wants to hear; ``NAME.sock`` is
where it listens. Where the platform has no such sockets it listens on a port of this machine, which the file holds,
too. Only this user can read the file, so that only this user's processes know the key.

Not responsible for what is said (`stretto.proxy.peers.messages`) nor for who is there (`stretto.proxy.peers.mesh`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import files, jsonvalue
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Door", "Meeting", "is_name"]

_NAME: Final = re.compile(r"[0-9a-f]{12}")
_MEETING: Final = re.compile(r"[0-9a-f]{16}")
_FILE: Final = ".peer"
_SOCKET: Final = ".sock"

#: Longest path that a socket can have, bytes: 103 on macOS, 107 on Linux.
_PATH_BYTES: Final = 103

_FILE_BYTES: Final = 4096  #: largest file that is read; ours have 100
_CONNECT_S: Final = 1.0  #: a process of this machine that listens is connected to at once
_BACKLOG: Final = 64
_TRIES: Final = 20  #: to be quicker than whoever removes the directory since it is empty

#: A meeting to which nothing has come for so long may be one that all left without a word, seconds. Of so many, those
#: that are found to be empty are removed.
_OLD_S: Final = 24 * 60 * 60
_OLD_MOST: Final = 100

_POSIX: Final = os.name == "posix"
_UNIX: Final = hasattr(socket, "AF_UNIX")


class _Card(NamedTuple):
    """What a proxy's file says: the port it listens on, 0 for its socket, and the key."""

    port: int
    key: str


def is_name(text: str) -> bool:
    """Whether a text is a proxy's name; it comes from another process, and becomes a part of a path."""
    return _NAME.fullmatch(text) is not None


class Door:
    """A proxy's own place at a meeting: it listens.

    Attributes:
        name: random, no other proxy's.
        key: what those who come must say.
        listener: the socket that accepts them.
    """

    def __init__(self, directory: Path, *, unix: bool) -> None:
        self.name = secrets.token_hex(6)
        self.key = secrets.token_hex(16)
        self._paths = (directory / f"{self.name}{_FILE}", directory / f"{self.name}{_SOCKET}")
        self.listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
        try:
            self.listener.bind(os.fspath(self._paths[1]) if unix else ("127.0.0.1", 0))
            self.listener.listen(_BACKLOG)
            port = 0 if unix else self.listener.getsockname()[1]
            card: jsonvalue.JsonObject = {"stretto_peer": 1, "port": port, "key": self.key}
            files.replace(self._paths[0], jsonvalue.dumps(card) + b"\n", private=True)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Listen no more, and leave nothing behind."""
        with suppress(OSError), socket.socket(self.listener.family) as caller:  # closing alone wakes nobody who accepts
            caller.settimeout(_CONNECT_S)
            caller.connect(self.listener.getsockname())
        for path in self._paths:
            with suppress(OSError):
                path.unlink()
        self.listener.close()


class Meeting:
    """The meeting place of one host session.

    Args:
        root: the directory of all meetings.
        host_session: its id; anybody's text.
        unix: listen on sockets that are files; left out, where the platform has them.

    Attributes:
        directory: of this meeting. It is another one below the temporary directory where the path would be too long.
    """

    def __init__(self, root: Path, host_session: str, *, unix: bool = _UNIX) -> None:
        self._unix = unix
        self._root = root
        self.directory = root / _digest(host_session)
        longest = self.directory / f"{'0' * 12}{_SOCKET}"
        if unix and len(os.fsencode(longest)) > _PATH_BYTES:
            self._root = Path(tempfile.gettempdir()) / f"stretto-run-{os.getuid()}"
            self.directory = self._root / _digest(f"{root}\0{host_session}")

    def enter(self) -> Door:
        """Make the directory where it is missing, and listen in it.

        Raises:
            StoreUnavailable: it is not this user's alone, or cannot be made or written.
        """
        for _ in range(_TRIES):
            try:
                _make_private(self._root)
                _make_private(self.directory)
                return Door(self.directory, unix=self._unix)
            except FileNotFoundError:
                continue  # whoever left last has removed the directory in between
            except StoreUnavailable:
                raise
            except OSError as error:
                raise StoreUnavailable(self.directory, error.strerror or str(error), "see what is there") from error
        raise StoreUnavailable(self.directory, "it is removed again and again", "see what does so")

    def leave(self, door: Door) -> None:
        """Close a door; the last one removes the directory."""
        door.close()
        with suppress(OSError):
            self.directory.rmdir()

    def others(self, door: Door) -> list[str]:
        """The proxies that are there, or were and have left no word, sorted."""
        return [name for name in _names_in(self.directory) if name != door.name]

    def connect(self, name: str) -> tuple[socket.socket, str] | None:
        """Connect to a proxy.

        What a proxy has left that is no more is removed.

        Args:
            name: of the proxy.

        Returns:
            The connection, and the key to say; None when nobody listens.
        """
        return _connect(self.directory, name)

    def clear(self, name: str) -> None:
        """Remove what a proxy has left that has just gone; one that still listens is left alone. Takes 2 s at most.

        Args:
            name: of the proxy.
        """
        for _ in range(2):
            found = self.connect(name)
            if found is None:
                return
            # Of a process that was killed the connections may end before it has stopped to listen; then this one ends.
            with found[0] as connection, suppress(OSError):
                connection.settimeout(_CONNECT_S)
                connection.recv(1)

    def sweep(self) -> None:
        """Remove what is left of old meetings that every proxy has left without a word."""
        before = time.time() - _OLD_S
        with suppress(OSError):
            old = sorted(path for path in self._root.iterdir() if path != self.directory and _is_old(path, before))
            for path in old[:_OLD_MOST]:
                for name in _names_in(path):
                    if found := _connect(path, name):
                        found[0].close()
                with suppress(OSError):  # somebody is there
                    path.rmdir()


def _connect(directory: Path, name: str) -> tuple[socket.socket, str] | None:
    try:
        card = _read_card(directory / f"{name}{_FILE}")
    except OSError:
        return None
    except ValueError:
        card = _Card(0, "")
    if card.port == 0 and not _UNIX:
        return None
    connection = socket.socket(socket.AF_INET if card.port else socket.AF_UNIX)
    connection.settimeout(_CONNECT_S)
    try:
        connection.connect(("127.0.0.1", card.port) if card.port else os.fspath(directory / f"{name}{_SOCKET}"))
    except OSError as error:
        connection.close()
        if isinstance(error, ConnectionRefusedError | FileNotFoundError):
            _remove(directory, name)
        return None
    connection.settimeout(None)
    return connection, card.key


def _remove(directory: Path, name: str) -> None:
    for suffix in (_FILE, _SOCKET):
        with suppress(OSError):
            (directory / f"{name}{suffix}").unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _names_in(directory: Path) -> list[str]:
    try:
        found = [path.name for path in directory.iterdir()]
    except OSError:
        return []
    return sorted(name for file in found if (name := file.removesuffix(_FILE)) != file and is_name(name))


def _is_old(path: Path, before_s: float) -> bool:
    found = path.lstat()
    return _MEETING.fullmatch(path.name) is not None and stat.S_ISDIR(found.st_mode) and found.st_mtime < before_s


def _read_card(path: Path) -> _Card:
    """Read a proxy's file.

    Raises:
        OSError: it is gone.
        ValueError: it is no such file.
    """
    value = jsonvalue.loads(files.read_bytes(path, limit=_FILE_BYTES))
    port, key = (value.get("port"), value.get("key")) if isinstance(value, dict) else (None, None)
    if not isinstance(port, int) or not 0 <= port < 2**16 or not isinstance(key, str):
        raise ValueError("a port and a key are expected")
    return _Card(port, key)


def _make_private(directory: Path) -> None:
    """Make a directory that only this user can look into.

    Raises:
        StoreUnavailable: something else is there: another user may have put it there to listen.
        OSError: it cannot be made, or is gone again.
    """
    Path(os.path.realpath(directory.parent)).mkdir(0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        directory.mkdir(0o700)
    found = directory.lstat()
    problem = "" if stat.S_ISDIR(found.st_mode) else "it is no directory"
    if _POSIX and not problem:
        if found.st_uid != os.geteuid():
            problem = "it is another user's"
        elif stat.S_IMODE(found.st_mode) & 0o077:
            problem = "others than this user can look into it"
        else:
            problem = next((said for above in _above(directory) if (said := _exposed(above))), "")
    if problem:
        raise StoreUnavailable(directory, problem, "move it away, or set STRETTO_HOME to a directory of your own")


def _above(directory: Path) -> Iterator[Path]:
    yield from Path(os.path.realpath(directory)).parents


def _exposed(directory: Path) -> str:
    """Whether another user could put something else in the place of what is in a directory; how, in words."""
    found = directory.stat()
    if found.st_uid not in (0, os.geteuid()):
        return f"{directory} above it is another user's"
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        return f"everybody can write to {directory} above it"
    return ""
