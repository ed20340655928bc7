"""What changed between two flows, and which of it somebody must look at before the new one is served."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.bindings.model import Pick, Slot, Source, SourceCounts, SpokenCounts
from stretto.bindings.uses import UseCounts, UseKey, Uses
from stretto.flow.model import Arbiter, Gate, Sites
from stretto.review.changes import Section, diff_json
from stretto.review.diff import diff
from stretto.review.diff_page import _SAID, diff_page
from stretto.review.shown import SiteVerdict
from stretto.review.words import verdict_said
from tests.stretto.flow.flow_support import ODD, PUBLISHED, full_flow, plain, published
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.flow.model import Flow
    from stretto.review.changes import Change
    from tests.conftest import Golden


def retail() -> tuple[Flow, Flow]:
    return published("retail-5"), published("retail-10")


def changes(kind: str, old: Flow, new: Flow) -> list[Change]:
    return [change for change in diff(old, new).changes if change.kind == kind]


# --- the published numbers ------------------------------------------------------------------------------------


def test_four_changes_of_the_published_flows_need_review() -> None:
    """Section 12.3: these and no others."""
    compared = diff(*retail())
    assert compared.needs_review
    assert [(change.kind, *change.facts.values()) for change in compared.changes if change.review] == [
        ("lookup_offered", "get_user_details", "find_user_id_by_name_zip"),
        ("lookup_offered", "get_product_details", "get_item_details"),
        ("lookup_offered", "get_product_details", "get_product_details"),
        ("source_usable", "get_user_details", "user_id", "source", "find_user_id_by_name_zip", "$"),
    ]


def test_the_chances_of_the_published_flows_moved() -> None:
    moved = {
        (change.facts["lookup"], change.facts["of"]): (f"{change.facts['before']:.2f}", f"{change.facts['after']:.2f}")
        for change in changes("chance", *retail())
    }
    assert moved == {
        ("get_order_details", "not mentioned"): ("0.90", "0.97"),
        ("get_product_details", "mentioned"): ("0.60", "0.36"),
        ("get_user_details", "not mentioned"): ("0.75", "0.90"),
    }


def test_the_verdict_of_the_published_flows_changed_at_one_site() -> None:
    (change,) = changes("verdict", *retail())
    assert change.facts["site"] == "find_user_id_by_name_zip"
    assert isinstance(change.facts["after"], SiteVerdict)
    assert verdict_said(change.facts["after"]) == "**looks up**: `get_user_details` 0.75 x 0.90 = 0.68"


def test_what_the_agent_did_next_moved_in_the_published_flows() -> None:
    """7/8 is 88 %, 1/8 is 12 %."""
    page = diff_page(diff(*retail()))
    assert "after `get_user_details`, `get_order_details`: 67% -> 88%" in page
    assert "after `get_user_details`, `respond`: 33% -> 12%" in page


@pytest.mark.parametrize("name", [*PUBLISHED, "full"])
def test_a_flow_does_not_differ_from_itself_nor_from_itself_learned_later(name: str) -> None:
    flow = full_flow() if name == "full" else published(name)
    later = replace(flow, provenance=replace(flow.provenance, compiled_unix_ms=1))
    assert diff(flow, later).changes == ()
    assert not diff(flow, later).needs_review


def test_a_smaller_tolerance_lists_more() -> None:
    assert len(diff(*retail(), tolerance=0.0001).changes) > len(diff(*retail()).changes)
    assert not [one for one in diff(*retail(), tolerance=1.1).changes if one.kind in ("share", "chance")]


# --- each kind of change --------------------------------------------------------------------------------------


def with_tool(flow: Flow, tool: str, kind: Any) -> None:
    flow.manifest = replace(flow.manifest, tools={**flow.manifest.tools, tool: kind})


def with_arbiter(**parts: Any) -> Callable[[Flow], None]:
    def change(flow: Flow) -> None:
        assert flow.arbiter
        flow.arbiter = replace(flow.arbiter, **parts)

    return change


def reworded(flow: Flow) -> None:
    assert flow.arbiter
    first, *others = flow.arbiter.predicates
    flow.arbiter = replace(flow.arbiter, predicates=(replace(first, yes="Perhaps."), *others))


def promote(name: str, *, promoted: bool) -> Callable[[Flow], None]:
    def change(flow: Flow) -> None:
        assert flow.promoted
        record = replace(flow.promoted.sites[name], promoted=promoted)
        flow.promoted = replace(flow.promoted, sites={**flow.promoted.sites, name: record})

    return change


def set_on(holder: str, name: str, value: Any) -> Callable[[Flow], None]:
    def change(flow: Flow) -> None:
        setattr(getattr(flow, holder) if holder else flow, name, value)

    return change


def put_in(holder: str, key: Any, value: Any) -> Callable[[Flow], None]:
    def change(flow: Flow) -> None:
        part: Any = flow
        for name in holder.split("."):
            part = getattr(part, name)
        if value is None:
            del part[key]
        else:
            part[key] = value

    return change


USERS, FILES = Source("find", "$.users[*].id"), Source("list", "$.files[*]")
DERIVED = Source("list", '$[*] |inner ["- ",""]')
CHANGES: list[tuple[str, Callable[[Flow], None], str, str, bool]] = [
    ("a tool that reads", lambda flow: with_tool(flow, "ask", "read"), "tool_reads", "Tools", True),
    ("a new tool that reads", lambda flow: with_tool(flow, "new", "read"), "tool_reads", "Tools", True),
    ("a tool that writes", lambda flow: with_tool(flow, "get", "write"), "tool_kind", "Tools", False),
    ("another program", set_on("", "program", published("retail-5").program), "program", "Run", True),
    ("no uses", set_on("", "uses", Uses()), "uses_off", "Run", False),
    ("another decider", set_on("", "arbiter", None), "decider", "Run", False),
    ("a lookup at a site", put_in("sites.next", ("find", True), {"get": 1}), "lookup_offered", "Sites", True),
    ("a lookup less", put_in("sites.next", ("get", True), None), "lookup_gone", "Sites", False),
    (
        "every read everywhere",
        lambda flow: set_on("", "sites", Sites(flow.sites.reads, flow.sites.next, every_read=True))(flow),
        "every_read",
        "Sites",
        True,
    ),
    ("a promoted site", promote("get (error)", promoted=True), "site_acts", "Sites", True),
    ("no promotion", set_on("", "promoted", None), "site_acts", "Sites", True),
    ("a site switched on", put_in("thresholds", "get", 0.5), "site_acts", "Sites", True),
    ("a site not promoted", promote("find", promoted=False), "site_stops", "Sites", False),
    ("a site switched off", put_in("thresholds", "find", 1.5), "site_stops", "Sites", False),
    ("a threshold", put_in("thresholds", "find", 0.5), "threshold", "Sites", False),
    (
        "a source",
        put_in("bindings.sources", Slot("find", "name"), SourceCounts(6, {USERS: 6})),
        "source_usable",
        "Bindings",
        True,
    ),
    ("a source less", put_in("bindings.sources", Slot("get", "id"), None), "source_gone", "Bindings", False),
    ("a list less", put_in("bindings.lists", Slot("grep", "path"), None), "source_gone", "Bindings", False),
    (
        "a derived value",
        put_in("bindings.derived", Slot("find", "name"), SourceCounts(6, {DERIVED: 6})),
        "source_usable",
        "Bindings",
        True,
    ),
    (
        "another transform",
        put_in("bindings.derived", Slot("grep", "path"), SourceCounts(4, {Source("list", "$[*] |basename"): 4})),
        "source_usable",
        "Bindings",
        True,
    ),
    (
        "the user's words",
        put_in("bindings.spoken", Slot("grep", "path"), SpokenCounts(4, {"link": 4})),
        "source_usable",
        "Bindings",
        True,
    ),
    (
        "a record",
        put_in("bindings.records", ODD, SourceCounts(3, {Source("find", '$[*] |record ["a|b","n","when","t"]'): 3})),
        "source_usable",
        "Bindings",
        True,
    ),
    ("a record less", set_on("bindings", "records", {}), "source_gone", "Bindings", False),
    ("an argument less", put_in("bindings.args", "get", (9, {"kind": 9})), "argument_gone", "Bindings", True),
    (
        "an argument more",
        put_in("bindings.args", "get", (9, {"id": 9, "kind": 9, "note": 9})),
        "argument_passed",
        "Bindings",
        False,
    ),
    (
        "uses",
        put_in("uses.counts", UseKey("find", False, "get", "source", Pick.NONE, 1), UseCounts(0, 9, 0)),
        "used",
        "What the agent did next",
        False,
    ),
    ("a chance", put_in("bindings.agreed", "get", ((0, 6), (2, 2))), "chance", "Bindings", False),
    ("a derived chance", put_in("bindings.agreed_derived", "grep", ((9, 9), (0, 0))), "chance", "Bindings", False),
    (
        "another first source",
        put_in("bindings.site_sources", (Slot("get", "id"), "find", USERS), 9),
        "first_source",
        "Sources by site",
        False,
    ),
    ("a constant", put_in("bindings.constants", Slot("find", "name"), True), "constant", "Constants", True),
    ("another constant", put_in("bindings.constants", Slot("get", "kind"), 1), "constant", "Constants", True),
    ("a constant less", put_in("bindings.constants", Slot("list", "all"), None), "constant_gone", "Constants", False),
    (
        "a contract",
        lambda flow: set_on("", "manifest", replace(flow.manifest, contracts={"get": "id:any"}))(flow),
        "contract",
        "Pinned inputs",
        False,
    ),
    (
        "code features",
        lambda flow: set_on("", "features", replace(flow.features, ids={}))(flow),
        "features",
        "Code features",
        False,
    ),
    ("an arbiter less", set_on("", "arbiter", None), "arbiter_gone", "Arbiter", False),
    ("another model", with_arbiter(model="other"), "model", "Arbiter", True),
    ("another predicate", reworded, "predicate_reworded", "Arbiter", True),
    (
        "a predicate less",
        lambda flow: with_arbiter(predicates=flow.arbiter.predicates[:1])(flow),  # type: ignore[union-attr]  # it has one
        "predicate_gone",
        "Arbiter",
        False,
    ),
    (
        "a bar",
        lambda flow: set_on("", "promoted", replace(flow.promoted, bar=replace(flow.promoted.bar, min_tasks=4)))(flow),  # type: ignore[type-var, union-attr]  # it has one
        "bar",
        "Promotion",
        False,
    ),
    ("a gate", set_on("", "surprise", Gate(5, 9.0)), "gate", "Promotion", False),
    (
        "other sources",
        lambda flow: set_on("", "provenance", replace(flow.provenance, sources=("new",)))(flow),
        "provenance",
        "Provenance",
        False,
    ),
]


@pytest.mark.parametrize(
    ("change", "kind", "section", "review"), [pytest.param(*row[1:], id=row[0]) for row in CHANGES]
)
def test_a_change_is_listed_where_it_belongs_and_marked_when_the_flow_can_do_more(
    change: Callable[[Flow], None],
    kind: str,
    section: str,
    review: bool,  # noqa: FBT001 - a column of the table
) -> None:
    new = full_flow()
    change(new)
    compared = diff(full_flow(), new)
    found = [one for one in compared.changes if one.kind == kind]
    assert found
    assert {one.section for one in found} == {Section(section)}
    assert {one.review for one in found} == {review}
    if not review and kind != "decider":
        assert not compared.needs_review, [one for one in compared.changes if one.review]


def test_a_first_arbiter_and_a_new_predicate_need_review() -> None:
    assert [one.review for one in changes("arbiter", replace(full_flow(), arbiter=None), full_flow())] == [True]
    full = full_flow()
    assert full.arbiter
    fewer = replace(full, arbiter=replace(full.arbiter, predicates=full.arbiter.predicates[:1]))
    assert [one.facts for one in changes("predicate", fewer, full)] == [{"predicate": "this"}]


def test_weights_of_an_arbiter_are_compared_by_feature() -> None:
    full = full_flow()
    assert full.arbiter
    heavier = replace(full.arbiter.folds[0], weights=(1.0, 0.5, -0.5, 0.25, 9.0, 2.0))
    moved: Arbiter = replace(full.arbiter, folds=(heavier,))
    (change,) = changes("weight", full, replace(full, arbiter=moved))
    assert change.facts == {"feature": "predicate more", "before": 0.125, "after": 9.0}


def test_an_argument_less_of_a_lookup_that_still_does_not_bind_is_listed_only() -> None:
    old, new = published("retail-5"), published("retail-5")
    new.bindings.args["find_user_id_by_name_zip"] = (1, {"first_name": 1, "last_name": 1})
    assert [one.review for one in changes("argument_gone", old, new)] == [False]


def test_what_needs_review_stands_first_in_its_section() -> None:
    new = full_flow()
    new.sites.next["list", False] = {"get": 1}
    new.sites.next["find", False] = {}
    new.thresholds["find"] = 0.2
    marks = [one.review for one in diff(full_flow(), new).changes if one.section is Section.SITES]
    assert marks == [True, False, False]


# --- pages ----------------------------------------------------------------------------------------------------


def test_the_pages_are_those_that_were_looked_at(golden: Golden) -> None:
    golden.check("stretto/diff-retail-5-retail-10.md", diff_page(diff(*retail())))
    golden.check("stretto/diff-plain-full.md", diff_page(diff(plain(full_flow()), full_flow())))
    golden.check("stretto/diff-none.md", diff_page(diff(full_flow(), full_flow())))


def test_every_kind_of_change_has_its_words() -> None:
    kinds = {row[2] for row in CHANGES} | {
        "arbiter",
        "predicate",
        "weight",
        "verdict",
        "share",
        "every_read_off",
        "uses",
    }
    assert kinds == set(_SAID)
    for _, change, *_ in CHANGES:
        new = full_flow()
        change(new)
        for one, other in ((full_flow(), new), (new, full_flow())):
            assert diff_page(diff(one, other)).startswith("# Changes of flow `shop`\n\n")


def test_the_data_is_json() -> None:
    content = diff_json(diff(*retail()))
    back = jsonvalue.loads(jsonvalue.dumps(content))
    assert isinstance(back, dict)
    assert back["needs_review"] is True
    assert isinstance(back["changes"], list)
    assert back["changes"][0] == {
        "section": "Sites",
        "kind": "lookup_offered",
        "review": True,
        "facts": {"lookup": "get_user_details", "site": "find_user_id_by_name_zip"},
    }
