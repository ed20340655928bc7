"""Which lookup is made after a call: the checks in order, the rules of reach and habit, and every reason in words."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.model import Bound, Pick, Reason, Unbound
from stretto.deciders.choose import best_that_binds, likeliest
from stretto.deciders.decide import decide, decider_named
from stretto.deciders.gate import SurpriseGate, step_surprise
from stretto.deciders.habit import habit_prior
from stretto.deciders.model import HAND_BACK, Decision, HandBack
from stretto.errors import BadFlow, UsageError
from stretto.flow.file import read_flow
from stretto.flow.model import Bar, Gate, Promotion, SiteRecord
from stretto.live import LiveSession
from stretto.sessions.episode import ToolCall
from tests.stretto.shop import ORDERS, USER, shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stretto.flow.model import Flow
    from stretto.live import Situation

DATA = Path(__file__).parent.parent / "data"
SITE = ("get_user", False)


def after(flow: Flow, *calls: tuple[str, str], error: bool = False, said: str = "hello") -> Situation:
    """A session in which the user spoke after a greeting, and then these calls of one turn each returned."""
    live = LiveSession(flow)
    live.reply()
    live.user(said)
    for number, (tool, content) in enumerate(calls):
        live.turn()
        live.call(ToolCall(f"c{number}", tool, {}))
        live.result(f"c{number}", error=error, content=content)
    return live.situation()


def in_shop(flow: Flow, **facts: Any) -> Situation:
    return after(flow, ("find_user", "u1"), ("get_user", jsonvalue.dumps(USER).decode()), **facts)


# --- the checks, in order -------------------------------------------------------------------------------------------


def promoted(**sites: bool) -> Promotion:
    records = {name: SiteRecord(9, 9, 9, 9, 0.7, is_promoted) for name, is_promoted in sites.items()}
    return Promotion(Bar(0.3, 0.7, 0.5, 3), records)


def surprised() -> SurpriseGate:
    gate = SurpriseGate(Gate(1, 1.0))
    gate.step(2.0)
    return gate


#: Each fault below stands before all that follow it.
FAULTS: list[tuple[str, dict[str, Any], HandBack]] = [
    ("not promoted", {"promoted": promoted(get_user=False)}, HandBack.NOT_PROMOTED),
    ("switched off", {"thresholds": {"get_user": 2.0}}, HandBack.SWITCHED_OFF),
    ("no lookups", {"sites": None}, HandBack.NO_LOOKUPS),
]


@pytest.mark.parametrize("first", range(len(FAULTS)), ids=[fault[0] for fault in FAULTS])
def test_the_checks_are_made_in_their_order(first: int) -> None:
    flow = shop_flow()
    for _, changes, _ in reversed(FAULTS[first:]):
        for name, value in changes.items():
            if name == "sites":
                flow.sites.next.clear()
            else:
                setattr(flow, name, value)
    decision = decide(flow, in_shop(flow), "habit", gate=surprised() if first < 2 else None)
    assert (decision.reason, decision.said) == (FAULTS[first][2], FAULTS[first][2].value)
    assert not decision.probs


def test_the_gate_comes_after_the_switches_and_before_the_lookups() -> None:
    flow = shop_flow()
    flow.sites.next.clear()
    decision = decide(flow, in_shop(flow), gate=surprised())
    assert decision.reason is HandBack.SURPRISED
    assert decision.said == (
        "the session surprised the flow: 1 of the agent's steps had a mean surprise of 2.00, above 1.00"
    )


def test_a_session_whose_last_step_is_no_call_hands_back_before_all_else() -> None:
    flow = shop_flow(promoted=promoted())
    decision = decide(flow, LiveSession(flow).situation())
    assert (decision.site, decision.said) == (None, "the last step is not a tool call")


def test_a_site_that_was_never_scored_is_not_promoted_and_a_promoted_one_acts() -> None:
    flow = shop_flow(promoted=promoted(get_order=True))
    assert decide(flow, in_shop(flow)).reason is HandBack.NOT_PROMOTED
    flow.promoted = promoted(get_user=True)
    assert decide(flow, in_shop(flow)).looks_up


def test_a_site_is_named_with_its_failure() -> None:
    flow = shop_flow(thresholds={"get_user (error)": 1.5})
    assert decide(flow, in_shop(flow)).looks_up
    assert decide(flow, after(flow, ("get_user", "x"), error=True)).said == "the site is switched off"


def test_the_flows_threshold_of_a_site_replaces_the_served_one_and_one_of_exactly_1_is_no_switch() -> None:
    flow = shop_flow(thresholds={"get_user": 1.0})
    assert decide(flow, in_shop(flow), "habit", 0.1).said == "get_order at 1.00, below 1"
    flow.thresholds = {"get_user": 0.1}
    assert decide(flow, in_shop(flow), "habit", 1.0).looks_up


def test_an_infinite_threshold_has_the_options_weighed_and_nothing_made() -> None:
    flow = shop_flow()
    reach, habit = (decide(flow, in_shop(flow), name, math.inf) for name in ("reach", "habit"))
    assert (reach.said, habit.said) == ("no lookup to make", "get_order at 1.00, below inf")
    assert set(reach.probs) == set(habit.probs) == {"get_order", HAND_BACK}


# --- the numbers ----------------------------------------------------------------------------------------------------


def test_the_habit_of_the_shared_example_gives_the_published_numbers() -> None:
    """Spec §3.3, §9.5: the four layers, handing back as all that is left, and the score of the worked run."""
    flow = read_flow(DATA / "retail-5-sessions.flow.json")
    user = '{"user_id": "user_7", "orders": ["#W1", "#W2"]}'
    found = after(flow, ("find_user_id_by_email", "user_7"))
    first = decide(flow, found, "habit")
    assert (first.tool, round(first.prob or 0, 4), first.binding) == ("get_user_details", 0.5213, 0.75)
    second = decide(flow, after(flow, ("find_user_id_by_email", "user_7"), ("get_user_details", user)), "habit")
    assert (second.tool, round(second.prob or 0, 6), second.binding) == ("get_order_details", 0.560370, 0.9)
    assert round(second.probs[HAND_BACK], 6) == 0.439630
    assert second.score == pytest.approx(0.50, abs=0.005)
    two = after(flow, ("get_user_details", user), ("get_order_details", "{}"), ("get_order_details", "{}"))
    weighed = decide(flow, two, "habit", math.inf).probs
    assert {option: round(p, 4) for option, p in weighed.items()} == {
        "get_order_details": 0.5919,
        "get_product_details": 0.1608,
        HAND_BACK: 0.2473,
    }


def test_reach_and_habit_differ_as_in_the_specs_example() -> None:
    """Spec §4: one episode, alpha 1; V = 6 is three tools, a reply and the unseen action, and one more tool."""
    from stretto.model.alphabet import Vocabulary
    from stretto.model.counts import Successions
    from tests.stretto.shop import symbols

    flow = shop_flow()
    flow.vocabulary = Vocabulary(["find_user", "get_user", "get_order", "cancel_order"])
    counts = Successions()
    counts.add(symbols(flow.vocabulary, STEPS_OF_THE_SPEC), {flow.vocabulary.action("cancel_order")})
    flow.habit, flow.reach = counts.habit(1.0, 6), counts.reach(1.0, 6)
    live = LiveSession(flow)
    for number, tool in enumerate(("find_user", "get_user")):
        live.turn()
        live.call(ToolCall(str(number), tool, {}))
        live.result(str(number), error=False, content="u1")
    reach = decide(flow, live.situation(), "reach", math.inf)
    habit = decide(flow, live.situation(), "habit", math.inf)
    assert round(reach.probs["get_order"], 4) == 0.8802
    assert reach.probs[HAND_BACK] == 0
    assert round(habit.probs["get_order"], 4) == 0.9089
    assert habit.probs[HAND_BACK] == pytest.approx(1 - habit.probs["get_order"])


STEPS_OF_THE_SPEC = ("find_user", "get_user", "get_order", "get_order", "", "cancel_order", "")


def test_handing_back_has_all_that_is_not_offered() -> None:
    flow = shop_flow()
    history = in_shop(flow).history
    prior = habit_prior(flow, history, ["get_order", "get_user"])
    assert sum(prior.values()) == pytest.approx(1)
    assert list(prior) == ["get_order", "get_user", HAND_BACK]


# --- the two rules --------------------------------------------------------------------------------------------------

A, B, C = "a_lookup", "b_lookup", "c_lookup"


def binds(**found: float | Unbound) -> Callable[[str], Bound | Unbound]:
    def bind(tool: str) -> Bound | Unbound:
        bound = found[tool]
        return bound if isinstance(bound, Unbound) else Bound({"x": tool}, Pick.NONE, bound)

    return bind


def taken(decision: Decision) -> tuple[str | None, str]:
    return (decision.tool if decision.looks_up else None, decision.said)


GONE = Unbound(Reason.NOTHING_LEFT, B, "x")
LOST = Unbound(Reason.NO_SOURCE, A, "y")


@pytest.mark.parametrize(
    ("probs", "found", "best", "first"),
    [
        pytest.param(
            {A: 0.9, B: 0.8},
            {A: 0.5, B: 0.9},
            (B, ""),
            (A, ""),
            id="reach takes the larger product, habit the larger probability",
        ),
        pytest.param(
            {A: 0.4, B: 0.6},
            {A: 0.9, B: GONE},
            (A, ""),
            (None, "b_lookup: nothing left to pass as `x`"),
            id="habit never tries the second",
        ),
        pytest.param(
            {A: 0.9, B: 0.8},
            {A: LOST, B: GONE},
            (None, "b_lookup: nothing left to pass as `x`"),
            (None, "a_lookup: no source for `y` (the LLM supplies it)"),
            id="the reason is that of the last candidate tried",
        ),
        pytest.param(
            {A: 0.2, B: 0.1},
            {A: 1.0, B: 1.0},
            (None, "no lookup to make"),
            (None, "a_lookup at 0.20, below 0.3"),
            id="none is likely enough",
        ),
        pytest.param(
            {A: 0.45, B: 0.4},
            {A: 0.5, B: 0.5},
            (None, "a_lookup at 0.45, times 0.50 for its arguments, below 0.3"),
            (None, "a_lookup at 0.45, times 0.50 for its arguments, below 0.3"),
            id="the product is too low",
        ),
        pytest.param({B: 0.6, C: 0.6}, {B: 0.5, C: 0.5}, (B, ""), (B, ""), id="of equals the first by name"),
        pytest.param({A: 0.3, B: 0.1}, {A: 1.0, B: 1.0}, (A, ""), (A, ""), id="the threshold itself is enough"),
    ],
)
def test_reach_takes_the_best_that_binds_and_habit_the_likeliest(
    probs: dict[str, float],
    found: dict[str, float | Unbound],
    best: tuple[str | None, str],
    first: tuple[str | None, str],
) -> None:
    weighed = {**probs, HAND_BACK: 0.0}
    assert taken(best_that_binds(SITE, weighed, binds(**found), 0.3)) == best
    assert taken(likeliest(SITE, weighed, binds(**found), 0.3)) == first


def test_only_one_lookup_is_bound_by_habit() -> None:
    asked: list[str] = []

    def bind(tool: str) -> Unbound:
        asked.append(tool)
        return Unbound(Reason.NEVER_CALLED, tool)

    likeliest(SITE, {A: 0.5, B: 0.4, HAND_BACK: 0.1}, bind, 0.3)
    assert asked == [A]


CHANCES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(
    st.dictionaries(st.sampled_from([A, B, C]), CHANCES, min_size=1),
    st.fixed_dictionaries({tool: CHANCES | st.none() for tool in (A, B, C)}),
    CHANCES,
)
def test_reach_binds_no_more_than_it_must_and_decides_as_if_it_had_bound_all(
    probs: Mapping[str, float], chances: Mapping[str, float | None], threshold: float
) -> None:
    found = {
        tool: Unbound(Reason.NO_SOURCE, tool, "x") if chance is None else chance for tool, chance in chances.items()
    }
    weighed = dict(sorted(probs.items()))
    decision = best_that_binds(SITE, {**weighed, HAND_BACK: 0.0}, binds(**found), threshold)
    tried = [tool for tool, p in weighed.items() if p >= threshold]
    bound = [(p * c, tool) for tool, p in weighed.items() if p >= threshold and (c := chances[tool]) is not None]
    if bound:
        score = max(score for score, _ in bound)
        assert decision.tool == next(tool for each, tool in bound if each == score)
        assert decision.looks_up == (score >= threshold)
    else:
        assert decision.tool == (tried[-1] if tried else None)


PROBS = st.dictionaries(st.sampled_from([A, B, C]), st.floats(0, 1), min_size=1)


@given(PROBS, st.floats(0, 1), st.floats(0, 1))
def test_whatever_is_looked_up_has_a_score_of_at_least_the_threshold(
    probs: Mapping[str, float], chance: float, threshold: float
) -> None:
    weighed = {**dict(sorted(probs.items())), HAND_BACK: 0.0}
    for rule in (best_that_binds, likeliest):
        decision = rule(SITE, weighed, binds(**dict.fromkeys(probs, chance)), threshold)
        best = max(probs.values()) * chance
        assert decision.looks_up == (best >= threshold)
        assert (decision.said == "") == decision.looks_up
        if decision.looks_up:
            assert decision.score == best


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_for_which_arguments_are_not_found_is_a_reason_for_handing_back(reason: Reason) -> None:
    decision = likeliest(SITE, {A: 0.5, HAND_BACK: 0.5}, binds(**{A: Unbound(reason, A, "x")}), 0.3)
    assert decision.reason is HandBack[reason.name]
    assert decision.said == Unbound(reason, A, "x").said


def test_a_tool_whose_name_reads_like_a_template_is_spelled_as_it_is() -> None:
    decision = likeliest(SITE, {"{p}{x!r}": 0.1, HAND_BACK: 0.9}, binds(), 0.3)
    assert decision.said == "{p}{x!r} at 0.10, below 0.3"


# --- deciders by name -----------------------------------------------------------------------------------------------


def test_a_flow_without_reach_counts_cannot_serve_reach() -> None:
    flow = shop_flow(reach=None)
    with pytest.raises(BadFlow, match="has no reach counts"):
        decide(flow, in_shop(flow), "reach")
    assert decide(flow, in_shop(flow), "habit").looks_up


def test_a_decider_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="choose from reach, habit, arbiter"):
        decider_named("oracle")
    with pytest.raises(UsageError, match="needs an oracle"):
        decider_named("arbiter")


# --- the surprise gate ----------------------------------------------------------------------------------------------


def test_a_step_surprises_by_what_the_habit_gave_it_and_what_is_not_offered_is_handing_back() -> None:
    flow = shop_flow()
    situation = in_shop(flow)
    prior = habit_prior(flow, situation.history, ["get_order"])
    assert step_surprise(flow, situation, "get_order") == pytest.approx(-math.log(prior["get_order"]))
    for tool in (None, "cancel_order", "get_stock", "never_seen"):
        assert step_surprise(flow, situation, tool) == pytest.approx(-math.log(prior[HAND_BACK]))
    assert step_surprise(flow, after(flow, ("cancel_order", "ok")), "get_user") is None


def test_the_gate_trips_on_the_mean_of_a_full_window_and_stays_tripped() -> None:
    gate = SurpriseGate(Gate(2, 1.0))
    for surprise, is_tripped in [(5.0, False), (0.0, True), (0.0, True), (0.0, True)]:
        gate.step(surprise)
        assert bool(gate.said) is is_tripped
    calm = SurpriseGate(Gate(2, 1.0))
    for surprise in (1.9, 0.1, 1.9, 0.1):
        calm.step(surprise)
    assert calm.said == ""


def test_what_the_shop_shows_is_looked_up() -> None:
    """The order after the user: probability and chance are known, the value is the first of the user's orders."""
    flow = shop_flow()
    decision = decide(flow, in_shop(flow))
    assert decision.bound is not None
    assert (decision.tool, decision.bound.arguments) == ("get_order", {"order_id": next(iter(ORDERS))})
    assert decision.binding == pytest.approx(21 / 22)
