"""Hosts over HTTP: who is let in, which session a request is of, what it gets, and how sessions end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from stretto.proxy.assembly import Assembly, Options, RecordOptions
from stretto.proxy.http.admission import bind
from stretto.proxy.http.listening import Listener
from stretto.sessions.log import find_log
from tests.conftest import ROOT
from tests.stretto.proxy.relays import PATIENCE, program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

#: A server that does what the name of the tool says.
SERVER = program(
    """
import json, os, sys, threading, time
lock = threading.Lock()
def say(**fields):
    with lock:
        os.write(1, json.dumps({"jsonrpc": "2.0"} | fields).encode() + b"\\n")
def answer(request):
    number, method, params = request.get("id"), request.get("method"), request.get("params") or {}
    name, n = params.get("name"), params.get("n", 0)
    if number is None and method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    if number is None or method is None:
        return
    if method == "refused":
        return say(id=number, error={"code": -32601, "message": "no"})
    if name == "notices":
        for each in range(n):
            say(method="notifications/message", params={"n": each})
            time.sleep(params.get("pause", 0))
    if name == "slow":
        time.sleep(n)
    if name == "hang":
        return
    if name == "die":
        os._exit(7)
    text = "x" * n if name == "large" else name
    say(id=number, result={"pid": os.getpid(), "text": text, "cancelled": cancelled})
cancelled = []
for line in sys.stdin:
    said = json.loads(line)
    for request in said if isinstance(said, list) else [said]:
        threading.Thread(target=answer, args=(request,)).start()
"""
)


class Site:
    """The proxy listening in this process, and a client."""

    def __init__(self, listener: Listener, directory: Path) -> None:
        self.listener = listener
        self.directory = directory
        self.client = httpx2.Client(timeout=PATIENCE)

    def send(self, message: Any, session: str = "", /, **headers: str) -> httpx2.Response:
        """Post a message, bytes as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.post(self.listener.url, content=body, headers=_headers(session) | headers)

    def stream(self, message: Any, session: str = "", /, **headers: str) -> Any:
        """Post a message, and read the response as it comes."""
        body = json.dumps(message).encode()
        return self.client.stream("POST", self.listener.url, content=body, headers=_headers(session) | headers)

    def begin(self, **headers: str) -> str:
        """Begin a session; its id."""
        return str(self.send(ask(0, "initialize"), **headers).headers["mcp-session-id"])

    def logs(self) -> list[Path]:
        """The recordings, in order."""
        return sorted(self.directory.glob("*.jsonl"))


def _headers(session: str) -> dict[str, str]:
    named = {"mcp-session-id": session} if session else {}
    return {"content-type": "application/json", "accept": "application/json, text/event-stream", **named}


