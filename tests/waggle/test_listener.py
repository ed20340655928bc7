"""What a strategy may be told beside calls that have ended: what begins, what is said, what is dropped, the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.session_support import LS, READ_A, call, host
from waggle import Call, Lookup, Manager, ManagerConfig, Result, ToolTable

if TYPE_CHECKING:
    from waggle import Step
    from waggle.jsonvalue import JsonObject


class Listening:
    """Notes everything it is told, and proposes `a.go` after each call."""

    name = "listening"

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.wants = False

    def observe(self, step: Step, result: Result) -> None:
        self.told.append((step.seq, step.tool))
        self.wants = True

    def propose(self) -> Lookup | None:
        wants, self.wants = self.wants, False
        return Lookup("read", {"path": "a.go"}, self.name, "source") if wants else None

    def settle(self, lookup: Lookup, result: Result) -> None:
        self.told.append(("settled", result.text))

    def start(self, seq: int, tool: str, args: JsonObject) -> None:
        self.told.append(("start", seq, tool, args))

    def hear(self, role: str, text: str) -> None:
        self.told.append((role, text))

    def drop(self, lookup: Lookup) -> None:
        self.told.append(("dropped", lookup.args["path"]))

    def close(self) -> None:
        self.told.append("closed")


def listened(**knobs: Any) -> tuple[Manager, Listening]:
    strategy = Listening()
    return Manager(ManagerConfig(reach=False, **knobs), strategies=[lambda _: strategy]), strategy


def test_what_is_said_and_what_begins_arrive_in_their_place_among_the_calls() -> None:
    m, strategy = listened()
    slow = Call("read", {"path": "b.go"}, id="1")
    m.hear("look around")
    m.start(slow)
    m.hear("I am looking", role="assistant")
    m.observe(slow, "x")
    m.observe(call(LS), "y")
    m.end()
    assert strategy.told == [
        ("user", "look around"),
        ("start", 0, "read", {"path": "b.go"}),
        ("assistant", "I am looking"),
        (0, "read"),
        (1, "ls"),
        "closed",
    ]


def test_a_call_that_begins_is_told_without_the_arguments_that_do_not_count() -> None:
    tools, strategy = ToolTable(), Listening()
    m = Manager(tools=tools, strategies=[lambda _: strategy])
    m.start(Call("Bash", {"command": "ls", "description": "List"}))
    assert strategy.told == [("start", 0, "Bash", {"command": "ls"})]


def test_a_session_hears_what_is_said_in_it_alone() -> None:
    made: dict[str, Listening] = {}

    def make(session: str) -> Listening:
        return made.setdefault(session, Listening())

    m = Manager(strategies=[make])
    m.session("one").hear("hello")
    m.session("two").observe(call(LS), "x")
    assert made["one"].told == [("user", "hello")]
    assert made["two"].told == [(0, "ls")]


def test_a_strategy_without_these_methods_is_told_nothing_and_a_manager_without_replay_hears_nothing() -> None:
    class Plain:
        name = "plain"

        def observe(self, step: Step, result: Result) -> None: ...

        def propose(self) -> Lookup | None:
            return None

        def settle(self, lookup: Lookup, result: Result) -> None: ...

    for m in (Manager(strategies=[lambda _: Plain()]), Manager(ManagerConfig(replay=False))):
        m.hear("hello")
        m.start(call(LS))
        m.observe(call(LS), "x")
        assert m.close()
        assert m.faults() == {}


def test_lookups_that_are_held_back_are_dropped() -> None:
    m, strategy = listened(control_share=1.0)
    run, asked = host()
    m.observe(call(LS), "x")
    assert (m.follow(run), asked) == (None, [])
    assert strategy.told[-1] == ("dropped", "a.go")


def test_a_lookup_the_host_breaks_off_is_dropped_and_one_it_answers_is_settled() -> None:
    async def main() -> list[Any]:
        m, strategy = listened()
        entered = asyncio.Event()

        async def never(tool: str, args: dict[str, Any]) -> str:
            entered.set()
            await asyncio.Event().wait()
            return ""

        m.observe(call(LS), "x")
        task = asyncio.create_task(m.afollow(never))
        async with asyncio.timeout(5):
            await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        m.observe(call(READ_A), "x")
        m.observe(Call("write", {"path": "a.go"}), "ok")
        m.follow(host()[0])
        return strategy.told

    told = asyncio.run(main())
    assert ("dropped", "a.go") in told
    assert told[-1] == ("settled", "text of a.go")


def test_one_that_raises_is_switched_off_and_closed_once() -> None:
    class Deaf(Listening):
        def hear(self, role: str, text: str) -> None:
            raise ZeroDivisionError

    deaf, other = Deaf(), Listening()
    m = Manager(strategies=[lambda _: deaf, lambda _: other])
    m.hear("hello")
    m.observe(call(LS), "x")
    m.end()
    assert deaf.told == ["closed"]
    assert other.told == [("user", "hello"), (0, "ls"), "closed"]
    assert m.faults() == {"strategy 'listening' switched off": 1}


def test_a_call_announced_inside_a_lookup_is_none_of_the_agents_and_holds_nothing_up() -> None:
    m, strategy = listened()

    def run(tool: str, args: dict[str, Any]) -> str:
        inner = Call(tool, args, id="inner")
        m.start(inner)
        m.observe(inner, "x")
        return "x"

    m.observe(call(LS), "x")
    assert m.follow(run) is not None
    m.observe(call(LS), "x")
    assert [step.tool for step in m.session().steps()] == ["ls", "ls"]
    assert not any(told[0] == "start" for told in strategy.told)
