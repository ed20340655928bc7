"""``waggle-hook HOST``: hands one event of an agent to the keeper and prints its answer.

One process a tool call, so it loads next to nothing: no JSON, no regular expressions, not even the ``socket`` module.
What must stay true: it never fails a call. Whatever happens, the exit code is 0, and what it cannot do is one line on
standard error.

Not responsible for what an event means, nor for any state: both are the keeper's.
"""

from __future__ import annotations

import os
import sys

from waggle import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ACK", "NAME", "Unreachable", "exchange", "main", "private_place"]

#: The keeper's socket, and the name of its lock, in the place. One a version: an older keeper is not asked.
NAME = f"keeper-{__version__}"

#: First byte of an answer: the event was taken in. Without it the keeper was about to end.
ACK = b"+"

#: Largest event, bytes. A host cuts what a tool says long before that.
EVENT_BYTES = 16 * 1024 * 1024

#: Longest wait for an answer, seconds; the host is told to wait five.
ANSWER_SECONDS = 4.0

_CHUNK = 64 * 1024


class Unreachable(Exception):
    """No keeper answers."""


def private_place() -> str:
    """Make sure of the directory of socket and sessions, which nobody but the user can look into, and give its path.

    ``hook`` in ``WAGGLE_HOME``, else ``waggle/hook`` in ``XDG_STATE_HOME`` or ``~/.local/state``.

    Raises:
        OSError: it cannot be made, or is somebody else's.
    """
    home, state = os.environ.get("WAGGLE_HOME", ""), os.environ.get("XDG_STATE_HOME", "")
    if home:
        place = os.path.join(home, "hook")  # noqa: PTH118 - pathlib alone would double the time of a hook
    else:
        base = state if state[:1] == "/" else os.path.expanduser("~/.local/state")  # noqa: PTH111 - as above
        place = os.path.join(base, "waggle", "hook")  # noqa: PTH118 - as above
    if place[:1] not in ("/", "\\") and place[1:2] != ":":
        raise OSError(f"{place} is not an absolute path; set WAGGLE_HOME to one")
    try:
        found = os.stat(place)  # noqa: PTH116 - as above
    except FileNotFoundError:
        os.makedirs(place, 0o700, exist_ok=True)  # noqa: PTH103 - as above
        found = os.stat(place)  # noqa: PTH116 - as above
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise OSError(f"{place} is open to other users; chmod 700 it, or set WAGGLE_HOME to another directory")
    return place


def exchange(place: str, message: bytes, *, seconds: float = ANSWER_SECONDS) -> bytes:
    """Hand a message to the keeper; gives its answer. Makes `place` the working directory.

    Args:
        place: the private place.
        message: a line with the host's name and the project's directory, a tab between them, then the event.
        seconds: longest wait for each part of the answer.

    Raises:
        Unreachable: nobody answers.
        OSError: the place is not there.
    """
    import _socket  # noqa: PLC0415 - where there are no Unix sockets the line that says so is all there is

    os.chdir(place)  # a socket's path is at most a hundred bytes long; relative, it always is
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(f"{NAME}.sock")
        connection.sendall(message)
        connection.shutdown(_socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(_CHUNK):
            answer += chunk
    except OSError as error:
        raise Unreachable(str(error)) from error
    finally:
        connection.close()
    if answer[:1] != ACK:
        raise Unreachable("it was about to end")
    return answer[1:]


def _start_keeper(place: str, message: bytes) -> None:
    """Start a keeper that takes the message in first, or hands it to another that was faster."""
    import subprocess  # noqa: PLC0415 - once a session, not once a call

    with subprocess.Popen(
        [sys.executable, "-m", "waggle.hook.keeper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=place,
        start_new_session=True,  # Ctrl-C in the agent's terminal is not meant for it
    ) as child:
        assert child.stdin is not None  # noqa: S101 - a pipe; this tells the type checker
        child.stdin.write(message)
        child.stdin.close()
        child.returncode = 0  # it stays: nobody waits for it


def _read_event() -> bytes:
    event = b""
    while chunk := os.read(0, _CHUNK):
        event += chunk
        if len(event) > EVENT_BYTES:
            raise OSError(f"an event of more than {EVENT_BYTES:,} bytes is not taken in")
    return event


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the hook; the exit code is 0, whatever happens."""
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        host = words[0] if words else ""
        if not host.replace("-", "").isidentifier():
            raise OSError("usage: waggle-hook HOST, as a hook's command; or waggle-hook stop")  # noqa: TRY301
        project = _started_for(host).replace("\n", "").replace("\t", "")
        message = f"{host}\t{project}\n".encode("utf-8", "surrogateescape")
        if host != "stop":
            message += _read_event()
        place = private_place()
        try:
            answer = exchange(place, message)
        except Unreachable:
            if host != "stop":
                _start_keeper(place, message)
            return 0
        while answer:
            answer = answer[os.write(1, answer) :]
    except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
        _complain(error)
    return 0


def _started_for(host: str) -> str:
    """The project's directory. Claude Code starts its hooks where its shell is; others set its variable, too."""
    if host == "claude-code":
        return os.environ.get("CLAUDE_PROJECT_DIR", "")
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib alone would double the time of a hook
    except OSError:  # it has been removed meanwhile
        return ""


def _complain(error: Exception) -> None:
    text = f"waggle-hook: {error}".replace("\n", " ")
    try:
        os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main())
