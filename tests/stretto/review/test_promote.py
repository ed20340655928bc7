"""Promotion: the interval by the specification's numbers, what counts as used, and chains that stop at closed sites."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.flow.file import dump_flow, flow_from_json
from stretto.flow.model import Bar
from stretto.review.promote import BAR, Chain, Fate, Scored, chains_of, promote, promotion_of, wilson_lower
from stretto.review.promote_page import promote_page
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult
from tests.stretto.episodes import called, episode, replied
from tests.stretto.review.replay_support import cancel, find, order, shop_flow, user, worked_example
from tests.stretto.review.review_support import retail_flow, sessions, shown, usual
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.sessions.episode import Event
    from tests.conftest import Golden


@pytest.mark.parametrize(
    ("hits", "count", "lower"),
    [
        (3, 3, 0.526),
        (2, 2, 0.425),
        (5, 5, 0.649),
        (7, 8, 0.589),
        (7, 10, 0.442),
        (8, 10, 0.541),
        (14, 20, 0.516),
        (0, 0, 0.0),
        (0, 5, 0.0),
    ],
)
def test_the_lower_end_of_wilsons_interval(hits: int, count: int, lower: float) -> None:
    assert wilson_lower(hits, count) == pytest.approx(lower, abs=5e-4)


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_lower_end_is_below_the_share_and_grows_with_hits(hits: int, misses: int) -> None:
    count = hits + misses
    lower = wilson_lower(hits, count)
    assert 0 <= lower <= (hits / count if count else 0)
    assert wilson_lower(hits + 1, count + 1) > lower


def fates(*events: Event | list[Event]) -> list[list[tuple[str, Fate]]]:
    chains = chains_of(shop_flow(), [episode(*events)], "reach")
    return [[(one.site, one.fate) for one in chain.decisions] for chain in chains]


def test_a_used_lookup_is_gone_on_from_and_a_detour_is_not() -> None:
    """The user and orders 1 and 2 are used, 3 is a detour. 1 and 2 are asked for together: at 1's result 2 runs."""
    used, detour = Fate.USED, Fate.DETOUR
    assert fates(find(), user("#W1", "#W2", "#W3"), order("#W1", "#W2"), replied(), cancel("#W1"), replied()) == [
        [("find_user", used), ("get_user", used), ("get_order", used), ("get_order", detour)],
        [("get_user", used), ("get_order", used), ("get_order", detour)],
        [("get_order", detour)],
        [("get_order", detour)],
        [("cancel", detour)],
    ]


def test_what_the_agent_makes_in_the_same_turn_was_not_spared() -> None:
    """Both are decided at once; the lookup would have come too late."""
    both = Assistant(calls=(ToolCall("1", "find_user", {"email": "a"}), ToolCall("2", "get_user", {"user": "u-7"})))
    events = (
        both,
        ToolResult("1", "find_user", error=False, content="u-7"),
        ToolResult("2", "get_user", error=False, content="{}"),
        Assistant("Done."),
    )
    # Sent after the first result, so the lookup still binds.
    recorded = Episode("e", events, sent_after={"2": 1})
    first, *_ = chains_of(shop_flow(), [recorded], "reach")
    assert first.decisions == (("find_user", Fate.DETOUR),)


def test_arguments_are_compared_as_text_and_others_may_be_passed_beside() -> None:
    later = called("get_user", {"user": "u-7", "fields": ["name"]}, {"orders": []})
    assert fates(find(), later, replied())[0][0] == ("find_user", Fate.USED)
    other = called("get_user", {"user": "u-8"}, {"orders": []})
    assert fates(find(), other, replied())[0][0] == ("find_user", Fate.DETOUR)


def test_a_lookup_served_while_the_session_was_recorded_is_neither_used_nor_a_detour() -> None:
    served = Assistant(calls=(ToolCall("stretto-1", "get_user", {"user": "u-7"}),))
    recorded = Episode(
        "e",
        (
            Assistant(calls=(ToolCall("1", "find_user", {"email": "a"}),)),
            ToolResult("1", "find_user", error=False, content="u-7"),
            served,
            ToolResult("stretto-1", "get_user", error=False, content='{"orders": []}'),
            Assistant("Done."),
        ),
    )
    (chain,) = chains_of(shop_flow(), [recorded], "reach")
    assert chain.decisions == (("find_user", Fate.SERVED), ("get_user", Fate.HANDED_BACK))
    found = promotion_of([chain])
    assert found.served == 1
    assert found.promotion.sites["find_user"].lookups == 0


