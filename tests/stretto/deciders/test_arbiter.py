"""The arbiter: what it asks, the order of its features, what it makes of answers, and how its weights are fitted."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto.deciders.arbiter import (
    ArbiterDecider,
    Told,
    coverage,
    features,
    reliability,
    request_for,
    told_by,
    weigh,
)
from stretto.deciders.decide import decide
from stretto.deciders.fit import Case, fit_folds, fit_weights, rates_of
from stretto.deciders.model import HAND_BACK, HandBack
from stretto.deciders.oracle import Answers, MockOracle, Reply, Request
from stretto.errors import BadFlow, OracleError
from stretto.flow.file import read_flow
from stretto.flow.model import Fold, Predicate
from stretto.live import LiveSession
from stretto.model.sample import fold_of
from stretto.sessions.episode import ToolCall
from tests.stretto.shop import shop_flow

if TYPE_CHECKING:
    from stretto.flow.model import Favors, Flow

FLOW = Path(__file__).parent.parent / "data" / "cold-start-2026-09-24-live.flow.json"


class Scripted:
    """An oracle that answers as it is told to, and notes what it was asked."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(self.answers)


def predicate(name: str, favors: Favors) -> Predicate:
    return Predicate(name, favors, f"{name}?", "it is so", "it is not")


# --- features -------------------------------------------------------------------------------------------------------


def test_the_features_come_in_the_order_of_the_weights() -> None:
    """By hand, with one predicate of each kind, after `a` returned, where the model's own pick is `b`."""
    predicates = [
        predicate("same", "same_lookup"),
        predicate("any", "any_lookup"),
        predicate("back", "hand_back"),
        predicate("that", {"lookup": "b"}),
    ]
    told = Told(
        single={"a": 0.3, "b": 0.5, HAND_BACK: 0.2},
        split={"a": 0.6, "b": 0.2, HAND_BACK: 0.2},
        yes={"same": 0.9, "any": 0.2, "back": 0.5, "that": 1.0},
    )
    rows = features({"a": 0.6, "b": 0.0, HAND_BACK: 0.4}, told, predicates, "a", 0.75)
    ln9, ln_quarter, sure, ln3 = 2.197225, -1.386294, 9.210240, 1.098612
    expected = {
        "a": (-0.510826, -1.203973, -0.510826, 0, ln9, ln_quarter, 0, 0, 0),
        "b": (-9.210340, -0.693147, -1.609438, 0, 0, ln_quarter, 0, sure, ln3),
        HAND_BACK: (-0.916291, -1.609438, -1.609438, 1, 0, 0, 0, 0, 0),
    }
    assert list(rows) == list(expected)
    for option, row in expected.items():
        assert rows[option] == pytest.approx(row, abs=1e-6)


def test_shares_of_a_site_are_drawn_to_the_overall_ones_by_ten_decisions() -> None:
    fold = Fold((), {"get_order": (9.0, 3.0, 9.0)}, 0.6, 0.8)
    assert reliability(fold, "get_order") == pytest.approx((3 + 6) / 19)
    assert coverage(fold, "get_order") == pytest.approx((9 + 8) / 19)
    assert (reliability(fold, "elsewhere"), coverage(fold, "elsewhere")) == (0.6, 0.8)


def test_options_share_by_their_scores_however_large() -> None:
    assert weigh({"a": (1.0,), "b": (0.0,)}, (math.log(3),)) == pytest.approx({"a": 0.75, "b": 0.25})
    assert weigh({"a": (1000.0,), "b": (0.0,)}, (5.0,)) == {"a": 1.0, "b": 0.0}


# --- the example flow -----------------------------------------------------------------------------------------------


@pytest.fixture
def cold_start() -> Flow:
    return read_flow(FLOW)


def after_user(flow: Flow) -> LiveSession:
    live = LiveSession(flow)
    live.reply()
    live.user("My orders, please. I am Ada Lovelace, 90210.")
    for number, (tool, content) in enumerate(
        [("find_user_id_by_name_zip", "ada_1"), ("get_user_details", '{"orders": ["#W1", "#W2"]}')]
    ):
        live.turn()
        live.call(ToolCall(str(number), tool, {}))
        live.result(str(number), error=False, content=content)
    return live


ANSWERS: Answers = {
    "next": {"get_order_details": 0.7, HAND_BACK: 0.3},
    "go_on": {"yes": 0.8, "no": 0.2},
    "which": {"get_order_details": 1.0},
    "predicate list_pending": {"yes": 0.9, "no": 0.1},
    "predicate needs_options": {"yes": 0.5, "no": 0.5},
    "predicate must_ask": {"yes": 0.25, "no": 0.75},
}


