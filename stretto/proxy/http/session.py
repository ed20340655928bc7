"""One session of a host over HTTP: a relay on a thread, with a pipe at either side of its host's end.

Not responsible for requests and responses of HTTP (`stretto.proxy.http.listening`) nor for which message goes where
(`stretto.proxy.http.streams`).
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from stretto.proxy.http.pipes import LineReader, LineWriter, one_line
from stretto.proxy.http.streams import Router
from stretto.sessions.wire import ABORTED, error_to
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.assembly import Assembly
    from stretto.proxy.http.streams import Stream
    from waggle.background import Faults
    from waggle.jsonvalue import JsonObject

__all__ = ["HttpHost"]


class HttpHost:
    """One host, and the server that is started for it. Made and used in the event loop.

    Args:
        assembly: makes the session.
        number: of the session among those of this process.
        host_session: see `Assembly.session`.
        faults: where what goes wrong is counted.
        on_end: called in the event loop when the server has ended.

    Attributes:
        router: where the server's messages go.
        authorization: what the host has sent last to be let in, for a server that is reached over HTTP.
        used: when something last crossed, on the clock of `time.monotonic`.
        ended: the server has ended.
    """

    def __init__(
        self,
        assembly: Assembly,
        number: int,
        *,
        host_session: str | None,
        faults: Faults,
        on_end: Callable[[HttpHost], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._faults = faults
        self._on_end = on_end
        self.router = Router()
        self.authorization: str | None = None
        self.used = time.monotonic()
        self.ended = asyncio.Event()
        stdin, to_relay = os.pipe()
        from_relay, stdout = os.pipe()
        self._descriptors = (stdin, stdout)
        self._writer = LineWriter(to_relay)
        self._leaving = False
        session = assembly.session(
            stdin=stdin, stdout=stdout, number=number, host_session=host_session, caller=lambda: self.authorization
        )
        self._relay = session.relay
        LineReader(
            from_relay,
            self._deliver,
            too_long=lambda: faults.note("a message of the server is too long to be passed on over HTTP"),
            ended=self._over,
        )
        self._thread = threading.Thread(target=self._run, args=(session.run,), name=f"stretto-{number}", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a request is open, or the host listens."""
        return self.router.busy

    async def send(self, message: bytes) -> bool:
        """Hand a message to the server; False when it has gone."""
        self.used = time.monotonic()
        return not self._leaving and await self._writer.write(one_line(message))

    async def give_up(self, stream: Stream) -> None:
        """Know that the host has closed the response to requests of the later era: it does not want them answered."""
        for number in self.router.abandon(stream):
            params: JsonObject = {"requestId": number, "reason": "the client closed the response"}
            notice: JsonObject = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await self.send(jsonvalue.dumps(notice))

    def leave(self) -> None:
        """Let the server know that nothing more comes, so that it ends."""
        if not self._leaving:
            self._leaving = True
            self._writer.close()

    def stop(self, signum: int) -> None:
        """Pass a signal on to the server, and end."""
        self._relay.stop(signum)

    def _run(self, relay: Callable[[], int]) -> None:
        try:
            relay()
        except Exception as error:  # noqa: BLE001 - other sessions go on
            self._faults.note("a session failed", error)
        finally:
            for descriptor in self._descriptors:
                with suppress(OSError):
                    os.close(descriptor)

    async def _deliver(self, line: bytes) -> None:
        self.used = time.monotonic()
        await self.router.deliver(line)

    def _over(self) -> None:
        """Take in that the server has said its last."""
        for stream, numbers in self.router.end().items():
            for number in numbers:
                stream.add(
                    one_line(jsonvalue.dumps(error_to(number, ABORTED, "the server has ended before it answered")))
                )
            stream.end()
        self.leave()
        self.ended.set()
        self._on_end(self)