def test_a_used_lookup_whose_result_was_not_recorded_ends_its_chain() -> None:
    events = episode(find(), replied()).events
    lost = Assistant(calls=(ToolCall("9", "get_user", {"user": "u-7"}),))
    (chain,) = chains_of(shop_flow(), [Episode("e", (*events, lost))], "reach")
    assert chain.decisions == (("find_user", Fate.USED),)


def test_the_flows_own_promotion_is_set_aside() -> None:
    closed = promotion_of([Chain("t", (Scored("find_user", Fate.DETOUR),))])
    flow = closed.applied(shop_flow())
    assert promote(flow, [worked_example()]) == promote(shop_flow(), [worked_example()])
    assert flow.promoted is not None


def chain(task: str, *decisions: tuple[str, Fate]) -> Chain:
    return Chain(task, tuple(Scored(*one) for one in decisions))


def test_a_site_needs_lookups_a_share_certainty_and_tasks() -> None:
    used, detour = Fate.USED, Fate.DETOUR
    chains = [
        *[chain(f"t{n}", ("good", used)) for n in range(3)],
        *[chain("t0", ("one task", used)) for _ in range(9)],
        *[chain(f"t{n}", ("few", used)) for n in range(2)],
        *[chain(f"t{n}", ("astray", used if n < 6 else detour)) for n in range(10)],
        chain("t0", ("silent", Fate.HANDED_BACK)),
    ]
    sites = promotion_of(chains).promotion.sites
    assert [name for name, record in sites.items() if record.promoted] == ["good"]
    assert list(sites) == sorted(sites)
    assert (sites["astray"].used, sites["astray"].lookups, sites["astray"].tasks) == (6, 10, 10)


def test_an_empty_record_is_never_promoted_whatever_the_bar() -> None:
    found = promotion_of([chain("t", ("silent", Fate.HANDED_BACK))], Bar(0.3, 0.0, 0.0, 0))
    assert not found.promotion.sites["silent"].promoted


def test_chains_through_sites_that_are_not_promoted_are_not_counted_beyond_them() -> None:
    """``deep`` has its record only behind ``shut``: served, nobody would get there, so it loses it."""
    used, detour = Fate.USED, Fate.DETOUR
    chains = [chain(f"t{n}", ("shut", used), ("deep", used)) for n in range(4)]
    chains += [chain(f"u{n}", ("shut", detour)) for n in range(4)]
    found = promotion_of(chains)
    assert found.promotion.sites.keys() == {"shut"}
    assert not found.promotion.sites["shut"].promoted
    assert (found.rounds, found.settled) == (3, True)


def test_scoring_ends_after_eight_rounds_more_and_says_that_it_has_not_settled() -> None:
    """A line of sites, each of which passes only as long as the one before it does: one falls a round."""
    used, detour = Fate.USED, Fate.DETOUR
    chains = [chain(f"d{n}", ("s00", detour)) for n in range(9)]
    for depth in range(1, 14):
        before, site = f"s{depth - 1:02}", f"s{depth:02}"
        chains += [chain(f"t{n}", (before, used), (site, used)) for n in range(8)]
        chains += [chain(f"d{n}", (site, detour)) for n in range(5)]
    found = promotion_of(chains)
    assert (found.rounds, found.settled) == (9, False)
    assert next(name for name, record in found.promotion.sites.items() if record.promoted) == "s09"
    assert "had not settled" in promote_page(found)


def test_a_promotion_is_kept_in_the_flow_file() -> None:
    found = promote(retail_flow(), sessions())
    flow = found.applied(retail_flow())
    again = flow_from_json(jsonvalue.loads(dump_flow(flow)))
    assert again.promoted == found.promotion
    assert found.promotion.bar == BAR


def test_tasks_are_counted_where_they_are_known() -> None:
    trials = [replace(usual(f"s{n}"), task_id="same") for n in range(5)]
    sites = promote(retail_flow(), trials).promotion.sites
    assert sites["get_user_details"].tasks == 1
    assert sites["get_user_details"].lookups == 5


def test_the_page_and_the_json_of_a_promotion(golden: Golden) -> None:
    found = promote(retail_flow(), sessions())
    golden.check("stretto/promote.md", promote_page(found))
    golden.check("stretto/promote.json", shown(found.as_json()))


def test_nothing_recorded_promotes_nothing() -> None:
    found = promote(retail_flow(), [])
    assert found.promotion.sites == {}
    assert "0 of 0 sites" in promote_page(found)


def test_lookups_that_end_at_a_write_are_decided_there_too() -> None:
    chains = fates(find(), user("#A"), cancel("#A"), order("#A"), replied())
    assert ("cancel", Fate.USED) in chains[2]
