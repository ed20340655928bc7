"""A web server in this process that says what a test wants, and notes what it is asked."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request

#: Longest wait of a test for anything, seconds.
PATIENCE = 30.0


@dataclass(frozen=True)
class Asked:
    """One request: its method, its headers, and its body, parsed."""

    method: str
    headers: Mapping[str, str]
    message: Any


class Web:
    """Serves at ``url`` for as long as a ``with`` block lasts.

    Args:
        handle: gives the response to each request.

    Attributes:
        asked: every request so far, in order.
        closed: how many of the streams that `hanging` gave were closed by their reader.
    """

    def __init__(self, handle: Callable[[Asked], Response | Awaitable[Response]]) -> None:
        self._handle = handle
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"
        self.asked: list[Asked] = []
        self.closed = 0
        self._changed = threading.Condition()
        routes = [Route("/{path:path}", self._take, methods=["GET", "POST", "DELETE"])]
        config = uvicorn.Config(
            Starlette(routes=routes), log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        asyncio.run(self._server.serve([self._socket]))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)

    async def _take(self, request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response()
        asked = Asked(request.method, request.headers, json.loads(body) if body else None)
        self._note(asked)
        given = self._handle(asked)
        return given if isinstance(given, Response) else await given

    def _note(self, asked: Asked) -> None:
        with self._changed:
            self.asked.append(asked)
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to hold; bounded."""
        with self._changed:
            assert self._changed.wait_for(holds, PATIENCE), self.asked

    def posted(self, method: str) -> list[Asked]:
        """The messages with this method so far."""
        return [each for each in self.asked if isinstance(each.message, dict) and each.message.get("method") == method]

    def hanging(self, *parts: bytes) -> Response:
        """A stream that says this, and then nothing until its reader closes it."""

        async def said() -> AsyncIterator[bytes]:
            try:
                for part in parts:
                    yield part
                yield b": waiting\n\n"
                await asyncio.sleep(10 * PATIENCE)
            finally:
                with self._changed:
                    self.closed += 1
                    self._changed.notify_all()

        return StreamingResponse(said(), media_type="text/event-stream")


def event(message: Any, number: str = "", **fields: Any) -> bytes:
    """A message as a server-sent event."""
    head = "".join(f"{name}: {value}\n" for name, value in {"id": number, **fields}.items() if value)
    data = message if isinstance(message, str) else json.dumps(message)
    return f"{head}data: {data}\n\n".encode()


def stream(*parts: bytes) -> Response:
    """A stream that says this and ends."""

    async def said() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return StreamingResponse(said(), media_type="text/event-stream")


def answer(asked: Asked, result: Any = None, **headers: str) -> Response:
    """The answer to a request, as JSON."""
    said = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {} if result is None else result}
    return JSONResponse(said, headers={name.replace("_", "-"): value for name, value in headers.items()})


def accepted() -> Response:
    """What a notification gets."""
    return Response(status_code=202)
