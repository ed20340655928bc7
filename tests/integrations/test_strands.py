"""Strands: a real agent, with a model that asks for one turn of a script after the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.models import Model

from tests.integrations.routines import (
    HABIT,
    ROUND,
    Broken,
    Script,
    Turn,
    answer,
    check_example,
    check_folds,
    check_observed,
    habitual,
)
from waggle.integrations.strands import WaggleHooks


@tool
def orders_of(who: str) -> str:
    """The orders of a customer."""
    return answer("orders_of", who)


@tool(context=True)
async def order(number: str, tool_context: ToolContext) -> str:
    """One order."""
    await asyncio.sleep(0)  # lets the others of its turn begin
    assert tool_context.invocation_state["customer"] == "ada"
    return answer("order", number)


@tool
def ship(number: str) -> str:
    """Send an order."""
    return answer("ship", number)


@tool
def record(number: str) -> dict[str, Any]:
    """One order as a record."""
    return {"status": "success", "content": [{"json": {"record": number}}]}


@tool
def broken(number: str) -> str:
    """Fail."""
    raise ValueError(f"no {number}")


class Fake(Model):
    """Asks for the calls of a script, and notes the results it is shown."""

    def __init__(self, turns: list[Turn]) -> None:
        self._script = Script(turns)
        self.shown: list[Any] = []

    def update_config(self, **_: Any) -> None:
        return

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        blocks = [block for message in messages for block in message["content"]]
        self.shown = [block["toolResult"] for block in blocks if "toolResult" in block]
        asked = self._script.next()
        yield {"messageStart": {"role": "assistant"}}
        for one, name, args in asked:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": one}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
            yield {"contentBlockStop": {}}
        if not asked:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if asked else "end_turn"}}


def agent(turns: list[Turn], manager: Any, *hooks: Any) -> Any:
    made = Agent(
        model=Fake(turns),
        tools=[orders_of, order, ship, record, broken],
        hooks=[WaggleHooks(manager), *hooks],
        callback_handler=None,
    )
    made.conversation_manager.window_size = 1000
    return made


def run(turns: list[Turn], manager: Any, *hooks: Any) -> list[Any]:
    """The results that a model was shown, in the order of its calls."""
    made = agent(turns, manager, *hooks)
    made("go", invocation_state={"customer": "ada"})
    return list(made.model.shown)


def texts(results: list[Any]) -> list[str]:
    return ["\n".join(block.get("text") or json.dumps(block["json"]) for block in one["content"]) for one in results]


def only(manager: Any) -> str:
    (conversation,) = manager._sessions
    return str(conversation)


def test_what_usually_comes_next_is_a_block_behind_the_tools_own() -> None:
    manager = habitual()
    shown = run(HABIT, manager)
    check_folds(texts(shown))
    folded = [one for one in shown if "waggle-fold" in str(one)]
    assert all(len(one["content"]) == 2 and "waggle" not in str(one["content"][0]) for one in folded)
    check_observed(manager, only(manager), HABIT)
    assert manager.faults() == {}


def test_the_same_when_the_agent_is_run_from_async_code() -> None:
    manager = habitual()
    made = agent(HABIT, manager)
    asyncio.run(made.invoke_async("go", invocation_state={"customer": "ada"}))
    check_folds(texts(made.model.shown))


def test_an_error_stays_one_and_nothing_follows_it() -> None:
    manager = habitual()
    shown = run([*HABIT, [("broken", {"number": "7"})]], manager)
    assert shown[-1]["status"] == "error"
    assert "no 7" in texts(shown)[-1]
    assert "waggle-fold" not in texts(shown)[-1]
    assert [step.ok for step in manager.session(only(manager)).steps()] == [True] * 24 + [False]


def test_a_json_block_is_left_as_it_is() -> None:
    turns: list[Turn] = [ROUND[0], [("record", {"number": "7"})], ROUND[2], ROUND[3]]
    shown = run(turns * 6, habitual())
    assert shown[-3]["content"][0] == {"json": {"record": "7"}}
    assert any("waggle-fold" in text and "order of 8" in text for text in texts(shown)[-4:-2])


def test_calls_made_at_once_are_told_apart() -> None:
    manager = habitual()
    turns: list[Turn] = [ROUND[0], [*ROUND[1], *ROUND[2]], ROUND[3]] * 6
    shown = texts(run(turns, manager))
    assert [text.splitlines()[0] for text in shown[:4]] == ["orders_of of ada", "order of 7", "order of 8", "ship of 7"]
    check_observed(manager, only(manager), turns)
    assert any(step.overlapped for step in manager.session(only(manager)).steps())


def test_a_strategy_that_raises_does_not_reach_the_agent() -> None:
    manager = habitual(strategies=[Broken])
    check_folds(texts(run(HABIT, manager)))
    assert manager.faults()


def test_each_agent_is_a_conversation_also_with_the_same_hooks() -> None:
    manager = habitual()
    hooks = WaggleHooks(manager)
    for turns in (ROUND, ROUND[:2]):
        model = Fake(turns)
        made = Agent(model=model, tools=[orders_of, order, ship], hooks=[hooks], callback_handler=None)
        made("go", invocation_state={"customer": "ada"})
    assert [len(manager.session(name).steps()) for name in list(manager._sessions)] == [4, 2]


class Policy:
    """Somebody else's hooks: one order is nobody's business, and a number is never shown."""

    def __init__(self) -> None:
        self.before: list[str] = []

    def register_hooks(self, registry: Any, **_: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.check)
        registry.add_callback(AfterToolCallEvent, self.redact)

    def check(self, event: Any) -> None:
        self.before.append(event.tool_use["name"])
        if event.tool_use["toolUseId"].startswith("waggle-") and self.denies:
            event.cancel_tool = "not yours"

    def redact(self, event: Any) -> None:
        blocks = [{"text": block["text"].replace("of 8", "of X")} for block in event.result["content"]]
        event.result = {**event.result, "content": blocks}

    denies = False


@pytest.mark.parametrize("denies", [False, True])
def test_a_lookup_passes_the_hooks_that_the_agents_own_calls_pass(denies: bool) -> None:  # noqa: FBT001
    manager, policy = habitual(), Policy()
    policy.denies = denies
    shown = texts(run(HABIT, manager, policy))
    assert len(policy.before) > len(HABIT)
    assert any("waggle-fold" in text for text in shown) is not denies
    assert not any("order of 8" in text for text in shown)
    check_observed(manager, only(manager), HABIT)


def test_the_example_runs() -> None:
    check_example("strands_agent.py")
