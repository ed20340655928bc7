"""What crosses the wire once somebody looks: messages, each request answered once, and nothing for nobody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.relay import EXIT_FAILED
from stretto.proxy.streams import Line
from stretto.proxy.wirerules import WireRules
from tests.stretto.proxy.proxy_support import line_of
from tests.stretto.proxy.relays import Session, Watcher, message, program

if TYPE_CHECKING:
    from stretto.proxy.relay import Side

IDS = [7, "7", 0, "", "a b", 9007199254740993, -1]


class Wire:
    """A wire whose two sides are the test."""

    def __init__(self) -> None:
        self.unseen: dict[Side, int] = {"host": 0, "server": 0}
        self.answers: list[Any] = []
        self.rules = WireRules(self)

    def to_host(self, raw: bytes) -> bool:
        self.rules.sent(raw, "host")
        self.answers.append(json.loads(raw))
        return True

    def host(self, *messages: Any) -> list[bool]:
        """Which of these pass."""
        return [not self.rules.from_host(Line(line_of(each))) for each in messages]

    def server(self, *messages: Any) -> list[bool]:
        return [not self.rules.from_server(Line(line_of(each))) for each in messages]


def ask(number: Any, method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}


def say(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {}}


def cancel(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


# --- lines that are no messages ---------------------------------------------------------------------------------


@pytest.mark.case("HC-21")
def test_what_is_no_message_of_the_server_is_kept_and_counted_and_the_rest_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    stray = [
        b"Server started\n",
        b"\n",
        b'{"jsonrpc": "2.0", \n',
        b"[1,2]\n",
        b'"x"\n',
        b"null\n",
        b"[]\n",
        b"\xff\xfe\n",
    ]
    note = {"jsonrpc": "2.0", "method": "notifications/message"}
    for each in stray:
        assert wire.server(each, note) == [False, True]
    assert len(caplog.messages) == 4
    assert caplog.messages[0].split(" (")[0].endswith("is no JSON is not passed on: Server started")
    assert wire.server([note, note], {}, {"method": "ping", "id": 1}) == [True, True, True]


@pytest.mark.case("HC-21")
def test_what_other_readers_take_for_a_message_passes_and_its_request_may_have_been_answered() -> None:
    wire = Wire()
    wire.host(ask(1))
    deep = b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    assert wire.server(deep, b'{"id": 1, "result": NaN}\n') == [True, True]
    assert wire.rules.ended("it is gone") is False
    assert wire.answers == []


@pytest.mark.case("HC-21")
def test_lines_of_the_host_are_for_the_server_to_judge() -> None:
    wire = Wire()
    assert (
        wire.host(b"\n", b"hello\n", b"[1]\n", b"\xff\n", {"id": 1, "result": {}}, {"id": None, "result": {}})
        == [True] * 6
    )
    assert wire.answers == []


# --- ids ----------------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-25")
def test_each_pending_request_is_answered_once_with_its_id_value_and_type() -> None:
    wire = Wire()
    assert wire.host(*map(ask, IDS)) == [True] * 7
    assert wire.server(*map(say, reversed(IDS))) == [True] * 7
    assert wire.server(*map(say, IDS)) == [False] * 7


@pytest.mark.case("HC-25")
@pytest.mark.parametrize("number", [None, True, False, 1.5, [1], {}])
def test_a_request_whose_id_is_none_is_answered_and_not_passed_on(number: Any) -> None:
    wire = Wire()
    assert wire.host(ask(number), {"jsonrpc": "2.0", "method": "notifications/initialized", "id": number}) == [
        False,
        True,
    ]
    [answer] = wire.answers
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.case("HC-25")
def test_a_batch_with_such_a_request_is_answered_whole_and_other_batches_pass() -> None:
    wire = Wire()
    assert wire.host([ask(1), ask(None), cancel(9)], [ask(1), ask(2)]) == [False, True]
    [[one, none]] = wire.answers
    assert (one["id"], none["id"]) == (1, None)
    assert one["error"]["message"] == "not sent: another request of the same batch has no valid id"
    assert wire.server([say(1), say(3)], [say(2)], [say(2), say(4)]) == [True, True, False]


@pytest.mark.case("HC-25")
def test_an_answer_to_nothing_is_told_once_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    wire.host(ask(1))
    assert wire.server(say("1"), say(2), say(1), say(1)) == [False, False, True, False]
    assert caplog.text.count("an answer of the server to no open request is not passed on") == 1
    assert wire.server({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}) == [True]


def test_answers_pass_that_only_we_have_not_asked_for() -> None:
    wire = Wire()
    wire.host(ask(1), cancel(1), ask(2), ask(2))
    wire.rules.sent(line_of(ask("stretto-0")), "server")
    assert wire.server(say(1), say(2), say(2), say("stretto-0")) == [True] * 4
    assert wire.server(say(1), say(2), say("stretto-0")) == [False] * 3
    wire.unseen["host"] += 1
    assert wire.server(say(3)) == [True]
    other = Wire()
    other.host(b'{"id": 3, "method": "a", "params": NaN}\n')
    assert other.server(say(3)) == [True]


def test_a_request_that_another_tap_has_answered_waits_no_longer() -> None:
    wire = Wire()
    wire.host(ask(1), ask(2))
    wire.rules.sent(line_of(say(1)), "host")
    assert wire.server(say(1)) == [False]
    assert wire.rules.ended("it is gone")
    assert [each["id"] for each in wire.answers] == [2]


# --- the server is gone -------------------------------------------------------------------------------------------


@pytest.mark.case("HC-23")
def test_what_is_open_is_answered_when_the_server_is_gone_and_later_requests_too() -> None:
    wire = Wire()
    wire.host(ask(1), ask("2"), ask(3), ask(4), cancel(3))
    wire.server(say(4))
    wire.rules.sent(line_of(ask("stretto-0")), "server")
    assert wire.rules.ended("it is gone")
    assert wire.host(ask(5), [ask(6), ask(7)], cancel(1), say(1)) == [False, False, True, True]
    error = {"code": -32000, "message": "it is gone"}
    one, two, five, batch = wire.answers
    for each, number in zip([one, two, five, *batch], [1, "2", 5, 6, 7], strict=True):
        assert each == {"jsonrpc": "2.0", "id": number, "error": error}
    assert wire.server(say(1)) == [False]


@pytest.mark.case("HC-23")
def test_an_answer_that_may_have_passed_unseen_is_not_given_again() -> None:
    wire = Wire()
    wire.host(ask(1))
    wire.unseen["server"] += 3
    wire.host(ask(2))
    assert wire.rules.ended("it is gone")
    assert [each["id"] for each in wire.answers] == [2]


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["ask", "say", "cancel", "own"]), st.sampled_from([1, "1", 2, "stretto-1"])), max_size=30
)


@given(ACTIONS)
def test_no_request_is_left_without_answers_and_none_gets_more_than_it_asked_for(
    actions: list[tuple[str, Any]],
) -> None:
    wire, got, asked, waiting = Wire(), [], [], set()
    for action, number in actions:
        if action == "ask":
            wire.host(ask(number))
            asked.append(number)
            waiting.add((type(number), number))
        elif action == "own":
            wire.rules.sent(line_of(ask(number)), "server")
            asked.append(number)
        elif action == "cancel":
            wire.host(cancel(number))
            waiting.discard((type(number), number))
        elif wire.server(say(number)) == [True]:
            got.append(number)
            waiting.discard((type(number), number))
    wire.rules.ended("it is gone")
    told = [(type(each["id"]), each["id"]) for each in wire.answers]
    assert sorted(map(str, told)) == sorted(map(str, waiting))
    for number in (1, 2):
        assert sum(each == number for each in got) <= sum(each == number for each in asked)


# --- with real servers --------------------------------------------------------------------------------------------

READS_TWO = "import os, signal, sys, time\nsys.stdin.readline(); sys.stdin.readline()\n"


def session_of(text: str, **options: Any) -> Session:
    session = Session(program(text), **options)
    session.relay.taps = [Watcher(), WireRules(session.relay)]
    return session


@pytest.mark.case("HC-23")
@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        ("sys.exit(3)", 3, "ended with status 3"),
        ("sys.exit(0)", EXIT_FAILED, "ended with status 0"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "ended with status 137"),
        ("os.close(1)\nwhile True: time.sleep(60)", 143, "closed its output"),
        ("os.close(0); os.close(1)\nwhile True: time.sleep(60)", 143, "closed its output"),
    ],
)
def test_requests_to_a_server_that_dies_are_answered_and_so_are_later_ones(
    ending: str, status: int, reason: str
) -> None:
    with session_of(READS_TWO + ending) as session:
        session.write(message(id=1, method="initialize") + message(id=2, method="tools/call"))
        answers = [json.loads(line) for line in session.read_lines(2).splitlines()]
        assert [each["id"] for each in answers] == [1, 2]
        assert {each["error"]["message"] for each in answers} == {f"the server {reason} before it answered"}
        session.write(message(id=3, method="tools/call"))
        assert json.loads(session.read_lines(1))["error"]["code"] == -32000
        session.close_input()
        assert session.read() == b""
        assert session.ends() == status


@pytest.mark.case("HC-23")
def test_a_host_that_stays_silent_is_left_after_a_while() -> None:
    with session_of("") as session:
        assert session.read() == b""
        assert session.ends() == 0


@pytest.mark.case("HC-23")
def test_a_server_that_cannot_be_started_answers_nothing_and_the_proxy_says_so() -> None:
    session = Session(("/nowhere/server",))
    session.relay.taps = [WireRules(session.relay)]
    with session:
        for number in range(3):
            session.write(message(id=number, method="initialize"))
            answer = json.loads(session.read_lines(1))
            assert answer["error"]["message"] == "/nowhere/server cannot be started: No such file or directory"
        assert session.ends() == EXIT_FAILED


@pytest.mark.case("HC-23")
def test_a_signal_does_not_wait_for_a_host_that_stays() -> None:
    with session_of("import time\nprint('{}', flush=True)\ntime.sleep(60)") as session:
        session.read_lines(1)
        session.write(message(id=1, method="initialize"))
        session.relay.stop(15)
        assert session.ends() == 143


@pytest.mark.case("HC-24")
def test_what_a_host_asked_before_it_left_does_not_change_the_status() -> None:
    with session_of("import sys\nsys.stdin.read()") as session:
        session.write(message(id=1, method="tools/call"))
        session.close_input()
        assert json.loads(session.read())["id"] == 1
        assert session.ends() == 0


@pytest.mark.case("HC-22")
def test_an_answer_to_a_request_in_a_line_too_long_to_be_seen_passes() -> None:
    server = program(
        "import json, sys\nfor line in sys.stdin:\n    number = json.loads(line)['id']\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': number, 'result': {}}), flush=True)"
    )
    session = Session(server, longest=10_000)
    session.relay.taps = [WireRules(session.relay)]
    with session:
        session.write(message(id=1, method="tools/call", params={"text": "x" * 20_000}))
        assert json.loads(session.read_lines(1)) == {"jsonrpc": "2.0", "id": 1, "result": {}}
