"""The client's end of Streamable HTTP, in both protocol eras: each message is posted, what the server says comes back.

A request that the server does not answer, whatever the reason, is answered here with an error that says so: over HTTP a
server that is gone leaves nothing else behind. A stream that breaks is taken up again where the server can. Redirects
are not followed: what is sent may hold credentials, and they are meant for one place.

Not responsible for where messages come from, nor for when the session ends (`stretto.proxy.http.upstream`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import httpx2

import stretto
from stretto._defaults import PROXY_LINE_BYTES
from stretto.proxy.http.headers import SESSION_ID, HeaderTable, is_modern
from stretto.proxy.http.pipes import one_line
from stretto.sessions.wire import UNREACHED, error_to, id_key, is_response, messages_of
from waggle import jsonvalue
from waggle.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from stretto.sessions.wire import IdKey
    from waggle.background import Faults
    from waggle.jsonvalue import JsonValue

__all__ = ["HttpClient"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_ACCEPTED: Final = 202
_NOT_FOUND: Final = 404
_UNAUTHORISED: Final = frozenset({401, 403})

_CONNECT_S: Final = 10.0
_WRITE_S: Final = 60.0
_NOTICE_S: Final = 30.0  #: longest time for a message that wants no answer
_GOODBYE_S: Final = 1.0  #: for the end of the session

_RETRY_S: Final = 1.0  #: until a broken stream is taken up again, unless the server says another time
_LONGEST_RETRY_S: Final = 60.0
_ATTEMPTS: Final = 3  #: to take up a stream that had answers to give, without a word of the server in between


class _Unanswered(Exception):
    """A server has not answered a request as the protocol wants it; the text says how."""


class _Requests:
    """The requests of one message that have no answer yet: their ids, by key."""

    def __init__(self, message: JsonValue) -> None:
        self.ids: dict[IdKey, JsonValue] = {
            key: each.get("id")
            for each in messages_of(message)
            if each.get("method") is not None and (key := id_key(each.get("id"))) is not None
        }

    def __bool__(self) -> bool:
        return bool(self.ids)


class HttpClient:
    """One session with one server.

    Args:
        url: of the server's endpoint.
        headers: sent with every request.
        say: given each line that the server says, and each error in the place of an answer; awaited.
        faults: where what goes wrong is counted.
        caller: the value of the ``Authorization`` header that the present client has given itself; None for none.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        say: Callable[[bytes], Awaitable[object]],
        faults: Faults,
        caller: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._url = url
        self._say = say
        self._faults = faults
        self._caller = caller
        self._table = HeaderTable()
        self._open: dict[IdKey, asyncio.Task[None]] = {}  # by the id of each request that waits for its answer
        self._watching: set[asyncio.Task[None]] = set()  # answered by a stream that goes on until it is closed
        self._standing: asyncio.Task[None] | None = None
        self._http = httpx2.AsyncClient(
            headers={"user-agent": f"stretto-proxy/{stretto.__version__}", **headers},
            timeout=httpx2.Timeout(None, connect=_CONNECT_S, write=_WRITE_S),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32),
        )

    async def take(self, line: bytes) -> None:
        """Send a line of the client on its way; returns when the next one may be sent without overtaking it."""
        try:
            message = jsonvalue.loads(line)
        except ValueError:
            if line.strip():
                self._faults.note("a line of the host that is no JSON is not sent: HTTP carries nothing else")
            return
        requests = _Requests(message)
        if requests:
            await self._request(line, message, requests)
            return
        if self._cancels(message):
            return
        await self._notify(line, message)
        if any(each.get("method") == "notifications/initialized" for each in messages_of(message)):
            self._standing = self._standing or asyncio.create_task(self._listen())

    async def finish(self) -> None:
        """Wait for the answers that are still to come; streams that only wait for news are closed."""
        for task in self._watching:
            task.cancel()
        while self._open:
            await asyncio.wait(set(self._open.values()))

    async def close(self) -> None:
        """End the session. Requests that have no answer get none."""
        tasks = {*self._open.values(), *self._watching, *([self._standing] if self._standing else [])}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._table.session_id:
            with suppress(httpx2.HTTPError, TimeoutError, ValueError):
                async with asyncio.timeout(_GOODBYE_S):
                    await self._http.delete(self._url, headers=self._headers(None))
        await self._http.aclose()

    # --- what is sent ---------------------------------------------------------------------------------------------

    async def _request(self, line: bytes, message: JsonValue, requests: _Requests) -> None:
        for each in messages_of(message):
            self._table.asked(each)
        task = asyncio.create_task(self._answer(line, message, requests))
        keys = tuple(requests.ids)
        for key in keys:
            self._open[key] = task
        methods = {each.get("method") for each in messages_of(message)}
        if "subscriptions/listen" in methods:
            self._watching.add(task)

        def forget(done: asyncio.Task[None]) -> None:
            self._watching.discard(done)
            for key in keys:
                if self._open.get(key) is done:
                    del self._open[key]

        task.add_done_callback(forget)
        if "initialize" in methods:
            await asyncio.wait({task})  # what follows needs the session's id

    def _cancels(self, message: JsonValue) -> bool:
        """Whether this cancels a request of the later era, in which closing its stream is what a server is told."""
        if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
            return False
        params = message.get("params")
        key = id_key(params.get("requestId")) if isinstance(params, dict) else None
        task = self._open.get(key) if key is not None else None
        if self._table.version or self._table.session_id:
            return False
        if task:
            task.cancel()
        return True

    async def _notify(self, line: bytes, message: JsonValue) -> None:
        """Post what wants no answer. Only one message can be told to have failed in the place of nothing: none."""
        try:
            async with asyncio.timeout(_NOTICE_S):
                response = await self._http.post(self._url, content=line.strip(), headers=self._headers(message))
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            self._faults.note("a notification did not reach the server", error)
            return
        if response.status_code >= 300:  # noqa: PLR2004 - HTTP's
            self._faults.note(f"the server has answered a notification with {_status(response)}")

    def _headers(self, message: JsonValue) -> dict[str, str]:
        headers = {"accept": f"{_JSON}, {_EVENTS}", "content-type": _JSON}
        caller = self._caller()
        if caller:
            headers["authorization"] = caller
        return headers | self._table.of(message if isinstance(message, dict) else None)

    # --- what comes back ------------------------------------------------------------------------------------------

    async def _answer(self, line: bytes, message: JsonValue, requests: _Requests) -> None:
        """Post requests and pass on what the server says, until each has its answer."""
        try:
            try:
                await self._exchange(line, message, requests)
                problem = "the server's answer ended before it was complete"
            except _Unanswered as error:
                problem = str(error)
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
                problem = f"the server cannot be reached: {type(error).__name__}: {error}"
            for number in [*requests.ids.values()]:
                await self._say(one_line(jsonvalue.dumps(error_to(number, UNREACHED, redact_text(problem)))))
        except asyncio.CancelledError:
            return  # whoever cancels it wants no answer any more

    async def _exchange(self, line: bytes, message: JsonValue, requests: _Requests) -> None:
        broke_off: _Place | None = None
        async with self._http.stream(
            "POST", self._url, content=line.strip(), headers=self._headers(message)
        ) as response:
            kind = _kind(response)
            if response.is_success and response.status_code != _ACCEPTED and kind in (_JSON, _EVENTS):
                if any(each.get("method") == "initialize" for each in messages_of(message)):
                    self._table.session_id = response.headers.get(SESSION_ID, "")
                if kind == _JSON:
                    await self._pass(await _body(response), requests)
                    return
                broke_off = await self._events(response, requests)
            else:
                await self._refused(response, requests)
        attempts = 0
        while requests and broke_off and broke_off.event and attempts < _ATTEMPTS and not is_modern_line(message):
            before = broke_off.event
            await asyncio.sleep(broke_off.retry_s)
            broke_off = await self._resume(broke_off, requests)
            attempts = attempts + 1 if broke_off.event == before else 0

    async def _refused(self, response: httpx2.Response, requests: _Requests) -> None:
        """Say what came in the place of answers: errors of the protocol as they are, else why there are none."""
        if response.has_redirect_location:
            raise _Unanswered(f"the server has moved to {response.headers.get('location')}; if you trust that, use it")
        if _kind(response) == _JSON and response.status_code != _ACCEPTED:
            body = await _body(response)
            with suppress(ValueError):
                said = jsonvalue.loads(body)
                if isinstance(said, dict) and isinstance(said.get("error"), dict):
                    if said.get("id") is None and len(requests.ids) == 1:  # refused before its id was read
                        body = jsonvalue.dumps(said | {"id": next(iter(requests.ids.values()))})
                    await self._pass(body, requests)
                    if not requests:
                        return
        status = _status(response)
        if response.status_code == _NOT_FOUND and self._table.session_id:
            raise _Unanswered(f"the server has ended this session ({status}); start it anew")
        if response.status_code in _UNAUTHORISED:
            raise _Unanswered(f"the server does not let us in ({status}); see --upstream-header")
        if response.is_success:
            raise _Unanswered(f"the server has answered a request with {status}, {_kind(response) or 'nothing'}")
        raise _Unanswered(f"the server has answered with {status}")

    async def _events(self, response: httpx2.Response, requests: _Requests | None, at: _Place | None = None) -> _Place:
        """Pass on a stream's messages: to its end, or until the requests have their answers.

        Returns:
            Where it broke off.
        """
        at = at or _Place()
        try:
            async for event in httpx2.EventSource(response, max_event_size=PROXY_LINE_BYTES):
                at.event = event.id or at.event
                if event.retry is not None:
                    at.retry_s = min(event.retry / 1000, _LONGEST_RETRY_S)
                if event.event == "message" and event.data:
                    await self._pass(event.data.encode("utf-8", "surrogatepass"), requests)
                if requests is not None and not requests:
                    break
        except httpx2.HTTPError as error:
            self._faults.note("a stream of the server broke off", error)
        return at

    async def _resume(self, at: _Place, requests: _Requests | None) -> _Place:
        """Take up a stream where it broke off."""
        headers = self._headers(None) | {"accept": _EVENTS, "last-event-id": at.event}
        with suppress(httpx2.HTTPError):
            async with self._http.stream("GET", self._url, headers=headers) as response:
                if response.is_success and _kind(response) == _EVENTS:
                    return await self._events(response, requests, at)
        return at

    async def _listen(self) -> None:
        """Keep the stream open on which a server says what answers nothing; many have none."""
        at, pause = _Place(), 0.0
        while True:
            headers = self._headers(None) | {"accept": _EVENTS}
            if at.event:
                headers["last-event-id"] = at.event
            try:
                async with self._http.stream("GET", self._url, headers=headers) as response:
                    if response.is_client_error or (response.is_success and _kind(response) != _EVENTS):
                        return
                    if response.is_success:
                        pause = 0.0
                        at = await self._events(response, None, at)
            except (httpx2.HTTPError, ValueError) as error:
                self._faults.note("the server's own stream cannot be opened", error)
            pause = min(max(at.retry_s, pause * 2), _LONGEST_RETRY_S)
            await asyncio.sleep(pause)

    async def _pass(self, raw: bytes, requests: _Requests | None) -> None:
        """Pass on what the server says: a message, or a batch of them."""
        try:
            said = jsonvalue.loads(raw)
        except ValueError:
            self._faults.note("the server says something that is no JSON; it is not passed on")
            return
        for each in messages_of(said):
            if is_response(each):
                self._table.answered(each)
                key = id_key(each.get("id"))
                if requests is not None and key is not None:
                    requests.ids.pop(key, None)
        await self._say(one_line(raw))


class _Place:
    """Where a stream stands: the id of its last event, and after how many seconds it may be taken up again."""

    def __init__(self) -> None:
        self.event = ""
        self.retry_s = _RETRY_S


def is_modern_line(message: JsonValue) -> bool:
    """Whether all on a line is of the later era, which has no streams to be taken up."""
    return any(is_modern(each) for each in messages_of(message))


async def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > PROXY_LINE_BYTES:
            raise _Unanswered(f"the server's answer has more than {PROXY_LINE_BYTES:,} bytes")
    return bytes(body)


def _kind(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()
