"""The run after each call: the loop, its caps, what is logged and calls in flight."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.deciders.oracle import MockOracle
from stretto.errors import BadFlow, UsageError
from stretto.flow.file import read_flow
from stretto.flow.model import Gate
from stretto.live import LiveSession
from stretto.sessions.episode import ToolCall
from stretto.speculator import Prepared, Speculator
from tests.stretto.served import Served, orders_of
from tests.stretto.shop import ORDERS, USER, answer, shop_flow
from waggle import Result, jsonvalue

if TYPE_CHECKING:
    from stretto.deciders.model import Decision

DATA = Path(__file__).parent / "data"


ALL_ORDERS = [("get_order", {"order_id": name}) for name in ORDERS]


# --- the loop -------------------------------------------------------------------------------------------------------


def test_the_worked_run_of_the_example_flow() -> None:
    """Spec §9.5: the user, then each order until nothing is left to pass, with the numbers of §10."""
    served = Served(
        read_flow(DATA / "retail-5-sessions.flow.json"),
        lambda tool, _: Result('{"orders": ["#W1", "#W2"]}' if tool == "get_user_details" else "{}"),
        decider="habit",
    )
    served.speculator.reply()
    served.speculator.user("I am ada@example.com")
    assert served.call("find_user_id_by_email", Result("user_7"), email="ada@example.com") == [
        ("get_user_details", {"user_id": "user_7"}),
        ("get_order_details", {"order_id": "#W1"}),
        ("get_order_details", {"order_id": "#W2"}),
    ]
    assert [(line["address"], line["site"], line["action"]) for line in served.decisions] == [
        ("decide#0", "find_user_id_by_email", "lookup"),
        ("decide#1", "get_user_details", "lookup"),
        ("decide#2", "get_order_details", "lookup"),
        ("decide#3", "get_order_details", "hand_back"),
    ]
    assert served.decisions[-1]["reason"] == "get_order_details: nothing left to pass as `order_id`"
    [run] = served.runs
    assert (run["call"], run["failed"], run["max_lookups"]) == ("find_user_id_by_email", False, 8)
    addresses = ["decide#0", "outcome#0", "decide#1", "outcome#1", "decide#2", "outcome#2", "decide#3"]
    assert [site[0] for site in run["sites"]] == addresses
    assert [site[1] for site in run["sites"]] == [6, True, 4, True, 4, True, 0]
    assert run["sites"][3][2] == pytest.approx(-0.0953, abs=1e-4)
    assert run["surprise"] == pytest.approx(-sum(site[2] for site in run["sites"]))
    assert all(line["after"] == "c1" for line in served.lines)


def test_a_lookup_carries_its_score_and_where_it_comes_from() -> None:
    speculator = Speculator(Prepared(shop_flow(), "shop flow"))
    speculator.turn()
    speculator.call(ToolCall("c", "find_user", {}))
    speculator.result("c", error=False, content="u1")
    speculator.begin("c")
    lookup = speculator.next()
    assert lookup is not None
    assert (lookup.strategy, lookup.source) == ("flow", "shop flow: find_user")
    assert lookup.chance == pytest.approx(21 / 22, abs=0.04)
    assert speculator.lookup_id == "stretto-0"
    assert speculator.next() is None  # one at a time


def test_a_run_follows_a_list_to_its_end_and_a_later_call_goes_on_where_it_stopped() -> None:
    served = Served(shop_flow(), orders_of(10))
    assert served.call("find_user") == [
        ("get_user", {"user_id": "u1"}),
        *(("get_order", {"order_id": f"#W{n}"}) for n in range(7)),
    ]
    assert served.call("get_order", order_id="#W8") == [
        ("get_order", {"order_id": "#W7"}),
        ("get_order", {"order_id": "#W9"}),
    ]


def test_the_cap_of_a_call_hands_back_without_a_line_of_its_own() -> None:
    served = Served(shop_flow(), orders_of(10), per_call=2)
    assert len(served.call("find_user")) == 2
    assert [line["action"] for line in served.decisions] == ["lookup", "lookup"]
    assert len(served.runs[0]["sites"]) == 4
    assert served.runs[0]["max_lookups"] == 2


def test_no_run_begins_once_the_sessions_lookups_are_used_up() -> None:
    served = Served(shop_flow(), orders_of(10), per_session=3)
    assert len(served.call("find_user")) == 3
    assert not served.speculator.begin("c1")
    before = len(served.lines)
    assert served.call("get_order", order_id="#W9") == []
    assert len(served.lines) == before


def test_no_question_is_asked_once_they_are_used_up() -> None:
    flow = read_flow(DATA / "cold-start-2026-09-24-live.flow.json")
    served = Served(flow, orders_of(9), questions=2, oracle=MockOracle(), threshold=0.0)
    served.call("find_user_id_by_name_zip", Result("ada"))
    served.call("get_user_details", Result('{"orders": []}'))
    served.call("get_user_details", Result('{"orders": []}'))
    assert served.speculator.asked == 2
    assert all(line["key"].startswith("w1:") and line["oracle"] for line in served.decisions if line["probs"])
    assert len([line for line in served.decisions if line["key"]]) == 2


def test_a_failed_lookup_does_not_end_the_run_and_its_site_is_the_next() -> None:
    flow = shop_flow()
    flow.sites.next["get_user", True] = {"get_order": 3}
    served = Served(flow, lambda tool, arguments: Result("gone", ok=False) if tool == "get_user" else Result("u1"))
    served.call("find_user")
    assert [(line["site"], line["action"]) for line in served.decisions] == [
        ("find_user", "lookup"),
        ("get_user (error)", "hand_back"),
    ]
    assert served.runs[0]["sites"][1][1] is False


def test_a_failed_call_of_the_agent_begins_a_run_at_its_own_site() -> None:
    served = Served(shop_flow())
    assert served.call("get_user", Result("no such user", ok=False), user_id="x") == []
    assert [(line["site"], line["reason"]) for line in served.decisions] == [
        ("get_user (error)", "no lookups followed here in training")
    ]


# --- what is never looked up twice ----------------------------------------------------------------------------------


def test_what_the_agent_passed_before_is_not_looked_up_writes_in_between_or_not() -> None:
    served = Served(shop_flow())
    served.call("get_order", order_id="#W2")
    served.call("cancel_order", Result("ok"), order_id="#W2")
    assert served.call("get_user", user_id="u1") == [
        ("get_order", {"order_id": "#W1"}),
        ("get_order", {"order_id": "#W3"}),
    ]


@pytest.mark.case("HC-11")
def test_calls_in_flight_count_as_passed_and_the_call_that_returned_is_the_site() -> None:
    served = Served(shop_flow())
    speculator = served.speculator
    speculator.turn()
    speculator.call(ToolCall("a", "get_user", {"user_id": "u1"}))
    speculator.call(ToolCall("b", "get_order", {"order_id": "#W1"}))
    speculator.call(ToolCall("c", "get_order", {"order_id": "#W2"}))
    speculator.result("a", error=False, content=jsonvalue.dumps(USER).decode())
    speculator.begin("a")
    assert served.follow() == [("get_order", {"order_id": "#W3"})]
    speculator.result("c", error=False, content="{}")
    speculator.begin("c")
    assert served.follow() == []
    assert served.decisions[0]["site"] == "get_user"
    assert served.decisions[-1]["reason"] == "get_order: nothing left to pass as `order_id`"


def test_a_lookup_without_an_answer_is_not_made_again_and_its_run_has_no_line() -> None:
    served = Served(shop_flow())
    speculator = served.speculator
    speculator.turn()
    speculator.call(ToolCall("a", "get_user", {"user_id": "u1"}))
    speculator.result("a", error=False, content=jsonvalue.dumps(USER).decode())
    speculator.begin("a")
    assert speculator.next() is not None
    speculator.end()
    assert served.runs == []
    speculator.settle(Result("too late"))
    assert served.call("get_order", order_id="#W2") == [("get_order", {"order_id": "#W3"})]


def test_a_lookup_that_was_never_made_leaves_no_trace() -> None:
    served = Served(shop_flow())
    speculator = served.speculator
    speculator.turn()
    speculator.call(ToolCall("a", "get_user", {"user_id": "u1"}))
    speculator.result("a", error=False, content=jsonvalue.dumps(USER).decode())
    for _ in range(3):
        assert speculator.begin("a")
        lookup = speculator.next()
        assert lookup is not None
        assert lookup.args == {"order_id": "#W1"}
        speculator.withdraw()
    assert (speculator.made, served.runs) == (0, [])


def test_a_result_that_comes_while_a_lookup_is_made_begins_no_second_run() -> None:
    speculator = Speculator(shop_flow())
    speculator.turn()
    for name in "ab":
        speculator.call(ToolCall(name, "get_user", {"user_id": name}))
    speculator.result("a", error=False, content=jsonvalue.dumps(USER).decode())
    assert speculator.begin("a")
    first = speculator.next()
    assert first is not None
    speculator.result("b", error=False, content="{}")
    assert not speculator.begin("b")
    assert speculator.next() is None
    speculator.settle(answer("get_order", first.args))
    second = speculator.next()
    assert second is not None
    assert second.args == {"order_id": "#W2"}


def test_a_result_of_an_earlier_turn_begins_no_run() -> None:
    speculator = Speculator(shop_flow())
    speculator.turn()
    speculator.call(ToolCall("late", "get_user", {"user_id": "u1"}))
    speculator.turn()
    speculator.result("late", error=False, content=jsonvalue.dumps(USER).decode())
    assert not speculator.begin("late")
    speculator.reply()
    assert not speculator.begin("late")


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["find_user", "get_user", "get_order", "cancel_order"]), st.sampled_from(["#W1", "#W2", "#W4"])
    ),
    max_size=8,
)


@given(CALLS, st.integers(0, 6), st.floats(0, 1))
def test_no_call_is_ever_made_a_second_time(calls: list[tuple[str, str]], orders: int, threshold: float) -> None:
    served = Served(shop_flow(), orders_of(orders), threshold=threshold)
    passed: list[tuple[str, Any]] = []
    for tool, value in calls:
        name = {"get_user": "user_id", "find_user": "email"}.get(tool, "order_id")
        passed.append((tool, {name: value}))
        arguments: dict[str, Any] = {name: value}
        for lookup in served.call(tool, **arguments):
            assert lookup not in passed
            passed.append(lookup)
            assert shop_flow().manifest.kind(lookup[0]) == "read"


# --- shadow, withheld, gate, exploration ----------------------------------------------------------------------------


def test_in_shadow_mode_each_call_logs_one_decision_and_nothing_is_looked_up() -> None:
    served = Served(shop_flow(), shadow=True)
    assert served.call("find_user") == []
    assert served.call("get_user", user_id="u1") == []
    assert [(line["address"], line["action"], line["shadow"]) for line in served.decisions] == [
        ("decide#0", "lookup", True),
        ("decide#0", "lookup", True),
    ]
    assert [run["sites"] for run in served.runs] == [[["decide#0", 0, 0.0]]] * 2


def test_a_lookup_that_may_not_be_made_is_logged_with_the_reason_and_said_once() -> None:
    prepared = Prepared(shop_flow())
    for _ in range(2):
        served = Served(prepared, allowed_tools={"get_order"})
        assert served.call("find_user") == []
        [line] = served.decisions
        assert (line["action"], line["tool"]) == ("lookup", "get_user")
        assert line["withheld"] == "it is not among the tools that the flow may look up"
    assert prepared.faults.counts() == {
        "flow shop: get_user is left to the agent: it is not among the tools that the flow may look up": 2
    }


@pytest.mark.case("HC-28")
def test_what_the_server_lists_anew_is_heeded_from_then_on() -> None:
    flow = shop_flow()
    flow.manifest = replace(flow.manifest, contracts={"get_order": "order_id:string!"})
    served = Served(flow)
    served.speculator.listed(flow.manifest)
    assert served.call("find_user")[1:] == ALL_ORDERS
    changed = replace(flow.manifest, contracts={"get_order": "order_id:string!, region:string!"})
    other = Served(flow)
    other.speculator.listed(flow.manifest)
    other.speculator.listed(changed)
    assert other.call("find_user") == [("get_user", {"user_id": "u1"})]
    assert "`region` is new and required" in other.decisions[-1]["withheld"]


def test_a_session_that_surprises_is_left_alone_for_good() -> None:
    flow = shop_flow(surprise=Gate(window=2, threshold=1.0))
    served = Served(flow, lambda tool, arguments: Result("{}"))
    for _ in range(3):
        served.call("get_user", user_id="u1")  # the agent reads users again and again, where orders came in training
    assert served.decisions[-1]["reason"].startswith("the session surprised the flow: 2 of the agent's steps")
    served.call("find_user", Result("u1"))
    assert served.decisions[-1]["reason"].startswith("the session surprised the flow")
    for gate in (None, Gate(2, 99.0)):
        calm = Served(flow, lambda tool, arguments: Result("{}"), gate=gate)
        for _ in range(4):
            calm.call("get_user", user_id="u1")
        assert not any("surprised" in line.get("reason", "") for line in calm.decisions)


def test_each_step_after_a_result_is_scored_once_replies_and_the_user_included() -> None:
    flow = shop_flow(surprise=Gate(window=3, threshold=0.5))
    served = Served(flow, lambda tool, arguments: Result("{}"))
    speculator = served.speculator
    served.call("get_user", user_id="u1")
    speculator.reply("Which order?")
    speculator.user("The first.")
    speculator.user("Please.")
    served.call("get_user", user_id="u2")
    speculator.user("Wait!")
    assert served.speculator.begin("c2")
    assert served.follow() == []
    assert "surprised" not in served.decisions[-1]["reason"]  # two steps so far, and the window holds three
    speculator.reply()
    served.call("get_user", user_id="u3")
    speculator.reply()
    served.call("find_user", Result("u1"))
    assert "3 of the agent's steps" in served.decisions[-1]["reason"]


def test_with_exploration_every_weighed_decision_carries_its_policy() -> None:
    flow = shop_flow()
    flow.sites.next["get_user", False] = {"get_order": 20, "get_user": 1}
    served = Served(flow, explore=1.0, explore_seed=3, task="t7")
    served.call("find_user", Result("u9"))
    policy = served.decisions[0]["policy"]
    assert policy["task_id"] == "t7"
    assert policy["events"] == 2
    assert "policy" not in Served(flow).decisions
    assert served.call("get_user", user_id="u1") != ALL_ORDERS


# --- faults ---------------------------------------------------------------------------------------------------------


def test_a_decision_that_fails_hands_back_without_a_line_and_is_noted() -> None:
    class Broken:
        name = "broken"

        def decide(self, *_: Any) -> Decision:
            raise ZeroDivisionError

    served = Served(shop_flow(), decider=Broken())
    assert served.call("find_user") == []
    assert served.lines == []
    assert served.speculator.prepared.faults.counts() == {"flow shop: a decision failed": 1}


def test_what_no_decision_could_serve_is_refused_at_the_start() -> None:
    with pytest.raises(BadFlow, match="no reach counts"):
        Speculator(shop_flow(reach=None), decider="reach")
    with pytest.raises(BadFlow, match="no arbiter"):
        Speculator(shop_flow(), decider="arbiter", oracle=MockOracle())
    with pytest.raises(UsageError, match="there is no decider"):
        Speculator(shop_flow(), decider="x")
    Speculator(shop_flow(reach=None))  # the default is what the flow can serve


# --- the parts it is made of ----------------------------------------------------------------------------------------


def test_a_session_fed_from_a_record_stands_where_the_served_one_does() -> None:
    flow = shop_flow()
    served = Served(flow)
    served.speculator.user("hi")
    served.call("find_user", email="x")
    live = LiveSession(flow)
    live.user("hi")
    live.turn()
    for name, tool, arguments in [
        ("c1", "find_user", {"email": "x"}),
        ("stretto-0", "get_user", {"user_id": "u1"}),
        *((f"stretto-{n}", "get_order", {"order_id": order}) for n, order in enumerate(ORDERS, 1)),
    ]:
        live.call(ToolCall(name, tool, dict(arguments)))
        live.result(name, error=False, content=answer(tool, dict(arguments)).text)
    assert served.speculator.session.situation().history == live.situation().history
    assert served.speculator.session.situation().site == live.situation().site


@pytest.mark.case("HC-26")
def test_a_lookup_with_a_value_and_no_text_is_taken_in_as_json() -> None:
    """Of the case only this: what is in ``structuredContent`` alone can be bound from."""
    value: Any = USER
    served = Served(shop_flow(), lambda tool, a: Result(value=value) if tool == "get_user" else Result("{}"))
    assert served.call("find_user", Result("u1"))[1:] == ALL_ORDERS


def test_the_time_of_a_decision_is_told_in_milliseconds() -> None:
    ticks = iter([1.0, 1.002])
    lines: list[Any] = []
    speculator = Speculator(shop_flow(), on_line=lines.append, clock=lambda: next(ticks))
    speculator.turn()
    speculator.call(ToolCall("c", "think", {}))
    speculator.result("c", error=False, content="")
    speculator.begin("c")
    assert speculator.next() is None
    assert lines[0]["ms"] == pytest.approx(2.0)
    assert math.isfinite(lines[1]["run"]["surprise"])
