"""What a flow in the proxy never looks up: tools that are gone, changed or not allowed, and what asks the client."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stretto.proxy.proxy_support import LISTED, Bench, call, returned
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


def listing(number: Any, tools: list[Any], **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"tools": tools} | more}


def list_request(number: Any, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params}


def test_what_the_server_lists_counts_page_by_page_and_each_reason_is_said_once(caplog: Any) -> None:
    flow: Flow = shop_flow()
    flow.manifest = replace(flow.manifest, contracts={"get_user": "user_id:string!"})
    with Bench(flow) as bench:
        bench.host_says(list_request(1))
        assert bench.server_says(listing(1, LISTED[:1], nextCursor="p2"))
        bench.host_says(list_request(2, cursor="p2"))
        schema = {"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}
        assert bench.server_says(listing(2, [LISTED[1] | {"inputSchema": schema}, LISTED[2]]))
        for number in (3, 4):
            bench.host_says(call(number, "find_user", {"n": number}))
            bench.server_says(returned(number, "u1"))
        bench.until(lambda: len(bench.host) == 4)
        assert bench.lookups == []
        assert "`user_id` is gone" in bench.log[0]["withheld"]
    [reason] = bench.serving.faults.counts()
    assert reason.startswith(
        "flow shop: get_user is left to the agent: it is not what it was when the flow was learned"
    )
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.case("HC-27")
def test_while_pages_are_missing_a_tool_is_as_it_was_and_after_the_last_it_is_gone() -> None:
    with Bench() as bench:
        bench.answer_lookups()
        bench.host_says(list_request(1))
        bench.server_says(listing(1, LISTED[:2], nextCursor=""))
        bench.host_says(call(2, "find_user"))
        bench.server_says(returned(2, "u1"))
        bench.got(2)
        assert len(bench.lookups) == 4
        bench.host_says(list_request(3, cursor=""))
        bench.server_says(listing(3, []))
        bench.host_says(call(4, "get_user", {"user_id": "u9"}))
        bench.server_says(returned(4, '{"orders": ["#W8"]}'))
        bench.got(4)
        assert bench.log[-2]["withheld"] == "the server does not list it"


@pytest.mark.case("HC-28")
def test_after_a_change_nothing_is_looked_up_until_the_tools_are_listed_anew() -> None:
    with Bench() as bench:
        bench.answer_lookups()
        bench.host_says(list_request(1))
        bench.server_says(listing(1, LISTED))
        assert bench.server_says({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        bench.host_says(call(2, "find_user"))
        bench.server_says(returned(2, "u1"))
        bench.got(3)
        assert bench.lookups == []
        bench.host_says(list_request(3))
        bench.server_says(listing(3, LISTED))
        bench.host_says(call(4, "find_user"))
        bench.server_says(returned(4, "u2"))
        bench.got(5)
        assert bench.lookups[0] == ("get_user", {"user_id": "u2"})
    assert (
        "get_user is left to the agent: its server has said that its tools changed, and they were not listed since"
        in bench.serving.faults.counts()
    )


def test_only_allowed_tools_and_none_that_must_be_a_task_are_looked_up() -> None:
    with Bench(allowed_tools={"get_order"}) as bench:
        bench.answer_lookups()
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.got(1)
        assert bench.lookups == []
        bench.host_says(list_request(2))
        bench.server_says(listing(2, [LISTED[1], LISTED[2] | {"execution": {"taskSupport": "required"}}]))
        bench.host_says(call(3, "get_user", {"user_id": "u1"}))
        bench.server_says(returned(3, USER_TEXT))
        bench.got(3)
        assert bench.lookups == []


ELICITATION = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "which?"}}


def test_a_question_that_only_a_lookup_can_have_led_to_is_declined_and_the_tool_is_not_called_again() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
        assert not bench.server_says(ELICITATION)
        bench.got(1)
        bench.until(lambda: len(bench.server) == 4)
        rest: Any = [jsonvalue.loads(raw) for raw in bench.server[2:]]
        assert rest[0]["params"]["requestId"] == "stretto-0"
        assert rest[1] == {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}}
        assert not bench.server_says(returned("stretto-0", "declined"))
        bench.host_says(call(2, "find_user"))
        bench.server_says(returned(2, "u2"))
        bench.got(2)
        assert len(bench.lookups) == 1


def test_a_sampling_is_declined_with_the_protocols_code_and_roots_are_the_hosts_to_give() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "find_user"))
        bench.server_says(returned(1, "u1"))
        bench.asked(2)
        assert bench.server_says({"jsonrpc": "2.0", "id": 8, "method": "roots/list"})
        bench.until(lambda: len(bench.host) == 2)
        bench.host_says(call(2, "get_user", {"user_id": "u1"}))
        bench.server_says(returned(2, USER_TEXT))
        lookup = bench.asked(5)
        sampling = {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}}
        assert not bench.server_says(sampling)
        bench.until(lambda: len(bench.server) == 7)
        answer: Any = jsonvalue.loads(bench.server[-1])
        assert (answer["id"], answer["error"]["code"]) == ("s", -1)
        assert lookup["params"]["name"] == "get_order"


def test_a_question_while_a_call_of_the_host_is_open_passes_and_its_tools_are_not_looked_up() -> None:
    with Bench() as bench:
        bench.host_says(call(1, "get_user", {"user_id": "u1"}))
        assert bench.server_says(ELICITATION)
        bench.host_says({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}})
        bench.server_says(returned(1, "{}"))
        bench.got(2)
        bench.host_says(call(2, "find_user"))
        bench.server_says(returned(2, "u1"))
        bench.got(3)
        assert bench.lookups == []
