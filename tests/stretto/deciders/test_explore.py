"""Exploration: how often another lookup is taken, which, and what the policy says of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from stretto.deciders.decide import decide
from stretto.deciders.explore import Explorer, SplitMix64
from stretto.live import LiveSession, Situation
from stretto.sessions.episode import ToolCall
from tests.stretto.shop import USER, shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.flow.model import Flow


def branching() -> tuple[Flow, Situation]:
    """A site with three lookups: `get_order` is the rule's, `get_user` is another that binds, `get_stock` does not."""
    flow = shop_flow()
    flow.sites.next["get_user", False] = {"get_order": 20, "get_stock": 1, "get_user": 1}
    live = LiveSession(flow)
    for number, (tool, content) in enumerate([("find_user", "u2"), ("get_user", jsonvalue.dumps(USER).decode())]):
        live.turn()
        live.call(ToolCall(f"c{number}", tool, {}))
        live.result(f"c{number}", error=False, content=content)
    return flow, live.situation()


def test_splitmix64_gives_its_published_sequence() -> None:
    draws = SplitMix64(1234567)
    assert [draws.next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_one_decision_in_so_many_is_explored_in_proportion_to_the_probabilities() -> None:
    flow, situation = branching()
    decision = decide(flow, situation)
    taken: Counter[str | None] = Counter()
    for seed in range(2000):
        explored, policy = Explorer(0.25, seed).explore(flow, situation, decision, decider="reach", threshold=0.3)
        taken[explored.tool] += 1
        assert policy["explored"] is (explored.tool != "get_order")
        assert policy["propensity"] == pytest.approx(0.25 if policy["explored"] else 0.75)
        assert policy["greedy"] == "get_order"
    assert taken["get_user"] == pytest.approx(500, abs=80)
    assert taken["get_stock"] == 0  # it does not bind


def test_an_explored_lookup_carries_its_own_numbers() -> None:
    flow, situation = branching()
    decision = decide(flow, situation)
    explored, policy = Explorer(1.0, 0, "t").explore(flow, situation, decision, decider="reach", threshold=0.3)
    assert (explored.tool, explored.looks_up) == ("get_user", True)
    assert explored.prob == decision.probs["get_user"]
    assert explored.bound is not None
    assert explored.binding == explored.bound.chance
    assert {key: policy[key] for key in ("decider", "threshold", "epsilon", "task_id", "events")} == {
        "decider": "reach",
        "threshold": 0.3,
        "epsilon": 1.0,
        "task_id": "t",
        "events": 0,
    }
    options = policy["options"]
    assert isinstance(options, list)
    by_tool = {option["tool"]: option for option in options if isinstance(option, dict)}
    assert list(by_tool) == ["get_order", "get_stock", "get_user"]
    assert by_tool["get_order"]["arguments"] == {"order_id": "#W1"}
    assert by_tool["get_stock"] == {
        "tool": "get_stock",
        "p": decision.probs["get_stock"],
        "habit": pytest.approx(0.005, abs=0.005),
        "binding": None,
        "arguments": None,
        "unbound": "get_stock: never called in training",
    }


def test_a_hand_back_may_be_explored_and_a_rule_without_alternatives_has_propensity_1() -> None:
    flow, situation = branching()
    hands_back = decide(flow, situation, threshold=1.0)
    explored, policy = Explorer(1.0, 0).explore(flow, situation, hands_back, decider="reach", threshold=1.0)
    assert explored.looks_up
    assert policy["greedy"] is None
    flow.sites.next["get_user", False] = {"get_order": 20}
    alone = decide(flow, situation)
    same, policy = Explorer(1.0, 0).explore(flow, situation, alone, decider="reach", threshold=0.3)
    assert (same, policy["propensity"], policy["explored"]) == (alone, 1.0, False)


def test_the_same_session_draws_the_same_and_another_task_or_event_another() -> None:
    flow, situation = branching()
    decision = decide(flow, situation)

    def draws(task: str, *events: str) -> list[object]:
        found: list[object] = []
        for seed in range(40):
            explorer = Explorer(0.5, seed, task)
            for event in events:
                explorer.tell({"user": event})
            found.append(explorer.explore(flow, situation, decision, decider="reach", threshold=0.3)[1]["explored"])
        return found

    assert draws("t", "a", "b") == draws("t", "a", "b")
    assert len({str(draws(*session)) for session in [("t", "a"), ("u", "a"), ("t", "b"), ("t", "a", "b")]}) == 4
