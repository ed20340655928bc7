"""A server over HTTP behind the proxy: what it is sent, what its host gets, and how sessions end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from stretto._defaults import PROXY_LINE_BYTES
from stretto.proxy.http.upstream import HttpServer
from stretto.proxy.relay import Waits
from tests.stretto.proxy.http.web import Asked, Web, accepted, answer, event, stream
from tests.stretto.proxy.relays import QUICK, Session, Watcher, message

if TYPE_CHECKING:
    from collections.abc import Callable

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def shop(asked: Asked) -> Response:
    """A server of the handshake's era without a stream of its own."""
    if asked.method == "GET":
        return Response(status_code=405)
    if asked.method == "DELETE" or "id" not in asked.message:
        return accepted()
    if asked.message.get("method") == "initialize":
        return answer(asked, {"protocolVersion": "2025-11-25"}, mcp_session_id="s-1")
    return answer(asked, {"content": [{"type": "text", "text": "done"}]})


def session(url: str, headers: dict[str, str] | None = None, **options: Any) -> Session:
    """A host's view of the proxy in front of a server at a URL."""
    start = partial(HttpServer, headers=headers or {}, caller=options.pop("caller", lambda: None))
    return Session((url,), start=start, **options)


def ask(number: Any, method: str = "tools/call", **params: Any) -> bytes:
    return message(id=number, method=method, params=params)


def read(host: Session, count: int = 1) -> list[Any]:
    return [json.loads(line) for line in host.read_lines(count).splitlines()]


def open_handshake(host: Session) -> None:
    host.write(ask(0, "initialize", protocolVersion="2025-11-25"))
    read(host)
    host.write(message(method="notifications/initialized"))


# --- the handshake's era ----------------------------------------------------------------------------------------------


def test_a_session_is_opened_used_and_ended_as_the_protocol_wants_it() -> None:
    with Web(shop) as web:
        with session(web.url, {"x-key": "open sesame"}, caller=lambda: "Bearer mine") as host:
            host.write(ask(0, "initialize", protocolVersion="2025-11-25"))
            assert read(host)[0]["result"]["protocolVersion"] == "2025-11-25"
            host.write(message(method="notifications/initialized") + ask(1, name="x"))
            assert read(host)[0] == {
                "jsonrpc": "2.0",
                "id": 1,
                "result": {"content": [{"type": "text", "text": "done"}]},
            }
            host.close_input()
            assert host.read() == b""
            assert host.ends() == 0
        kinds = [(each.method, each.message and each.message.get("method")) for each in web.asked]
        posts = [kind for kind in kinds if kind[0] == "POST"]
        assert posts == [("POST", "initialize"), ("POST", "notifications/initialized"), ("POST", "tools/call")]
        assert kinds[-1] == ("DELETE", None)
        assert ("GET", None) in kinds
        first, *later = web.asked
        assert "mcp-session-id" not in first.headers
        for each in later:
            assert each.headers["mcp-session-id"] == "s-1"
            assert each.headers["mcp-protocol-version"] == "2025-11-25"
        for each in web.asked:
            assert each.headers["x-key"] == "open sesame"
            assert each.headers["authorization"] == "Bearer mine"


def test_what_a_server_says_reaches_the_host_and_the_taps_byte_for_byte() -> None:
    said = '{"jsonrpc": "2.0",  "id":1,"result":{"nobody knows":[1.0, 1e2], "x":"\u2028 \x85 \U0001f600 \\n"}}'
    notice = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}'

    def handle(asked: Asked) -> Response:
        if asked.message["method"] == "stream":
            return stream(event(notice), event(said))
        return Response(said.replace(",  ", ",\r\n  "), media_type="application/json")

    watcher = Watcher()
    with Web(handle) as web, session(web.url, taps=[watcher]) as host:
        host.write(ask(1, "stream"))
        assert host.read_lines(2).decode() == f"{notice}\n{said}\n"
        host.write(ask(1, "plain"))
        assert host.read_lines(1).decode() == said.replace(",  ", ",    ") + "\n"
    assert [raw for side, raw in watcher.seen if side == "server"][:2] == [
        f"{each}\n".encode() for each in (notice, said)
    ]


