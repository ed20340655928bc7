"""A flow inside a real manager: beside the routes, under the same caps and in the same ledger."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto.errors import BadFlow
from stretto.replayer import FlowReplayer, flow_strategy, hint_tools
from tests.stretto.flow_host import EVERYTHING, FIND, Host, serve, table
from tests.stretto.shop import KINDS, USER, answer, shop_flow
from waggle import Call, Lookup, Manager, ManagerConfig, Result, Route, Store, ToolTable, jsonvalue, read_ledger
from waggle.calls import Outcome, Step
from waggle.ledger import read_settled
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from pathlib import Path


# --- in the loop ----------------------------------------------------------------------------------------------------


def test_a_flow_looks_up_what_follows_and_says_where_each_lookup_comes_from() -> None:
    host = serve()
    host.manager.observe(FIND, "u1")
    fold = host.manager.follow(host.run)
    assert fold is not None
    assert [(one.tool, one.args) for one in fold.lookups] == EVERYTHING == host.asked
    assert [one.source for one in fold.lookups] == [
        "shop: find_user",
        "shop: get_user",
        "shop: get_order",
        "shop: get_order",
    ]
    assert {one.strategy for one in fold.lookups} == {"flow"}
    assert all(one.chance is not None and 0.3 <= one.chance <= 1 for one in fold.lookups)
    assert '"#W3"' in fold.text
    assert host.manager.faults() == {}


def test_lookups_made_in_async_code_are_the_same_ones() -> None:
    async def main() -> list[tuple[str, Any]]:
        host = serve()

        async def run(tool: str, args: dict[str, Any]) -> Result:
            await asyncio.sleep(0)
            return answer(tool, args)

        host.manager.observe(FIND, "u1")
        fold = await host.manager.afollow(run)
        assert fold is not None
        return [(one.tool, one.args) for one in fold.lookups]

    assert asyncio.run(main()) == EVERYTHING


def test_a_lookup_that_takes_too_long_ends_the_run_and_is_not_made_again() -> None:
    async def main() -> list[Any]:
        host = serve(config=ManagerConfig(follow_seconds=0.2))
        asked: list[Any] = []

        async def run(tool: str, args: dict[str, Any]) -> Result:
            asked.append(args)
            if args.get("order_id") == "#W1" and len(asked) == 2:
                await asyncio.Event().wait()
            return answer(tool, args)

        for call in (FIND, Call("get_order", {"order_id": "#W2"})):
            host.manager.observe(call, answer(call.tool, dict(call.args)))
            await host.manager.afollow(run)
        return asked

    assert asyncio.run(main()) == [{"user_id": "u1"}, {"order_id": "#W1"}, {"order_id": "#W3"}]


def test_a_host_that_breaks_off_does_not_stop_the_flow_for_good() -> None:
    async def main() -> list[Any]:
        host = serve()
        entered = asyncio.Event()

        async def never(tool: str, args: dict[str, Any]) -> Result:
            entered.set()
            await asyncio.Event().wait()
            return Result()

        host.manager.observe(FIND, "u1")
        task = asyncio.create_task(host.manager.afollow(never))
        async with asyncio.timeout(5):
            await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return host.call(FIND)

    assert asyncio.run(main()) == EVERYTHING


def test_lookups_that_are_held_back_leave_the_flow_as_it_was() -> None:
    host = serve(config=ManagerConfig(control_share=1.0))
    for _ in range(3):
        assert host.call(FIND) == []
    assert host.asked == []
    assert host.call(Call("get_user", {"user_id": "u1"})) == []
    assert host.manager.faults() == {}


def test_a_failed_lookup_is_followed_by_what_follows_a_failure() -> None:
    flow = shop_flow()
    flow.sites.next["get_user", True] = {"get_order": 9}
    host = serve(flow)
    host.tools = lambda tool, args: Result("no", ok=False) if tool == "get_user" else answer(tool, args)
    assert host.call(FIND) == []
    assert host.asked == [("get_user", {"user_id": "u1"})]


def test_a_protocol_error_begins_no_run_and_a_tools_error_does() -> None:
    flow = shop_flow()
    flow.sites.next["find_user", True] = {"get_stock": 20}
    flow.bindings.args["get_stock"] = (20, {})
    host = serve(flow, threshold=0.0)
    assert host.call(FIND, Result("bad id", ok=False, outcome=Outcome.PROTOCOL_ERROR)) == []
    assert host.asked == []
    host.call(FIND, Result("no such user", ok=False))
    assert host.asked == [("get_stock", {})]


# --- routes and flow together ---------------------------------------------------------------------------------------


def reads(*orders: str) -> list[RouteStep]:
    return [RouteStep("get_order", {"order_id": order}) for order in orders]


#: After an order and another one a route reads the third, which a flow would read, too.
ROUTE = Route("look-around", tuple(reads("#W9", "#W8", "#W1")))


def test_routes_and_flow_act_under_the_same_caps_and_never_make_one_lookup_twice(tmp_path: Path) -> None:
    store = Store(tmp_path / "skills", tmp_path / "ledger.jsonl")
    host = serve(
        store=store, routes=[ROUTE], config=ManagerConfig(lookups_per_result=2, lookups_per_session=3, reach=False)
    )
    host.manager.observe(Call("get_user", {"user_id": "u1"}), answer("get_user", {}))
    host.call(Call("get_order", {"order_id": "#W9"}), Result("{}"))
    assert host.asked == [("get_order", {"order_id": "#W1"}), ("get_order", {"order_id": "#W2"})]
    folded = host.call(Call("get_order", {"order_id": "#W8"}), Result("{}"))
    assert host.asked[2:] == [("get_order", {"order_id": "#W3"})]  # the route's own is known, the session's cap is 3
    assert folded == host.asked[2:]


def test_what_a_route_looked_up_is_taken_in_by_the_flow_and_it_goes_on_from_there() -> None:
    """The route makes the user's lookup; the flow, which would make the same, is given its answer."""
    steps = [
        RouteStep("find_user", {"email": "ada@example.com"}),
        RouteStep("think", {}),
        RouteStep("get_user", {"user_id": "u1"}),
    ]
    tools = table()
    tools.allow("think")
    host = serve(routes=[Route("r", (steps[1], steps[0], steps[2]))], tools=tools, config=ManagerConfig(reach=False))
    host.call(Call("think", {}))
    assert host.call(FIND) == EVERYTHING
    assert host.asked.count(("get_user", {"user_id": "u1"})) == 1