def ask(number: Any, method: str = "tools/call", /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def events(response: Any, count: int = 1000) -> list[tuple[str, Any]]:
    """So many events of a stream, or all: their ids and their messages."""
    found: list[tuple[str, Any]] = []
    for event in httpx2.EventSource(response, max_event_size=None):
        if event.data:
            found.append((event.id, json.loads(event.data)))
        if len(found) == count:
            break
    return found


@contextmanager
def listening(tmp_path: Path, command: tuple[str, ...] = SERVER, **options: Any) -> Iterator[Site]:
    """The proxy in front of a server for each host."""
    assembly = Assembly(Options(command, record=RecordOptions(tmp_path / "logs")))
    given: dict[str, Any] = {"idle_s": 600.0} | options
    listener = Listener(assembly, bind("127.0.0.1", 0), **given)
    serving = threading.Thread(target=listener.run, daemon=True)
    serving.start()
    site = Site(listener, tmp_path / "logs")
    try:
        yield site
    finally:
        site.client.close()
        listener.stop(signal.SIGTERM)
        serving.join(PATIENCE)
        assert not serving.is_alive()


def until(holds: Any) -> None:
    """Wait for something to hold; bounded."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- who is let in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost@evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://localhost:6274"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[bad"}, 403),
    ],
)
def test_without_a_token_only_this_machine_and_no_web_page_of_others_is_let_in(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    with listening(tmp_path) as site:
        assert site.send(ask(0, "initialize"), **headers).status_code == status
        assert len(site.logs()) == (status == 200)


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "bearer right-token", "right-token", "Bearer é"])
def test_with_a_token_nobody_else_is_let_in(given: str, tmp_path: Path) -> None:
    with listening(tmp_path, token="right-token") as site:  # noqa: S106 - is none
        headers = {"authorization": given.encode("latin-1").decode("latin-1")} if given else {}
        request = httpx2.Request("POST", site.listener.url, content=b"{}", headers=_headers(""))
        for name, value in headers.items():
            request.headers.raw.append((name.encode(), value.encode("latin-1")))
        refused = site.client.send(request)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "right-token" not in refused.text
        allowed = {"authorization": "Bearer right-token", "host": "public.example", "origin": "https://page.example"}
        assert site.send(ask(0, "initialize"), **allowed).status_code == 200


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, -32700),
        (b"\xff", "application/json", 400, -32700),
        (b'"x"', "application/json", 400, -32600),
        (b"[]", "application/json", 400, -32600),
        (b"[1]", "application/json", 400, -32600),
        (b"{}", "text/plain", 415, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "application/json; charset=utf-8", 400, -32600),
        (b'{"x":"' + b"x" * (4 << 20) + b'"}', "application/json", 413, -32600),
    ],
)
def test_what_is_no_message_of_a_session_is_refused_and_starts_nothing(
    body: bytes, kind: str, status: int, code: int, tmp_path: Path
) -> None:
    with listening(tmp_path) as site:
        refused = site.send(body, **{"content-type": kind})
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        assert site.client.get(site.listener.url).status_code == 405
        assert site.client.delete(site.listener.url).status_code == 405
        assert site.client.put(site.listener.url).status_code == 405
        assert site.client.post(site.listener.url.replace("/mcp", "/other")).status_code == 404
        assert site.logs() == []


def test_a_message_of_just_4_mib_passes(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        frame = len(json.dumps(ask(1, x="")))
        assert site.send(ask(1, x="y" * ((4 << 20) - frame)), session).json()["id"] == 1


# --- sessions -------------------------------------------------------------------------------------------------------


def test_each_session_has_a_server_and_a_recording_of_its_own_and_ends_with_its_host(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        one, other = site.begin(**{"stretto-session": "of one host"}), site.begin()
        pids = [site.send(ask(1), session).json()["result"]["pid"] for session in (one, other, one)]
        assert pids[0] == pids[2] != pids[1]
        assert site.client.delete(site.listener.url, headers={"mcp-session-id": one}).status_code == 204
        until(lambda: not alive(pids[0]))
        assert site.send(ask(2), one).status_code == 404
        assert site.send(ask(2), "of nobody").status_code == 404
        assert site.send(ask(2), other).json()["id"] == 2
    assert not alive(pids[1])
    logs = [log for path in site.logs() if (log := find_log(path))]
    assert [log.header.session[-2:] for log in logs] == ["-1", "-2"]
    assert [log.header.host_session for log in logs] == ["of one host", None]


def test_there_are_only_so_many_sessions(tmp_path: Path) -> None:
    with listening(tmp_path, sessions=2) as site:
        first = site.begin()
        site.begin()
        refused = site.send(ask(0, "initialize"))
        assert refused.status_code == 503
        assert "2 sessions" in refused.json()["error"]["message"]
        site.client.delete(site.listener.url, headers={"mcp-session-id": first})
        until(lambda: site.send(ask(0, "initialize")).status_code == 200)


def test_a_session_in_which_nothing_crosses_ends_unless_its_host_listens(tmp_path: Path) -> None:
    with listening(tmp_path, idle_s=0.4) as site:
        idle, listens = site.begin(), site.begin()
        headers = {"mcp-session-id": listens, "accept": "text/event-stream"}
        with site.client.stream("GET", site.listener.url, headers=headers) as standing:
            assert standing.status_code == 200
            until(lambda: len(site.listener._all()) == 1)
            assert site.send(ask(1), idle).status_code == 404
            assert site.send(ask(1), listens).json()["id"] == 1


def test_requests_of_the_later_era_share_a_server_unless_their_ids_do(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        first = site.send(ask(1, name="x", _meta=META))
        assert "mcp-session-id" not in first.headers
        pid = first.json()["result"]["pid"]
        assert site.send(ask(2, name="x", _meta=META)).json()["result"]["pid"] == pid
        with site.stream(ask("same", name="notices", n=1, pause=PATIENCE, _meta=META)) as open_one:
            reading = iter(httpx2.EventSource(open_one))  # which closes the response when it is given up
            assert next(reading).data
            beside = site.send(ask("same", name="x", _meta=META)).json()["result"]["pid"]
            assert beside != pid
        client = {"io.modelcontextprotocol/clientInfo": {"name": "other", "version": "1"}}
        assert site.send(ask(3, name="x", _meta=META | client)).json()["result"]["pid"] not in (pid, beside)


def test_a_client_that_asks_in_the_wrong_era_first_keeps_its_server(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        assert site.send(ask(1, "refused", _meta=META)).json()["error"]["code"] == -32601
        session = site.begin()
        assert site.send(ask(1), session).json()["id"] == 1
        assert len(site.logs()) == 1


def test_a_request_whose_id_waits_for_its_answer_is_refused(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        with site.stream(ask(1, name="notices", n=1, pause=PATIENCE), session) as open_one:
            events(open_one, 1)
            assert site.send(ask(1, name="x"), session).status_code == 409
            assert site.send(ask("1", name="x"), session).json()["id"] == "1"


# --- what a request gets --------------------------------------------------------------------------------------------


def test_an_answer_is_json_and_what_comes_before_it_makes_it_a_stream(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        plain = site.send(ask(1, name="x"), session)
        assert plain.headers["content-type"] == "application/json"
        noisy = site.send(ask(2, name="notices", n=3), session)
        assert noisy.headers["content-type"].startswith("text/event-stream")
        said = [message for _, message in events(noisy)]
        assert [each.get("id") or each["params"]["n"] for each in said] == [0, 1, 2, 2]
        late = site.send(ask(3, name="slow", n=1.3), session)
        assert late.headers["content-type"].startswith("text/event-stream")
        assert [message["id"] for _, message in events(late)] == [3]
        only = site.send(ask(4, name="notices", n=3), session, accept="application/json")
        assert only.json()["id"] == 4
        batch = site.send([ask(5), ask(6)], session)
        assert sorted(message["id"] for _, message in events(batch)) == [5, 6]
        assert site.send({"jsonrpc": "2.0", "method": "notifications/x"}, session).status_code == 202
        assert site.send({"jsonrpc": "2.0", "id": 1, "result": {}}, session).status_code == 202


def test_the_bytes_of_a_message_reach_the_server_but_for_its_line_ends(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        spaced = json.dumps(ask(1, name="é\u2028\U0001f600", number=1.0), indent=2, ensure_ascii=False).encode()
        assert site.send(spaced.replace(b"\n", b"\r\n"), session).json()["id"] == 1
    (log,) = site.logs()
    (line,) = [
        json.loads(each) for each in log.read_text().split("\n") if '"from":"client"' in each and "\U0001f600" in each
    ]
    assert line["message"]["params"] == {"name": "é\u2028\U0001f600", "number": 1.0}


def test_a_stream_that_broke_is_taken_up_where_it_broke_off(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        with site.stream(ask(1, name="notices", n=5, pause=0.2), session) as response:
            seen = events(response, 2)
        headers = {"mcp-session-id": session, "accept": "text/event-stream", "last-event-id": seen[-1][0]}
        with site.client.stream("GET", site.listener.url, headers=headers) as again:
            rest = [message for _, message in events(again)]
        assert [each["params"]["n"] for each in rest[:-1]] == [2, 3, 4]
        assert rest[-1]["id"] == 1
        with site.client.stream("GET", site.listener.url, headers=headers) as again:
            assert [message for _, message in events(again)] == rest
        assert site.client.get(site.listener.url, headers=headers | {"last-event-id": "99-1"}).status_code == 404


def test_what_answers_nothing_comes_on_the_standing_stream_of_which_there_is_one(tmp_path: Path) -> None:
    command = program(
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    said = json.loads(line)\n"
        "    if 'id' in said: print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': {}}), flush=True)\n"
        "    if said['method'] == 'notifications/go':\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'method': 'news', 'params': said['params']}), flush=True)\n"
    )
    with listening(tmp_path, command) as site:
        session = site.begin()
        headers = {"mcp-session-id": session, "accept": "text/event-stream"}
        go = {"jsonrpc": "2.0", "method": "notifications/go"}
        site.send(go | {"params": {"n": 0}}, session)  # nobody listens yet
        with site.client.stream("GET", site.listener.url, headers=headers) as standing:
            assert site.client.get(site.listener.url, headers=headers).status_code == 409
            assert site.client.get(site.listener.url, headers=headers | {"accept": "text/html"}).status_code == 406
            site.send(go | {"params": {"n": 1}}, session)
            assert [message["params"]["n"] for _, message in events(standing, 2)] == [0, 1]


def test_closing_the_response_cancels_in_the_later_era_only(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        with site.stream(ask("a", name="hang", _meta=META)) as response:
            assert response.status_code == 200  # after a second, a stream
        until(lambda: site.send(ask("b", name="x", _meta=META)).json()["result"]["cancelled"] == ["a"])
        session = site.begin()
        with site.stream(ask("a", name="hang"), session) as response:
            assert response.status_code == 200
        assert site.send(ask("b", name="x"), session).json()["result"]["cancelled"] == []


def test_two_hundred_calls_at_once_get_their_own_answers(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        found: dict[int, Any] = {}

        def call(number: int) -> None:
            with httpx2.Client(timeout=PATIENCE) as client:
                body = json.dumps(ask(number, name=f"n{number}"))
                said = client.post(site.listener.url, content=body, headers=_headers(session))
                found[number] = said.json()["result"]["text"] if "json" in said.headers["content-type"] else said.text

        threads = [threading.Thread(target=call, args=(number,)) for number in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert all(f"n{number}" in found[number] for number in range(200))


@pytest.mark.case("HC-22")
def test_a_result_of_20_mib_arrives_whole(tmp_path: Path) -> None:
    with listening(tmp_path) as site:
        said = site.send(ask(1, name="large", n=20 << 20), site.begin())
        text = said.json() if "json" in said.headers["content-type"] else events(said)[-1][1]
        assert text["result"]["text"] == "x" * (20 << 20)


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-23")
def test_a_server_that_dies_leaves_no_request_without_an_answer_and_the_next_session_is_a_new_one(
    tmp_path: Path,
) -> None:
    with listening(tmp_path) as site:
        session = site.begin()
        with site.stream(ask("open", name="hang"), session) as response:
            dead = site.send(ask(1, name="die"), session)
            assert dead.json()["error"]["code"] == -32000
            assert [message["error"]["code"] for _, message in events(response)] == [-32000]
        until(lambda: site.send(ask(2), session).status_code == 404)
        assert site.send(ask(1), site.begin()).json()["id"] == 1


def test_a_server_that_cannot_be_started_is_told_to_who_asks(tmp_path: Path) -> None:
    with listening(tmp_path, ("/nowhere/server",)) as site:
        assert site.send(ask(0, "initialize")).json()["error"]["code"] == -32000


@pytest.mark.parametrize("state", ["no session", "idle", "a call is open", "a stream is not read"])
def test_a_signal_ends_the_proxy_and_every_server(state: str, tmp_path: Path) -> None:
    proxy = subprocess.Popen(
        [sys.executable, "-m", "stretto.proxy.main", "--listen", "0", "--record", tmp_path, "--", *SERVER],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert proxy.stderr
    with proxy.stderr, httpx2.Client(timeout=PATIENCE) as client:
        url = proxy.stderr.readline().split()[-1]

        def send(message: Any, session: str) -> Any:
            return client.stream("POST", url, content=json.dumps(message), headers=_headers(session))

        pid, session = 0, ""
        if state != "no session":
            session = client.post(url, content=json.dumps(ask(0, "initialize")), headers=_headers("")).headers[
                "mcp-session-id"
            ]
            pid = client.post(url, content=json.dumps(ask(1)), headers=_headers(session)).json()["result"]["pid"]
        if state in ("a call is open", "a stream is not read"):
            call = ask(2, name="hang") if state == "a call is open" else ask(2, name="large", n=30 << 20)
            with send(call, session) as response:
                assert response.status_code == 200
                proxy.send_signal(signal.SIGTERM)
                assert proxy.wait(PATIENCE) == 0
        else:
            proxy.send_signal(signal.SIGTERM)
            assert proxy.wait(PATIENCE) == 0
        assert not pid or not alive(pid)
        assert "Traceback" not in proxy.stderr.read()


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "0.0.0.0:0"], "--listen-token-file"),
        (["--listen", "somewhere"], "HOST:PORT"),
        (["--listen", "1:99999"], "HOST:PORT"),
        (["--listen", "192.0.2.1:1", "--listen-token-file", "token"], "192.0.2.1:1"),
        (["--listen", "0", "--listen-token-file", "none"], "cannot be read"),
        (["--listen", "0", "--listen-token-file", "empty"], "holds no token"),
        (["--listen", "0", "--context", "c"], "--context"),
        (["--listen-idle", "3"], "does nothing without --listen"),
        (["--listen", "0", "--listen-idle", "0"], "--listen-idle"),
        (["--upstream", "ftp://x"], "http"),
        (["--upstream", "http://x", "--", "server"], "one server"),
        (["--upstream-header", "a=HOME"], "without --upstream"),
        (["--upstream", "http://x", "--upstream-header", "a"], "NAME=VAR"),
        (["--upstream", "http://x", "--upstream-header", "a b=HOME"], "NAME=VAR"),
        (["--upstream", "http://x", "--upstream-header", "a=NOT_THERE_AT_ALL"], "NOT_THERE_AT_ALL"),
        (["--upstream", "http://x", "--upstream-header", "a=TWO_LINES"], "cannot be sent"),
        ([], "one server"),
    ],
)
def test_what_cannot_be_done_is_refused_and_says_what_to_do(options: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token", encoding="utf-8")
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    command = [] if not options or "--" in options or "--upstream" in options else ["--", "server"]
    refused = subprocess.run(
        [sys.executable, "-m", "stretto.proxy.main", *options, *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TWO_LINES": "secret\nvalue"},
        timeout=PATIENCE,
        check=False,
    )
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "secret" not in refused.stderr
    assert refused.stdout == ""


def test_a_token_that_others_can_read_is_used_and_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token\n", encoding="utf-8")
    token.chmod(0o644)
    proxy = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "stretto.proxy.main",
            "--listen",
            "[::1]:0",
            "--listen-token-file",
            token,
            "--",
            *SERVER,
        ],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert proxy.stderr
    with proxy.stderr:
        assert "chmod 600" in proxy.stderr.readline()
        url = proxy.stderr.readline().split()[-1]
        assert url.startswith("http://[::1]:")
        headers = _headers("") | {"authorization": "Bearer a-token"}
        assert httpx2.post(url, content=json.dumps(ask(0, "initialize")), headers=headers).status_code == 200
        proxy.send_signal(signal.SIGINT)
        assert proxy.wait(PATIENCE) == 0