def test_a_notification_has_arrived_before_the_next_message_is_sent() -> None:
    with Web(shop) as web, session(web.url) as host:
        open_handshake(host)
        for number in range(20):
            host.write(message(method="notifications/roots/list_changed", params={"n": number}) + ask(number))
        read(host, 20)
        order = [each.message["params"]["n"] for each in web.posted("notifications/roots/list_changed")]
        assert order == sorted(order)


def test_the_servers_own_stream_is_passed_on_and_taken_up_where_it_broke_off() -> None:
    news = [message(method="notifications/message", params={"n": number}).decode().strip() for number in range(4)]
    gets: list[str | None] = []

    def handle(asked: Asked) -> Response:
        if asked.method != "GET":
            return shop(asked)
        gets.append(asked.headers.get("last-event-id"))
        part = news[:2] if len(gets) == 1 else news[2:]
        first = event(part[0], f"e{len(gets)}0", retry=1)
        if len(gets) > 2:
            return web.hanging()
        return stream(first, event(part[1], f"e{len(gets)}1"))

    with Web(handle) as web, session(web.url) as host:
        open_handshake(host)
        assert host.read_lines(4).decode().splitlines() == news
        web.until(lambda: len(gets) > 2)
    assert gets == [None, "e11", "e21"]


def test_the_hosts_answer_to_a_server_that_asks_is_posted() -> None:
    question = message(id="q", method="sampling/createMessage", params={})
    answered: list[asyncio.Event] = []

    def handle(asked: Asked) -> Response:
        if asked.message and "result" in asked.message:
            answered[0].set()
            return accepted()
        if asked.message and asked.message.get("method") == "tools/call":

            async def said() -> Any:
                answered.append(asyncio.Event())
                yield event(question.decode().strip())
                await answered[0].wait()
                yield event({"jsonrpc": "2.0", "id": 1, "result": {}})

            return StreamingResponse(said(), media_type="text/event-stream")
        return shop(asked)

    with Web(handle) as web, session(web.url) as host:
        open_handshake(host)
        host.write(ask(1))
        assert host.read_lines(1) == question
        host.write(message(id="q", result={"role": "assistant"}))
        assert read(host)[0]["id"] == 1


# --- the later era ----------------------------------------------------------------------------------------------------


def test_requests_of_the_later_era_have_the_headers_that_describe_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "plain": {"type": "string"},
        },
    }

    def handle(asked: Asked) -> Response:
        if asked.message["method"] == "tools/list":
            return answer(asked, {"tools": [{"name": "büro", "inputSchema": schema}]})
        return answer(asked)

    with Web(handle) as web, session(web.url) as host:
        host.write(ask(1, "tools/list", _meta=MODERN))
        read(host)
        arguments = {"region": " é", "deep": {"flag": True}, "plain": "x"}
        host.write(ask(2, name="büro", arguments=arguments, _meta=MODERN))
        read(host)
        host.close_input()
        assert host.ends() == 0
    listing, call = web.asked
    assert listing.headers["mcp-protocol-version"] == "2026-07-28"
    assert listing.headers["mcp-method"] == "tools/list"
    assert "mcp-name" not in listing.headers
    assert call.headers["mcp-name"] == "=?base64?YsO8cm8=?="
    assert call.headers["mcp-param-region"] == "=?base64?IMOp?="
    assert call.headers["mcp-param-flag"] == "true"
    assert "mcp-param-plain" not in call.headers


def test_a_cancelled_request_of_the_later_era_is_closed_and_nothing_is_posted() -> None:
    with Web(lambda _: web.hanging()) as web, session(web.url) as host:
        host.write(ask("one", name="slow", _meta=MODERN))
        web.until(lambda: len(web.asked) == 1)
        host.write(message(method="notifications/cancelled", params={"requestId": "one"}))
        web.until(lambda: web.closed == 1)
        host.close_input()
        assert host.read() == b""
        assert host.ends() == 0
    assert len(web.asked) == 1


