"""A relay in this process, with pipes for its host and a real server behind it."""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from stretto.proxy.relay import Relay, Waits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from stretto.proxy.relay import Line, Side

#: Longest wait of a test for anything, seconds.
PATIENCE = 30.0

#: What a session's end may take where nothing is to be waited for.
QUICK = Waits(
    close=0.3, close_longest=2.0, output=0.3, terminate=0.3, kill=2.0, drain=0.3, host=0.5, asked=0.3, tap=5.0
)

#: A server that answers bytes with the same bytes.
ECHO = (sys.executable, "-c", "import os\nwhile data := os.read(0, 65536): os.write(1, data)")


def program(text: str) -> tuple[str, ...]:
    """The command that runs a Python program."""
    return (sys.executable, "-c", text)


def message(**fields: Any) -> bytes:
    """A line of JSON-RPC."""
    return json.dumps({"jsonrpc": "2.0"} | fields).encode() + b"\n"


class Watcher:
    """A tap that notes what it sees, and keeps nothing."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes]] = []
        self.ends: list[str] = []

    def from_host(self, line: Line) -> bool:
        self.seen.append(("host", line.raw))
        return False

    def from_server(self, line: Line) -> bool | Line:
        self.seen.append(("server", line.raw))
        return False

    def sent(self, raw: bytes, to: Side) -> None:
        self.seen.append((f"sent to {to}", raw))

    def ended(self, reason: str) -> bool:
        self.ends.append(reason)
        return False

    def close(self) -> None:
        self.seen.append(("closed", b""))


class Session:
    """A host's view of a relay that runs in a thread: what it writes, what it reads, and the exit status."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        near, self.input = os.pipe()
        self.output, far = os.pipe()
        self._ours = (near, far)
        self.relay = Relay(command, stdin=near, stdout=far, **({"waits": QUICK} | options))
        self.status: int | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._open = {self.input, self.output}

    def _run(self) -> None:
        try:
            self.status = self.relay.run()
        finally:
            os.close(self._ours[1])  # as the end of the process does

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()
        self.ends()
        os.close(self._ours[0])

    def write(self, data: bytes) -> None:
        """Write everything, in the present thread."""
        left = memoryview(data)
        while left:
            left = left[os.write(self.input, left) :]

    def write_and_leave(self, *chunks: bytes) -> None:
        """Write from another thread, and close the input after that."""

        def work() -> None:
            for chunk in chunks:
                self.write(chunk)
            self.close_input()

        threading.Thread(target=work, daemon=True).start()

    def read(self) -> bytes:
        """Everything up to the end of the output."""
        parts = []
        while part := self._read(65536):
            parts.append(part)
        return b"".join(parts)

    def read_lines(self, count: int) -> bytes:
        """So many lines, and not a byte more."""
        data = bytearray()
        while count:
            data += (byte := self._read(1))
            assert byte, f"the output has ended after {bytes(data)!r}"
            count -= byte == b"\n"
        return bytes(data)

    def _read(self, size: int) -> bytes:
        assert select.select([self.output], [], [], PATIENCE)[0], "nothing comes"
        return os.read(self.output, size)

    def close_input(self) -> None:
        """Have nothing more to say."""
        if self.input in self._open:
            self._open.discard(self.input)
            os.close(self.input)

    def close_output(self) -> None:
        """Read nothing more."""
        if self.output in self._open:
            self._open.discard(self.output)
            os.close(self.output)

    def leave(self) -> None:
        """Go away."""
        self.close_input()
        self.close_output()

    def ends(self) -> int:
        """Wait for the relay; its exit status."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the relay hangs"
        assert self.status is not None
        return self.status
