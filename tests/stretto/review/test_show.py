"""What a reviewer is shown: the original's published numbers, our own kinds of sources, and pages nothing can break."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from stretto.bindings.model import Bindings, Slot, Source, SourceCounts
from stretto.flow.model import Promotion, Sites
from stretto.review.show import show, show_json
from stretto.review.show_page import show_page
from stretto.review.shown import Verdict
from stretto.review.words import name, percent
from tests.strategies import texts
from tests.stretto.flow.flow_support import ODD, PUBLISHED, full_flow, plain, published
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.flow.model import Flow
    from stretto.review.shown import BindingShown, FlowShown, SiteShown
    from tests.conftest import Golden


def site(shown: FlowShown, wanted: str) -> SiteShown:
    return next(one for one in shown.sites if one.site == wanted)


def binding(shown: FlowShown, lookup: str) -> BindingShown:
    return next(one for one in shown.bindings if one.lookup == lookup)


# --- the published numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "lookup", "share", "chance", "score"),
    [
        ("find_user_id_by_email", "get_user_details", 1.0, 0.75, 0.75),
        ("find_user_id_by_name_zip", "get_order_details", 1.0, 0.90, 0.90),
        ("get_order_details", "get_order_details", 6 / 9, 0.90, 0.60),
        ("get_user_details", "get_order_details", 2 / 3, 0.90, 0.60),
    ],
)
def test_the_verdicts_of_the_published_flow(after: str, lookup: str, share: float, chance: float, score: float) -> None:
    """Section 12.2, on the published flow of five sessions; all look up."""
    one = site(show(published("retail-5")), after)
    assert one.habit.verdict is Verdict.LOOKS_UP
    assert one.habit.lookup == lookup
    assert (one.habit.share, one.habit.chance, one.habit.score) == pytest.approx((share, chance, score))
    assert one.reach is None


def test_what_the_agent_did_next_in_the_published_flow() -> None:
    """Section 12.2: 67 %, 22 %, and 11 % of 9 messages to the user."""
    one = site(show(published("retail-5")), "get_order_details")
    assert one.total == 9
    assert [(step.step, percent(step.share)) for step in one.next] == [
        ("get_order_details", "67%"),
        ("get_product_details", "22%"),
        ("respond", "11%"),
    ]


@pytest.mark.parametrize(
    ("lookup", "chances", "agreed"),
    [
        ("get_order_details", (0.90, 0.50), ((8, 8), (0, 0))),
        ("get_product_details", (0.50, 0.60), ((0, 0), (2, 3))),
        ("get_user_details", (0.75, 0.50), ((2, 2), (0, 0))),
    ],
)
def test_the_chances_of_the_published_flow(lookup: str, chances: tuple[float, float], agreed: object) -> None:
    one = binding(show(published("retail-5")), lookup)
    assert one.chances == pytest.approx(chances)
    assert one.agreed == agreed


def test_a_source_that_was_found_once_is_not_bound_from() -> None:
    """Section 12.2: the user's id comes from the e-mail lookup only; the lookups by the user's data from nothing."""
    shown = show(published("retail-5"))
    (argument,) = binding(shown, "get_user_details").arguments
    assert [(one.tool, one.path, one.count, one.values) for one in argument.sources] == [
        ("find_user_id_by_email", "$", 2, 3)
    ]
    for lookup in ("find_user_id_by_email", "find_user_id_by_name_zip"):
        assert all(not one.sources for one in binding(shown, lookup).arguments)


@pytest.mark.parametrize(
    ("share", "said"), [(7 / 8, "88%"), (1 / 8, "12%"), (0.0, "0%"), (1.0, "100%"), (2 / 3, "67%")]
)
def test_percentages_round_half_to_even(share: float, said: str) -> None:
    assert percent(share) == said


# --- verdicts -------------------------------------------------------------------------------------------------


def made(**bindings: object) -> Flow:
    """The full flow without limits, arbiter, or arguments other than these."""
    flow = replace(plain(full_flow()), promoted=None, arbiter=None)
    flow.bindings = Bindings(**bindings)  # type: ignore[arg-type]  # fields by name
    return flow


USERS = {Slot("get", "id"): SourceCounts(9, {Source("find", "$[*]"): 9})}


def test_habit_weighs_the_commonest_lookup_alone_and_reach_the_best_that_binds() -> None:
    """Section 8: `habit` never falls back to the second when the first does not bind; `reach` does."""
    flow = made(args={"get": (9, {"id": 9}), "grep": (4, {})})
    one = site(show(flow), "get")
    assert (one.habit.lookup, one.habit.chance, one.habit.verdict) == ("get", None, Verdict.HANDS_BACK)
    assert one.reach
    assert (one.reach.lookup, one.reach.chance, one.reach.verdict) == ("grep", 1.0, Verdict.LOOKS_UP)


def test_the_first_of_equals_in_name_order_is_weighed() -> None:
    flow = made(args={"get": (9, {"id": 9}), "grep": (4, {})}, sources=USERS)
    one = site(show(flow), "get")
    assert one.habit.lookup == "get"
    assert one.habit.share == 0.5


def test_a_score_below_the_sites_own_threshold_hands_back() -> None:
    flow = made(args={"get": (9, {"id": 9})}, sources=USERS)
    flow.thresholds = {"find": 0.6}
    one = site(show(flow, 0.5), "find")
    assert (one.habit.score, one.habit.threshold, one.habit.verdict) == (0.5, 0.6, Verdict.HANDS_BACK)
    assert site(show(replace(flow, thresholds={}), 0.5), "find").habit.verdict is Verdict.LOOKS_UP


def test_a_site_that_is_not_promoted_or_is_switched_off_says_so_first() -> None:
    flow = made(args={"get": (9, {"id": 9})}, sources=USERS)
    flow.thresholds = {"find": 1.5, "get": 1.5}
    full = full_flow().promoted
    assert full
    flow.promoted = Promotion(full.bar, {"find": full.sites["get (error)"], "get": full.sites["get"]})
    shown = show(flow)
    assert site(shown, "find").habit.verdict is Verdict.NOT_PROMOTED
    assert site(shown, "get").habit.verdict is Verdict.SWITCHED_OFF
    assert site(shown, "get (error)").habit.verdict is Verdict.NOT_PROMOTED


def test_a_lookup_without_arguments_has_the_chance_of_the_bare_call() -> None:
    flow = made(args={"list": (5, {"all": 1})}, bare={"list": 4})
    one = site(show(flow), "get (error)")
    assert one.habit.chance == pytest.approx(5 / 7)
    assert binding(show(flow), "list").bare == pytest.approx(5 / 7)
    assert binding(show(made(args={"list": (5, {})})), "list").bare == 1.0


def test_a_tool_training_never_called_is_bound_by_name_where_every_read_is_offered() -> None:
    """Section 12.2: 1/2 with documented arguments, 1 without any, and nothing for one that is not documented."""
    flow = made(args={})
    flow.sites = Sites(flow.sites.reads, flow.sites.next, every_read=True)
    one = site(show(flow), "find")
    assert one.habit.lookup == "get"
    assert one.habit.chance == 0.5
    assert site(show(flow), "grep").lookups.keys() == set(flow.sites.reads)


def test_arguments_of_a_kind_of_their_own_have_its_chance_and_the_likeliest_way_counts() -> None:
    shown = show(plain(full_flow()))
    assert site(shown, "get").habit.chance is None  # the constant and the list are not in version 1
    flow = replace(full_flow(), promoted=None, thresholds={})
    (odd,) = (one for one in show(flow).bindings if one.lookup == ODD)
    assert odd.apart == {"record": ((2, 2), (1, 1))}
    assert [one.kind for one in odd.records] == ["record"]
    flow.sites.next["get", True] = {ODD: 1}
    assert site(show(flow), "get (error)").habit.chance == pytest.approx(4 / 5)
    flow.sites.next["get", True] = {"find": 1}
    assert site(show(flow), "get (error)").habit.chance == pytest.approx(4 / 6)


def test_the_order_of_sources_at_a_site_is_shown_from_five_values_on() -> None:
    flow = full_flow()
    assert [(one.lookup, one.site, one.sources[0][0]) for one in show(flow).orders] == [("get", "find", "grep")]
    flow.bindings.site_sources[Slot("get", "id"), "find", Source("grep", "$[*]")] = 3
    assert show(flow).orders == ()


# --- pages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flow", [*PUBLISHED, "full"])
def test_the_page_is_the_one_that_was_looked_at(golden: Golden, flow: str) -> None:
    shown = show(full_flow() if flow == "full" else published(flow))
    golden.check(f"stretto/show-{flow}.md", show_page(shown))


@pytest.mark.parametrize("flow", [*PUBLISHED, "full"])
def test_the_data_is_json_and_says_all_that_the_page_does(flow: str) -> None:
    content = show_json(show(full_flow() if flow == "full" else published(flow)))
    back = jsonvalue.loads(jsonvalue.dumps(content))
    assert isinstance(back, dict)
    assert list(back) == list(content)
    assert {"sites", "bindings", "constants", "orders", "contracts", "features", "arbiter", "promotion"} <= set(back)


@given(texts())
def test_no_name_can_leave_its_cell_or_its_line(text: str) -> None:
    shown = name(text)
    assert "|" not in shown
    assert shown.replace("\u200b", "").isprintable()
    fence = re.match("`+", shown)
    assert fence
    assert fence[0] not in re.findall("`+", shown[len(fence[0]) : -len(fence[0])])


@given(texts(), texts())
def test_no_text_of_a_tool_can_add_to_the_page(tool: str, path: str) -> None:
    """The page has as many lines, cells and headings as with a plain name."""

    def shape(tool: str, path: str) -> list[tuple[int, bool]]:
        flow = made(args={"get": (9, {path: 9})}, sources={Slot("get", path): SourceCounts(9, {Source(tool, path): 9})})
        flow.manifest = replace(flow.manifest, domain=tool, contracts={tool: path})
        return [(line.count("|"), line.startswith("#")) for line in show_page(show(flow)).split("\n")]

    assert shape(tool, path) == shape("name", "path")