def test_a_subscription_does_not_hold_up_the_end() -> None:
    with Web(lambda _: web.hanging()) as web, session(web.url) as host:
        host.write(ask("s", "subscriptions/listen", _meta=MODERN))
        web.until(lambda: len(web.asked) == 1)
        host.close_input()
        assert host.ends() == 0


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-23")
@pytest.mark.parametrize(
    ("response", "said"),
    [
        (lambda _: accepted(), "202"),
        (lambda _: Response(status_code=500), "500"),
        (lambda _: Response(status_code=401), "--upstream-header"),
        (lambda _: Response("<html>", media_type="text/html"), "text/html"),
        (lambda _: stream(), "ended before"),
        (lambda _: stream(b"data: nonsense\n\n"), "ended before"),
        (lambda _: RedirectResponse("https://elsewhere.example/mcp", status_code=307), "elsewhere"),
        (lambda _: RedirectResponse("https://u:secret-pw-12345@elsewhere.example/mcp"), "elsewhere"),
        (lambda _: Response("{", media_type="application/json"), "ended before"),
    ],
)
def test_a_request_that_the_server_does_not_answer_gets_an_error_that_says_why(
    response: Callable[[Asked], Response], said: str
) -> None:
    with Web(response) as web, session(web.url) as host:
        host.write(ask(7) + ask("7"))
        errors = read(host, 2)
        assert sorted(map(str, (each["id"] for each in errors))) == ["7", "7"]
        for each in errors:
            assert said in each["error"]["message"]
            assert "secret-pw" not in each["error"]["message"]
        assert len(web.asked) == 2


@pytest.mark.case("HC-23")
def test_a_server_that_is_not_there_yet_is_found_by_the_next_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with session(f"http://127.0.0.1:{port}/mcp") as host:
        host.write(ask(1))
        assert "cannot be reached" in read(host)[0]["error"]["message"]
        with Web(shop) as web:
            # The proxy in front of another port is another session; here only that it goes on answering is shown.
            assert web.url
        host.write(ask(2))
        assert read(host)[0]["id"] == 2
        host.close_input()
        assert host.ends() == 0


def test_a_session_that_the_server_has_forgotten_is_said_to_be_over() -> None:
    def handle(asked: Asked) -> Response:
        return (
            Response(status_code=404) if asked.message and asked.message.get("method") == "tools/call" else shop(asked)
        )

    with Web(handle) as web, session(web.url) as host:
        open_handshake(host)
        host.write(ask(1))
        assert "start it anew" in read(host)[0]["error"]["message"]


def test_an_error_of_the_protocol_is_the_answer_whatever_its_status() -> None:
    def handle(asked: Asked) -> Response:
        number = asked.message["id"] if asked.message["method"] == "known" else None
        error = {"jsonrpc": "2.0", "id": number, "error": {"code": -32022, "message": "no", "data": {"x": 1}}}
        return JSONResponse(error, status_code=400)

    with Web(handle) as web, session(web.url) as host:
        host.write(ask(5, "known") + ask("six", "refused before it was read"))
        answers = {each["id"]: each["error"] for each in read(host, 2)}
        refused = {"code": -32022, "message": "no", "data": {"x": 1}}
        assert answers == {5: refused, "six": refused}


def test_a_stream_that_breaks_before_the_answer_is_taken_up_where_it_broke_off() -> None:
    seen: list[str | None] = []

    def handle(asked: Asked) -> Response:
        if asked.method == "POST" and asked.message.get("method") == "tools/call":
            return stream(event("", "p1", retry=1), event({"jsonrpc": "2.0", "method": "one"}, "p2"))
        if asked.method == "GET" and (place := asked.headers.get("last-event-id")):
            seen.append(place)
            if len(seen) < 3:
                return Response(status_code=503)
            return stream(event({"jsonrpc": "2.0", "id": 1, "result": {}}, "p3"))
        return shop(asked)

    with Web(handle) as web, session(web.url) as host:
        open_handshake(host)
        host.write(ask(1))
        assert [each.get("method", each.get("id")) for each in read(host, 2)] == ["one", 1]
    assert seen == ["p2", "p2", "p2"]


