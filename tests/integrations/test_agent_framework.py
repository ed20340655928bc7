"""Microsoft Agent Framework: a real agent, with a client that asks for one turn of a script after the other."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    FunctionMiddleware,
    Message,
    tool,
)

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
from waggle.integrations.agent_framework import WaggleMiddleware


@tool(approval_mode="never_require")
def orders_of(who: str) -> str:
    """The orders of a customer."""
    return answer("orders_of", who)


@tool(approval_mode="never_require")
async def order(number: str) -> str:
    """One order."""
    await asyncio.sleep(0)  # lets the others of its turn begin
    return answer("order", number)


@tool(approval_mode="never_require")
def ship(number: str) -> str:
    """Send an order."""
    return answer("ship", number)


@tool(approval_mode="never_require", additional_properties={"read_only": True})
def record(number: str) -> dict[str, str]:
    """One order as a record."""
    return {"record": number}


@tool(approval_mode="never_require")
def broken(number: str) -> str:
    """Fail."""
    raise ValueError(f"no {number}")


class Fake(FunctionInvocationLayer, BaseChatClient):
    """Asks for the calls of a script, and notes the results it is shown."""

    def __init__(self, turns: list[Turn]) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": 100})
        self._script = Script(turns)
        self.shown: list[Any] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        async def reply() -> ChatResponse:
            self.shown = [c for m in messages for c in m.contents if c.type == "function_result"]
            calls = [
                Content.from_function_call(call_id=one, name=name, arguments=args)
                for one, name, args in self._script.next()
            ]
            contents = calls or [Content.from_text("done")]
            return ChatResponse(messages=[Message(role="assistant", contents=contents)])

        return reply()


TOOLS = [orders_of, order, ship, record, broken]


def run(turns: list[Turn], manager: Any, *, session: Any = None, tools: Any = TOOLS, middleware: Any = ()) -> list[str]:
    """The results a model was shown, in the order of its calls."""
    return [str(one.result) for one in results(turns, manager, session=session, tools=tools, middleware=middleware)]


def results(turns: list[Turn], manager: Any, *, session: Any, tools: Any = TOOLS, middleware: Any = ()) -> list[Any]:
    client = Fake(turns)
    agent = Agent(client=client, tools=tools, middleware=[WaggleMiddleware(manager), *middleware])
    assert asyncio.run(agent.run("go", session=session)).text == "done"
    return client.shown


def test_what_usually_comes_next_is_behind_the_tools_own_result() -> None:
    manager = habitual()
    check_folds(run(HABIT, manager, session=AgentSession(session_id="a")))
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}


def test_an_error_stays_one_and_nothing_follows_it() -> None:
    manager = habitual()
    shown = results([*HABIT, [("broken", {"number": "7"})]], manager, session=AgentSession(session_id="a"))
    assert "no 7" in shown[-1].exception
    assert "waggle-fold" not in str(shown[-1].result)
    assert [step.ok for step in manager.session("a").steps()] == [True] * 24 + [False]


def test_the_text_of_a_structured_result_is_left_as_it_is() -> None:
    turns: list[Turn] = [ROUND[0], [("record", {"number": "7"})], ROUND[2], ROUND[3]]
    shown = run(turns * 6, habitual(reads=["orders_of", "order"]))
    assert shown[-3].startswith('{"record": "7"}')
    assert any("<waggle-fold>" in text and "order of 8" in text for text in shown[-4:-2])


def test_calls_made_at_once_are_told_apart() -> None:
    manager = habitual()
    turns: list[Turn] = [ROUND[0], [*ROUND[1], *ROUND[2]], ROUND[3]] * 6
    shown = run(turns, manager, session=AgentSession(session_id="a"))
    assert [text.splitlines()[0] for text in shown[:4]] == ["orders_of of ada", "order of 7", "order of 8", "ship of 7"]
    check_observed(manager, "a", turns)
    assert any(step.overlapped for step in manager.session("a").steps())


def test_a_strategy_that_raises_does_not_reach_the_agent() -> None:
    manager = habitual(strategies=[Broken])
    check_folds(run(HABIT, manager))
    assert manager.faults()


def test_sessions_are_conversations_and_so_is_a_run_without_one() -> None:
    manager = habitual()
    for session in (AgentSession(session_id="a"), AgentSession(session_id="b"), None, None):
        run(ROUND, manager, session=session)
    assert {"a", "b"} < set(manager._sessions)
    assert [len(manager.session(name).steps()) for name in list(manager._sessions)] == [4] * 4


def test_another_middleware_sees_the_agents_calls_alone() -> None:
    calls: list[str] = []

    class Other(FunctionMiddleware):
        async def process(self, context: Any, call_next: Any) -> None:
            calls.append(context.function.name)
            await call_next()

    run(HABIT, habitual(), middleware=[Other()])
    assert len(calls) == len(HABIT)


def test_a_tool_that_a_person_must_allow_is_never_looked_up() -> None:
    asked: list[str] = []

    def guarded(number: str) -> str:
        """One order."""
        asked.append(number)
        return answer("order", number)

    free = tool(name="order", approval_mode="never_require")(guarded)
    manager = habitual()
    run(HABIT, manager, tools=[orders_of, free, ship])
    asked.clear()
    limited = tool(name="order", approval_mode="never_require", max_invocations=50)(guarded)
    shown = run([*ROUND[:2]], manager, tools=[orders_of, limited, ship])
    assert asked == ["7"]
    assert not any("waggle-fold" in text for text in shown)
    assert manager.faults() == {}


def test_the_example_runs() -> None:
    check_example("agent_framework_agent.py")