def test_each_lookup_is_settled_in_the_ledger_by_strategy_and_source(tmp_path: Path) -> None:
    store = Store(tmp_path / "skills", tmp_path / "ledger.jsonl")
    host = serve(store=store, config=ManagerConfig(reach=False))
    host.call(FIND)
    host.manager.observe(Call("get_order", {"order_id": "#W1"}), answer("get_order", {"order_id": "#W1"}))
    host.manager.observe(Call("cancel_order", {"order_id": "#W1"}), "cancelled")
    assert host.manager.close()
    stats = read_ledger(store.ledger_path)
    assert {name: (stat.used, stat.detours) for name, stat in stats.items()} == {
        "shop: find_user": (0, 1),
        "shop: get_user": (1, 0),
        "shop: get_order": (0, 2),
    }
    assert stats["shop: get_order"].spent_tokens > 0
    assert stats["shop: get_user"].saved_tokens > 0
    assert {strategy for strategy, _ in read_settled(store.ledger_path)} == {"flow"}
    assert stats["shop: find_user"].uses == 1


def test_two_flows_take_in_their_own_lookups_alone() -> None:
    tools = table()
    names = ("one", "two")
    strategies = [flow_strategy(shop_flow(), name=name, tools=tools) for name in names]
    host = Host(Manager(ManagerConfig(reach=False), strategies=strategies, tools=tools))
    host.manager.observe(FIND, "u1")
    fold = host.manager.follow(host.run)
    assert fold is not None
    assert [(one.tool, one.args) for one in fold.lookups] == EVERYTHING
    assert all(one.source.startswith("one: ") for one in fold.lookups)
    assert host.manager.faults() == {}


def test_a_strategy_that_raises_is_switched_off_and_the_flow_goes_on() -> None:
    class Broken:
        name = "broken"
        closed = 0

        def observe(self, step: Step, result: Result) -> None:
            raise ZeroDivisionError

        def propose(self) -> Lookup | None:
            return None

        def settle(self, lookup: Lookup, result: Result) -> None:
            pass

        def close(self) -> None:
            self.closed += 1
            raise ZeroDivisionError

    broken, tools = Broken(), table()
    manager = Manager(strategies=[lambda _: broken, flow_strategy(shop_flow(), tools=tools)], tools=tools)
    host = Host(manager)
    assert host.call(FIND) == EVERYTHING
    assert manager.close()
    assert broken.closed == 1
    assert list(manager.faults()) == ["strategy 'broken' switched off"]


def test_a_flow_that_fails_is_noted_and_hands_back() -> None:
    class Broken:
        name = "broken"

        def decide(self, *_: Any) -> Any:
            raise ZeroDivisionError

    host = serve(decider=Broken())
    assert host.call(FIND) == []
    assert host.manager.faults() == {}


# --- what may be looked up ------------------------------------------------------------------------------------------


def test_hints_say_what_reads_and_what_writes_and_the_users_word_goes_before_them() -> None:
    tools = table()
    assert {name: tools.may_repeat(name, {}) for name in KINDS} == {
        name: kind == "read" for name, kind in KINDS.items()
    }
    edited = replace(shop_flow().manifest, tools={"Write": "read", "get_user": "write", "odd": "generic"})
    hint_tools(tools, edited)
    assert not tools.may_repeat("Write", {})
    assert not tools.may_repeat("get_user", {})
    assert not tools.may_repeat("odd", {})


def test_without_hints_nothing_is_looked_up_and_the_flow_stays_on() -> None:
    host = serve(tools=ToolTable())
    assert host.call(FIND) == []
    assert host.asked == []
    assert host.manager.faults() == {}