def test_lines_that_are_no_json_are_not_posted_and_the_session_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with Web(shop) as web, session(web.url) as host:
        host.write(b"hello\n\n\xff\n" + ask(1))
        assert read(host)[0]["id"] == 1
        assert len(web.asked) == 1
    assert caplog.text.count("no JSON") == 1


def test_a_server_that_asks_too_much_is_not_held_in_memory() -> None:
    async def said() -> Any:
        yield b'{"jsonrpc":"2.0","id":1,"result":"'
        for _ in range(PROXY_LINE_BYTES // 2**20 + 1):
            yield b"x" * 2**20

    with Web(lambda _: StreamingResponse(said(), media_type="application/json")) as web, session(web.url) as host:
        host.write(ask(1))
        assert "more than" in read(host)[0]["error"]["message"]


# --- much at once -----------------------------------------------------------------------------------------------------


def test_two_hundred_calls_at_once_get_their_own_answers() -> None:
    held: list[asyncio.Event] = []

    async def handle(asked: Asked) -> Response:
        if len(held) == 199:
            for each in held:
                each.set()
        else:
            held.append(mine := asyncio.Event())
            await mine.wait()
        return answer(asked, {"same": asked.message["params"]["n"]})

    with Web(handle) as web, session(web.url) as host:
        for number in range(200):
            host.write(ask(number, n=number))
        answers = {each["id"]: each["result"]["same"] for each in read(host, 200)}
        assert answers == {number: number for number in range(200)}


@pytest.mark.case("HC-22")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_result_of_20_mib_arrives_whole(*, streamed: bool) -> None:
    text = "é" * (10 << 20)

    def handle(asked: Asked) -> Response:
        said = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {"text": text}}
        return stream(event(said)) if streamed else JSONResponse(said)

    with Web(handle) as web, session(web.url) as host:
        host.write(ask(1))
        said = bytearray()
        while not said.endswith(b"\n"):
            said += host._read(65536)
        assert json.loads(said)["result"]["text"] == text


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["idle", "a call is open", "the server does not say goodbye", "not read"])
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_in_every_state(state: str, signum: int) -> None:
    def handle(asked: Asked) -> Response:
        if asked.method == "DELETE" and state == "the server does not say goodbye":
            return web.hanging()
        if asked.message and asked.message.get("method") == "tools/call":
            if state == "not read":
                return stream(*[event({"jsonrpc": "2.0", "method": "x" * 100_000})] * 100)
            return web.hanging()
        return shop(asked)

    with Web(handle) as web, session(web.url, waits=Waits()) as host:
        open_handshake(host)
        if state in ("a call is open", "not read"):
            host.write(ask(1))
            web.until(lambda: bool(web.posted("tools/call")))
        host.relay.stop(signum)
        assert host.ends() == 128 + signum


def test_a_host_that_leaves_while_a_call_is_open_ends_the_session_in_time() -> None:
    def handle(asked: Asked) -> Response:
        return web.hanging() if asked.message and asked.message.get("method") == "tools/call" else shop(asked)

    with Web(handle) as web, session(web.url, waits=QUICK) as host:
        open_handshake(host)
        host.write(ask(1))
        web.until(lambda: bool(web.posted("tools/call")))
        host.leave()
        assert host.ends() == 143
        web.until(lambda: web.asked[-1].method == "DELETE")


def test_no_descriptor_is_left() -> None:
    if not os.path.exists("/proc/self/fd"):  # noqa: PTH110 - a look at the system
        pytest.skip("counts descriptors in /proc, which only Linux has")
    with Web(shop) as web:
        for _ in range(3):
            with session(web.url) as host:
                open_handshake(host)
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as above
        for _ in range(5):
            with session(web.url) as host:
                open_handshake(host)
        left = len(os.listdir("/proc/self/fd")) - before  # noqa: PTH208
    assert left <= 2  # connections that the web server has not closed yet
