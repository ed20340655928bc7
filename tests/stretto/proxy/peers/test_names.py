"""What a server's tools are called in a flow over several servers, and whether a flow is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.errors import UsageError
from stretto.proxy.peers.names import Names, names_of
from stretto.sessions.manifest import Manifest
from stretto.sessions.qualified import name_of_server, server_of

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

TWO = Manifest("shop", {"people::get_user": "read", "orders::get_order": "read", "think": "generic"})


def test_names_are_those_of_the_wire_where_the_flow_knows_one_server() -> None:
    names = names_of(Manifest("shop", {"get_user": "read"}), "people")
    assert not names
    assert (names.in_flow("get_user"), names.on_wire("a::b"), names.shown("a::b")) == ("get_user", "a::b", "a::b")
    assert names.is_own("a::b")
    page: JsonObject = {"tools": [{"name": "get_user"}]}
    assert names.listed(page) is page


def test_a_tool_whose_own_name_looks_qualified_makes_no_flow_over_several_servers() -> None:
    manifest = Manifest("shop", {"ns::get_user": "read"})
    assert not names_of(manifest, None)
    assert not names_of(manifest, "other")
    assert names_of(manifest, "ns").server == "ns"


def test_names_of_the_wire_and_of_the_flow_translate_into_each_other() -> None:
    names = names_of(TWO, "people")
    assert names.in_flow("get_user") == "people::get_user"
    assert names.on_wire("people::ns::tool") == "ns::tool"
    assert names.is_own("people::get_user")
    assert not names.is_own("orders::get_order")
    assert not names.is_own("peopleX::get_order")
    assert (names.shown("people::get_user"), names.shown("orders::get_order")) == (
        "get_user",
        "get_order (server orders)",
    )
    assert names.listed({"tools": [{"name": "get_user"}, 1, {}], "nextCursor": "2"}) == {
        "tools": [{"name": "people::get_user"}, 1, {}],
        "nextCursor": "2",
    }
    assert names.listed({"tools": 1}) == {"tools": 1}
    assert [*names.own_tools(TWO).tools] == ["people::get_user"]
    assert [*names.others_tools(TWO).tools] == ["orders::get_order", "think"]
    assert names.allowed(["get_user", "orders::get_order"], TWO) == ["people::get_user", "orders::get_order"]


def test_a_server_is_found_under_the_name_that_recording_makes_of_it() -> None:
    assert names_of(Manifest("", {"a_b::x": "read", "c::y": "read"}), "a b").server == name_of_server("a b") == "a_b"


@pytest.mark.parametrize(("given", "said"), [(None, "say with --server-name"), ("mail", "none of them is mail")])
def test_a_flow_over_several_servers_must_know_which_one_this_is(given: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        names_of(TWO, given)
    assert "orders, people" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "server"), [("a::b", "a"), ("a::b::c", "a"), ("a:b", ""), ("::b", ""), ("a::", ""), ("a b::c", "")]
)
def test_the_server_of_a_name_stands_before_its_first_separator(name: str, server: str) -> None:
    assert server_of(name) == server


def test_no_name_is_the_flow_of_one_server() -> None:
    assert not Names()
