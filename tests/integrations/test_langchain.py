"""LangChain's ``create_agent`` and LangGraph's ``ToolNode`` with a fake chat model: what the model is shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

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
from waggle.integrations.langchain import WaggleMiddleware, tool_wrappers

#: The habit with a tool in it that returns content and an artifact.
RECORDS = [ROUND[0], [("record", {"number": "7"})], *ROUND[2:]]

both_ways = pytest.mark.parametrize("way", ["sync", "async"])


class Model(GenericFakeChatModel):
    """The framework's fake model, which is content with any tools, and keeps what it was shown."""

    seen: list[Any] = []  # noqa: RUF012 - a field of a pydantic model, which copies it

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.seen[:] = messages
        return super()._generate(messages, *args, **options)

    def results(self) -> list[Any]:
        """The results of tools in the last request."""
        return [message for message in self.seen if isinstance(message, ToolMessage)]


def model_of(turns: Any) -> Model:
    script = Script(turns)

    def messages() -> Any:
        while True:
            calls = [{"name": name, "args": args, "id": call_id} for call_id, name, args in script.next()]
            yield AIMessage("" if calls else "done", tool_calls=calls)

    return Model(messages=messages())


def reading(function: Any, **options: Any) -> Any:
    made = tool(**options)(function)
    made.metadata = {"readOnlyHint": True}
    return made


def orders_of(who: str) -> str:
    """Look up."""
    return answer("orders_of", who)


def order(number: str) -> str:
    """Look up."""
    return answer("order", number)


def record(number: str) -> tuple[str, Any]:
    """Look up."""
    return answer("record", number), {"structured_content": {"number": number}}


def broken(number: str) -> str:
    """Look up."""
    raise ZeroDivisionError(f"no {number}")


@tool
def ship(number: str) -> str:
    """Ship it."""
    return answer("ship", number)


@tool
def ask(number: str) -> str:
    """Ask a person."""
    return str(interrupt(number))


@tool
def go_on(number: str) -> Any:
    """Change the state of the graph."""
    return Command(update={"messages": [ToolMessage(f"went on to {number}", tool_call_id="call-1")]})


TOOLS = [
    reading(orders_of),
    reading(order),
    reading(record, response_format="content_and_artifact"),
    reading(broken),
    ship,
    ask,
    go_on,
]


def ask_agent(agent: Any, way: str, thread: str | None = "a") -> Any:
    state, config = {"messages": [("user", "go")]}, {"recursion_limit": 200}
    if thread:
        config |= {"configurable": {"thread_id": thread}}  # type: ignore[dict-item]
    return agent.invoke(state, config) if way == "sync" else asyncio.run(agent.ainvoke(state, config))


def run(turns: Any, manager: Manager, way: str = "sync", thread: str | None = "a") -> Model:
    """What the model of `create_agent` was shown."""
    model = model_of(turns)
    ask_agent(create_agent(model, tools=TOOLS, middleware=[WaggleMiddleware(manager)]), way, thread)
    return model


def graph_of(model: Model, tools: ToolNode) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def texts(model: Model) -> list[str]:
    return [message.text for message in model.results()]


@both_ways
def test_the_next_request_shows_the_next_read_and_the_tools_own_result(way: str) -> None:
    manager = habitual(reads=())
    check_folds(texts(run(HABIT, manager, way)))
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


@both_ways
def test_a_graph_of_ones_own_shows_the_same(way: str) -> None:
    manager, model = habitual(reads=()), model_of(HABIT)
    ask_agent(graph_of(model, ToolNode(TOOLS, **tool_wrappers(manager))), way)
    check_folds(texts(model))
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


@both_ways
def test_calls_at_once_are_all_seen_and_answered(way: str) -> None:
    manager, turns = habitual(), [[*ROUND[0], *ROUND[1]], *ROUND[2:]] * 6
    check_own(texts(run(turns, manager, way)), turns)
    check_observed(manager, "a", turns)


@both_ways
def test_an_artifact_stays_as_it_is(way: str) -> None:
    last = [each for each in run(RECORDS * 6, habitual(), way).results() if each.name == "record"][-1]
    assert last.artifact == {"structured_content": {"number": "7"}}
    assert last.text.startswith(answer("record", "7"))
    assert answer("order", "8") in last.text


@both_ways
def test_an_error_of_a_tool_goes_to_the_caller(way: str) -> None:
    manager = habitual()
    with pytest.raises(ZeroDivisionError, match="no 1"):
        run([[("broken", {"number": "1"})]], manager, way)
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


@both_ways
def test_an_error_that_the_graph_shows_to_the_model_stays_one(way: str) -> None:
    manager, model = habitual(), model_of([[("broken", {"number": "1"})]])
    ask_agent(graph_of(model, ToolNode(TOOLS, handle_tool_errors=True, **tool_wrappers(manager))), way)
    (shown,) = model.results()
    assert shown.status == "error"
    assert "no 1" in shown.text
    assert manager.session("a").steps()[-1].outcome is Outcome.TOOL_ERROR


def test_a_question_to_a_person_and_a_command_to_the_graph_pass() -> None:
    manager = habitual()
    model = model_of([[("ask", {"number": "7"})]])
    agent = create_agent(model, tools=TOOLS, middleware=[WaggleMiddleware(manager)], checkpointer=InMemorySaver())
    asked = ask_agent(agent, "sync")
    assert [each.value for each in asked["__interrupt__"]] == ["7"]
    done = agent.invoke(Command(resume="yes"), {"configurable": {"thread_id": "a"}})
    assert done["messages"][-2].content == "yes"
    assert [step.outcome for step in manager.session("a").steps()] == [Outcome.CANCELLED, Outcome.OK]
    assert texts(run([[("go_on", {"number": "7"})]], manager)) == ["went on to 7"]


@both_ways
def test_a_strategy_that_raises_is_switched_off_and_the_agent_is_unharmed(way: str) -> None:
    manager = habitual(strategies=[Broken])
    check_folds(texts(run(HABIT, manager, way)))
    assert any("broken" in kind for kind in manager.faults())


def test_two_threads_are_two_memories_and_so_are_two_runs_without_one() -> None:
    manager = habitual()
    for thread in ("a", "b", None, None):
        run(ROUND, manager, thread=thread)
    for thread in ("a", "b"):
        check_observed(manager, thread, ROUND)
    with manager._lock:
        assert len(manager._sessions) == 4


def test_the_example_runs() -> None:
    check_example("langchain_agent.py")
