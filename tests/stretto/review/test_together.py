"""Routes and flows through one manager, by the same rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.errors import StrettoError
from stretto.replayer import flow_strategy
from stretto.review.replay import replay
from stretto.review.together import NOT_SHOWN, learn_routes, replay_together
from tests.stretto.episodes import called, episode, replied, said
from tests.stretto.review.replay_support import SHOP, cancel, find, order, shop_flow, user, worked_example
from waggle.config import ManagerConfig

if TYPE_CHECKING:
    from stretto.review.score import ReplayScore
    from stretto.sessions.episode import Episode, Event
    from waggle.calls import Result, Step
    from waggle.replay import Lookup


def seen(score: ReplayScore) -> tuple[int, int, int]:
    """Turns saved, lookups, lookups used."""
    return score.saved, score.lookups, score.used


def flow_alone(session: Episode) -> ReplayScore:
    return replay_together(session, SHOP, strategies=[flow_strategy(shop_flow())])


def test_a_flow_in_a_manager_scores_as_it_does_by_itself() -> None:
    alone, managed = replay(shop_flow(), worked_example()), flow_alone(worked_example())
    assert seen(alone) == seen(managed) == (2, 4, 3)
    assert managed.sources == {"flow": (4, 3)}
    assert (managed.tokens_saved, managed.tokens_spent) == (alone.tokens_saved, alone.tokens_spent)
    assert (managed.first_lookups, managed.later_lookups) == (alone.first_lookups, alone.later_lookups)


_STEPS = st.lists(
    st.one_of(
        st.just(find()),
        st.lists(st.sampled_from(["#A1", "#B1", "#C1"]), max_size=3).map(lambda orders: user(*orders)),
        st.lists(st.sampled_from(["#A1", "#B1"]), min_size=1, max_size=2, unique=True).map(lambda names: order(*names)),
        st.just(cancel("#A1")),
        st.just([replied("Well?"), said("And #B1?")]),
    ),
    max_size=8,
)


@settings(max_examples=25)
@given(_STEPS)
def test_in_every_session_a_flow_saves_the_same_with_a_manager_and_without(steps: list[list[Event]]) -> None:
    """A manager makes no lookup whose answer is known; the flow never asks for one, but for what it was told twice."""
    session = episode(*steps)
    alone, managed = replay(shop_flow(), session), flow_alone(session)
    assert (managed.turns, managed.ceiling) == (alone.turns, alone.ceiling)
    assert seen(managed) == seen(alone)


def walk(name: str, times: int = 1) -> Episode:
    """A session of the same steps every time, as routes want it."""
    steps: list[list[Event]] = [find(), called("clock", {}, "9:00"), user("#A1"), order("#A1"), cancel("#A1")]
    return episode(*steps * times, name=name)


def test_routes_alone_flows_alone_and_both_together() -> None:
    config = ManagerConfig(reach=False)
    library = learn_routes([walk(f"lesson {number}", 3) for number in range(3)], SHOP, config)
    assert library.routes
    session = walk("test")
    routes = replay_together(session, SHOP, library=library, config=config)
    flows = flow_alone(session)
    both = replay_together(session, SHOP, library=library, config=config, strategies=[flow_strategy(shop_flow())])
    assert list(routes.sources) == ["routes"]
    assert list(flows.sources) == ["flow"]
    assert routes.saved == flows.saved == both.saved == 2
    assert both.lookups == both.used == 2  # never the same lookup twice


def test_a_failed_lookup_is_not_shown_and_answers_nothing() -> None:
    failing = episode(find(), called("get_user", {"user": "u-7"}, "No such user", error=True), replied())
    assert flow_alone(failing).sources == {NOT_SHOWN: (1, 0)}
    assert replay(shop_flow(), failing).saved == 1


def test_a_call_that_was_broken_off_is_no_result() -> None:
    lost = episode(find()[:1], said("Hello?"), user("#A1"))
    assert seen(flow_alone(lost)) == (0, 0, 0)


def test_a_strategy_that_fails_is_an_error_and_no_zero() -> None:
    class Broken:
        name = "broken"

        def observe(self, step: Step, result: Result) -> None:
            raise ValueError("no")

        def propose(self) -> Lookup | None:
            return None

        def settle(self, lookup: Lookup, result: Result) -> None: ...

    with pytest.raises(StrettoError, match="worked: the manager met faults: strategy 'broken' switched off"):
        replay_together(worked_example(), SHOP, strategies=[lambda _: Broken()])
