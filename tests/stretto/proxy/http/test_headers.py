"""What a message over HTTP says of itself in its headers; the official SDK writes and reads the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import decode_header_value, encode_header_value, mcp_param_headers, x_mcp_header_map

from stretto.proxy.http.headers import HeaderTable, version_of

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def modern(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


@given(st.text(max_size=40))
def test_a_name_is_written_as_the_sdk_writes_it_and_read_back(name: str) -> None:
    header = HeaderTable().of(modern("tools/call", name=name))["mcp-name"]
    assert header == encode_header_value(name)
    assert decode_header_value(header) == name


@given(st.text("abcé =?", max_size=8), st.booleans(), st.integers(), json_values)
def test_marked_arguments_have_the_headers_that_the_sdk_gives_them(
    text: str,
    flag: bool,  # noqa: FBT001 - drawn
    count: int,
    other: Any,
) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "x-mcp-header": "Text"},
            "in": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "other": {"type": "string"},
        },
    }
    arguments = {"text": text, "in": {"flag": flag}, "count": count, "other": other}
    table = HeaderTable()
    table.asked(modern("tools/list"))
    table.answered({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": schema}]}})
    ours = {
        name: value
        for name, value in table.of(modern("tools/call", name="t", arguments=arguments)).items()
        if name.startswith("mcp-param-")
    }
    theirs = mcp_param_headers(x_mcp_header_map(schema), arguments)
    assert {name.lower(): value for name, value in ours.items()} == {k.lower(): v for k, v in theirs.items()}


@given(json_values, json_values)
def test_no_message_and_no_listing_is_too_odd(message: Any, listed: Any) -> None:
    table = HeaderTable()
    odd: Any = {"method": message, "id": 1, "params": {"_meta": message, "name": message, "arguments": listed}}
    table.asked({"method": "tools/list", "id": 1})
    table.answered({"id": 1, "result": listed})
    table.answered({"id": 1, "result": {"tools": [listed, {"name": "t", "inputSchema": listed}]}})
    table.answered(message if isinstance(message, dict) else {})
    assert version_of(odd) == ""
    assert table.of(odd) == {}


def test_the_session_and_its_version_come_from_the_handshake() -> None:
    table = HeaderTable()
    assert table.of({"method": "ping", "id": 1}) == {}
    table.asked({"method": "initialize", "id": "a"})
    table.answered({"id": 1, "result": {"protocolVersion": "nobody asked"}})
    table.answered({"id": "a", "result": {"protocolVersion": "2025-11-25"}})
    table.session_id = "s"
    assert table.of(None) == {"mcp-session-id": "s", "mcp-protocol-version": "2025-11-25"}


def test_a_header_cannot_be_broken_out_of() -> None:
    table = HeaderTable()
    table.asked({"method": "initialize", "id": 1})
    table.answered({"id": 1, "result": {"protocolVersion": "1\r\nx: y"}})
    assert table.of(None) == {}
    assert version_of({"params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "1\r\nx: y"}}}) == ""
    headers = table.of(modern("tools/call", name="a\r\nx: y"))
    assert all(value.isprintable() for value in headers.values())
