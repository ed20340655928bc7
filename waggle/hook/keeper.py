"""The process that stays while agents work: it holds the managers in memory and answers what hooks hand to it.

The first hook that finds none starts it; it ends when nothing was asked for half an hour, or when its place is removed.
One a user and version: it holds a lock, and who comes second hands its event to the first. What it knows is in the
journals, so nothing is lost when it is killed. ``waggle serve`` takes its place, so that one desk holds a conversation,
whichever way its events come.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Final

from waggle import files
from waggle._defaults import HOOK_IDLE_SECONDS, HOOK_SETTLE_SECONDS
from waggle.errors import StoreLocked, StoreUnavailable
from waggle.hook.client import ACK, ANSWER_SECONDS, EVENT_BYTES, NAME, Unreachable, exchange, private_place
from waggle.hook.desk import Desk

__all__ = ["Keeper", "displace", "main"]

_START_SECONDS: Final = 10.0  # until another that was faster answers
_LOOK_SECONDS: Final = 5.0  # between two looks whether its socket is still there
_LOG_BYTES: Final = 256 * 1024
_WAITING: Final = 128  # hooks that may be waiting to be accepted
_STOP: Final = b"stop\t"  # how a message begins that is no event


class Keeper:
    """Answers hooks at a socket, until it is told to stop or nothing was asked for long.

    Args:
        place: the private directory; made the working directory.
        idle_s: seconds without an event after which it ends; None for one that a person has started, and ends: no
            message does.
    """

    def __init__(self, place: Path, *, idle_s: float | None = HOOK_IDLE_SECONDS) -> None:
        self._place = place
        self._idle_s = idle_s
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.desk = Desk(place)

    def run(self, first: bytes = b"", *, beside: AbstractContextManager[object] | None = None) -> None:
        """Answer until the end.

        Args:
            first: a message that was there before the socket; nobody waits for its answer.
            beside: entered when the socket can be reached, left before the desk is closed.

        Raises:
            StoreLocked: another keeper is running.
            OSError: the place cannot be written.
        """
        os.chdir(self._place)
        with files.lock(Path(NAME), timeout_s=0):
            if first:
                self._answer(first, follow=False)
            address = f"{NAME}.sock"
            Path(address).unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
                listening.bind(address)
                Path(address).chmod(0o600)
                listening.listen(_WAITING)
                listening.settimeout(min(self._idle_s or _LOOK_SECONDS, _LOOK_SECONDS))
                threading.Thread(target=self._settle_stale, daemon=True).start()
                with beside or nullcontext():
                    try:
                        self._serve(listening)
                    finally:
                        Path(address).unlink(missing_ok=True)
            self._stopping.set()
            for thread in self._threads:
                thread.join(ANSWER_SECONDS)
            self.desk.close()

    def stop(self) -> None:
        """End `run`; from any thread, and from a signal's handler."""
        self._stopping.set()
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waking:
            waking.setblocking(False)
            waking.connect(f"{NAME}.sock")  # wakes `accept`

    def _serve(self, listening: socket.socket) -> None:
        heard = time.monotonic()
        while not self._stopping.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                unused = self._idle_s is not None and time.monotonic() - heard >= self._idle_s
                if unused or not Path(f"{NAME}.sock").exists():
                    return  # nothing to do, or nobody can reach it any more
                continue
            heard = time.monotonic()
            self._threads = [each for each in self._threads if each.is_alive()]
            thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(ANSWER_SECONDS)
            message = bytearray()
            while chunk := connection.recv(_CHUNK):
                message += chunk
                if len(message) > EVENT_BYTES + _CHUNK:
                    return
            if message.startswith(_STOP):
                connection.sendall(ACK + self._stopped())
                return
            if not message:  # `stop` has knocked
                return
            connection.sendall(ACK + self._answer(bytes(message)))

    def _stopped(self) -> bytes:
        """End because a message asks for it, or say why not."""
        if self._idle_s is None:
            return b"`waggle serve` answers here, and is ended where it was started\n"
        self.desk.close()
        self.stop()
        Path(f"{NAME}.sock").unlink(missing_ok=True)  # who comes from now on starts another
        return b""

    def _answer(self, message: bytes, *, follow: bool = True) -> bytes:
        head, _, event = message.partition(b"\n")
        host, _, project = head.partition(b"\t")
        return self.desk.answer(host.decode("ascii", "replace"), os.fsdecode(project), event, follow=follow)

    def _settle_stale(self) -> None:
        """Look for sessions that never ended, now and then."""
        while True:
            try:
                self.desk.settle_stale()
            except Exception:
                logging.getLogger("waggle").exception("sessions that never ended could not be counted")
            if self._stopping.wait(HOOK_SETTLE_SECONDS):
                return


def displace(place: Path) -> bool:
    """Ask a keeper to end, one that a hook has started; gives whether there was one.

    Raises:
        StoreUnavailable: there is one that a person has started.
    """
    try:
        refusal = exchange(str(place), _STOP + b"\n")
    except Unreachable:
        return False
    if refusal:
        raise StoreUnavailable(place, "another `waggle serve` answers here", "end that one, or set WAGGLE_HOME")
    return True


def _log_to(path: Path) -> None:
    with suppress(OSError):
        if path.stat().st_size > _LOG_BYTES:
            path.unlink()
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger("waggle").addHandler(handler)
    logging.raiseExceptions = False


def main() -> int:
    """Run the keeper; its first event comes by standard input. The exit code is 1 where it cannot run."""
    event = sys.stdin.buffer.read(EVENT_BYTES + _CHUNK)
    try:
        place = private_place()
        _log_to(Path(place) / "keeper.log")
    except OSError:
        return 1
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        try:
            Keeper(Path(place)).run(event)
        except StoreLocked:
            try:
                exchange(place, event)
            except Unreachable:
                time.sleep(0.05)
                continue
        except OSError:
            logging.getLogger("waggle").exception("the keeper has ended")
            return 1
        return 0
    return 1


_CHUNK: Final = 64 * 1024

if __name__ == "__main__":
    sys.exit(main())