def test_the_example_flow_decides_with_a_scripted_oracle(cold_start: Flow) -> None:
    """The lookup's score and handing back's, summed by hand over the eight weights; coverage is 1 at every site."""
    oracle = Scripted(ANSWERS)
    live = after_user(cold_start)
    decision = decide(cold_start, live.situation(), ArbiterDecider(oracle))
    prior = decide(cold_start, live.situation(), "habit", math.inf).probs["get_order_details"]
    habit, single, split, back, _, options, must_ask, reliable = cold_start.arbiter.folds[0].weights  # type: ignore[union-attr] # this flow has one
    site = (2 + 10 * 0.6) / (2 + 10)
    lookup = habit * math.log(prior) + single * math.log(0.7) + split * math.log(0.8)
    lookup += options * 0 + reliable * math.log(site / (1 - site))  # pending favours the same lookup; this is another
    hand_back = habit * math.log(1 - prior) + single * math.log(0.3) + split * math.log(0.2) + back
    hand_back += must_ask * math.log(0.25 / 0.75)
    expected = math.exp(lookup) / (math.exp(lookup) + math.exp(hand_back))
    assert decision.probs == pytest.approx({"get_order_details": expected, HAND_BACK: 1 - expected})
    assert (decision.tool, decision.looks_up) == ("get_order_details", True)
    assert decision.oracle == pytest.approx({"get_order_details": 0.7, HAND_BACK: 0.3})
    assert decision.predicates == pytest.approx({"list_pending": 0.9, "needs_options": 0.5, "must_ask": 0.25})
    assert decision.key == oracle.asked[0].key


def test_one_request_a_decision_asks_for_the_option_twice_and_for_each_predicate(cold_start: Flow) -> None:
    oracle = Scripted(ANSWERS)
    decide(cold_start, after_user(cold_start).situation(), ArbiterDecider(oracle))
    [request] = oracle.asked
    assert request.model == "jev-latest"
    assert [question.id for question in request.questions] == list(ANSWERS)
    assert [answer for answer, _ in request.questions[0].answers] == ["get_order_details", HAND_BACK]
    assert request.questions[3].text.startswith("Is the agent working through a list of records")
    assert request.conversation == (
        '{"user":"My orders, please. I am Ada Lovelace, 90210."}',
        '{"call":"find_user_id_by_name_zip","arguments":{},"result":"ada_1"}',
        '{"call":"get_user_details","arguments":{},"result":"{\\"orders\\": [\\"#W1\\", \\"#W2\\"]}"}',
    )


def test_a_request_shows_bounded_text_of_the_latest_results(cold_start: Flow) -> None:
    live = after_user(cold_start)
    for number in range(50):
        live.turn()
        live.call(ToolCall(f"more{number}", "get_user_details", {}))
        live.result(f"more{number}", error=False, content=f"{number} " + "x" * 100_000)
    assert cold_start.arbiter is not None
    request = request_for(cold_start.arbiter, cold_start.manifest, live, ("get_user_details", False), ["a", "b"])
    assert len(request.conversation) == 21
    assert '"result":"49 ' in request.conversation[-1]
    assert max(map(len, request.conversation)) < 5_000


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({**ANSWERS, "predicate must_ask": {"yes": 1.0}}, id="half a question"),
        pytest.param({**ANSWERS, "next": {"get_order_details": 0.0, HAND_BACK: 0.0}}, id="no weight"),
        pytest.param({**ANSWERS, "go_on": {"yes": math.nan, "no": 1.0}}, id="nan"),
        pytest.param({**ANSWERS, "go_on": {"yes": -1.0, "no": 2.0}}, id="negative"),
    ],
)
def test_an_incomplete_answer_hands_back(cold_start: Flow, answers: Answers) -> None:
    decision = decide(cold_start, after_user(cold_start).situation(), ArbiterDecider(Scripted(answers)))
    assert decision.said == "the System-One answer was incomplete"
    assert (decision.looks_up, decision.probs, decision.key is not None) == (False, {}, True)


def test_an_oracle_without_an_answer_hands_back_and_says_why(cold_start: Flow) -> None:
    class Down:
        def ask(self, request: Request) -> Reply:
            raise OracleError("connection refused {p}")

    decision = decide(cold_start, after_user(cold_start).situation(), ArbiterDecider(Down()))
    assert decision.said == "the System-One model failed: connection refused {p}"
    assert decision.reason is HandBack.ORACLE_FAILED


def test_answers_need_not_add_up_to_one_nor_be_about_options_that_are_offered() -> None:
    told = told_by(
        {
            "next": {"a": 6, "b": 2, HAND_BACK: 2, "made_up": 90},
            "go_on": {"yes": 3, "no": 1},
            "which": {"a": 1, "b": 1},
        },
        ["a", "b"],
        [],
    )
    assert told.single == {"a": 0.6, "b": 0.2, HAND_BACK: 0.2}
    assert told.split == {"a": 0.375, "b": 0.375, HAND_BACK: 0.25}
    assert told.pick == "a"


