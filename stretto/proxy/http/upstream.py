"""A server that is reached over HTTP, as if it were a process that was started: two pipes, signals, an exit status.

So one relay serves both kinds. What is written to the pipe is posted, what the server says is read from the other one.
Not responsible for the protocol (`stretto.proxy.http.client`).
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from stretto.proxy.http.client import HttpClient
from stretto.proxy.http.pipes import LineReader, LineWriter
from stretto.proxy.process import KILL
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

__all__ = ["HttpServer"]

_SIGNALLED: Final = 128  #: as for a process


class HttpServer:
    """One session with a server over HTTP; see `stretto.proxy.relay.Server`.

    Ends when its input has ended and every request has its answer, or with a signal. Its exit status is 0, or 128+n
    after signal n: a server that cannot be reached is no reason to end, the next request may find it.

    Args:
        command: the URL.
        on_exit: called on another thread when it has ended.
        headers: sent with every request; may hold credentials.
        caller: see `HttpClient`.

    Attributes:
        input: descriptor to write to the server.
        output: descriptor to read from it.
    """

    def __init__(
        self,
        command: Sequence[str],
        on_exit: Callable[[], None],
        *,
        headers: Mapping[str, str],
        caller: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._url = command[0]
        self._on_exit = on_exit
        self._headers = headers
        self._caller = caller
        self._faults = Faults()
        self._from_relay, self.input = os.pipe()
        self.output, self._to_relay = os.pipe()
        self._signum = 0
        self._alive = True
        self._stop: Callable[[], None] = lambda: None
        self._ready = threading.Event()
        threading.Thread(target=self._run, name="stretto-upstream", daemon=True).start()
        self._ready.wait()

    @property
    def status(self) -> int:
        """See `stretto.proxy.relay.Server`."""
        return _SIGNALLED + self._signum if self._signum else 0

    def close_input(self) -> None:
        """See `stretto.proxy.relay.Server`."""
        self.input = _closed(self.input)

    def close_output(self) -> None:
        """See `stretto.proxy.relay.Server`."""
        self.output = _closed(self.output)

    def signal(self, signum: int) -> bool:
        """See `stretto.proxy.relay.Server`; any signal ends the session, and `KILL` without saying goodbye."""
        if self._alive and signum:
            self._signum = signum
            with suppress(RuntimeError):  # the loop has just been closed
                self._stop()
        return self._alive

    def end_group(self, terminate_s: float) -> None:
        """There is nothing that it could leave behind."""

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - the relay must know that it is over
            self._faults.note("the connection to the server failed", error)
        finally:
            self._alive = False
            self._ready.set()
            self._on_exit()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        ended, stopped, killed = asyncio.Event(), asyncio.Event(), asyncio.Event()

        def stop() -> None:
            loop.call_soon_threadsafe(stopped.set)
            if self._signum == KILL:
                loop.call_soon_threadsafe(killed.set)

        self._stop = stop
        writer = LineWriter(self._to_relay)
        client = HttpClient(self._url, self._headers, writer.write, self._faults, self._caller)
        LineReader(
            self._from_relay,
            client.take,
            too_long=lambda: self._faults.note("a message of the host is too long to be posted, and was not sent"),
            ended=ended.set,
        )
        self._ready.set()
        try:
            await _either(ended.wait(), stopped.wait())
            if not stopped.is_set():
                await _either(client.finish(), stopped.wait())
            await _either(client.close(), killed.wait())
        finally:
            writer.close()


async def _either(*doing: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of these, and let the other go."""
    tasks = [asyncio.create_task(each) for each in doing]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        with suppress(OSError):
            os.close(descriptor)
    return -1
