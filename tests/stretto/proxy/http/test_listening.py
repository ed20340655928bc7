"""Hosts over HTTP: which session a request is of, what it gets, and how sessions end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from stretto.sessions.log import find_log
from tests.conftest import ROOT
from tests.stretto.proxy.http.site import META, SERVER, alive, ask, events, headers_of, listening, until
from tests.stretto.proxy.relays import PATIENCE, program

if TYPE_CHECKING:
    from pathlib import Path


# --- sessions -------------------------------------------------------------------------------------------------------


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
                said = client.post(site.listener.url, content=body, headers=headers_of(session))
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
            return client.stream("POST", url, content=json.dumps(message), headers=headers_of(session))

        pid, session = 0, ""
        if state != "no session":
            session = client.post(url, content=json.dumps(ask(0, "initialize")), headers=headers_of("")).headers[
                "mcp-session-id"
            ]
            pid = client.post(url, content=json.dumps(ask(1)), headers=headers_of(session)).json()["result"]["pid"]
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