def test_the_weights_of_the_tasks_own_fold_are_used(cold_start: Flow) -> None:
    assert cold_start.arbiter is not None
    task = next(name for name in map(str, range(99)) if fold_of(name) == 3)
    others = [replace(fold, weights=tuple(0.0 for _ in fold.weights)) for fold in cold_start.arbiter.folds]
    others[3] = cold_start.arbiter.folds[3]
    cold_start.arbiter = replace(cold_start.arbiter, folds=tuple(others))
    situation = after_user(cold_start).situation()
    mine, other = (decide(cold_start, situation, ArbiterDecider(Scripted(ANSWERS), task=t)).probs for t in (task, ""))
    assert fold_of("") != 3
    assert other == pytest.approx({"get_order_details": 0.5, HAND_BACK: 0.5})
    assert mine["get_order_details"] > 0.6


def test_a_flow_without_an_arbiter_cannot_serve_it() -> None:
    flow = shop_flow()
    live = LiveSession(flow)
    live.turn()
    live.call(ToolCall("c", "get_user", {}))
    live.result("c", error=False, content="{}")
    with pytest.raises(BadFlow, match="has no arbiter"):
        decide(flow, live.situation(), ArbiterDecider(MockOracle()))


# --- fitting --------------------------------------------------------------------------------------------------------


def test_one_weight_is_fitted_as_by_hand() -> None:
    """Options with features 1 and 0, the first taken in 3 of 4: 3 - 4p = w with p = 1 / (1 + exp(-w))."""
    options = ((1.0,), (0.0,))
    [weight] = fit_weights([(options, 0)] * 3 + [(options, 1)], 1)
    assert 3 - 4 / (1 + math.exp(-weight)) == pytest.approx(weight, abs=1e-9)


def test_without_a_decision_or_a_choice_the_weights_are_zero() -> None:
    assert fit_weights([], 3) == (0.0, 0.0, 0.0)
    assert fit_weights([(((5.0, -2.0),), 0)] * 9, 2) == (0.0, 0.0)


def test_weights_that_made_the_choices_are_found_again() -> None:
    draws = random.Random(7)  # noqa: S311 - data for a test, the same each time
    true = (1.5, -0.7, 0.4)
    rows = []
    for _ in range(1500):
        options = [tuple(draws.gauss(0, 1) for _ in true) for _ in range(3)]
        shares = weigh({str(place): option for place, option in enumerate(options)}, true)
        rows.append((options, int(draws.choices(list(shares), list(shares.values()))[0])))
    fitted = fit_weights(rows, 3)
    assert fitted == pytest.approx(true, abs=0.15)


def test_far_apart_features_do_not_keep_the_fit_from_ending() -> None:
    rows = [(((-9.2, 9.2), (9.2, -9.2)), 0), (((9.2, 9.2), (-9.2, 9.2)), 1)] * 200
    assert all(map(math.isfinite, fit_weights(rows, 2)))


def cases() -> list[Case]:
    """Decisions of tasks 0 to 9 at one site; the model is right in three of four, and one in ten is not covered."""
    made = []
    for number in range(200):
        step = ("a", HAND_BACK)[number % 2]
        pick = step if number % 4 else ("a", HAND_BACK)[1 - number % 2]
        shares = {"a": 0.2, HAND_BACK: 0.2} | {pick: 0.8}
        told = Told(shares, shares, {"p": 0.8 if step == "a" else 0.2})
        taken = None if number % 10 == 9 else step
        made.append(Case(str(number % 10), ("get_user", False), {"a": 0.5, HAND_BACK: 0.5}, told, taken))
    return made


def test_each_fold_is_fitted_without_its_own_tasks() -> None:
    made, predicates = cases(), [predicate("p", "any_lookup")]
    folds = fit_folds(made, predicates)
    for number, fold in enumerate(folds):
        rest = [case for case in made if fold_of(case.task) != number]
        assert fold.sites == rates_of(rest).sites
        assert len(fold.weights) == 6
    shuffled = made[1::2] + made[::2]
    assert [fold.sites for fold in fit_folds(shuffled, predicates)] == [fold.sites for fold in folds]


def test_without_held_out_tasks_all_folds_are_one() -> None:
    made = cases()
    folds = fit_folds(made, [predicate("p", "any_lookup")], held_out=False)
    assert folds == (folds[0],) * 5
    assert folds[0].sites == {"get_user": (200.0, sum(c.told.pick == c.step for c in made), 180.0)}
    assert folds[0].cover == pytest.approx(0.9)
    assert folds[0].weights[4] > 0.5  # what the predicate says is believed


def test_there_are_no_shares_without_cases() -> None:
    assert rates_of([]) == Fold((), {}, 0.0, 0.0)
