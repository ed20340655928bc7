"""What adapters share: what becomes of a call that a framework reports, also of one from inside a lookup."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waggle import Manager, ManagerConfig, Outcome, Result
from waggle.integrations.watch import NOT_HERE, Watch, hint_of, result_of, text_of

ROUTINE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("orders_of", {"who": "ada"}),
    ("order", {"number": "7"}),
    ("order", {"number": "8"}),
)


def world(tool: str, args: dict[str, Any]) -> Result:
    return Result(f"{tool} of {' '.join(args.values())}")


def agent(watch: Watch, run: Any = world) -> list[str]:
    """Do what this agent always does; the texts that were added to the results."""
    added = []
    for tool, args in ROUTINE:
        seen = watch.begin(None, tool, args, reads=True)
        assert seen is not None
        seen.ended(world(tool, args).text)
        added.append(seen.follow(run))
    return added


def learned() -> Watch:
    watch = Watch(Manager(ManagerConfig(sweep_calls=1)))
    for _ in range(4):
        agent(watch)
        watch.hear(None, "and once more")
        change = watch.begin(None, "ship", {"number": "7"})
        assert change
        change.ended("done")
    return watch


def test_what_usually_comes_next_is_in_the_text_to_add() -> None:
    added = agent(learned())
    assert any("order of 8" in text and text.startswith("<waggle-fold>") for text in added)


def test_a_lookup_that_the_framework_reports_is_nobodys_call() -> None:
    watch, reported = learned(), []

    def run(tool: str, args: dict[str, Any]) -> Result:
        reported.append(watch.begin(None, tool, args))
        return world(tool, args)

    assert any(agent(watch, run))
    assert reported
    assert set(reported) == {None}


def test_the_same_from_async_code() -> None:
    watch = learned()

    async def run(tool: str, args: dict[str, Any]) -> Result:
        assert watch.begin(None, tool, args) is None
        return world(tool, args)

    async def work() -> list[str]:
        added = []
        for tool, args in ROUTINE:
            seen = watch.begin(None, tool, args, reads=True)
            assert seen
            seen.ended(world(tool, args).text)
            added.append(await seen.afollow(run))
        return added

    assert any("order of 8" in text for text in asyncio.run(work()))


@pytest.mark.parametrize("failed", ["error", "raised", "cancelled"])
def test_nothing_follows_an_error(failed: str) -> None:
    watch = learned()
    for tool, args in ROUTINE[:2]:
        seen = watch.begin(None, tool, args, call_id=tool, reads=True)
        assert seen
        if failed == "error":
            seen.ended("no", ok=False)
        else:
            seen.raised(ValueError("no") if failed == "raised" else asyncio.CancelledError())
        assert seen.follow(world) == ""
    step = watch.manager.session().steps()[-1]
    assert step.outcome is (Outcome.CANCELLED if failed == "cancelled" else Outcome.TOOL_ERROR)


def test_conversations_do_not_mix_and_can_end() -> None:
    watch = Watch(Manager())
    for name in ("a", "b", None):
        seen = watch.begin(name, "orders_of", None)
        assert seen
        seen.ended({"x": 1})
    assert [len(watch.manager.session(name).steps()) for name in ("a", "b", "")] == [1, 1, 1]
    watch.end("a")
    assert watch.manager.session("a").steps() == []


def test_a_tool_is_what_the_server_says_until_it_says_something_else() -> None:
    watch = Watch(Manager())
    for reads, effect in ((True, True), (None, True), (False, False)):
        watch.begin(None, "anything", {}, reads=reads)
        assert watch.manager.tools.may_repeat("anything", {}) is effect


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ([SimpleNamespace(text="a"), "b"], "a\nb"),
        ({"b": 1, "a": [None, True]}, '{"b":1,"a":[null,true]}'),
        ([1, 2], "[1,2]"),
        (None, "null"),
        (b"x", None),
        (object(), None),
    ],
)
def test_a_result_is_its_text(value: Any, text: str | None) -> None:
    assert text is None or text_of(value) == text
    assert isinstance(result_of(value).text, str)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_every_value_is_a_result(value: Any) -> None:
    assert result_of(value, ok=False).outcome is Outcome.TOOL_ERROR


def test_the_first_that_says_anything_of_reading_counts() -> None:
    assert hint_of(None, {}, {"readOnlyHint": True}, {"readOnlyHint": False}) is True
    assert hint_of(SimpleNamespace(read_only_hint=False), {"read_only": True}) is False
    assert hint_of({"readOnlyHint": "yes"}, {"read_only": True}) is True
    assert hint_of(None, {"other": True}, object()) is None


def test_a_call_is_found_again_by_its_id_and_overlaps_what_began_before_it_ended() -> None:
    watch = Watch(Manager())
    for one in ("1", "2"):
        watch.begin(None, "order", {"number": one}, call_id=one, reads=True)
    for one in ("2", "1"):
        seen = watch.begun(None, "order", {"number": one}, call_id=one)
        assert seen
        seen.ended("here")
    steps = watch.manager.session().steps()
    assert [(step.args["number"], step.overlapped) for step in steps] == [("1", False), ("2", True)]


def test_what_an_adapter_raises_is_counted_and_goes_no_further() -> None:
    watch = Watch(Manager())

    def adapt(error: type[BaseException]) -> None:
        raise error

    with watch.safely():
        adapt(ZeroDivisionError)
    assert watch.manager.faults() == {"integration": 1}
    with pytest.raises(asyncio.CancelledError), watch.safely():
        adapt(asyncio.CancelledError)


def test_a_question_is_no_answer() -> None:
    watch = learned()
    for tool, args in ROUTINE[:2]:
        seen = watch.begin(None, tool, args, reads=True)
        assert seen
        seen.unanswered()
        assert seen.follow(world) == ""
    assert watch.manager.session().steps()[-1].outcome is Outcome.CANCELLED


def test_a_structured_value_stands_beside_the_text_and_for_it_where_there_is_none() -> None:
    blocks = [{"type": "text", "text": "seven"}]
    assert result_of(blocks, structured={"number": 7}) == Result("seven", value={"number": 7})
    assert result_of([], structured={"number": 7}, ok=False) == Result('{"number":7}', ok=False, value={"number": 7})


def test_a_lookup_that_this_agent_cannot_make_is_no_failure_of_its_route() -> None:
    watch = learned()
    assert not any(agent(watch, lambda tool, args: NOT_HERE))
    change = watch.begin(None, "ship", {"number": "7"})
    assert change
    change.ended("done")
    assert any("order of 8" in text for text in agent(watch))
