"""The web server for hosts that speak MCP over HTTP: who is let in, which session a request is of, what it gets.

Each session has a server of its own. In the era of the handshake it has an id, which comes with the answer to
``initialize``; in the later era, where every request stands alone, requests of one client share a session.

Not responsible for who is let in (`stretto.proxy.http.admission`) nor for what messages say.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import signal
import time
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stretto.proxy.http.admission import refusal
from stretto.proxy.http.headers import SESSION_ID, version_of
from stretto.proxy.http.session import HttpHost
from stretto.sessions.wire import RESERVED, messages_of, meta_of
from waggle import jsonvalue
from waggle.admission import url_of
from waggle.background import Faults

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from stretto.proxy.assembly import Assembly
    from stretto.proxy.http.streams import Stream
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Listener"]

_PATH: Final = "/mcp"  #: of the one endpoint

_MESSAGE_BYTES: Final = 4 * 2**20  #: longest message of a host
_SESSIONS: Final = 64
_JSON_WAIT_S: Final = 1.0  #: an answer that is there by then is sent as JSON; a stream begins after that
_PING_S: Final = 15.0  #: between signs of life on a stream; many a client gives up a silent one after 60 s
_CLOSE_S: Final = 12.0  #: for the servers of all sessions to end
_SPARE_S: Final = 10.0  #: that a server waits which was asked in the wrong protocol
_GOODBYE_S: Final = 1  #: for responses under way

_INVALID: Final = -32600
_PARSE: Final = -32700
_BUSY: Final = -32000

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_LAST_EVENT: Final = "last-event-id"
_HOST_SESSION: Final = "stretto-session"
_CLIENT: Final = f"{RESERVED}clientInfo"


class Listener:
    """Serves hosts over HTTP until it is stopped.

    Args:
        assembly: makes sessions.
        listening: the socket, bound and listening.
        token: that a host must have; None where it must be of this machine.
        idle_s: seconds after which a session ends in which nothing has crossed, and nobody listens.
        sessions: most of them at a time.
    """

    def __init__(
        self,
        assembly: Assembly,
        listening: socket.socket,
        *,
        token: str | None = None,
        idle_s: float,
        sessions: int = _SESSIONS,
    ) -> None:
        self._assembly = assembly
        self._socket = listening
        self._token = token
        self._idle_s = idle_s
        self._most = sessions
        self._faults = Faults()
        self._count = 0
        self._hosts: dict[str, HttpHost] = {}  # by their ids
        self._alone: dict[str, list[HttpHost]] = {}  # of the later era, by who asks
        self._refused: dict[str, HttpHost] = {}  # that a client may begin anew in the other era, by who asks
        self._ending: set[HttpHost] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._signum = 0

    @property
    def url(self) -> str:
        """The endpoint."""
        host, port = self._socket.getsockname()[:2]
        return url_of(host, port, _PATH)

    # --- its life -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop`, and end every session. Not on the main thread: the web server would take its signals."""
        asyncio.run(self._serve())

    def stop(self, signum: int) -> None:
        """End every session with a signal; from any thread, and from a signal's handler."""
        self._signum = signum
        if self._loop:
            with suppress(RuntimeError):  # it is over
                self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._signum:
            self._stopped.set()
        application = Starlette(routes=[Route(_PATH, self._handle, methods=["GET", "POST", "DELETE"])])
        server = uvicorn.Server(
            uvicorn.Config(
                application,
                log_config=None,
                log_level=logging.CRITICAL + 1,  # what it says of connections that break is nobody's business
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=_GOODBYE_S,
            )
        )
        serving = asyncio.create_task(server.serve([self._socket]))
        sweeping = asyncio.create_task(self._sweep())
        await asyncio.wait({serving, asyncio.create_task(self._stopped.wait())}, return_when=asyncio.FIRST_COMPLETED)
        sweeping.cancel()
        hosts = self._all()
        for host in hosts:
            host.stop(self._signum or signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                for host in hosts:
                    await host.ended.wait()
        server.should_exit = True
        await serving

    def _all(self) -> set[HttpHost]:
        alone = (host for hosts in self._alone.values() for host in hosts)
        return {*self._hosts.values(), *alone, *self._refused.values(), *self._ending}

    async def _sweep(self) -> None:
        """End sessions that nobody uses any more."""
        while True:
            await asyncio.sleep(min(60.0, self._idle_s / 4))
            for host in self._all():
                if not host.busy and time.monotonic() - host.used > self._idle_s:
                    self._end(host)

    # --- sessions -------------------------------------------------------------------------------------------------

    def _begin(self, request: Request) -> HttpHost:
        """A new session."""
        if len(self._all()) >= self._most:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"has {self._most} sessions, and takes no more", _BUSY)
        self._count += 1
        try:
            return HttpHost(
                self._assembly,
                self._count,
                host_session=request.headers.get(_HOST_SESSION),
                faults=self._faults,
                on_end=self._end,
            )
        except OSError as error:  # no descriptors are left
            self._faults.note("a session cannot be begun", error)
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "cannot begin a session", _BUSY) from None

    def _lose(self, host: HttpHost) -> None:
        """Let a session be found no more."""
        self._hosts = {name: other for name, other in self._hosts.items() if other is not host}
        self._refused = {client: other for client, other in self._refused.items() if other is not host}
        self._alone = {
            client: rest for client, hosts in self._alone.items() if (rest := [one for one in hosts if one is not host])
        }

    def _end(self, host: HttpHost) -> None:
        """Let a session be found no more, and its server end."""
        self._lose(host)
        if host.ended.is_set():
            self._ending.discard(host)
        else:
            self._ending.add(host)
            host.leave()

    # --- requests -------------------------------------------------------------------------------------------------

    async def _handle(self, request: Request) -> Response:
        try:
            return await self._respond(request)
        except _Refused as refused:
            return refused.response()
        except ClientDisconnect:
            return Response()  # that nobody gets
        except Exception as error:  # noqa: BLE001 - other sessions go on
            self._faults.note("a request over HTTP failed", error)
            return _Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "failed; see its standard error", _BUSY).response()

    async def _respond(self, request: Request) -> Response:
        if refused := refusal(request.headers, self._token):
            raise _Refused(*refused)
        name = request.headers.get(SESSION_ID)
        host = self._hosts.get(name) if name else None
        if name and not host:
            raise _over()
        if host:
            self._note_caller(host, request)
        if request.method == "POST":
            return await self._post(request, host)
        if host is None:
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, "needs a session: begin with initialize")
        if request.method == "DELETE":
            self._end(host)
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return self._listen(request, host)

    def _note_caller(self, host: HttpHost, request: Request) -> None:
        if self._token is None:  # else it is our own token, and nobody else's business
            host.authorization = request.headers.get("authorization", host.authorization)

    async def _post(self, request: Request, host: HttpHost | None) -> Response:
        body, message = await _read(request)
        name = ""
        if host is None:
            host, name = self._found(request, message)
        elif host.router.waits_for(message):
            raise _Refused(HTTPStatus.CONFLICT, "a request with this id has no answer yet")
        headers = {SESSION_ID: name} if name else {}
        if _requests(message):
            return await self._asked(request, host, body, message, headers)
        if not await host.send(body):
            raise _over()
        return Response(status_code=HTTPStatus.ACCEPTED, headers=headers)

    def _found(self, request: Request, message: JsonValue) -> tuple[HttpHost, str]:
        """The session of a message that names none, with its id where it gets one now."""
        opens = any(each.get("method") == "initialize" for each in messages_of(message))
        client = None if opens else _client(request, message)
        if not opens and client is None:
            raise _Refused(HTTPStatus.BAD_REQUEST, "needs a session: begin with initialize")
        for known in self._alone.get(client, ()) if client is not None else ():
            if not known.router.waits_for(message):
                return known, ""
        host = (self._refused.pop(_asker(request), None) if opens else None) or self._begin(request)
        self._note_caller(host, request)
        if client is not None:
            self._alone.setdefault(client, []).append(host)
            return host, ""
        name = secrets.token_urlsafe(24)
        self._hosts[name] = host
        return host, name

    async def _asked(
        self, request: Request, host: HttpHost, body: bytes, message: JsonValue, headers: Mapping[str, str]
    ) -> Response:
        """Hand a message with requests to the server; the response to it."""
        stream = host.router.open(message)
        handed_on = False
        try:
            if not await host.send(body):
                host.router.abandon(stream)
                raise _over()
            streams = _takes(request, _EVENTS)
            if isinstance(message, dict) or not streams:
                line = await stream.answer(_JSON_WAIT_S if streams else None)
                if line is not None:
                    self._check(request, host)
                    return Response(line, media_type=_JSON, headers=dict(headers))
            handed_on = True
            return self._events(request, host, stream, 0, headers)
        finally:
            if not handed_on:
                stream.leave()

    def _listen(self, request: Request, host: HttpHost) -> Response:
        """The standing stream, or one that broke off, from where it did."""
        if not _takes(request, _EVENTS):
            raise _Refused(HTTPStatus.NOT_ACCEPTABLE, f"a stream is sent as {_EVENTS}")
        stream, after = host.router.standing, host.router.standing.seen
        number, dash, place = request.headers.get(_LAST_EVENT, "").partition("-")
        if dash and number.isdecimal() and place.isdecimal():
            found = host.router.find(int(number))
            if found is None:
                raise _Refused(HTTPStatus.NOT_FOUND, "this stream is not kept any more")
            stream, after = found, int(place)
        if stream is host.router.standing and stream.readers:
            raise _Refused(HTTPStatus.CONFLICT, "this session has a stream already")
        stream.readers += 1
        return self._events(request, host, stream, after, {})

    def _events(
        self, request: Request, host: HttpHost, stream: Stream, after: int, headers: Mapping[str, str]
    ) -> Response:
        def closed() -> None:
            stream.leave()
            if stream.modern and stream.unanswered:
                self._tasks.add(task := asyncio.create_task(host.give_up(stream)))
                task.add_done_callback(self._tasks.discard)
            self._check(request, host)

        return _EventResponse(stream, after, headers, closed)

    def _check(self, request: Request, host: HttpHost) -> None:
        """See to a session that its server has refused: what a client begins with to find out what a server speaks.

        Its next try gets the same server, as it would over standard input and output.
        """
        if not host.router.refused or host.ended.is_set() or host in self._refused.values():
            return
        opened = host in self._hosts.values()
        self._lose(host)
        if opened:
            self._end(host)
            return
        before = self._refused.pop(_asker(request), None)
        if before:
            self._end(before)
        self._refused[_asker(request)] = host
        asyncio.get_running_loop().call_later(_SPARE_S, self._end_spare, host)

    def _end_spare(self, host: HttpHost) -> None:
        if host in self._refused.values():
            self._end(host)


