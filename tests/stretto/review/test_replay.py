"""Replaying a flow: what counts as saved, used and detour. The rules are those of the original's replay."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import BadFlow, UsageError
from stretto.flow.model import Bar, Promotion
from stretto.review.replay import replay, replay_all
from stretto.review.score import COUNTS, total
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage
from tests.stretto.episodes import called, episode, replied, said, together
from tests.stretto.review.replay_support import SHOP, cancel, find, order, shop_flow, user, worked_example

if TYPE_CHECKING:
    from stretto.review.score import ReplayScore
    from stretto.sessions.episode import Event


def seen(score: ReplayScore) -> tuple[int, int, int]:
    """Turns saved, lookups, lookups used."""
    return score.saved, score.lookups, score.used


def test_the_worked_example_saves_two_of_six_turns_with_one_detour() -> None:
    score = replay(shop_flow(), worked_example())
    assert (score.turns, score.saved, score.skipped, score.calls) == (6, 2, 3, 5)
    assert (score.lookups, score.used, score.detours, score.spoiled) == (4, 3, 1, 1)
    assert (score.used_next, score.used_later) == (3, 0)
    assert (score.ceiling, score.batched, score.batched_saved) == (2, 1, 1)


def test_a_lookup_after_a_turns_first_call_answers_its_second_but_the_turn_is_not_saved() -> None:
    flow = shop_flow()
    del flow.sites.next["find_user", False], flow.sites.next["get_user", False]
    score = replay(flow, episode(find(), user("#A1", "#B1"), order("#A1", "#B1")))
    assert seen(score) == (0, 1, 1)
    assert score.used_next == 1


def test_a_lookup_used_after_another_turn_of_the_agent_is_used_later() -> None:
    score = replay(shop_flow(), episode(find(), replied(), said("Go on."), user("#A1"), order("#A1")))
    assert seen(score) == (2, 2, 2)
    assert (score.used_next, score.used_later) == (0, 2)


def test_a_saved_turn_between_lookup_and_use_is_no_turn_of_the_agent() -> None:
    assert replay(shop_flow(), episode(find(), user("#A1"), order("#A1"))).used_next == 2


def test_the_agents_own_repeats_are_no_savings() -> None:
    flow = shop_flow(likely=())
    assert seen(replay(flow, episode(find(), user("#A1"), user("#A1"), order("#A1"), order("#A1")))) == (0, 0, 0)


def test_each_lookup_answers_one_call() -> None:
    score = replay(shop_flow(), episode(find(), user("#A1"), user("#A1"), order("#A1")))
    assert (score.saved, score.used) == (2, 2)  # the user once, the order once


def test_a_turn_is_saved_only_when_all_of_its_calls_were_answered() -> None:
    score = replay(
        shop_flow(), episode(find(), together(("get_user", {"user": "u-7"}, {"orders": []}), ("clock", {}, "9:00")))
    )
    assert (score.saved, score.skipped, score.used) == (0, 1, 1)


def test_a_lookup_that_the_agent_makes_only_after_a_write_got_a_stand_in_and_is_a_detour() -> None:
    score = replay(shop_flow(), episode(find(), user("#A1", "#B1"), order("#A1"), cancel("#A1"), order("#B1")))
    assert seen(score) == (2, 3, 2)  # #B1 was looked up before the write


def test_a_stand_in_is_never_an_answer_even_when_it_reads_the_same() -> None:
    """Both users look alike, so the stand-in happens to be right; nobody could have known."""
    alike = episode(find(), cancel("#Z1"), user("#A1"), name="alike")
    assert seen(replay(shop_flow(), alike)) == (0, 2, 0)  # the user, and from its stand-in an order


def test_what_lookups_returned_is_known_though_the_agents_calls_are_skipped() -> None:
    flow = shop_flow()
    score = replay(flow, episode(find(), user("#A1", "#B1"), replied(), said("Well?"), order("#A1"), order("#B1")))
    assert seen(score) == (3, 3, 3)  # the orders were bound from a user that was looked up


def test_the_scripted_greeting_is_no_turn() -> None:
    greeted = episode(replied("Hi! How can I help?"), said("Hello."), find())
    assert replay(shop_flow(), greeted).turns == 1
    assert replay(shop_flow(), episode(replied("Starting."), find())).turns == 2  # nobody answered it


def test_lookups_are_capped_after_one_call_and_in_a_session() -> None:
    many = episode(find(), user("#A1", "#B1", "#C1"), order("#A1", "#B1", "#C1"))
    assert replay(shop_flow(), many, per_call=2).lookups == 3  # user, #A1; then after #B1: #C1
    assert replay(shop_flow(), many, per_session=1).lookups == 1


def test_a_result_that_was_not_recorded_starts_no_run_and_saves_nothing() -> None:
    lost = episode(find()[:1], said("Hello?"), user("#A1"))
    assert seen(replay(shop_flow(), lost)) == (0, 0, 0)  # and after the user nothing binds: nobody ever read an order


def test_a_failed_result_answers_the_agents_call_that_failed() -> None:
    failing = episode(find(), called("get_user", {"user": "u-7"}, "No such user", error=True), replied())
    assert seen(replay(shop_flow(), failing)) == (1, 1, 1)


def test_recorded_lookups_of_a_proxy_are_taken_for_the_agents_calls() -> None:
    """Their ids are those that the flow gives its own lookups, which must not be mistaken for each other."""

    def named(event: Event) -> Event:
        if isinstance(event, Assistant):
            return dataclasses.replace(
                event, calls=tuple(ToolCall(f"stretto-{c.id[1:]}", c.name, c.arguments) for c in event.calls)
            )
        if isinstance(event, ToolResult):
            return dataclasses.replace(event, call_id=f"stretto-{event.call_id[1:]}")
        return event

    own = worked_example()
    served = dataclasses.replace(own, events=tuple(map(named, own.events)))
    assert replay(shop_flow(), served) == replay(shop_flow(), own)


def test_another_argument_is_another_call_unless_results_alone_matter() -> None:
    events: list[list[Event]] = [find(), called("get_user", {"user": "u-7", "full": True}, {"orders": []}), user()]
    assert replay(shop_flow(), episode(*events)).used == 1
    wide = replay(shop_flow(), episode(*events), same_result=True)
    assert (wide.used, wide.saved) == (1, 1)  # it answers the first of the two; the second is made
    other: list[list[Event]] = [find(), called("get_user", {"user": "u-7", "full": True}, {"orders": ["#A1"]}), user()]
    assert replay(shop_flow(), episode(*other), same_result=True).saved == 1  # only the second returned the same


def test_lookups_of_a_list_are_told_from_its_later_elements() -> None:
    score = replay(shop_flow(), episode(find(), user("#A1", "#B1", "#C1"), order("#A1"), order("#B1"), replied()))
    assert (score.first, score.first_saved, score.later, score.later_saved) == (1, 1, 1, 1)
    assert (score.first_lookups, score.first_used, score.later_lookups, score.later_used) == (1, 1, 2, 1)


def test_lookups_are_counted_by_what_their_arguments_come_from() -> None:
    assert replay(shop_flow(), worked_example()).sources == {"source": (4, 3)}


def test_a_saved_turn_is_worth_its_context_and_its_calls_in_every_turn_after_it() -> None:
    turn = user("#A1")
    made = turn[0]
    assert isinstance(made, Assistant)
    turn[0] = dataclasses.replace(made, usage=Usage(1000, 5))  # recorded tokens are taken as they are
    score = replay(shop_flow(), episode(find(), turn, replied(), said("Thanks."), replied()))
    call = (len("get_user") + len('{"user":"u-7"}')) // 4
    assert (score.saved, score.tokens_saved) == (1, 1000 + 2 * call)


def test_a_detour_costs_its_result_in_every_turn_after_it() -> None:
    """The order nobody asks for is looked up in the first of four turns; its stand-in tells how long it is."""
    score = replay(shop_flow(), episode(find(), user("#A1", "#B1"), order("#A1"), replied()))
    assert (score.detours, score.tokens_spent) == (1, len('{"id":"#A1","items":["shoe"]}') // 4 * 3)


def test_a_prompt_that_the_record_does_not_know_is_added_to_every_estimate() -> None:
    plain = replay(shop_flow(), worked_example())
    told = replay(shop_flow(), worked_example(), prompt_tokens=1000)
    assert told.tokens - plain.tokens == 6000
    assert told.tokens_saved - plain.tokens_saved == 2000


# --- what was weighed ---------------------------------------------------------------------------------------------


def test_every_lookup_that_binds_is_weighed_with_what_the_agent_did() -> None:
    score = replay(shop_flow(), worked_example(), weigh=True)
    assert [(each.site, each.tool, each.used, each.next, each.spared) for each in score.weighed] == [
        ("find_user", "get_user", True, True, 1.0),
        ("get_user", "get_order", True, True, 0.5),
        ("get_order", "get_order", True, True, 0.5),
        ("get_order", "get_order", False, False, 0.0),
    ]
    assert all(each.chosen and each.score == each.prob * each.binding for each in score.weighed)
    assert replay(shop_flow(), worked_example()).weighed == ()


def test_what_is_not_likely_enough_is_weighed_and_not_made() -> None:
    score = replay(shop_flow(), worked_example(), weigh=True, threshold=0.99)
    assert score.lookups == 0
    assert [(each.tool, each.chosen, each.used) for each in score.weighed] == [
        ("get_user", False, True),
        ("get_order", False, True),
        ("get_order", False, True),  # after #A1 of the batch
        ("get_order", False, False),  # after #B1: #C1 is nobody's
        ("get_order", False, False),  # after the write
    ]


# --- the flow is served as it is ----------------------------------------------------------------------------------


def test_a_flow_limited_to_promoted_sites_looks_nothing_up_elsewhere() -> None:
    flow = shop_flow()
    flow.promoted = Promotion(Bar(0.3, 0.7, 0.5, 3), {})
    assert replay(flow, worked_example()).lookups == 0


def test_a_sites_own_threshold_goes_before_the_served_one() -> None:
    flow = shop_flow()
    flow.thresholds = {"get_order": 2.0}
    assert replay(flow, worked_example()).lookups == 3  # user, #A1 and, after #B1, nothing


def test_habit_takes_only_what_comes_next() -> None:
    assert replay(shop_flow(), worked_example(), decider="habit").lookups == 0


def test_a_flow_without_reach_counts_is_replayed_by_habit_and_refuses_reach() -> None:
    flow = shop_flow()
    flow.reach = None
    assert replay(flow, worked_example()).lookups == 0
    with pytest.raises(BadFlow, match="no reach counts"):
        replay(flow, worked_example(), decider="reach")
    with pytest.raises(UsageError, match="no decider"):
        replay(flow, worked_example(), decider="oracle")


def test_a_decision_that_fails_is_an_error_and_no_hand_back() -> None:
    class Failing:
        name = "failing"

        def decide(self, *_: object) -> object:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        replay(shop_flow(), worked_example(), decider=Failing())  # type: ignore[arg-type]  # its result never comes


def test_the_records_own_manifest_says_what_writes() -> None:
    """A flow that knows a tool as unknown cannot tell that it writes; the corpus it is measured on can."""
    told = dataclasses.replace(SHOP, tools={**SHOP.tools, "get_order": "write"})
    assert replay(shop_flow(), worked_example(), manifest=told).saved == 1


# --- many sessions ------------------------------------------------------------------------------------------------


def test_scores_add_and_are_resampled_by_the_unit_given() -> None:
    one, two = worked_example(), dataclasses.replace(worked_example(), id="two", domain="shop", task_id="t")
    scores = list(replay_all(shop_flow(), [one, two], units={"worked": "customer 7"}))
    assert [score.unit for score in scores] == ["customer 7", "shop:t"]
    sums = total(scores, "all")
    assert (sums.turns, sums.saved, sums.detours, sums.spoiled) == (12, 4, 2, 2)
    assert sums.sources == {"source": (8, 6)}


_STEPS = st.lists(
    st.one_of(
        st.just(find()),
        st.lists(st.sampled_from(["#A1", "#B1", "#C1"]), max_size=3).map(lambda orders: user(*orders)),
        st.lists(st.sampled_from(["#A1", "#B1", "#C1"]), min_size=1, max_size=3).map(lambda names: order(*names)),
        st.just(cancel("#A1")),
        st.just([said("And #B1?")]),
        st.just([replied()]),
        st.just(called("think", {}, "hm")),
    ),
    max_size=10,
)


@given(_STEPS, st.sampled_from([0.0, 0.3, 0.9]), st.booleans())
def test_in_every_session_the_counts_fit_together(
    steps: list[list[Event]],
    threshold: float,
    same: bool,  # noqa: FBT001 - hypothesis draws them by place
) -> None:
    session = episode(*steps)
    score = replay(shop_flow(), session, threshold=threshold, same_result=same, weigh=True)
    assert score == replay(shop_flow(), session, threshold=threshold, same_result=same, weigh=True)
    assert score.skipped == score.used <= score.lookups <= 40
    assert 0 <= score.saved <= score.turns
    assert score.used_next <= score.used
    assert score.tokens_saved >= 0 <= score.tokens_spent
    assert score.first_saved + score.later_saved <= score.saved
    assert score.batched_saved <= score.saved
    assert score.ceiling <= score.ceiling_words <= score.turns
    assert sum(made for made, _ in score.sources.values()) == score.lookups
    chosen = [each for each in score.weighed if each.chosen]
    assert len(chosen) == score.lookups
    assert sum(each.used for each in chosen) == score.used or same
    assert all(getattr(score, count) >= 0 for count in COUNTS)


def test_an_empty_session_scores_nothing() -> None:
    score = replay(shop_flow(), Episode("empty"))
    assert (score.turns, score.lookups) == (0, 0)
