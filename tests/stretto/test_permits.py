"""The last check before a lookup: what a server has changed since, and what the user and the host allow."""

from __future__ import annotations

import pytest

from stretto.permits import Permits, contract_change
from stretto.sessions.manifest import Kind, Manifest

CONTRACT = "query:string!"


def learned(kind: Kind = "read", contract: str | None = CONTRACT) -> Manifest:
    return Manifest("d", {"search": kind}, contracts={"search": contract} if contract is not None else {})


@pytest.mark.case("HC-28")
@pytest.mark.parametrize(
    ("now", "difference"),
    [
        pytest.param("q:string!", "`q` is new and required, `query` is gone", id="a: another name"),
        pytest.param("limit:integer!, query:string!", "`limit` is new and required", id="b: a new required one"),
        pytest.param("limit:integer, query:string!", "", id="c: a new optional one"),
        pytest.param("query:string!", "", id="d: no difference in what it takes"),
        pytest.param("query:array!", "`query` was string and is array", id="e: another type"),
        pytest.param("query:string", "", id="no longer required"),
        pytest.param("", "`query` is gone", id="takes nothing"),
        pytest.param("query", "it took query:string!, and takes query", id="cannot be read"),
    ],
)
def test_a_lookup_of_a_changed_tool_is_left_to_the_agent_with_the_difference(now: str, difference: str) -> None:
    """Cases a to f; an enumeration (g) is no part of a contract as flows hold it."""
    assert contract_change(CONTRACT, now) == difference
    permits = Permits(learned())
    permits.listed = learned(contract=now)
    said = f"it is not what it was when the flow was learned: {difference}" if difference else ""
    assert permits.refusal("search", {}) == said


@pytest.mark.case("HC-28")
def test_a_tool_the_server_no_longer_lists_is_left_to_the_agent() -> None:
    permits = Permits(learned())
    permits.listed = Manifest("d", {"find": "read"}, contracts={"find": CONTRACT})
    assert permits.refusal("search", {}) == "the server does not list it"


def test_what_became_required_is_a_change_and_names_that_look_like_separators_are_compared_whole() -> None:
    assert contract_change("a:string", "a:string!") == "`a` is required now"
    assert contract_change("a, b:string", "a, b:string") == ""
    assert contract_change("a, b:string", "a, c:string").startswith("it took ")
    assert contract_change("", "limit:integer") == ""


@pytest.mark.parametrize("kind", ["write", "generic"])
def test_what_the_flows_manifest_does_not_call_a_read_is_never_looked_up(kind: Kind) -> None:
    permits = Permits(learned(kind), may_call=lambda tool, arguments: True)
    permits.listed = learned("read")
    assert permits.refusal("search", {}) == "the flow's manifest does not say that it reads"
    assert permits.refusal("unknown", {}) == "the flow's manifest does not say that it reads"


@pytest.mark.parametrize(
    ("kind", "contract", "said"),
    [
        ("write", CONTRACT, "the server says that it writes"),
        ("write", None, "the server says that it writes"),
        ("generic", CONTRACT, "the server no longer says that it reads"),
        ("generic", None, ""),  # the kind came from a manifest file, and the server never said anything
        ("read", None, ""),
    ],
)
def test_a_server_that_says_otherwise_now_is_believed(kind: Kind, contract: str | None, said: str) -> None:
    permits = Permits(learned("read", contract))
    permits.listed = learned(kind, contract)
    assert permits.refusal("search", {}) == said


def test_a_contract_that_only_one_side_knows_blocks_nothing() -> None:
    permits = Permits(learned(contract=None))
    permits.listed = learned(contract="anything:object!")
    assert permits.refusal("search", {}) == ""


def test_the_users_list_and_the_host_have_the_last_word() -> None:
    assert Permits(learned(), allowed_tools=["search"]).refusal("search", {}) == ""
    assert Permits(learned(), allowed_tools=[]).refusal("search", {}) == (
        "it is not among the tools that the flow may look up"
    )
    host = Permits(learned(), may_call=lambda tool, arguments: arguments != {"query": "secret"})
    assert host.refusal("search", {"query": "x"}) == ""
    assert host.refusal("search", {"query": "secret"}) == "the host does not let it be looked up"
