"""What a server lists, in words, and what of a flow it no longer keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stretto.diagnosis import Finding, compared, kinds, tool_line
from stretto.flow.file import read_flow
from stretto.flow.model import Flow, Sites
from stretto.sessions.manifest import Manifest
from tests.stretto.cli.stretto_cli_support import RETAIL_5
from tests.stretto.proxy.peers.peers_support import two_server_flow

LEARNED = Manifest(
    "shop",
    {"find": "read", "order": "read", "cancel": "write"},
    contracts={"find": "email:string!", "order": "id:string!", "cancel": "id:string!"},
)
NOW = Manifest("", LEARNED.tools, contracts=LEARNED.contracts)


@pytest.fixture(scope="module")
def flow() -> Flow:
    """After `find` and `cancel` it looks up `order`."""
    sites = Sites(("find", "order"), {("find", False): {"order": 3}, ("cancel", False): {"order": 1}})
    return replace(read_flow(RETAIL_5), manifest=LEARNED, sites=sites)


def listed(**changes: Any) -> Manifest:
    """The server's listing with some tools changed: a kind, a contract, or None for one that is gone."""
    tools: dict[str, Any] = {**NOW.tools}
    contracts: dict[str, Any] = {**NOW.contracts}
    for name, change in changes.items():
        if change is None:
            del tools[name], contracts[name]
        elif change in ("read", "write", "generic"):
            tools[name] = change
        else:
            tools.setdefault(name, "read")
            contracts[name] = change
    return Manifest("", tools, contracts=contracts)


def test_a_server_as_it_was_has_no_findings(flow: Flow) -> None:
    assert compared(flow, NOW) == ()
    assert compared(flow, NOW, "shop") == ()


def test_of_a_flow_over_several_servers_each_is_compared_with_its_own_tools() -> None:
    flow = two_server_flow()
    people = Manifest(tools={"find_user": "read", "get_user": "write", "rename_user": "write"})
    assert compared(flow, people, "people") == (
        Finding("get_user", problem=True, text="the server says that it writes"),
        Finding("rename_user", problem=False, text="the flow does not know it"),
    )
    assert compared(flow, Manifest(tools={"get_order": "read", "get_stock": "read"}), "orders") == ()


@pytest.mark.case("HC-28")
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"order": None}, "the server does not list it"),
        ({"order": "write"}, "the server says that it writes"),
        ({"order": "generic"}, "the server no longer says that it reads"),
        ({"order": "key:string!"}, "it is not what it was when the flow was learned: `id` is gone, `key` is new"),
        ({"order": "id:string!, limit:integer!"}, "it is not what it was when the flow was learned: `limit` is new"),
        ({"order": "id:array!"}, "it is not what it was when the flow was learned: `id` was string and is array"),
    ],
)
def test_a_lookup_that_cannot_be_made_as_learned_is_a_problem(flow: Flow, changes: dict[str, Any], text: str) -> None:
    (finding,) = compared(flow, listed(**changes))
    assert (finding.tool, finding.problem) == ("order", True)
    assert finding.text.startswith(text)


@pytest.mark.case("HC-28")
def test_what_keeps_no_lookup_from_being_made_is_none(flow: Flow) -> None:
    assert compared(flow, listed(order="id:string!, limit:integer")) == ()
    assert compared(flow, listed(cancel="why:string!")) == ()
    assert [(each.tool, each.problem) for each in compared(flow, listed(cancel=None, other="", another=""))] == [
        ("cancel", False),
        ("another", False),
        ("other", False),
    ]


def test_a_flow_that_looks_anything_up_anywhere_wants_all_its_reads(flow: Flow) -> None:
    everywhere = replace(flow, sites=replace(flow.sites, every_read=True))
    assert [each.tool for each in compared(everywhere, listed(find=None))] == ["find"]


def test_a_listing_is_said_in_words() -> None:
    assert kinds(Manifest()) == "0 tools"
    assert kinds(listed(cancel=None, find=None)) == "1 tool: 1 reads"
    assert kinds(NOW) == "3 tools: 2 read, 1 writes"
    assert kinds(listed(find="generic", order="generic")) == "3 tools: 1 writes, 2 do not say"
    assert tool_line(NOW, "find") == "reads; takes email:string!"
    assert tool_line(listed(cancel=""), "cancel") == "writes; takes nothing"
    assert tool_line(Manifest("", {"x": "generic"}), "x") == "does not say whether it reads; has no schema"
