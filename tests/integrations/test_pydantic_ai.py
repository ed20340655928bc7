"""Pydantic AI with its own function model: what the model is shown, and what becomes of the tools' own results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import UsageLimits

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
from waggle.integrations.pydantic_ai import WaggleCapability

READS = {"read_only": True}

#: The habit with a tool whose result is no text in it.
RECORDS = [ROUND[0], [("record", {"number": "7"})], *ROUND[2:]]


class Shop:
    """An agent with a script for a model, and what the model was shown."""

    def __init__(self, turns: Any, manager: Manager) -> None:
        script = Script(turns)
        self.shown: list[Any] = []

        def model(messages: list[Any], _info: Any) -> ModelResponse:
            last = messages[-1]
            assert isinstance(last, ModelRequest)
            self.shown += [part for part in last.parts if isinstance(part, ToolReturnPart)]
            calls = [ToolCallPart(tool, args, tool_call_id=name) for name, tool, args in script.next()]
            return ModelResponse(parts=calls or [TextPart("done")])

        self.agent: Any = Agent(FunctionModel(model), capabilities=[WaggleCapability(manager)])

        @self.agent.tool_plain(metadata=READS)
        async def orders_of(who: str) -> str:
            return answer("orders_of", who)

        @self.agent.tool_plain(metadata=READS)
        def order(number: str) -> str:
            return answer("order", number)

        @self.agent.tool_plain(metadata=READS)
        def record(number: str) -> dict[str, str]:
            return {"number": number}

        @self.agent.tool_plain(metadata=READS)
        def broken(number: str) -> str:
            raise ModelRetry(f"no {number}")

        @self.agent.tool_plain
        def ship(number: str) -> str:
            return answer("ship", number)

    def texts(self) -> list[str]:
        return [part.content for part in self.shown]


def test_the_next_request_shows_the_next_read_and_the_tools_own_result() -> None:
    manager = habitual(reads=())
    shop = Shop(HABIT, manager)
    assert shop.agent.run_sync("go", conversation_id="a").output == "done"
    check_folds(shop.texts())
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


def test_lookups_count_against_no_limit_of_the_run() -> None:
    shop = Shop(HABIT, habitual())
    done = shop.agent.run_sync("go", usage_limits=UsageLimits(tool_calls_limit=len(HABIT), request_limit=None))
    check_folds(shop.texts())
    assert done.usage.tool_calls == len(HABIT)


def test_calls_at_once_are_all_seen_and_answered() -> None:
    manager, turns = habitual(), [[*ROUND[0], *ROUND[1]], *ROUND[2:]] * 6
    shop = Shop(turns, manager)
    asyncio.run(shop.agent.run("go", conversation_id="a"))
    check_observed(manager, "a", turns)
    check_own(shop.texts(), turns)


def test_a_structured_value_stays_whole_beside_what_is_added() -> None:
    shop = Shop(RECORDS * 6, habitual())
    shop.agent.run_sync("go")
    values = [part.content for part in shop.shown if part.tool_name == "record"]
    assert values[0] == {"number": "7"}
    assert values[-1][0] == {"number": "7"}
    assert answer("order", "8") in values[-1][1]


def test_a_tool_return_keeps_what_else_is_in_it() -> None:
    shop = Shop([ROUND[0], [("detail", {"number": "7"})], *ROUND[2:]] * 6, habitual())

    @shop.agent.tool_plain(metadata=READS)
    def detail(number: str) -> ToolReturn:
        return ToolReturn(answer("detail", number), metadata={"kept": True})

    shop.agent.run_sync("go")
    details = [part for part in shop.shown if part.tool_name == "detail"]
    assert all(part.content.startswith("detail of 7") and part.metadata == {"kept": True} for part in details)
    assert answer("order", "8") in details[-1].content


def test_a_retry_stays_a_retry_and_is_seen_as_an_error() -> None:
    manager = habitual()
    shop = Shop([*ROUND, [("broken", {"number": "1"})]], manager)
    shop.agent.run_sync("go", conversation_id="a")
    assert (shop.shown[-1].content, shop.shown[-1].outcome) == ("no 1", "retried")
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


def test_an_error_of_a_tool_goes_to_the_caller() -> None:
    manager = habitual()
    shop = Shop([[("explode", {})]], manager)

    @shop.agent.tool_plain
    def explode() -> str:
        raise ZeroDivisionError("as it is")

    with pytest.raises(ZeroDivisionError, match="as it is"):
        shop.agent.run_sync("go", conversation_id="a")
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


def test_a_tool_that_waits_for_an_approval_still_waits() -> None:
    manager = habitual()
    shop = Shop([[("pay", {"number": "7"})]], manager)

    @shop.agent.tool_plain
    def pay(number: str) -> str:
        raise ApprovalRequired(metadata={"number": number})

    done = shop.agent.run_sync("go", conversation_id="a", output_type=[str, DeferredToolRequests])
    assert [call.tool_name for call in done.output.approvals] == ["pay"]
    assert manager.session("a").steps()[-1].outcome is Outcome.CANCELLED


def test_a_strategy_that_raises_is_switched_off_and_the_agent_is_unharmed() -> None:
    manager = habitual(strategies=[Broken])
    shop = Shop(HABIT, manager)
    assert shop.agent.run_sync("go").output == "done"
    check_folds(shop.texts())
    assert any("broken" in kind for kind in manager.faults())


def test_two_conversations_are_two_memories() -> None:
    manager = habitual()
    for name in ("a", "b"):
        Shop(ROUND, manager).agent.run_sync("go", conversation_id=name)
    for name in ("a", "b"):
        check_observed(manager, name, ROUND)


def test_the_example_runs() -> None:
    check_example("pydantic_ai_agent.py")
