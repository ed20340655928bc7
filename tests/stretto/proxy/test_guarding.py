"""Guards on the wire: a refused call is answered by the proxy, and the server never gets it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from stretto.proxy.guarding import GuardTap
from stretto.proxy.guards import guards_from_data
from stretto.proxy.streams import Line
from tests.stretto.proxy.relays import Session, Watcher, message

CHECKS = [
    {"name": "known", "tools": ["cancel"], "arguments": {"order": {"seen": True}}},
    {"name": "yes", "tools": ["refund"], "confirmed": "yes"},
]


class Wire:
    """A tap between a host and a server that are lists."""

    def __init__(self) -> None:
        self.to_host: list[Any] = []
        self.to_server: list[Any] = []
        self.heard: list[str] = []
        guards = guards_from_data({"stretto_guards": 1, "checks": CHECKS})
        self.tap = GuardTap(guards, lambda raw: self.to_host.append(json.loads(raw)), self._news)

    def _news(self) -> list[str]:
        news, self.heard = self.heard, []
        return news

    def host(self, message: Any) -> bool:
        """The host sends; whether the server gets it."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        passes = not self.tap.from_host(Line(raw))
        if passes:
            self.to_server.append(raw)
        return passes

    def call(self, number: Any, tool: str, /, meta: Any = None, **arguments: Any) -> bool:
        return self.host(called(number, tool, meta, **arguments))

    def server(self, number: Any, text: str, **more: Any) -> None:
        result = {"content": [{"type": "text", "text": text}], **more}
        line = Line(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n")
        assert self.tap.from_server(line) is False


def called(number: Any, tool: str, /, meta: Any = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.fixture
def wire() -> Wire:
    return Wire()


def test_a_refused_call_is_answered_with_an_error_result_that_says_nothing_was_changed(wire: Wire) -> None:
    assert not wire.call(7, "cancel", order="W1")
    (answer,) = wire.to_host
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    assert answer["result"]["isError"] is True
    assert "resultType" not in answer["result"]
    (item,) = answer["result"]["content"]
    assert item["text"].startswith("Not done: cancel was not sent to the server, and nothing was changed.")
    assert 'The check "known" did not pass' in item["text"]
    assert wire.to_server == []


def test_a_call_passes_once_a_result_has_shown_its_value(wire: Wire) -> None:
    assert wire.call(1, "find", q="mine")
    wire.server(1, '{"order": "W1"}')
    assert wire.call(2, "cancel", order="W1")
    assert not wire.call(3, "cancel", order="W2")


@pytest.mark.parametrize("more", [{"isError": True}, {"resultType": "input_required"}], ids=["error", "question"])
def test_what_is_no_result_has_shown_nothing(wire: Wire, more: dict[str, Any]) -> None:
    wire.call(1, "find")
    wire.server(1, "W1", **more)
    assert not wire.call(2, "cancel", order="W1")


def test_answers_to_nothing_and_to_cancelled_calls_have_shown_nothing(wire: Wire) -> None:
    wire.server(9, "W1")
    wire.call(1, "find")
    wire.host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wire.server(1, "W1")
    assert not wire.call(2, "cancel", order="W1")


@pytest.mark.case("HC-25")
@pytest.mark.parametrize("number", [7, "7", 0, "", "a b", 9007199254740993, -1, 1.5])
def test_ids_keep_value_and_type(wire: Wire, number: Any) -> None:
    wire.call("1", "find")
    wire.server(1, "W1")  # another id
    assert not wire.call(number, "cancel", order="W1")
    assert wire.to_host[0]["id"] == number
    assert type(wire.to_host[0]["id"]) is type(number)


@pytest.mark.case("HC-26")
def test_a_value_of_structured_content_counts_where_there_is_no_text(wire: Wire) -> None:
    wire.call(1, "find")
    result = {"content": [], "structuredContent": {"order": "W1"}}
    wire.tap.from_server(Line(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()))
    assert wire.call(2, "cancel", order="W1")


def test_lookups_made_for_the_agent_have_shown_their_results_too(wire: Wire) -> None:
    wire.tap.sent(json.dumps(called("stretto-0", "find")).encode(), "server")
    wire.server("stretto-0", "W1")
    assert wire.call(2, "cancel", order="W1")
    wire.tap.sent(b"{}", "host")
    wire.tap.close()


def test_a_confirmation_is_the_users_latest_message(wire: Wire) -> None:
    assert not wire.call(1, "refund")
    wire.heard = ["refund it", "yes"]
    assert wire.call(2, "refund")
    wire.heard = ["stop"]
    assert not wire.call(3, "refund")


def test_the_modern_era_gets_a_complete_result(wire: Wire) -> None:
    wire.call(1, "cancel", {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, order="W1")
    assert wire.to_host[0]["result"]["resultType"] == "complete"


def test_of_a_batch_with_a_refused_call_nothing_is_sent_and_everything_answered(wire: Wire) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert not wire.host([called(1, "find"), called(2, "cancel", order="W1"), note])
    (answers,) = wire.to_host
    assert [each["id"] for each in answers] == [1, 2]
    assert answers[0]["error"]["message"] == "not sent: another call of the same batch was refused"
    assert answers[1]["result"]["isError"] is True
    assert wire.host([called(1, "find"), note])


def test_a_call_that_wants_no_answer_is_kept_without_one(wire: Wire) -> None:
    message = called(1, "cancel", order="W1")
    del message["id"]
    assert not wire.host(message)
    assert wire.to_host == []


@pytest.mark.parametrize(
    "raw",
    [b"\n", b"{}\n", b"[1]\n", b'"x"\n', b"half {\n", b"\xff\n", b'{"method":"tools/call","id":1,"params":[]}\n'],
)
def test_everything_else_passes(wire: Wire, raw: bytes) -> None:
    assert wire.host(raw)
    assert wire.to_host == []


def test_a_line_that_is_no_json_and_names_a_guarded_tool_does_not_pass(wire: Wire) -> None:
    """A server that reads more than JSON might make that call."""
    assert not wire.host(b'{"id": 1, "method": "tools/call", "params": {"name": "cancel"},}\n')
    assert wire.to_host[0]["error"]["code"] == -32700
    assert wire.host(b'{"id": 1, "method": "tools/call", "params": {"name": "find"},}\n')


def test_an_escaped_call_is_a_call(wire: Wire) -> None:
    assert not wire.host(b'{"id":1,"method":"tools\\/call","params":{"name":"c\\u0061ncel","arguments":{}}}\n')


def test_a_call_whose_check_fails_is_refused(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not known to be right does not reach the server."""

    def broken() -> list[str]:
        raise OSError("no conversation")

    monkeypatch.setattr(wire.tap, "_heard", broken)
    assert not wire.call(1, "cancel", order="W1")
    assert "It could not be checked: OSError('no conversation')" in wire.to_host[0]["result"]["content"][0]["text"]
    assert wire.call(2, "find")


def test_a_fault_in_what_is_shown_does_not_switch_guards_off(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    wire.call(1, "find")
    monkeypatch.setattr(wire.tap, "_take", None)
    wire.server(1, "W1")
    wire.tap.sent(b"{", "server")
    assert not wire.call(2, "cancel", order="W1")


def test_in_front_of_a_real_server_a_refused_write_changes_nothing() -> None:
    """The agent cancels an order it has not seen, looks, and cancels it then; the recording has all of it."""
    check = {"name": "seen", "tools": ["cancel_order"], "arguments": {"order_id": {"seen": True}}}
    watcher = Watcher()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    session = Session((sys.executable, "-m", "stretto.proxy.demo_server"))
    guards = guards_from_data({"stretto_guards": 1, "checks": [check]})
    session.relay.taps = [watcher, GuardTap(guards, session.relay.to_host)]
    with session:

        def ask(**request: Any) -> Any:
            session.write(message(**request))
            return json.loads(session.read_lines(1))

        def call(number: int, tool: str, **arguments: Any) -> Any:
            return ask(id=number, method="tools/call", params={"name": tool, "arguments": arguments})["result"]

        ask(id=0, method="initialize", params=client)
        session.write(message(method="notifications/initialized"))
        order = {"order_id": "#W1000", "reason": "no longer needed"}
        refused = call(1, "cancel_order", **order)
        shown = call(2, "get_order_details", order_id="#W1000")
        done = call(3, "cancel_order", **order)
    assert refused["isError"]
    assert "no result of this session has shown" in refused["content"][0]["text"]
    assert "pending" in shown["content"][0]["text"]
    assert not done.get("isError")
    assert [who for who, raw in watcher.seen if raw and json.loads(raw).get("id") == 1] == ["host", "sent to host"]
