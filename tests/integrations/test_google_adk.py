"""Google ADK: a real runner, with a model that asks for one turn of a script after the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types
from pydantic import PrivateAttr

from tests.integrations.routines import (
    HABIT,
    ROUND,
    Broken,
    Script,
    Turn,
    answer,
    check_example,
    check_observed,
    habitual,
)
from waggle.integrations.google_adk import WagglePlugin


def orders_of(who: str) -> str:
    """The orders of a customer."""
    return answer("orders_of", who)


async def order(number: str) -> dict[str, str]:
    """One order."""
    await asyncio.sleep(0)  # lets the others of its turn begin
    return {"order": answer("order", number)}


def ship(number: str) -> str:
    """Send an order."""
    return answer("ship", number)


def broken(number: str) -> str:
    """Fail."""
    raise ValueError(f"no {number}")


def refusing(number: str) -> dict[str, str]:
    """Report an error, as tools of this framework do."""
    return {"error": f"no {number}"}


TOOLS = [orders_of, order, ship, broken, refusing]


class Fake(BaseLlm):
    """Asks for the calls of a script, and notes the responses it is shown."""

    _script: Script = PrivateAttr()
    _shown: list[Any] = PrivateAttr(default_factory=list)

    def __init__(self, turns: list[Turn]) -> None:
        super().__init__(model="fake")
        self._script = Script(turns)

    async def generate_content_async(self, request: Any, stream: bool = False) -> Any:  # noqa: FBT001, FBT002
        parts = [part for content in request.contents for part in content.parts or []]
        self._shown = [part.function_response.response for part in parts if part.function_response]
        asked = [types.Part.from_function_call(name=name, args=args) for _, name, args in self._script.next()]
        yield LlmResponse(content=types.Content(role="model", parts=asked or [types.Part.from_text(text="done")]))


def run(turns: list[Turn], manager: Any, *, session: str = "a", plugins: Any = (), **agent: Any) -> list[Any]:
    """The responses that a model was shown, in the order of its calls."""
    model = Fake(turns)
    agent = {"tools": TOOLS, **agent}
    clerk = LlmAgent(name="clerk", model=model, **agent)
    runner = InMemoryRunner(app=App(name="shop", root_agent=clerk, plugins=[WagglePlugin(manager), *plugins]))

    async def main() -> None:
        await runner.session_service.create_session(app_name="shop", user_id="ada", session_id=session)
        hello = types.Content(role="user", parts=[types.Part.from_text(text="go")])
        async for _ in runner.run_async(user_id="ada", session_id=session, new_message=hello):
            pass

    asyncio.run(main())
    return model._shown


def own(response: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in response.items() if name != "waggle"}


def check(shown: list[Any], turns: list[Turn] = HABIT) -> None:
    """Each response is the tool's own, and in the last round one holds the next read under a key of its own."""
    expected = [
        {"order" if name == "order" else "result": answer(name, *args.values())}
        for turn in turns
        for name, args in turn
    ]
    assert [own(response) for response in shown] == expected
    assert any("order of 8" in response.get("waggle", "") for response in shown[-4:-2])
    assert not any("waggle" in response for response in shown[:8])


def test_what_usually_comes_next_has_a_key_of_its_own_in_the_response() -> None:
    manager = habitual()
    check(run(HABIT, manager))
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


def test_an_error_that_is_raised_is_raised() -> None:
    manager = habitual()
    with pytest.raises(ValueError, match="no 7"):
        run([*HABIT, [("broken", {"number": "7"})]], manager)
    assert [step.ok for step in manager.session("a").steps()] == [True] * 24 + [False]


def test_an_error_that_is_returned_stays_one_and_nothing_follows_it() -> None:
    manager = habitual(reads=["orders_of", "order", "refusing"])
    assert run([*HABIT, [("refusing", {"number": "7"})]], manager)[-1] == {"error": "no 7"}
    assert [step.ok for step in manager.session("a").steps()] == [True] * 24 + [False]


def test_calls_made_at_once_are_told_apart() -> None:
    manager = habitual()
    turns: list[Turn] = [ROUND[0], [*ROUND[1], *ROUND[2]], ROUND[3]] * 6
    shown = run(turns, manager)
    assert [own(response) for response in shown[1:3]] == [{"order": "order of 7"}, {"order": "order of 8"}]
    check_observed(manager, "a", turns)
    assert any(step.overlapped for step in manager.session("a").steps())


def test_a_strategy_that_raises_does_not_reach_the_agent() -> None:
    manager = habitual(strategies=[Broken])
    check(run(HABIT, manager))
    assert manager.faults()


def test_each_session_is_a_conversation() -> None:
    manager = habitual()
    run(ROUND, manager)
    run(ROUND[:2], manager, session="b")
    check_observed(manager, "a", ROUND)
    check_observed(manager, "b", ROUND[:2])


class Redacting(BasePlugin):
    """Somebody else's plugin: a number is never shown."""

    def __init__(self) -> None:
        super().__init__(name="redacting")
        self.before = 0

    async def before_tool_callback(self, **_: Any) -> None:
        self.before += 1

    async def after_tool_callback(self, *, result: Any, **_: Any) -> Any:
        return json.loads(json.dumps(result).replace("of 8", "of X")) if isinstance(result, dict) else None


def test_every_other_plugin_is_asked_for_the_agents_calls_and_for_lookups() -> None:
    other = Redacting()
    shown = run(HABIT, habitual(), plugins=[other])
    assert other.before > len(HABIT)
    assert any("order of X" in response.get("waggle", "") for response in shown)
    assert "order of 8" not in str(shown)


def test_the_agents_own_callbacks_are_asked_for_the_agents_calls_and_for_lookups() -> None:
    asked: list[str] = []

    async def deny(tool: Any, args: Any, tool_context: Any) -> Any:
        asked.append(args.get("number", ""))
        return {"error": "denied"} if tool_context.function_call_id.startswith("waggle-") else None

    def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:
        return {"seen": str(tool_response)}

    manager = habitual()
    shown = run(HABIT, manager, before_tool_callback=deny, after_tool_callback=after)
    assert len(asked) > len(HABIT)
    assert all(response.keys() == {"seen"} for response in shown)
    shown = run(HABIT, manager, session="b", after_tool_callback=after)
    assert any("seen" in response.get("waggle", "") for response in shown)


def test_a_tool_that_a_person_must_allow_is_never_looked_up() -> None:
    manager = habitual()
    run(HABIT, manager)
    asked: list[str] = []

    def order(number: str) -> str:
        """One order."""
        asked.append(number)
        return answer("order", number)

    guarded = FunctionTool(order, require_confirmation=lambda number: number == "8")
    shown = run(ROUND[:2], manager, session="b", tools=[orders_of, guarded, ship])
    assert asked
    assert set(asked) == {"7"}
    assert not any("order of 8" in str(response) for response in shown)
    assert manager.faults() == {}


def test_the_example_runs() -> None:
    check_example("google_adk_agent.py")