def test_a_tool_the_user_denies_is_left_to_the_agent_and_the_others_are_looked_up() -> None:
    tools = table()
    tools.deny("get_order")
    host = serve(tools=tools)
    assert host.call(FIND) == EVERYTHING[:1]
    assert host.manager.faults() == {}


def test_a_flow_that_is_served_without_the_managers_table_is_switched_off_by_the_managers_own_check() -> None:
    manager = Manager(strategies=[flow_strategy(shop_flow())])
    host = Host(manager)
    assert host.call(FIND) == []
    assert host.asked == []
    assert manager.faults() == {"strategy 'flow' switched off": 1}


def test_what_cannot_be_served_is_refused_when_the_strategy_is_made() -> None:
    with pytest.raises(BadFlow):
        flow_strategy(shop_flow(reach=None), decider="reach")


# --- the conversation, and calls beside each other ------------------------------------------------------------------


def test_what_the_user_said_decides_which_record_comes_first() -> None:
    host = serve()
    host.manager.hear("It is about order #w3, please.")
    assert host.call(FIND)[1] == ("get_order", {"order_id": "#W3"})


def test_an_assistants_text_is_a_reply_when_the_user_speaks_next_and_none_when_calls_come() -> None:
    def history(*said: tuple[str, str]) -> tuple[int, ...]:
        flow = shop_flow()
        replayer = flow_strategy(flow, tools=table(flow))("s")
        assert isinstance(replayer, FlowReplayer)
        for role, text in said:
            replayer.hear(role, text)
        replayer.observe(Step(0, "find_user", {}), Result("u1"))
        return replayer._speculator.session.situation().history

    hello = ("user", "hi")
    silent = history()
    assert history(hello) == history(("assistant", "Let me look."), ("system", "x")) == silent
    replied = history(hello, ("assistant", "Who are you?"), ("user", "Ada"))
    assert len(replied) == len(silent) + 1
    assert history(("assistant", "How may I help?"), hello) == silent  # a greeting is no turn
    twice = history(hello, ("assistant", "Hm."), ("assistant", "Let me look."))
    assert len(twice) == len(silent) + 1
    assert twice != replied  # nobody answered


def test_a_user_who_speaks_after_calls_was_replied_to_though_the_host_passes_no_reply_on() -> None:
    flow = shop_flow()

    def history(*replies: str) -> tuple[int, ...]:
        replayer = flow_strategy(flow, tools=table(flow))("s")
        assert isinstance(replayer, FlowReplayer)
        replayer.hear("user", "hi")
        replayer.observe(Step(0, "find_user", {}), Result("u1"))
        for text in replies:
            replayer.hear("assistant", text)
        replayer.hear("user", "and now?")
        replayer.observe(Step(1, "find_user", {}), Result("u1"))
        return replayer._speculator.session.situation().history

    assert history() == history("Done.")
    assert len(history()) == 2


@pytest.mark.case("HC-11")
def test_calls_that_are_announced_are_not_looked_up_while_they_run() -> None:
    host = serve()
    a, b, c = (
        Call("get_user", {"user_id": "u1"}, id="5"),
        Call("get_order", {"order_id": "#W1"}, id="6"),
        Call("get_order", {"order_id": "#W2"}, id="7"),
    )
    for call in (a, b, c):
        host.manager.start(call)
    assert host.call(a) == [("get_order", {"order_id": "#W3"})]
    assert host.call(c) == host.call(b) == []


def test_a_host_that_reports_lookups_back_is_not_followed_into_them() -> None:
    """Neither what it announces nor what it observes while it runs a lookup is a call of the agent."""
    host = serve()

    def run(tool: str, args: dict[str, Any]) -> Result:
        call = Call(tool, args, id=f"{tool}{args}")
        host.manager.start(call)
        result = host.run(tool, args)
        host.manager.observe(call, result)
        return result

    host.manager.observe(FIND, "u1")
    fold = host.manager.follow(run)
    assert fold is not None
    assert [(one.tool, one.args) for one in fold.lookups] == EVERYTHING
    assert [step.tool for step in host.manager.session().steps()] == ["find_user"]
    host.manager.observe(Call("think", {}), "x")
    assert [step.tool for step in host.manager.session().steps()] == ["find_user", "think"]


def test_of_a_result_that_is_cut_nothing_is_bound() -> None:
    whole = jsonvalue.dumps(USER).decode()
    lines = "#W1\n#W2\n#W"
    for text in (whole[:-9], lines):
        host = serve()
        assert host.call(Call("get_user", {"user_id": "u1"}), Result(text, cut=True)) == []
    replayer = flow_strategy(shop_flow(), tools=table())("s")
    replayer.observe(Step(0, "find_user", {}), Result("u1"))
    lookup = replayer.propose()
    assert lookup is not None
    replayer.settle(lookup, Result(whole[:-9], cut=True))
    assert replayer.propose() is None


def test_sessions_do_not_see_each_other() -> None:
    host = serve()
    one, two = host.manager.session("one"), host.manager.session("two")
    one.observe(FIND, "u1")
    assert one.follow(host.run) is not None
    two.observe(Call("get_order", {"order_id": "#W1"}), "{}")
    assert two.follow(host.run) is None
