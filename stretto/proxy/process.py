"""The real server as a process: started in a group of its own, signalled as a group, and not left behind.

Not responsible for what it reads and writes, nor for when it is to end (`stretto.proxy.relay`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO

__all__ = ["KILL", "ServerProcess"]

_POSIX: Final = os.name == "posix"

#: The signal that cannot be refused; Windows, which has none, ends a process in one way only.
KILL: Final = signal.SIGKILL if _POSIX else signal.SIGTERM

_PAUSE_S: Final = 0.02  #: between two looks whether a group has ended; nothing reports that

#: Added to a signal's number for the exit status of a process that it ended, as shells do.
_SIGNALLED: Final = 128


class ServerProcess:
    """A server that runs. Its standard error is ours.

    Args:
        command: program and arguments; no shell sees them.
        on_exit: called on a thread of its own when the process has ended.

    Attributes:
        input: descriptor to write to the server.
        output: descriptor to read from it.

    Raises:
        OSError: it cannot be started.
        ValueError: a word of the command holds a NUL.
    """

    def __init__(self, command: Sequence[str], on_exit: Callable[[], None]) -> None:
        # A group of its own: whatever the server starts is ended with it, and Ctrl-C reaches it once, through us.
        self._process = subprocess.Popen(  # noqa: S603 - the command is what the user wraps
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0 if _POSIX else None,
        )
        self._input = cast("IO[bytes]", self._process.stdin)
        self._output = cast("IO[bytes]", self._process.stdout)
        self.input = self._input.fileno()
        self.output = self._output.fileno()
        threading.Thread(target=self._wait, args=(on_exit,), name="stretto-server", daemon=True).start()

    def _wait(self, on_exit: Callable[[], None]) -> None:
        self._process.wait()
        on_exit()

    @property
    def status(self) -> int:
        """Its exit status, 128+n when signal n ended it; that of a killed one while it has not ended."""
        code = self._process.poll()
        if code is None:
            code = -KILL
        return code if code >= 0 else _SIGNALLED - code

    def close_input(self) -> None:
        """Let the server know that nothing more comes."""
        with suppress(OSError):
            self._input.close()

    def close_output(self) -> None:
        """Let the server know that nobody reads."""
        with suppress(OSError):
            self._output.close()

    def signal(self, signum: int) -> bool:
        """Send a signal to the server and what it has started; False when none of them is left."""
        if not _POSIX:
            return self._signal_alone(signum)
        try:
            os.killpg(self._process.pid, signum)
        except (ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            return False
        return True

    def _signal_alone(self, signum: int) -> bool:
        if self._process.poll() is not None:
            return False
        if signum:
            self._process.terminate()
        return True

    def end_group(self, terminate_s: float) -> None:
        """End what the server has started and left behind: ask it to, and kill it after a time, seconds."""
        if not self.signal(signal.SIGTERM):
            return
        deadline = time.monotonic() + terminate_s
        while self.signal(0):
            if time.monotonic() > deadline:
                self.signal(KILL)
                return
            time.sleep(_PAUSE_S)
