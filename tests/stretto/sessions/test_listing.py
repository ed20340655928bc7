"""What servers list becomes kinds, descriptions and contracts; and manifest files say the same by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from stretto.errors import ManifestError
from stretto.sessions.listing import contract_of, tools_of
from stretto.sessions.log import Entry, Header
from stretto.sessions.manifest import (
    Manifest,
    ToolDoc,
    manifest_from_json,
    manifest_to_json,
    read_manifest,
    write_manifest,
)
from stretto.sessions.turns import infer
from tests.conftest import SHARED
from tests.strategies import json_values
from tests.stretto.sessions.logs_support import call, listing, request, result
from waggle import jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue


def tool(name: str, *, read: JsonValue = None, description: str = "", **properties: JsonValue) -> JsonObject:
    """A tool as a server lists it."""
    schema: JsonObject = {"type": "object", "properties": properties, "required": ["id"]}
    return {"name": name, "description": description, "annotations": {"readOnlyHint": read}, "inputSchema": schema}


def manifest(*entries: Entry) -> Manifest:
    return infer(Header("s", domain="shop"), entries)[1]


# --- listings ----------------------------------------------------------------------------------------------


def test_a_listing_says_kinds_docs_and_contracts() -> None:
    order: JsonObject = {"type": "string", "description": " the\n  order's  id "}
    found = manifest(
        *listing(
            1,
            1,
            tool("get", read=True, description="Reads\n an\torder. ", id=order, how={}),
            tool("cancel", read=False),
            tool("think"),
            {"name": "bare"},
            {"name": "odd", "annotations": {"readOnlyHint": "true"}, "inputSchema": [], "description": 5},
            {"description": "no name"},
            "no tool",
        )
    )
    assert found == Manifest(
        "shop",
        {"get": "read", "cancel": "write", "think": "generic", "bare": "generic", "odd": "generic"},
        {"get": ToolDoc("Reads an order.", {"id": "the order's id"})},
        {"get": "how:any, id:string!", "cancel": "", "think": ""},
    )


def test_only_the_servers_answers_to_the_client_count() -> None:
    listed: JsonObject = {"tools": [tool("a", read=True)]}
    assert manifest(request(0, "stretto-1", "tools/list", {}, "proxy"), result(1, "stretto-1", listed)).tools == {}
    assert manifest(request(0, 1, "tools/list", {}), result(1, 1, listed, "proxy")).tools == {}
    assert manifest(request(0, 1, "tools/list", {}), result(1, "1", listed)).tools == {}
    assert manifest(call(0, 1, "a"), result(1, 1, listed)).tools == {}
    failed = Entry(1, "server", {"id": 1, "error": {"message": "no"}})
    assert manifest(request(0, 1, "tools/list", {}), failed).tools == {}


def test_a_later_listing_replaces_what_an_earlier_one_said_of_a_tool() -> None:
    found = manifest(
        *listing(1, 1, tool("a", read=True, description="old", id={"type": "string"}), tool("b", read=True)),
        *listing(2, 2, {"name": "a", "annotations": {"readOnlyHint": False}}),
    )
    assert found.tools == {"a": "write", "b": "read"}
    assert found.docs == {}
    assert found.contracts == {"b": ""}


@pytest.mark.case("HC-27")
def test_a_listing_of_several_pages_adds_up_and_a_tool_on_two_pages_is_one_tool() -> None:
    def page(number: int, names: str, *, after: str | None, before: JsonValue) -> list[Entry]:
        params: JsonObject = {} if after is None else {"cursor": after}
        listed: JsonObject = {"tools": [tool(name, read=True) for name in names], "nextCursor": before}
        return [request(number, number, "tools/list", params), result(number, number, listed)]

    found = manifest(*page(1, "abcde", after=None, before="p2"), *page(2, "efgh", after="p2", before=None))
    assert [*found.tools] == [*"abcdefgh"]
    assert [*found.contracts] == [*"abcdefgh"]
    for cursor in ("", "p1"):  # an empty cursor is one, and a server that repeats itself says nothing new
        again = [entry for number in range(5) for entry in page(number, "abc", after=cursor, before=cursor)]
        assert [*manifest(*again).tools] == [*"abc"]


@pytest.mark.parametrize(
    ("schema", "contract"),
    [
        ({"properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}, "required": ["order_id"]},
         "order_id:string!, reason:string"),
        ({"properties": {"b": {"type": ["string", "null"]}, "a": {}, "c": True, "d": {"type": []}}},
         "a:any, b:string|null, c:any, d:any"),
        ({"properties": {"a": {"type": "string"}}, "required": "a"}, "a:string"),
        ({"properties": {"a": {"type": "string"}}, "required": [["a"], None, "b"]}, "a:string"),
        ({"properties": []}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_contract_is_what_a_tool_takes(schema: JsonObject, contract: str) -> None:
    assert contract_of(schema) == contract


@pytest.mark.case("HC-28")
def test_a_contract_changes_with_what_is_taken_and_with_nothing_else() -> None:
    """Cases a to e; the order of properties and their descriptions play no part."""

    def of(required: list[JsonValue], **properties: str) -> str:
        fields: JsonObject = {name: {"type": kind, "description": name} for name, kind in properties.items()}
        return contract_of({"properties": fields, "required": required})

    learned = of(["query"], query="string")
    others = [
        of(["q"], q="string"),
        of(["query", "limit"], query="string", limit="integer"),
        of(["query"], query="string", limit="integer"),
        of(["query"], query="array"),
    ]
    assert learned not in others
    assert (
        contract_of({"required": ["query"], "properties": {"query": {"description": "new", "type": "string"}}})
        == learned
    )
    assert of(["a"], a="string", b="string") == of(["a"], b="string", a="string")


@given(json_values())
def test_any_listing_is_taken(value: JsonValue) -> None:
    assert infer(Header("s"), [request(0, 1, "tools/list", {}), result(1, 1, value)])[0].events == ()
    listed: list[JsonValue] = [{"name": "a", "inputSchema": value, "annotations": value, "description": value}, value]
    assert "a" in tools_of(listed).tools


def test_a_listing_that_is_nested_too_deeply_says_nothing() -> None:
    deep: JsonValue = []
    for _ in range(5000):
        deep = [deep]
    assert manifest(*listing(1, 1, {"name": "a", "inputSchema": deep})).tools == {}


def test_sessions_with_one_listing_share_its_manifest() -> None:
    first, second = (manifest(*listing(1, number, tool("a", read=True))) for number in (1, 2))
    assert first is second


# --- manifest files ----------------------------------------------------------------------------------------


def test_a_manifest_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    found = Manifest("shop", {"b": "read", "a": "write"}, {"b": ToolDoc("Reads.", {"id": "é"})})
    path = tmp_path / "m.json"
    write_manifest(path, found)
    assert read_manifest(path) == found
    assert manifest_from_json(manifest_to_json(Manifest())) == Manifest()


def test_the_published_example_is_read() -> None:
    path = SHARED / "data" / "stretto-examples" / "shop.manifest.json"
    if not path.is_file():
        pytest.skip("needs the example files beside the checkout")
    found = read_manifest(path)
    assert found.domain == "shop"
    assert found.reads == ("find_user_id_by_email", "get_order_details", "get_user_details")
    assert found.kind("cancel_pending_order") == "write"


@pytest.mark.parametrize(
    ("value", "at", "problem"),
    [
        ([], "$", "expected an object"),
        ({"tools": {}}, "$.domain", "expected a text"),
        ({"domain": "d"}, "$.tools", "expected an object"),
        ({"domain": "d", "tools": {"a": "reads"}}, "$.tools.a", "expected one of read, write, generic"),
        ({"domain": "d", "tools": {"a b": True}}, '$.tools["a b"]', "expected one of read, write, generic"),
        ({"domain": "d", "tools": {"a": []}}, "$.tools.a", "expected one of read, write, generic"),
        ({"domain": "d", "tools": {}, "docs": []}, "$.docs", "expected an object"),
        ({"domain": "d", "tools": {}, "docs": {"a": "x"}}, "$.docs.a", "expected an object"),
        ({"domain": "d", "tools": {}, "docs": {"a": {"summary": 1}}}, "$.docs.a.summary", "expected a text"),
        ({"domain": "d", "tools": {}, "docs": {"a": {"args": 0}}}, "$.docs.a.args", "expected an object"),
        ({"domain": "d", "tools": {}, "docs": {"a": {"args": {"x": 1}}}}, "$.docs.a.args.x", "expected a text"),
    ],
)
def test_a_manifest_that_is_not_valid_is_one_error_with_its_place(
    tmp_path: Path, value: JsonValue, at: str, problem: str
) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(jsonvalue.dumps(value))
    with pytest.raises(ManifestError) as caught:
        read_manifest(path)
    assert (caught.value.path, caught.value.at, caught.value.problem) == (str(path), at, problem)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"hello"])
def test_a_manifest_that_is_no_json_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(ManifestError, match=r"m\.json: is no JSON"):
        read_manifest(path)
    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(tmp_path / "none.json")


@given(json_values())
def test_any_value_is_a_manifest_or_one_error(value: JsonValue) -> None:
    contents: list[JsonValue] = [value, {"domain": "d", "tools": {"a": value}}]
    for content in [*contents, {"domain": "d", "tools": {}, "docs": value}]:
        try:
            manifest_from_json(content, "m.json")
        except ManifestError as error:
            assert error.at.startswith("$")  # noqa: PT017 - it may as well be valid
