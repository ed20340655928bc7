"""smolagents: both of its agents, with a model that asks for one turn of a script after the other."""

from __future__ import annotations

from typing import Any

import pytest
from smolagents import CodeAgent, Model, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

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
from waggle.integrations.smolagents import watch_agent


@tool
def orders_of(who: str) -> str:
    """The orders of a customer.

    Args:
        who: the customer
    """
    return answer("orders_of", who)


@tool
def order(number: str) -> str:
    """One order.

    Args:
        number: its number
    """
    return answer("order", number)


@tool
def ship(number: str) -> str:
    """Send an order.

    Args:
        number: its number
    """
    return answer("ship", number)


@tool
def record(number: str) -> dict[str, str]:
    """One order as a record.

    Args:
        number: its number
    """
    return {"record": number}


@tool
def broken(number: str) -> str:
    """Fail.

    Args:
        number: what for
    """
    raise ValueError(f"no {number}")


class Prefixed(Tool):
    """A tool that sets itself up when it is first used, and whose argument has a default."""

    name = "prefixed"
    description = "One order with a prefix."
    inputs = {"number": {"type": "string", "description": "its number", "nullable": True}}  # noqa: RUF012
    output_type = "string"

    def setup(self) -> None:
        self.prefix = "set up"
        self.is_initialized = True

    def forward(self, number: str = "1") -> str:
        return f"{self.prefix} {number}"


TOOLS = [orders_of, order, ship, record, broken]


class Fake(Model):
    """Asks for the calls of a script, as tool calls or as code, and notes what it is shown."""

    def __init__(self, turns: list[Turn], *, code: bool = False) -> None:
        super().__init__(model_id="fake")
        self._script = Script(turns)
        self._code = code
        self.shown: list[str] = []

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        self.shown.append("".join(part["text"] for part in messages[-1].content))
        asked = self._script.next()
        if self._code:
            lines = [f"print({name}(**{args!r}))" for _, name, args in asked] or ["final_answer('done')"]
            body = "\n".join(lines)
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{body}\n</code>")
        calls = [
            ChatMessageToolCall(
                id=one, type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments)
            )
            for one, name, arguments in asked or [("end", "final_answer", {"answer": "done"})]
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


def run(agent_class: Any, turns: list[Turn], manager: Any, *, tools: list[Any] = TOOLS) -> tuple[list[str], Any]:
    """What a model was shown after each turn, and the agent."""
    model = Fake(turns, code=agent_class is CodeAgent)
    agent = watch_agent(agent_class(tools=tools, model=model, verbosity_level=0, max_steps=60), manager)
    assert agent.run("go") == "done"
    return model.shown[1:], agent


def conversations(manager: Any) -> list[str]:
    return list(manager._sessions)


both = pytest.mark.parametrize("agent_class", [ToolCallingAgent, CodeAgent])


@both
def test_what_usually_comes_next_is_at_the_end_of_the_observations(agent_class: Any) -> None:
    manager = habitual()
    shown, _ = run(agent_class, HABIT, manager)
    for text, [(name, args)] in zip(shown, HABIT, strict=True):
        assert answer(name, *args.values()) in text.partition("<waggle-fold>")[0]
    assert any("<waggle-fold>" in text and "order of 8" in text for text in shown[-4:-2])
    assert not any("waggle-fold" in text for text in shown[:8])
    (conversation,) = conversations(manager)
    check_observed(manager, conversation, HABIT)
    assert manager.faults() == {}


@both
def test_an_error_stays_one_and_nothing_follows_it(agent_class: Any) -> None:
    manager = habitual()
    shown, agent = run(agent_class, [*HABIT, [("broken", {"number": "7"})]], manager)
    assert "no 7" in shown[-1]
    assert "waggle-fold" not in shown[-1]
    assert agent.memory.steps[-2].error
    (conversation,) = conversations(manager)
    assert [step.ok for step in manager.session(conversation).steps()] == [True] * 24 + [False]


@both
def test_a_value_is_left_as_it_is(agent_class: Any) -> None:
    """Code computes with it; whether anything is added shows in the observations alone."""
    manager = habitual()
    turns: list[Turn] = [ROUND[0], [("record", {"number": "7"})], ROUND[2], ROUND[3]]
    shown, agent = run(agent_class, turns * 6, manager)
    assert "{'record': '7'}" in shown[-3].partition("<waggle-fold>")[0]
    assert any("<waggle-fold>" in text and "order of 8" in text for text in shown[-4:-2])
    assert agent.tools["record"]("7") == {"record": "7"}


@both
def test_calls_of_one_step_are_followed_once_after_the_last(agent_class: Any) -> None:
    manager = habitual()
    turns: list[Turn] = [ROUND[0], [*ROUND[1], *ROUND[2]], ROUND[3]]
    shown, _ = run(agent_class, turns * 6, manager)
    assert all(text.count("<waggle-fold>") <= 1 for text in shown)
    assert all("order of 7" in text and "order of 8" in text for text in shown[1::3])
    (conversation,) = conversations(manager)
    check_observed(manager, conversation, turns * 6)


@both
def test_a_strategy_that_raises_does_not_reach_the_agent(agent_class: Any) -> None:
    manager = habitual(strategies=[Broken])
    shown, _ = run(agent_class, HABIT, manager)
    assert "order of 8" in shown[-2]
    assert manager.faults()


def test_each_memory_is_a_conversation_and_tools_may_be_shared() -> None:
    manager = habitual()
    _, first = run(ToolCallingAgent, ROUND, manager)
    first.model = Fake(ROUND[:1])
    assert first.run("more", reset=False) == "done"
    _, other = run(ToolCallingAgent, ROUND[:2], manager)
    counts = [len(manager.session(name).steps()) for name in conversations(manager)]
    assert counts == [5, 2]
    other.model = Fake(ROUND[:1])
    other.run("anew")
    assert [len(manager.session(name).steps()) for name in conversations(manager)] == [5, 1]
    assert order.forward is not first.tools["order"].forward


def test_a_tool_that_sets_itself_up_still_does_and_defaults_stay_out_of_the_arguments() -> None:
    manager = habitual(reads=["prefixed"])
    _, agent = run(ToolCallingAgent, [], manager, tools=[Prefixed()])
    assert agent.tools["prefixed"]() == "set up 1"
    assert agent.tools["prefixed"]("2") == "set up 2"
    (conversation,) = conversations(manager)
    assert [step.args for step in manager.session(conversation).steps()] == [{}, {"number": "2"}]


def test_the_example_runs() -> None:
    check_example("smolagents_agent.py")
