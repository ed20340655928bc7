"""The pump between a host and a server over standard input and output: bytes in, the same bytes out.

Two threads read, one a direction, and write what they read; a side that is slow holds up the other by not being read,
so memory stays bounded. Taps look at the lines, and may keep one. Without taps, lines are not even told apart.

Not responsible for what lines say, nor for the signals that this process gets: whoever runs a relay calls `Relay.stop`.

The session is over when either side is gone. A host is gone when it closes our input or stops reading our output: then
the server's input is closed, and a server that does not end is first asked to and then killed, with all that it has
started. When the server ends, what it said last still reaches the host, and its exit status is ours. Taps are told that
it is gone, and go on being shown what the host says while it stays, for a short time: they may answer in its place.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from stretto._defaults import PROXY_LINE_BYTES, RECORD_FLUSH_S
from stretto.proxy.process import KILL, ServerProcess
from stretto.proxy.streams import Cutter, Line, Outlet
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["EXIT_FAILED", "Line", "Relay", "Server", "Side", "Start", "Tap", "Waits"]

#: Exit status when the proxy itself fails, or cannot start the server.
EXIT_FAILED: Final = 125

#: Between two looks whether a tap has done its work, or a signal has come, seconds.
_LOOK_S: Final = 0.1

_CHUNK_BYTES: Final = 64 * 1024  #: a pipe of Linux holds as much

_log = logging.getLogger("waggle")

#: Whom a line goes to.
Side: TypeAlias = Literal["host", "server"]

#: What the waiting thread is told: a signal's number, or what has ended.
_Event: TypeAlias = Literal["exit", "hangup", "host", "server"] | int


#: How a tap is asked about a line.
_Ask: TypeAlias = "Callable[[Tap, Line], bool | Line]"


class Tap(Protocol):
    """Looks at the lines that pass. Called from several threads, and holds up a direction for as long as it takes.

    A tap that raises is switched off, which is reported once; the line passes.
    """

    def from_host(self, line: Line) -> bool:
        """Look at a line of the host; True keeps it from the server."""

    def from_server(self, line: Line) -> bool | Line:
        """Look at a line of the server; True keeps it from the host, and another line goes on in its place."""

    def sent(self, raw: bytes, to: Side) -> None:
        """Know of a line that a tap is about to send itself, through `Relay.to_host` or `Relay.to_server`."""

    def ended(self, reason: str) -> bool:
        """Know that the server answers nothing any more; told once, to the tap that is asked last first.

        Lines for the host can still be sent, and lines of the host still come. In bounded time.

        Args:
            reason: what has happened, ``the server ended with status 1 before it answered``.

        Returns:
            Whether the host is left without the answer to a request.
        """

    def close(self) -> None:
        """Give back what is held: the session is over. Lines for the host can still be sent. In bounded time."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long things may take at a session's end, seconds. Hosts end what does not end by itself within 2 or more.

    Attributes:
        close: without a byte moving, from the end of the server's input until it is asked to end.
        close_longest: the same however much moves; for a host that leaves and lets nobody know.
        output: from the end of the server's output until it counts as gone, though it lives on.
        terminate: from being asked to end until it is killed.
        kill: from then until it is given up.
        drain: for the end of its output once it has ended, when something that left its group holds it open.
        host: for a host that has stopped reading what an ended server said; after a signal it is given `drain`.
        asked: without a word of a host that stays when its server is gone; `close_longest` in all.
        tap: for each tap to close.
    """

    close: float = 5.0
    close_longest: float = 60.0
    output: float = 0.5
    terminate: float = 1.5
    kill: float = 1.0
    drain: float = 1.0
    host: float = 60.0
    asked: float = 2.0
    tap: float = RECORD_FLUSH_S + 2.0


class Server(Protocol):
    """A server that runs; see `stretto.proxy.process.ServerProcess`, which one mostly is.

    Attributes:
        input: descriptor to write to the server.
        output: descriptor to read from it.
    """

    input: int
    output: int

    @property
    def status(self) -> int:
        """Its exit status."""

    def close_input(self) -> None:
        """Let it know that nothing more comes."""

    def close_output(self) -> None:
        """Let it know that nobody reads."""

    def signal(self, signum: int) -> bool:
        """Send it a signal; False when it has ended."""

    def end_group(self, terminate_s: float) -> None:
        """End what it has left behind, within this time and a little more, seconds."""


#: Starts a server: given its command, and what to call when it has ended. Raises as `ServerProcess` does.
Start: TypeAlias = "Callable[[Sequence[str], Callable[[], None]], Server]"


class Relay:
    """One session between a host and a server that it starts.

    Args:
        command: the server's, at least a program.
        start: starts it.
        taps: asked in this order; of a line that one keeps, later ones are not told. Closed in the opposite order.
        stdin: descriptor of what the host writes.
        stdout: descriptor of what it reads.
        waits: for tests.
        longest: bytes of a line that taps are shown; a longer one passes in parts, unseen, which is reported once.
        faults: where what goes wrong is counted.

    Attributes:
        taps: may be changed until `run`.
        unseen: parts of lines that taps were not shown, by who sent them.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        start: Start = ServerProcess,
        taps: Iterable[Tap] = (),
        stdin: int = 0,
        stdout: int = 1,
        waits: Waits | None = None,
        longest: int = PROXY_LINE_BYTES,
        faults: Faults | None = None,
    ) -> None:
        self.taps = list(taps)
        self.unseen: dict[Side, int] = {"host": 0, "server": 0}
        self._command = command
        self._start = start
        self._stdin = stdin
        self._host = Outlet(stdout)
        self._server: Outlet | None = None
        self._waits = waits or Waits()
        self._longest = longest
        self._faults = faults or Faults()
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._signalled = False
        self._stopped = False  # a signal has been passed on
        self._drained = False
        self._crashed = False
        self._left = False  # the host has said all
        self._heard = 0  # chunks of the host
        self._gone = False  # taps know that the server is
        self._unanswered = False  # a host that was there has asked for what it does not get

    # --- for taps and for signal handlers -----------------------------------------------------------------------

    def to_host(self, raw: bytes, *, own: bool = True) -> bool:
        """Send a whole line to the host, as it stands; from any thread, and waiting for as long as the host does.

        Args:
            raw: the line.
            own: it is not what the server said; False for a line that was kept and goes on as it came, of which taps
                need not be told again.

        Returns:
            False when the host is gone.
        """
        if own:
            self._tell(raw, "host")
        return self._host.add(raw)

    def to_server(self, raw: bytes) -> bool:
        """Send a whole line to the server; see `to_host`. False, too, when it has not been started."""
        if self._server is None or self._server.broken:
            return False
        self._tell(raw, "server")
        return self._server.add(raw)

    def stop(self, signum: int) -> None:
        """Pass a signal on to the server, and end; the second one kills it. May be called by a signal handler."""
        self._signalled = True
        self._events.put(signum)

    def _tell(self, raw: bytes, to: Side) -> None:
        for tap in tuple(self.taps):
            self._guarded(tap, tap.sent, raw, to)

    # --- the session --------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Start the server, and relay until the session is over.

        Returns:
            The server's exit status, 128+n when signal n ended it; `EXIT_FAILED` when the proxy failed, and when the
            server ended with 0 while a host that was there waited for an answer.
        """
        try:
            process = self._start(self._command, lambda: self._events.put("exit"))
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            problem = f"{self._command[0]} cannot be started: {reason}"
            _log.error("%s", problem)
            self._without_server(problem)
            return EXIT_FAILED
        server = self._server = Outlet(process.input)
        for name, work in (
            ("host", lambda: self._from_host(process, server)),
            ("server", lambda: self._from_server(process)),
            ("hangup", self._watch_host),
        ):
            threading.Thread(target=work, name=f"stretto-{name}", daemon=True).start()
        try:
            self._until_exit(process)
            process.end_group(self._waits.terminate)
            self._drain()
            self._tell_end(f"the server ended with status {process.status} before it answered")
            self._outlive()
        except BaseException:
            process.signal(KILL)
            raise
        self._close_taps()
        return EXIT_FAILED if self._crashed or (self._unanswered and not process.status) else process.status

    def _without_server(self, problem: str) -> None:
        """Let taps answer a host whose server is not there."""
        if self.taps:
            self._tell_end(problem)
            server = Outlet(-1)
            server.shut(0)
            threading.Thread(target=self._hear_host, args=(server,), name="stretto-host", daemon=True).start()
            self._outlive()
        self._close_taps()

    def _from_host(self, process: Server, server: Outlet) -> None:
        self._hear_host(server)
        if server.shut(self._waits.terminate):
            process.close_input()
        self._events.put("host")

    def _hear_host(self, server: Outlet) -> None:
        self._pump("host", self._stdin, server, lambda tap, line: tap.from_host(line))
        self._left = True

    def _from_server(self, process: Server) -> None:
        self._pump("server", process.output, self._host, lambda tap, line: tap.from_server(line))
        process.close_output()
        self._drained = True
        self._events.put("server")

    def _watch_host(self) -> None:
        # The pump does not see the host leave while the server does not read; where there is no poll, it is seen then.
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._stdin, 0)
            poll.poll()
            self._events.put("hangup")

    # --- one direction ------------------------------------------------------------------------------------------

    def _pump(self, source: Side, descriptor: int, outlet: Outlet, ask: _Ask) -> None:
        """Relay until the source has ended, or nobody takes it; what the host says is shown to taps all the same."""
        cutter = Cutter(self._longest)
        watched = bool(self.taps)
        heard = watched and source == "host"
        try:
            while (heard or not outlet.broken) and (chunk := _read(descriptor)):
                if not watched:
                    outlet.put(chunk)
                    continue
                for piece in cutter.feed(chunk):
                    self._pass(piece.raw, outlet, ask, None if piece.whole else source)
                if heard:
                    self._heard += 1
                    if outlet.broken:
                        self._events.put("host")  # a server that takes nothing more has ended, or is to
            for piece in cutter.rest():
                self._pass(piece.raw, outlet, ask, None if piece.whole else source)
        except Exception as error:  # noqa: BLE001 - the other thread and the process must know
            self._crashed = True
            self._faults.note(f"the proxy failed on what the {source} sent", error)
        finally:
            outlet.release()

    def _pass(self, raw: bytes, outlet: Outlet, ask: _Ask, unseen: Side | None) -> None:
        """Show a line to the taps, unless it is a part of one that is too long, and put it out if none keeps it.

        Args:
            raw: its bytes.
            outlet: where it goes.
            ask: how a tap is asked.
            unseen: who sent it, if it is such a part.
        """
        if unseen is None:
            line = Line(raw)
            for tap in tuple(self.taps):
                said = self._guarded(tap, ask, tap, line)
                if said is True:
                    return
                if isinstance(said, Line):
                    line = said
            raw = line.raw
            if line.own:
                self._tell(raw, "host")
        else:
            self.unseen[unseen] += 1
            self._faults.note(f"a line of more than {self._longest:,} bytes passed without being looked at")
        outlet.put(raw)

    def _guarded(self, tap: Tap, work: Callable[..., object], *arguments: object) -> object:
        try:
            return work(*arguments)
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            if tap in self.taps:
                self.taps.remove(tap)
            self._faults.note(f"{type(tap).__name__} is switched off", error)
            return None

    # --- the end ------------------------------------------------------------------------------------------------

    def _until_exit(self, process: Server) -> None:
        """Wait until the server has ended, and end it when the session is over."""
        event = self._events.get()
        if event == "exit":
            return
        if event == "server":
            self._end_input(process)
            if self._exits(self._waits.output):
                return
            self._tell_end("the server closed its output before it answered")
        if isinstance(event, int):
            self._stopped = True
            process.signal(event)
            self._end_input(process)
        elif not self._stopped and self._exits(self._waits.close, longest=self._waits.close_longest):
            return
        else:
            process.signal(signal.SIGTERM)
        if self._exits(self._waits.terminate):
            return
        process.signal(KILL)
        self._exits(self._waits.kill)

    def _end_input(self, process: Server) -> None:
        if self._server and self._server.shut(0):
            process.close_input()

    def _exits(self, seconds: float, *, longest: float = 0.0) -> bool:
        """Wait for the server's exit, anew while bytes move if `longest` allows it; False, too, on a signal."""
        began = waited = time.monotonic()
        moved = self._moved
        while True:
            try:
                event = self._events.get(timeout=max(0.0, waited + seconds - time.monotonic()))
            except Empty:
                if moved == self._moved or time.monotonic() - began > longest:
                    return False
                waited, moved = time.monotonic(), self._moved
                continue
            if event == "exit":
                return True
            if isinstance(event, int):
                self._stopped = True
                return False

    @property
    def _moved(self) -> int:
        return self._host.moved + (self._server.moved if self._server else 0)

    def _drain(self) -> None:
        """Wait until the host has what the server said last."""
        moved, since = self._host.moved, time.monotonic()
        while not self._drained:
            waits_for_host = self._host.writing and not self._stopped
            limit = self._waits.host if waits_for_host else self._waits.drain
            with suppress(Empty):
                if isinstance(self._events.get(timeout=min(limit, self._waits.drain)), int):
                    return
            if moved != self._host.moved:
                moved, since = self._host.moved, time.monotonic()
            elif time.monotonic() - since >= limit:
                self._faults.note("the server has ended, and the end of what it said could not be passed on")
                return

    def _tell_end(self, reason: str) -> None:
        """Let taps know, once, that the server answers nothing any more."""
        if self._gone:
            return
        self._gone = True
        left = self._left
        for tap in reversed(tuple(self.taps)):
            if self._bounded(tap, tap.ended, reason, hurry=True) is True and not left:
                self._unanswered = True

    def _outlive(self) -> None:
        """Let taps answer what the host says to a server that is gone: until it leaves, or asks nothing for a while."""
        until = time.monotonic() + self._waits.close_longest
        while self.taps and time.monotonic() < until and not (self._left or self._signalled or self._host.broken):
            heard = self._heard
            try:
                self._events.get(timeout=self._waits.asked)
            except Empty:
                if heard == self._heard:
                    return

    def _close_taps(self) -> None:
        for tap in reversed(tuple(self.taps)):
            self._bounded(tap, tap.close)

    def _bounded(self, tap: Tap, work: Callable[..., object], *arguments: object, hurry: bool = False) -> object:
        """Let a tap work on a thread, since a host that does not read holds up whoever sends it something.

        Args:
            tap: whose work it is.
            work: what it is to do.
            arguments: for that.
            hurry: not to be waited for once a signal has come.
        """
        said: list[object] = []
        working = threading.Thread(
            target=lambda: said.append(self._guarded(tap, work, *arguments)), name="stretto-tap", daemon=True
        )
        working.start()
        until = time.monotonic() + self._waits.tap
        while working.is_alive() and (left := until - time.monotonic()) > 0:
            if hurry and self._signalled:
                working.join(min(left, self._waits.drain))
                break
            working.join(min(left, _LOOK_S))
        return said[0] if said else None


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:  # a terminal that is gone, a descriptor that was closed: nothing more comes
        return b""
