"""The OpenAI Agents SDK with its own scripted model: what the model is shown, of own tools and of MCP servers'."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, ToolOutputText, function_tool, set_tracing_disabled
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call

from tests.integrations.routines import (
    HABIT,
    ROUND,
    Broken,
    Script,
    answer,
    check_example,
    check_folds,
    check_observed,
    check_own,
    habitual,
)
from waggle import Manager, Outcome
from waggle.integrations.openai_agents import watch_agent

set_tracing_disabled(True)

#: The habit with a tool in it whose result is no text.
RECORDS = [ROUND[0], [("record", {"number": "7"})], *ROUND[2:]]
SHOP = [
    [("find_user_id_by_email", {"email": "ada.lovelace@example.com"})],
    [("get_user_details", {"user_id": "ada_lovelace_1000"})],
    [("get_order_details", {"order_id": "#W1000"})],
]


@function_tool
def orders_of(who: str) -> str:
    """Look up."""
    return answer("orders_of", who)


@function_tool
async def order(number: str) -> str:
    """Look up."""
    return answer("order", number)


@function_tool
def record(number: str) -> Any:
    """Look up."""
    return [ToolOutputText(text=answer("record", number))]


@function_tool
def pair(number: str) -> dict[str, str]:
    """Look up."""
    return {"number": number}


@function_tool
def broken(number: str) -> str:
    """Look up."""
    raise ZeroDivisionError(f"no {number}")


@function_tool(failure_error_function=lambda _ctx, error: f"in other words: {error}")
def worded(number: str) -> str:
    """Look up."""
    raise ZeroDivisionError(f"no {number}")


@function_tool(failure_error_function=None)
def raising(number: str) -> str:
    """Look up."""
    raise ZeroDivisionError(f"no {number}")


@function_tool(needs_approval=True)
def pay(number: str) -> str:
    """Pay."""
    return answer("pay", number)


@function_tool(needs_approval=lambda _ctx, args, _id: args["number"] == "8")
def refund(number: str) -> str:
    """Pay back, if someone says so."""
    return answer("refund", number)


@function_tool
def ship(number: str) -> str:
    """Ship it."""
    return answer("ship", number)


TOOLS: list[Any] = [orders_of, order, record, pair, broken, worded, raising, pay, refund, ship]


def model_of(turns: Any) -> ScriptedModel:
    script = Script(turns)
    steps = [[function_call(tool, args, call_id=name) for name, tool, args in script.next()] for _ in turns]
    return ScriptedModel([*steps, [assistant_message("done")]])


def outputs(model: ScriptedModel) -> list[Any]:
    """The outputs of tools in the last request."""
    last = model.last_call
    assert last
    assert isinstance(last.input, list)
    return [item["output"] for item in last.input if item.get("type") == "function_call_output"]  # type: ignore[union-attr]


def texts(model: ScriptedModel) -> list[str]:
    return ["\n".join(item["text"] for item in each) if isinstance(each, list) else each for each in outputs(model)]


def run(turns: Any, manager: Manager, group: str | None = "a", **options: Any) -> ScriptedModel:
    model = model_of(turns)
    agent = watch_agent(Agent("a", model=model, tools=TOOLS, **options), manager)
    Runner.run_sync(agent, "go", max_turns=None, run_config=RunConfig(group_id=group))
    return model


def test_the_next_request_shows_the_next_read_and_the_tools_own_result() -> None:
    manager = habitual()
    check_folds(texts(run(HABIT, manager)))
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


def test_a_run_without_a_group_is_a_conversation_also_in_async_and_streamed_code() -> None:
    async def streamed(model: ScriptedModel) -> None:
        done = Runner.run_streamed(watch_agent(Agent("a", model=model, tools=TOOLS), habitual()), "go", max_turns=None)
        async for _ in done.stream_events():
            pass

    check_folds(texts(run(HABIT, habitual(), None)))
    model = model_of(HABIT)
    asyncio.run(streamed(model))
    check_folds(texts(model))


def test_calls_at_once_are_all_seen_and_answered() -> None:
    manager, turns = habitual(), [[*ROUND[0], *ROUND[1]], *ROUND[2:]] * 6
    check_own(texts(run(turns, manager)), turns)
    check_observed(manager, "a", turns)


def test_items_stay_items_and_one_text_is_added() -> None:
    shown = outputs(run(RECORDS * 6, habitual()))[-3]
    assert [item["type"] for item in shown] == ["input_text", "input_text"]
    assert shown[0]["text"] == answer("record", "7")
    assert answer("order", "8") in shown[1]["text"]


def test_a_value_reads_as_it_did_before_what_is_added() -> None:
    manager = habitual(reads=("orders_of", "order", "pair"))
    shown = outputs(run([ROUND[0], [("pair", {"number": "7"})], *ROUND[2:]] * 6, manager))
    assert shown[1] == "{'number': '7'}"
    assert shown[-3].startswith("{'number': '7'}\n\n<waggle-fold>")


@pytest.mark.parametrize(("tool", "shown"), [("broken", "An error occurred"), ("worded", "in other words: no 1")])
def test_a_worded_error_keeps_its_words_and_is_seen_as_an_error(tool: str, shown: str) -> None:
    manager = habitual(reads=("orders_of", "order", tool))
    assert texts(run([[(tool, {"number": "1"})]], manager))[0].startswith(shown)
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


def test_an_error_that_a_tool_raises_goes_to_the_caller() -> None:
    manager = habitual()
    with pytest.raises(Exception, match="no 1"):
        run([[("raising", {"number": "1"})]], manager)
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


def test_a_tool_that_needs_an_approval_still_waits_for_it_and_is_never_looked_up() -> None:
    manager = habitual(reads=("orders_of", "order", "pay"))
    model = model_of([[("pay", {"number": "7"})]])
    agent = watch_agent(Agent("a", model=model, tools=TOOLS), manager)
    done = Runner.run_sync(agent, "go", run_config=RunConfig(group_id="a"))
    assert [item.name for item in done.interruptions] == ["pay"]
    assert manager.session("a").steps() == []


def test_a_policy_of_approval_still_decides_call_by_call() -> None:
    manager = habitual()
    model = model_of([[("refund", {"number": "7"})], [("refund", {"number": "8"})]])
    agent = watch_agent(Agent("a", model=model, tools=TOOLS), manager)
    done = Runner.run_sync(agent, "go", run_config=RunConfig(group_id="a"))
    assert [json.loads(item.arguments) for item in done.interruptions] == [{"number": "8"}]
    check_observed(manager, "a", [[("refund", {"number": "7"})]])


def test_a_strategy_that_raises_is_switched_off_and_the_agent_is_unharmed() -> None:
    manager = habitual(strategies=[Broken])
    check_folds(texts(run(HABIT, manager)))
    assert any("broken" in kind for kind in manager.faults())


def test_two_conversations_are_two_memories_and_the_agent_given_is_left_as_it_is() -> None:
    manager = habitual()
    for group in ("a", "b", None, None):
        run(ROUND, manager, group)
    for group in ("a", "b"):
        check_observed(manager, group, ROUND)
    with manager._lock:
        assert len(manager._sessions) == 4
    agent = Agent("a", tools=TOOLS)
    assert watch_agent(agent, manager).tools != agent.tools
    assert agent.tools == TOOLS


@pytest.mark.parametrize("structured", [False, True])
def test_tools_of_an_mcp_server_are_watched_and_lookups_go_through_it(*, structured: bool) -> None:
    """The server's word that its tools read is enough, and a failed call of its is an error."""
    manager = habitual(reads=())
    cancel = [("cancel_order", {"order_id": "#W9999", "reason": "no"})]
    turns = [*SHOP, cancel] * 6
    model = model_of(turns)

    async def work() -> None:
        command = {"command": sys.executable, "args": ["-m", "stretto.proxy.demo_server"]}
        async with MCPServerStdio(command, use_structured_content=structured) as server:
            agent = watch_agent(Agent("a", model=model, mcp_servers=[server]), manager)
            await Runner.run(agent, "go", max_turns=None, run_config=RunConfig(group_id="a"))

    asyncio.run(work())
    steps = manager.session("a").steps()
    assert len(steps) == len(turns)
    assert steps[-1].outcome is Outcome.TOOL_ERROR
    assert not any("waggle" in text for text in texts(model)[:4])
    assert {step.outcome for step in steps[:3]} == {Outcome.OK}
    assert any("get_order_details" in text for text in texts(model)[-4:-2])
    assert manager.faults() == {}
    assert json.loads(texts(model)[1].split("\n\n<waggle")[0])


def test_the_example_runs() -> None:
    check_example("openai_agents_agent.py")
