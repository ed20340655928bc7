"""The hook over HTTP: who is answered, what a host is told, and that nothing fails its calls. Over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.waggle.hook.hook_support import Agent, lessons, make_project, told
from waggle import __version__
from waggle.admission import bind
from waggle.hook import web
from waggle.hook.desk import Desk
from waggle.hook.journal import Journal
from waggle.hook.web import Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-of-this-test"  # noqa: S105 - is none
PATH = "/hook/claude-code"


@dataclass
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]


class Site:
    """A server, and the one desk behind it."""

    def __init__(self, desk: Desk, listening: socket.socket) -> None:
        self.desk = desk
        self.port: int = listening.getsockname()[1]

    def ask(self, body: bytes = b"", method: str = "POST", path: str = PATH, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"authorization": f"Bearer {TOKEN}", **headers})
            answer = connection.getresponse()
            return Answer(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()

    def post(self, event: bytes) -> bytes:
        """What a host is told; it must be told it in a way that is no failure."""
        answer = self.ask(event, **{"content-type": "application/json"})
        assert answer.status == (200 if answer.body else 204)
        return answer.body


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    desk = Desk(tmp_path / "place")
    with bind("127.0.0.1", 0) as listening, Web(desk, listening, TOKEN, lambda: None):
        yield Site(desk, listening)
    desk.close()


def test_sessions_over_http_end_in_a_read_that_rides_in_a_search(site: Site, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    for event in lessons(root):
        assert site.post(event) == b""
    assert "def load_10" in told(site.post(Agent(root, "after").grep(10)))
    assert site.desk.faults() == {}


def test_an_agent_that_goes_elsewhere_stays_in_the_project_in_which_its_session_began(
    site: Site, tmp_path: Path
) -> None:
    root, other = make_project(tmp_path / "project"), make_project(tmp_path / "other")
    agent = Agent(root, "wanders")
    site.post(agent.grep(1))
    agent.root = other
    site.post(agent.grep(2))
    assert len(Journal.of(tmp_path / "place" / "sessions", str(root), "wanders", str(root)).read()) == 2


def test_twenty_events_at_once_lose_no_call(site: Site, tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    agent = Agent(root)
    events = [agent.grep(number % 12) for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(site.post, events)) == [b""] * 20
    kept = Journal.of(tmp_path / "place" / "sessions", str(root), agent.session, str(root)).read()
    assert {each.call.id for each in kept} == {f"toolu_s1__{number}" for number in range(1, 21)}


@given(event=st.binary(max_size=200) | st.text().map(str.encode) | st.sampled_from([b"{}", b'{"session_id":', b"[]"]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_no_failure_and_nothing_is_said(site: Site, event: bytes) -> None:
    assert site.post(event) == b""


def test_a_fault_of_the_desk_is_no_failure_of_the_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise RuntimeError("broken")

    monkeypatch.setattr(site.desk, "answer", fail)
    assert site.post(b"{}") == b""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost@evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": TOKEN}, 401),
        ({"authorization": f"Bearer {TOKEN} "}, 204),
        ({"host": "localhost:1", "origin": "http://[::1]:1"}, 204),
    ],
)
def test_only_who_is_of_this_machine_and_has_the_token_is_answered(
    site: Site, headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    root = make_project(tmp_path / "project")
    answer = site.ask(Agent(root).grep(1), **headers)
    assert answer.status == status
    assert TOKEN.encode() not in answer.body
    journal = Journal.of(tmp_path / "place" / "sessions", str(root), "s1", str(root))
    assert len(journal.read()) == (status == 204)


def test_it_says_who_it_is_and_which_hosts_it_knows_to_those_with_the_token(site: Site) -> None:
    assert json.loads(site.ask(method="GET").body) == {"waggle": __version__}
    assert site.ask(method="GET", authorization="").status == 401
    unknown = site.ask(path="/hook/nobody")
    assert (unknown.status, b"claude-code" in unknown.body) == (404, True)
    assert site.ask(path="/").status == 404
    assert site.ask(method="DELETE").status == 405


def test_an_event_has_a_size_and_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "EVENT_BYTES", 1000)
    assert site.ask(b"x" * 1001).status == 413
    monkeypatch.setattr(web, "ANSWER_SECONDS", 0.2)
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 10\r\n\r\n"
    assert b" 408 " in exchange(site, f"{head}123")


@pytest.mark.parametrize("begun", ["", "POST /hook/claude-code HTTP/1.1\r\nHost: local"])
def test_who_says_nothing_is_not_waited_for(site: Site, monkeypatch: pytest.MonkeyPatch, begun: str) -> None:
    monkeypatch.setattr(web, "ANSWER_SECONDS", 0.2)
    assert exchange(site, begun) == b""


def test_a_connection_has_one_request_so_that_none_is_lost_on_one_that_is_about_to_be_closed(site: Site) -> None:
    answer = site.ask(b"{}")
    assert answer.headers["connection"] == "close"
    assert "server" not in answer.headers


def exchange(site: Site, sent: str) -> bytes:
    """What a client gets that sends this and no more, until the connection is closed."""
    got = b""
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as connection:
        connection.sendall(sent.encode())
        while chunk := connection.recv(4096):
            got += chunk
    return got


def test_an_answer_that_is_under_way_is_given_when_the_server_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "place")
    began: list[float] = []

    def slowly(*_: object) -> bytes:
        began.append(time.monotonic())
        time.sleep(0.5)
        return b"{}"

    monkeypatch.setattr(desk, "answer", slowly)
    ended: list[bool] = []
    with ThreadPoolExecutor(1) as pool:
        with bind("127.0.0.1", 0) as listening, Web(desk, listening, TOKEN, lambda: ended.append(True)):
            asked = pool.submit(Site(desk, listening).post, b"{}")
            deadline = time.monotonic() + 30
            while not began:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        assert asked.result(30) == b"{}"
    assert ended == [True]
