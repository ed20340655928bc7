"""Giving a flow an arbiter: which decisions are put to the oracle, and what it is fitted on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stretto.arbiter_training import cases_of, held_out_habits, with_arbiter
from stretto.deciders.fit import Case
from stretto.deciders.model import HAND_BACK
from stretto.deciders.oracle import MockOracle, Reply, Request
from stretto.errors import OracleError, UsageError
from stretto.flow.model import Arbiter, Predicate
from stretto.model.alphabet import steps_of
from stretto.model.sample import FOLDS, fold_of
from stretto.sessions.corpus import Recorded
from stretto.sessions.episode import Assistant, Episode
from stretto.sessions.manifest import Manifest
from tests.stretto.episodes import called, episode, replied, said, together
from tests.stretto.shop import shop_flow

ARBITER = Arbiter((), (), (), "model")


class Silent:
    """An oracle that answers so many times and no more."""

    def __init__(self, answers: int = 0) -> None:
        self.left = answers
        self.asked: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        self.left -= 1
        if self.left < 0:
            raise OracleError("nobody is there")
        return MockOracle().ask(request)


def session(task: str = "t") -> Episode:
    """Find, read the user, two orders at once, ask back, cancel."""
    return episode(
        said("u1@x"),
        called("find_user", {"email": "u1@x"}, "u1"),
        called("get_user", {"user_id": "u1"}, {"orders": ["#W1", "#W2"]}),
        together(("get_order", {"order_id": "#W1"}, {"id": "#W1"}), ("get_stock", {}, "none")),
        called("get_order", {"order_id": "#W2"}, {"id": "#W2"}),
        called("cancel_order", {"order_id": "#W2"}, "ok"),
        replied(),
        name=task,
        task=task,
    )


def recorded(*episodes: Episode) -> list[Recorded]:
    return [Recorded(each, Manifest()) for each in episodes]


def test_a_case_is_every_point_where_the_flow_has_lookups_to_choose_from() -> None:
    """After find, user, and order; not after a lookup whose turn is not over, nor after one with no lookups."""
    cases = [case for case in cases_of(shop_flow(), session(), ARBITER, MockOracle()) if isinstance(case, Case)]
    assert [(case.site, case.step) for case in cases] == [
        (("find_user", False), "get_user"),
        (("get_user", False), "get_order"),
        (("get_order", False), HAND_BACK),
    ]
    assert all(case.task == "t" for case in cases)
    assert cases[0].prior.keys() == {"get_user", HAND_BACK} == cases[0].told.single.keys()


def test_a_read_that_is_not_offered_is_no_option() -> None:
    one = episode(called("find_user", {"email": "a"}, "u1"), called("get_stock", {}, "none"), replied())
    (case,) = cases_of(shop_flow(), one, ARBITER, MockOracle())
    assert isinstance(case, Case)
    assert case.step is None


def test_what_a_served_flow_looked_up_is_no_decision_of_the_agent() -> None:
    one = session()
    events = list(one.events)
    user = events[3]
    assert isinstance(user, Assistant)
    assert user.calls[0].name == "get_user"
    events[3] = Assistant(calls=(replace(user.calls[0], id="stretto-0"),))
    served = replace(one, events=tuple(events))
    sites = [case.site for case in cases_of(shop_flow(), served, ARBITER, MockOracle()) if isinstance(case, Case)]
    assert ("find_user", False) not in sites


def test_a_habit_that_judges_a_session_has_not_seen_its_fold() -> None:
    """Of five sessions of five folds, each fold's habit knows the steps of the other four."""
    tasks = {fold_of(f"task {number}"): f"task {number}" for number in range(50)}
    sessions = [session(tasks[fold]) for fold in range(FOLDS)]
    flow = shop_flow()
    habits = held_out_habits(flow, sessions)
    steps = len(steps_of(sessions[0]))
    assert [habit.base.levels[0][()].total for habit in habits] == [4 * steps] * FOLDS
    alone = held_out_habits(flow, sessions[:1])
    assert [() in habit.base.levels[0] for habit in alone] == [fold != 0 for fold in range(FOLDS)]


def test_an_arbiter_has_a_fit_a_fold_and_says_what_it_was_fitted_on() -> None:
    question = Predicate("left", "same_lookup", "Are some left?", "some", "none")
    sessions = recorded(*(session(f"task {number}") for number in range(10)), replace(session("bad"), reward=0.0))
    trained = with_arbiter(shop_flow(), sessions, MockOracle(), model="mock", predicates=[question])
    arbiter = trained.flow.arbiter
    assert arbiter
    assert (trained.cases, trained.unanswered, trained.flow.provenance.arbiter_cases) == (30, 0, 30)
    assert [len(fold.weights) for fold in arbiter.folds] == [6] * FOLDS
    assert (arbiter.model, arbiter.weighed) == ("mock", (question,))
    whole = with_arbiter(shop_flow(), sessions, MockOracle(), model="mock", held_out=False).flow.arbiter
    assert whole
    assert len(set(map(repr, whole.folds))) == 1
    again = with_arbiter(shop_flow(), sessions, MockOracle(), model="mock", predicates=[question])
    assert again.flow.arbiter == arbiter


def test_decisions_without_an_answer_are_counted_and_left_out() -> None:
    trained = with_arbiter(shop_flow(), recorded(session("a"), session("b")), Silent(4), model="m")
    assert (trained.cases, trained.unanswered, trained.first_problem) == (4, 2, "nobody is there")
    with pytest.raises(UsageError, match="there is no decision to fit an arbiter on: nobody is there"):
        with_arbiter(shop_flow(), recorded(session()), Silent(), model="m")
    with pytest.raises(UsageError, match=r"there is no decision to fit an arbiter on$"):
        with_arbiter(shop_flow(), [], Silent(), model="m")


def test_nothing_is_asked_of_a_session_that_failed() -> None:
    oracle = Silent(9)
    with pytest.raises(UsageError):
        with_arbiter(shop_flow(), recorded(replace(session(), reward=0.0)), oracle, model="m")
    assert not oracle.asked
