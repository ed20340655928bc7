"""What a saved turn is worth and what a detour costs."""

from __future__ import annotations

import dataclasses

import pytest

from stretto.review.costs import Cost, costs, realised
from stretto.review.replay import replay
from stretto.sessions.episode import Assistant, Episode, Usage
from tests.stretto.episodes import episode, replied
from tests.stretto.review.replay_support import SHOP, find, order, shop_flow, user, worked_example


def test_the_threshold_is_where_a_lookup_begins_to_pay() -> None:
    """Measured live by the original: a saved turn is worth 6,000 tokens, a detour costs 2,530."""
    theta = Cost(1, 1, 6000, 2530).theta
    assert theta == pytest.approx(0.2966, abs=1e-4)
    assert theta is not None
    assert theta * 6000 == pytest.approx((1 - theta) * 2530)


@pytest.mark.parametrize("cost", [Cost(0, 1, 0, 5), Cost(1, 0, 5, 0), Cost(1, 1, 0, 0)])
def test_without_turns_or_results_there_is_no_threshold(cost: Cost) -> None:
    assert cost.theta is None


def with_tokens(session: Episode, tokens: int) -> Episode:
    """The session with recorded tokens of context for each turn."""
    events = tuple(
        dataclasses.replace(event, usage=Usage(tokens, 1)) if isinstance(event, Assistant) else event
        for event in session.events
    )
    return dataclasses.replace(session, events=events)


def test_tokens_are_counted_at_the_site_a_lookup_would_have_been_made_at() -> None:
    session = with_tokens(episode(find(), user("#A1"), order("#A1"), replied()), 100)
    call = (len("get_user") + len('{"user":"u-7"}')) // 4
    found = costs([session], SHOP)
    assert list(found.sites) == ["find_user", "get_order", "get_user"]
    assert found.sites["find_user"] == Cost(1, 1, 100 + 2 * call, len('{"orders":["#A1"]}') // 4 * 3)
    order_call = (len("get_order") + len('{"order":"#A1"}')) // 4
    assert found.sites["get_user"] == Cost(1, 1, 100 + order_call, len('{"id":"#A1","items":["shoe"]}') // 4 * 2)
    assert found.sites["get_order"] == Cost(0, 0, 0, 0)
    assert (found.overall.turns, found.overall.results) == (2, 2)
    assert found.overall.beta == (found.sites["find_user"].beta + found.sites["get_user"].beta) / 2


def test_the_prompt_is_added_where_tokens_are_estimated_and_only_there() -> None:
    session = worked_example()
    assert costs([session], SHOP, prompt_tokens=500).overall.beta == costs([session], SHOP).overall.beta + 500
    recorded = with_tokens(session, 100)
    assert costs([recorded], SHOP, prompt_tokens=500) == costs([recorded], SHOP)


def test_a_replay_tells_what_its_own_turns_and_detours_were_worth() -> None:
    score = replay(shop_flow(), worked_example())
    assert realised([score, score]) == Cost(4, 2, score.tokens_saved / 2, score.tokens_spent)