class _Refused(Exception):
    """A request gets a refusal in place of what it asked for; no session is touched."""

    def __init__(self, status: HTTPStatus, text: str, code: int = _INVALID) -> None:
        super().__init__(text)
        self._status, self._code = status, code

    def response(self) -> Response:
        """The refusal: in HTTP's words and in the protocol's."""
        error: JsonObject = {"code": self._code, "message": f"stretto-proxy: {self}"}
        headers = {"www-authenticate": "Bearer"} if self._status is HTTPStatus.UNAUTHORIZED else {}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, self._status, headers)


def _over() -> _Refused:
    return _Refused(HTTPStatus.NOT_FOUND, "this session is over, or never was; begin a new one")


class _EventResponse(StreamingResponse):
    """A stream as server-sent events; `closed` is called when it is over, however that came."""

    def __init__(self, stream: Stream, after: int, headers: Mapping[str, str], closed: Callable[[], None]) -> None:
        self._closed = closed
        super().__init__(_sent(stream, after), media_type=_EVENTS, headers={**headers, "cache-control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


async def _sent(stream: Stream, after: int) -> AsyncIterator[bytes]:
    async for event in stream.read(after, _PING_S):
        if event is None:
            yield b": still here\n\n"
        else:
            number = b"" if stream.modern else b"id: %d-%d\n" % (stream.number, event.number)
            yield b"event: message\n%sdata: %s\n\n" % (number, event.line.rstrip(b"\r\n"))


def _requests(message: JsonValue) -> list[JsonObject]:
    return [each for each in messages_of(message) if each.get("method") is not None and each.get("id") is not None]


def _client(request: Request, message: JsonValue) -> str | None:
    """Who sends requests of the later era, None when they are not of it."""
    requests = _requests(message)
    if not requests or not all(version_of(each) for each in requests):
        return None
    return f"{_asker(request)} {jsonvalue.canonical(meta_of(requests[0]).get(_CLIENT)).decode()}"


def _asker(request: Request) -> str:
    """Where a request comes from, as a digest: it may hold credentials."""
    known = [
        request.client.host if request.client else "",
        *(request.headers.get(name, "") for name in ("authorization", "user-agent", _HOST_SESSION)),
    ]
    return hashlib.sha256("\n".join(known).encode("utf-8", "replace")).hexdigest()


async def _read(request: Request) -> tuple[bytes, JsonValue]:
    """The message of a request, as it came and parsed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a message is sent as {_JSON}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MESSAGE_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a message has up to {_MESSAGE_BYTES:,} bytes")
    try:
        message = jsonvalue.loads(bytes(body))
    except ValueError:
        raise _Refused(HTTPStatus.BAD_REQUEST, "the message is no JSON", _PARSE) from None
    count = sum(1 for _ in messages_of(message))
    if not count or (isinstance(message, list) and count != len(message)):
        raise _Refused(HTTPStatus.BAD_REQUEST, "is neither a message nor a batch of them")
    return bytes(body), message


def _takes(request: Request, kind: str) -> bool:
    accept = request.headers.get("accept", "*/*")
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return bool(kinds & {kind, "*/*", f"{kind.partition('/')[0]}/*"})
