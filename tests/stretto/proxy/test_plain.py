"""The plain carrier: neither schemas nor structured content reach the host, never one without the other."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.flow.file import write_flow
from stretto.proxy.inplace import edited, members, without
from stretto.proxy.plain import Plain, without_schemas, without_structure
from stretto.proxy.streams import Line
from stretto.sessions.log import read_log
from tests.stretto.proxy.mcp_peers import HANDSHAKE, MODERN, Peer, Step, converse, tool
from tests.stretto.proxy.proxy_support import call, line_of
from tests.stretto.shop import shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

DEMO = Peer((sys.executable, "-m", "stretto.proxy.demo_server"))


# --- the edits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"result":{"structuredContent":{"a": 1.0}}}\n',
            '{"result":{"content":[{"type":"text","text":"{\\"a\\": 1.0}"}]}}\n',
        ),
        (
            '{"result": { "structuredContent" : 1 , "isError" : false } }',
            '{"result": { "isError" : false ,"content":[{"type":"text","text":"1"}]} }',
        ),
        (
            '{"result":{"a":1 , "structuredContent":{}, "structuredContent":2 }}',
            '{"result":{"a":1 ,"content":[{"type":"text","text":"2"}]}}',
        ),
        (
            '{"result":{"content":[{"type":"text","text":"x"}], "structuredContent":{},"b":2}}',
            '{"result":{"content":[{"type":"text","text":"x"}], "b":2}}',
        ),
        (
            '{"result":{"structuredContent":[],"content":[{"type":"image"}]}}',
            '{"result":{"content":[{"type":"image"},{"type":"text","text":"[]"}]}}',
        ),
    ],
)
def test_structured_content_goes_and_is_a_text_where_there_was_none(line: str, expected: str) -> None:
    assert without_structure(line.encode()) == expected.encode()


def test_schemas_go_and_every_other_byte_stays() -> None:
    line = (
        b'{"id":1, "result":{"tools":[ {"name":"a", "outputSchema":{"x":[]} } ,{"outputSchema":1,"name":"b"},'
        b'{"name":"c"}],"ttlMs":1.0}}\n'
    )
    expected = b'{"id":1, "result":{"tools":[ {"name":"a" } ,{"name":"b"},{"name":"c"}],"ttlMs":1.0}}\n'
    assert without_schemas(line) == expected


@pytest.mark.parametrize(
    "line", [b"", b"7", b"{}", b'{"result":7}', b'{"result":{"content":null,"structuredContent":1}}']
)
def test_where_no_place_is_found_nothing_is_done(line: bytes) -> None:
    assert without_structure(line) is None
    assert without_schemas(line) is None


KEYS = st.sampled_from(["a", "b", "gone"])
MEMBERS = st.lists(st.tuples(KEYS, st.sampled_from(["1", "{}", '[ "}" ]', '"\\""'])), max_size=6)
SPACES = st.sampled_from(["", " ", "\n\t"])


@given(MEMBERS, SPACES, SPACES)
def test_a_member_that_goes_takes_nothing_with_it(given: list[tuple[str, str]], one: str, two: str) -> None:
    text = "{" + one + f"{two},{one}".join(f'"{key}"{two}:{one}{value}' for key, value in given) + two + "}"
    new = edited(text, without(members(text), "gone"))
    left = [(key, json.loads(value, object_pairs_hook=list)) for key, value in given if key != "gone"]
    assert json.loads(new, object_pairs_hook=list) == left
    if all(key != "gone" for key, _ in given):
        assert new == text


# --- the tap ------------------------------------------------------------------------------------------------------


def passed(tap: Plain, message: Any) -> Any:
    """What reaches the host."""
    line = Line(line_of(message))
    new = tap.from_server(line)
    assert new is not True
    return jsonvalue.loads(new.raw if isinstance(new, Line) else line.raw)


def listed(tap: Plain, *tools: Any, batch: bool = False) -> Any:
    asked = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
    answer = {"jsonrpc": "2.0", "id": 0, "result": {"tools": [*tools]}}
    tap.from_host(Line(line_of([asked] if batch else asked)))
    return passed(tap, [answer] if batch else answer)


def asked(tap: Plain, name: str) -> Any:
    tap.from_host(Line(line_of(call(1, name))))
    return passed(tap, {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"a": 1}}})["result"]


TOOL = {"name": "a", "outputSchema": {"type": "object"}}
STRUCTURED = {"structuredContent": {"a": 1}}


def test_only_results_of_tools_whose_schema_is_hidden_are_changed() -> None:
    tap = Plain()
    assert asked(tap, "a") == STRUCTURED
    assert listed(tap, TOOL, {"name": "b"})["result"]["tools"] == [{"name": "a"}, {"name": "b"}]
    assert asked(tap, "a") == {"content": [{"type": "text", "text": '{"a":1}'}]}
    assert asked(tap, "b") == STRUCTURED
    listed(tap, {"name": "a"})
    assert asked(tap, "a") == STRUCTURED


def test_what_a_batch_lists_stays_as_it_is_and_so_do_its_results() -> None:
    tap = Plain()
    listed(tap, TOOL)
    assert listed(tap, TOOL, batch=True)[0]["result"]["tools"] == [TOOL]
    assert asked(tap, "a") == STRUCTURED


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("list"), st.booleans(), st.booleans()),
        st.tuples(st.just("call"), st.booleans(), st.booleans()),
    ),
    max_size=12,
)


@given(STEPS)
def test_no_host_ever_has_a_schema_without_content(steps: list[tuple[str, bool, bool]]) -> None:
    tap, declared = Plain(), False
    for action, schema, batch in steps:
        if action == "list":
            found = listed(tap, TOOL if schema else {"name": "a"}, batch=batch)
            found = found[0] if batch else found
            declared = "outputSchema" in found["result"]["tools"][0]
        elif declared:
            assert "structuredContent" in asked(tap, "a")


# --- with the official client, which fails a call whose result lacks what the schema promises ----------------------


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("carrier", ["auto", "inline", "plain"])
def test_the_official_client_takes_results_of_every_carrier(carrier: str, mode: str, tmp_path: Path) -> None:
    flow = tmp_path / "shop.flow.json"
    write_flow(flow, shop_flow())
    peer = DEMO.behind("--record", str(tmp_path / "log"), "--flow", str(flow), "--flow-carrier", carrier)
    steps = [
        Step("list", lambda talk: talk.client.list_tools()),
        tool("list_orders", user_id="hedy_lamarr_1296"),
        tool("get_user_details", user_id="hedy_lamarr_1296"),
    ]
    alone = converse(DEMO, steps, mode=mode, errlog=tmp_path / "alone.txt")
    behind = converse(peer, steps, mode=mode, errlog=tmp_path / "behind.txt")
    if carrier != "plain":
        assert behind == alone
        return
    tools = [{key: value for key, value in each.items() if key != "outputSchema"} for each in alone[1][1]["tools"]]
    assert behind[1][1]["tools"] == tools
    assert "outputSchema" in str(alone[1])
    assert "structuredContent" in alone[2][1]
    assert "structuredContent" not in behind[2][1]
    assert behind[2][1]["content"] == alone[2][1]["content"]
    assert behind[3] == alone[3]
    (log,) = (path for path in (tmp_path / "log").glob("*.jsonl") if not path.name.endswith(".flow.jsonl"))
    said = [
        (entry.sender, "structuredContent" in str(entry.message)) for entry in read_log(log)[1] if "#W" in str(entry)
    ]
    assert ("server", True) in said
    assert ("proxy", False) in said
