"""A flow at work in the proxy: what is held, what is looked up, what is handed back, and what is left alone."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stretto.errors import BadFlow
from stretto.flow.file import read_flow
from stretto.speculator import Prepared
from tests.stretto.proxy.proxy_support import Bench, added, call, line_of, returned, shop_answer
from tests.stretto.shop import ORDERS, USER, shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.flow.model import Flow

DATA = Path(__file__).parents[2] / "data"
USER_TEXT = jsonvalue.dumps(USER).decode()
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ALL_LOOKUPS = [("get_user", {"user_id": "u1"}), *(("get_order", {"order_id": name}) for name in ORDERS)]


# --- the run --------------------------------------------------------------------------------------------------------


def test_the_worked_example_byte_for_byte(tmp_path: Path) -> None:
    flow = read_flow(DATA / "retail-5-sessions.flow.json")
    context = tmp_path / "conversation.jsonl"
    said = ({"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "I am ada@example.com"})
    context.write_bytes(b"".join(line_of(dict(item)) for item in said))
    with Bench(flow, decider="habit", context=context) as bench:
        bench.host_says(call(7, "find_user_id_by_email", {"email": "ada@example.com"}))
        answer = (
            b'{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "user_7"}], "new": 1.0}}\n'
        )
        assert not bench.server_says(answer)
        bench.asked(2)
        assert bench.server[1] == (
            b'{"jsonrpc":"2.0","id":"stretto-0","method":"tools/call",'
            b'"params":{"name":"get_user_details","arguments":{"user_id":"user_7"}}}\n'
        )
        assert not bench.server_says(returned("stretto-0", '{"orders": ["#W9"]}'))
        bench.asked(3)
        assert b'"id":"stretto-1"' in bench.server[2]
        assert b'"params":{"name":"get_order_details","arguments":{"order_id":"#W9"}}' in bench.server[2]
        assert not bench.server_says(returned("stretto-1", "Order not found", isError=True))
        bench.got(1)
    block = (
        r"--- Also looked up automatically (current results; no need to repeat these calls) ---\n\n"
        r"get_user_details {\"user_id\":\"user_7\"}:\n{\"orders\": [\"#W9\"]}\n\n"
        r"get_order_details {\"order_id\":\"#W9\"} (error):\nOrder not found"
    )
    assert bench.host == [
        b'{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "user_7"},'
        b'{"type":"text","text":"' + block.encode() + b'"}], "new": 1.0}}\n'
    ]
    assert [line["action"] for line in bench.log if "action" in line] == ["lookup", "lookup", "hand_back"]
    assert [line["after"] for line in bench.log] == ["7"] * 4
    assert bench.log[-1]["run"]["sites"][3][1] is False
    assert bench.own == [bench.server[1], bench.server[2], bench.host[0]]


def test_a_run_goes_on_until_nothing_is_left() -> None:
    with Bench() as bench:
        bench.answer_lookups()
        bench.host_says(call("a", "find_user", {"email": "x"}))
        bench.server_says(returned("a", "u1"))
        bench.got(1)
        assert bench.lookups == ALL_LOOKUPS
        assert added(bench.host[0]).count("\n\n") == 4


def test_without_a_lookup_the_answer_is_the_servers_own_bytes_and_no_tap_hears_of_it_twice() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "cancel_order", {"order_id": "#W1"}))
        raw = b'{ "id":1, "result":{"content":[ ]},"jsonrpc":"2.0"}\r\n'
        bench.server_says(raw)
        bench.until(lambda: len(bench.log) == 2)
        assert bench.host == [raw]  # where the flow has nothing to offer, it does not even wait for that to be logged
        assert bench.log[0]["reason"] == "no lookups followed here in training"
        bench.host_says(call(2, "get_order", {"order_id": "#W1"}))
        assert not bench.server_says(raw.replace(b"1", b"2"))
        bench.got(2)
        assert bench.host == [raw, raw.replace(b"1", b"2")]
        assert bench.log[2]["reason"] == "get_order: nothing left to pass as `order_id`"
        assert bench.own == []


@pytest.mark.case("HC-26")
def test_structured_content_stays_untouched_and_the_lookups_are_a_resource() -> None:
    with Bench() as bench:
        bench.answer_lookups()
        bench.host_says(call(1, "get_user", {"user_id": "u1"}))
        bench.server_says(returned(1, USER_TEXT, structuredContent={"orders": ["#W1"]}, _meta={"k": 1}))
        message = bench.got(1)
        assert message["result"]["structuredContent"] == {"orders": ["#W1"]}
        assert message["result"]["_meta"] == {"k": 1}
        assert message["result"]["content"][-1]["type"] == "resource"
        assert added(bench.host[0]).startswith("--- Also looked up automatically")


def test_a_failed_result_begins_a_run_and_a_protocol_error_does_not() -> None:
    flow: Flow = shop_flow()
    flow.sites.next["get_user", True] = {"find_user": 3}
    with Bench(flow) as bench:
        bench.host_says(call(1, "get_user", {"user_id": "x"}))
        assert not bench.server_says(returned(1, "no such user", isError=True))
        bench.got(1)
        bench.host_says(call(2, "get_user", {"user_id": "y"}))
        assert bench.server_says({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no"}})
    assert [line["site"] for line in bench.log if "site" in line] == ["get_user (error)"]


def test_a_protocol_error_as_the_answer_of_a_lookup_is_shown_as_its_failure() -> None:
    with Bench() as bench:
        bench.answer_lookups(
            lambda request: {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "broken pipe"}}
        )
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert added(bench.host[0]).endswith('get_user {"user_id":"u1"} (error):\nbroken pipe')


@pytest.mark.case("HC-11")
def test_calls_in_flight_are_not_looked_up_and_their_answers_do_not_wait() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "get_user", {"user_id": "u1"}))
        bench.host_says(call(2, "get_order", {"order_id": "#W1"}))
        bench.host_says(call(3, "get_order", {"order_id": "#W2"}))
        assert not bench.server_says(returned(1, USER_TEXT))
        lookup = bench.asked(4)
        assert lookup["params"]["arguments"] == {"order_id": "#W3"}
        assert bench.server_says(returned(3, "{}"))  # another run is in progress: forwarded as it is
        notice = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
        assert bench.server_says(notice)
        assert [jsonvalue.loads(raw).get("id") for raw in bench.host] == [3, None]  # type: ignore[union-attr]
        bench.server_says(returned(lookup["id"], "{}"))
        assert bench.got(3)["id"] == 1
        assert not bench.server_says(returned(2, "{}"))  # the run is over: this one is held, and handed back
        assert bench.got(4)["id"] == 2
        assert len(bench.lookups) == 1


def test_a_later_call_goes_on_where_the_caps_stopped() -> None:
    with Bench(per_call=2, per_session=3) as bench:
        bench.answer_lookups()
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        bench.host_says(call(2, "get_order", {"order_id": "#W2"}))
        bench.server_says(returned(2, "{}"))
        bench.got(2)
        assert bench.lookups == [ALL_LOOKUPS[0], ALL_LOOKUPS[1], ALL_LOOKUPS[3]]
        bench.host_says(call(3, "get_user", {"user_id": "u2"}))
        bench.server_says(returned(3, '{"orders": ["#W7"]}'))
        bench.got(3)
        assert len(bench.lookups) == 3


def test_what_is_too_long_to_be_added_is_left_out_and_ends_the_run() -> None:
    with Bench() as bench:
        bench.answer_lookups(
            lambda request: returned(request["id"], USER_TEXT if "get_user" in str(request) else "x" * 40_000)
        )
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert added(bench.host[0]).endswith(USER_TEXT)
        assert len(bench.lookups) == 2


def test_shadow_mode_decides_and_logs_and_nothing_waits() -> None:
    with Bench(shadow=True) as bench:
        bench.host_says(call(1, "find_user"))
        assert bench.server_says(returned(1, "u1"))
        bench.until(lambda: len(bench.log) == 2)
        assert bench.log[0]["shadow"]
        assert bench.log[0]["tool"] == "get_user"
        assert bench.lookups == []


def test_exploration_says_how_likely_its_action_was() -> None:
    with Bench(explore=0.5, explore_seed=3, task="t1") as bench:
        bench.answer_lookups()
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert bench.log[0]["policy"]["task_id"] == "t1"


# --- both protocol eras ---------------------------------------------------------------------------------------------


def test_a_lookup_says_of_the_client_what_every_request_must_and_nothing_else() -> None:
    with Bench() as bench:
        meta = {
            **ENVELOPE,
            "progressToken": 5,
            "io.modelcontextprotocol/logLevel": "debug",
            "claudecode/toolUseId": "t",
        }
        bench.host_says(call(1, "find_user", _meta=meta))
        bench.server_says(returned(1, "u1", resultType="complete"))
        assert bench.asked(2)["params"]["_meta"] == ENVELOPE
        bench.server_says(returned("stretto-0", USER_TEXT, resultType="input_required", inputRequests={}))
        message = bench.got(1)  # a question is no answer, and is dropped
        assert len(message["result"]["content"]) == 1
        assert len(bench.server) == 2
        bench.host_says(call(2, "find_user", _meta=ENVELOPE))
        bench.server_says(returned(2, "u2", resultType="complete"))
        bench.got(2)
        assert len(bench.lookups) == 1  # and a tool that asks is never looked up again
        assert bench.log[-2]["withheld"]


def test_a_question_to_the_client_is_no_result() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "get_user", {"user_id": "u1"}, _meta=ENVELOPE))
        assert bench.server_says(returned(1, None, resultType="input_required", requestState="s"))
        bench.host_says(call(2, "find_user", _meta=ENVELOPE))
        assert not bench.server_says(returned(2, "u7", resultType="complete"))
        bench.got(2)
        assert bench.lookups == []
        assert bench.log[0]["withheld"]


def test_calls_that_ask_for_a_task_and_batches_are_left_alone() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user", task={"ttl": 1}))
        assert bench.server_says(returned(1, None, task={"taskId": "t"}))
        bench.host_says([call(2, "find_user"), call(3, "find_user")])
        assert bench.server_says([returned(2, "u1"), returned(3, "u1")])
        bench.host_says(call(4, "cancel_order"))
        bench.server_says(returned(4, "done"))
        bench.got(3)
        assert bench.lookups == []


def test_of_a_batch_with_an_answer_to_the_flow_the_host_gets_the_rest() -> None:
    with Bench() as bench:
        bench.host_says({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(3)
        pong = {"jsonrpc": "2.0", "id": 9, "result": {}}
        assert not bench.server_says([returned("stretto-0", "{}"), pong])
        bench.until(lambda: len(bench.host) == 2)
        assert line_of([pong]) in bench.host
        assert any(b"Also looked up" in raw for raw in bench.host)


# --- time, cancellation, ends ---------------------------------------------------------------------------------------


def test_a_slow_lookup_delays_the_answer_by_no_more_than_was_promised_and_is_cancelled() -> None:
    with Bench(held_s=0.5) as bench:
        bench.host_says(call(1, "find_user"))
        began = time.monotonic()
        raw = line_of(returned(1, "u1"))
        bench.server_says(raw)
        bench.asked(2)
        bench.server_says(returned("stretto-0", USER_TEXT))
        bench.asked(3)  # an order, which is never answered
        bench.got(1)
        assert time.monotonic() - began < 4
        assert added(bench.host[0]).endswith(USER_TEXT)  # what is there is delivered
        note = bench.asked(4)
        assert note["method"] == "notifications/cancelled"
        assert note["params"] == {"requestId": "stretto-1", "reason": "it took too long"}
        assert not bench.server_says(returned("stretto-1", "late"))  # and its answer is nobody's
        assert not bench.server_says(returned("stretto-1", "later"))
        assert len(bench.host) == 1
        assert not any("run" in line for line in bench.log)


def test_a_lookup_has_a_limit_of_its_own() -> None:
    with Bench(lookup_s=0.05) as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(line_of(returned(1, "u1")))
        bench.got(1)
        assert bench.host == [line_of(returned(1, "u1"))]


def test_a_decision_that_does_not_end_delays_nothing_for_longer() -> None:
    hangs = threading.Event()

    class Slow:
        name = "slow"

        def decide(self, *_: Any) -> Any:
            hangs.wait(5)
            raise ZeroDivisionError

    with Bench(decider=Slow(), held_s=0.1) as bench:
        bench.host_says(call(1, "find_user"))
        assert not bench.server_says(returned(1, "u1"))
        bench.got(1)
        bench.host_says(call(2, "find_user"))
        assert bench.server_says(returned(2, "u1"))  # the run is still in progress
        hangs.set()
    assert bench.host == [line_of(returned(1, "u1")), line_of(returned(2, "u1"))]


def test_a_call_that_the_host_cancels_gets_no_answer_and_its_lookup_is_cancelled() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
        bench.host_says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        bench.until(lambda: len(bench.server) == 4)
        assert any(b"notifications/cancelled" in raw and b'"stretto-0"' in raw for raw in bench.server)
        assert not bench.server_says(returned("stretto-0", USER_TEXT))
        bench.host_says(call(2, "find_user"))
        bench.server_says(returned(2, "u7"))
        bench.asked(6)
        bench.server_says(returned("stretto-1", "{}"))
        assert bench.got(1)["id"] == 2


def test_a_call_that_is_cancelled_before_its_answer_is_not_acted_on() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.host_says({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert bench.server_says(returned(1, "u1"))
        assert bench.server_says(returned(1, "again"))  # an unknown answer is none of ours


def test_the_end_releases_what_is_held() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
    assert bench.host == [line_of(returned(1, "u1"))]
    assert bench.server_says(returned(2, "x"))


def test_a_server_that_is_gone_ends_the_run_at_once() -> None:
    with Bench() as bench:
        bench.to_server = lambda _: False  # type: ignore[method-assign, assignment]
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert bench.host == [line_of(returned(1, "u1"))]


# --- ids, text, conversation ----------------------------------------------------------------------------------------


@pytest.mark.case("HC-25")
def test_ids_of_the_host_keep_value_and_type() -> None:
    with Bench() as bench:
        numbers = [7, "7", 0, "", "a b", 9007199254740993, -1]
        for number in numbers:
            bench.host_says(call(number, "cancel_order", {"order_id": str(number)}))
        for number in reversed(numbers):
            bench.server_says(returned(number, "done"))
        bench.until(lambda: len(bench.host) == len(numbers))
        assert sorted(bench.host) == sorted(line_of(returned(number, "done")) for number in numbers)


def test_a_host_that_numbers_its_calls_as_the_flow_would_is_left_alone() -> None:
    with Bench() as bench:
        bench.host_says(call("stretto-0", "find_user"))
        assert bench.server_says(returned("stretto-0", "u1"))
        bench.host_says(call(1, "find_user"))
        assert bench.server_says(returned(1, "u1"))
    assert any("another proxy" in reason for reason in bench.serving.faults.counts())


def test_what_is_held_when_the_flow_is_switched_off_goes_out_at_once() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
        bench.host_says({"jsonrpc": "2.0", "id": "stretto-7", "method": "ping"})
        assert bench.host == [line_of(returned(1, "u1"))]
        assert not bench.server_says(returned("stretto-0", USER_TEXT))
        assert bench.server_says({"jsonrpc": "2.0", "id": "stretto-7", "result": {}})


@pytest.mark.case("HC-21")
def test_what_is_no_message_passes() -> None:
    with Bench() as bench:
        lines = [
            b"Server started\n",
            b"\n",
            b'{"id": \n',
            b"[1,2]\n",
            b'"x"\n',
            b"\xff\xfe\n",
            b'{"id":null,"result":1}\n',
        ]
        for raw in lines:
            assert bench.server_says(raw)
            bench.host_says(raw)
        assert bench.host == lines
        for odd in ({"id": 1, "method": "tools/call", "params": [1]}, {"id": 2, "method": 5, "params": {"name": "x"}}):
            bench.host_says(odd)
            assert bench.server_says({"id": odd["id"], "result": 3})


@pytest.mark.case("HC-22")
def test_a_very_large_answer_passes_at_once_and_is_known_all_the_same() -> None:
    with Bench() as bench:
        bench.answer_lookups()
        bench.host_says(call(1, "get_user", {"user_id": "u1"}))
        text = jsonvalue.dumps({**USER, "note": "x" * 2**20}).decode()
        assert bench.server_says(returned(1, text))
        bench.host_says(call(2, "get_order", {"order_id": "#W1"}))
        bench.server_says(returned(2, "{}"))
        bench.got(2)
        assert bench.lookups == ALL_LOOKUPS[2:]


def test_what_was_said_is_heard_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "conversation.jsonl"
    with Bench(context=path, explore=0.1) as bench:
        path.write_bytes(b'{"role":"user","content":"hello"}\n{"role":"assistant","content":"hi"}\n{"role":"us')
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
        assert bench.log[0]["policy"]["events"] == 4  # two texts, a call and its result
        bench.server_says(returned("stretto-0", "{}"))
        bench.got(1)


def test_a_fault_of_ours_hands_back_the_servers_own_bytes_and_ends_it_for_the_session() -> None:
    with Bench() as bench:
        bench.serving._session._engine.take = None  # type: ignore[method-assign, assignment] # a fault of ours
        bench.host_says(call(1, "cancel_order"))
        bench.server_says(returned(1, "done"))
        bench.got(1)
        bench.until(lambda: bench.serving.faults.counts() != {})
        bench.host_says(call(2, "find_user"))
        assert bench.server_says(returned(2, "u1"))
    assert bench.host == [line_of(returned(1, "done")), line_of(returned(2, "u1"))]


def test_a_flow_that_cannot_serve_is_refused_at_the_start() -> None:
    with pytest.raises(BadFlow, match="no reach counts"):
        Bench(Prepared(shop_flow(reach=None)), decider="reach")


def test_nothing_is_looked_up_for_a_shop_that_answers_badly() -> None:
    with Bench() as bench:
        bench.answer_lookups(lambda request: shop_answer(request) | {"result": "no object"})
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert bench.host == [line_of(returned(1, "u1"))]
