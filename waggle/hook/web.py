"""The hook over HTTP: takes an event that is posted, and answers with what the host is to be told.

What must stay true: nobody is answered who does not have the token, whatever name or page the request comes under; a
fault of ours is no answer's fault: the host is told nothing. A request has a size and a time, and a connection has one
request: none is lost on a connection that was about to be closed.

Not responsible for what an event means (`waggle.hook.desk`).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from waggle import __version__
from waggle.admission import has_token, stranger, url_of
from waggle.background import Faults
from waggle.hook.client import ANSWER_SECONDS, EVENT_BYTES
from waggle.hook.hosts import NAMES
from waggle.hook.install import PATH

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from starlette.requests import Request

    from waggle.hook.desk import Desk

__all__ = ["Web"]

_CONNECTIONS: Final = 256  #: at a time; who comes then is told to come later
_GOODBYE_S: Final = 5  #: for answers under way: a little longer than a host waits


class Web:
    """Answers events over HTTP while it is entered, on a thread of its own.

    Args:
        desk: that answers them.
        listening: the socket, bound and listening.
        token: that every request must have.
        on_end: called when it serves no more, whatever the reason.
    """

    def __init__(self, desk: Desk, listening: socket.socket, token: str, on_end: Callable[[], object]) -> None:
        self._desk = desk
        self._socket = listening
        self._token = token
        self._on_end = on_end
        self._faults = Faults()
        application = Starlette(routes=[Route(PATH + "{host}", self._handle, methods=["GET", "POST"])])
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                http=_Hasty,
                log_config=None,
                log_level=logging.CRITICAL + 1,  # what it says of connections that break is nobody's business
                lifespan="off",
                ws="none",
                server_header=False,
                headers=[("connection", "close")],
                limit_concurrency=_CONNECTIONS,
                timeout_graceful_shutdown=_GOODBYE_S,
            )
        )
        self._thread = threading.Thread(target=self._run, name="waggle-web", daemon=True)

    def url(self, host: str) -> str:
        """Where a host posts its events."""
        address, port = self._socket.getsockname()[:2]
        return url_of(address, port, PATH + host)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        try:
            # Not on the main thread: there it would take the signals.
            asyncio.run(self._server.serve([self._socket]))
        finally:
            self._on_end()

    async def _handle(self, request: Request) -> Response:
        try:
            return await self._respond(request)
        except _Refused as refused:
            self._faults.note("a request was not let in", str(refused))
            return refused.response()
        except ClientDisconnect:
            return Response()  # that nobody gets
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._faults.note("an event could not be answered", error)
            return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _respond(self, request: Request) -> Response:
        if found := stranger(request.headers):
            raise _Refused(*found)
        if not has_token(request.headers, self._token):
            needed = "needs its token; `waggle init claude-code --http --write` puts it into the settings"
            raise _Refused(HTTPStatus.UNAUTHORIZED, needed)
        host = request.path_params["host"]
        if host not in NAMES:
            raise _Refused(HTTPStatus.NOT_FOUND, f"knows no host {host}; there is {', '.join(NAMES)}")
        if request.method == "GET":
            return JSONResponse({"waggle": __version__})
        answer = await run_in_threadpool(self._desk.answer, host, "", await _event(request))
        return (
            Response(answer, media_type="application/json") if answer else Response(status_code=HTTPStatus.NO_CONTENT)
        )


class _Refused(Exception):
    """A request that is not answered: with which status, and what is wrong with it."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(status, problem)
        self._status = status
        self._problem = problem

    def __str__(self) -> str:
        return f"waggle serve {self._problem}"

    def response(self) -> Response:
        """What who sent it is told."""
        headers = {"www-authenticate": "Bearer"} if self._status == HTTPStatus.UNAUTHORIZED else None
        return Response(f"{self}\n", self._status, headers, "text/plain")


async def _event(request: Request) -> bytes:
    event = bytearray()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            async for chunk in request.stream():
                event += chunk
                if len(event) > EVENT_BYTES:
                    raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"takes events of up to {EVENT_BYTES:,} bytes")
    except TimeoutError:
        raise _Refused(HTTPStatus.REQUEST_TIMEOUT, f"waits {ANSWER_SECONDS:g} s for an event") from None
    return bytes(event)


class _Hasty(H11Protocol):
    """HTTP, with a time in which a request must have begun."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as its base has it
        super().connection_made(transport)
        self.loop.call_later(ANSWER_SECONDS, self._end_silence)

    def _end_silence(self) -> None:
        if getattr(self, "cycle", None) is None:  # it says that it never is
            self.transport.close()
