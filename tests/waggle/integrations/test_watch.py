"""What adapters share: what becomes of a call that a framework reports, also of one from inside a lookup."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waggle import Manager, ManagerConfig, Outcome, Result
from waggle.integrations.watch import NOT_HERE, Recent, Watch, Watched, hint_of, result_of, text_of, with_text

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
        seen.ended(world(tool, args).text)
        added.append(seen.follow(run))
    return added


def learned(**spelled: Any) -> Watch:
    watch = Watch(Manager(ManagerConfig(sweep_calls=1)), **spelled)
    for _ in range(4):
        agent(watch)
        watch.hear(None, "and once more")
        change = watch.begin(None, "ship", {"number": "7"})
        change.ended("done")
    return watch


def test_what_usually_comes_next_is_in_the_text_to_add() -> None:
    added = agent(learned())
    assert any("order of 8" in text and text.startswith("<waggle-fold>") for text in added)


def test_a_lookup_that_the_framework_reports_is_nobodys_call() -> None:
    watch, reported = learned(), []

    def run(tool: str, args: dict[str, Any]) -> Result:
        seen = watch.begin("another", tool, args)
        seen.ended("found")
        reported.append((seen.nobodys, seen.follow(run)))
        return world(tool, args)

    before = len(watch.manager.session().steps())
    assert any(agent(watch, run))
    assert reported
    assert set(reported) == {(True, "")}
    assert len(watch.manager.session().steps()) == before + len(ROUTINE)
    assert watch.manager.session("another").steps() == []


def test_the_same_from_async_code() -> None:
    watch = learned()

    async def run(tool: str, args: dict[str, Any]) -> Result:
        assert watch.begin(None, tool, args).nobodys
        return world(tool, args)

    async def work() -> list[str]:
        added = []
        for tool, args in ROUTINE:
            seen = watch.begin(None, tool, args, reads=True)
            seen.ended(world(tool, args).text)
            added.append(await seen.afollow(run))
        return added

    assert any("order of 8" in text for text in asyncio.run(work()))


@pytest.mark.parametrize("failed", ["error", "raised", "cancelled"])
def test_nothing_follows_an_error(failed: str) -> None:
    watch = learned()
    for tool, args in ROUTINE[:2]:
        seen = watch.begin(None, tool, args, call_id=tool, reads=True)
        if failed == "error":
            seen.ended(Result("no", ok=False))
        else:
            seen.raised(ValueError("no") if failed == "raised" else asyncio.CancelledError())
        assert seen.follow(world) == ""
    step = watch.manager.session().steps()[-1]
    assert step.outcome is (Outcome.CANCELLED if failed == "cancelled" else Outcome.TOOL_ERROR)


def test_conversations_do_not_mix_and_can_end() -> None:
    watch = Watch(Manager())
    for name in ("a", "b", None):
        seen = watch.begin(name, "orders_of", None)
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
    change.ended("done")
    assert any("order of 8" in text for text in agent(watch))


# --- around a call --------------------------------------------------------------------------------------------


class Reply:
    """What a framework's call gives back; one without a text is a question to a person."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    @staticmethod
    def answer(reply: Reply) -> Result | None:
        return None if reply.text is None else Result(reply.text)

    @staticmethod
    def add(reply: Reply, text: str) -> Reply:
        return Reply(with_text(reply.text, text))


class Steering(Exception):
    """What a tool raises to ask a person."""


def framed() -> Watch:
    """A watch of a framework that has replies, over what `learned` has learned."""
    return Watch(learned().manager, answer=Reply.answer, add=Reply.add, steering=(Steering,))


def reply(tool: str, args: dict[str, Any]) -> Reply:
    return Reply(world(tool, args).text)


async def areply(tool: str, args: dict[str, Any]) -> Reply:
    return reply(tool, args)


def calling(watch: Watch, tool: str, args: dict[str, Any]) -> Watched:
    return watch.calling(lambda: watch.begin(None, tool, args, reads=True))


def worked(watch: Watch, again: Any = reply) -> list[tuple[Reply, Reply]]:
    """What the calls of the routine gave back, and what became of it."""
    pairs = []
    for tool, args in ROUTINE:
        with calling(watch, tool, args) as seen:
            given = reply(tool, args)
        pairs.append((given, seen.followed(given, again)))
    return pairs


async def aworked(watch: Watch, again: Any) -> list[tuple[Reply, Reply]]:
    pairs = []
    for tool, args in ROUTINE:
        with calling(watch, tool, args) as seen:
            given = await areply(tool, args)
        pairs.append((given, await seen.afollowed(given, again)))
    return pairs


def check_followed(pairs: list[tuple[Reply, Reply]]) -> None:
    """Know that some result has the next read behind its own text, and that the others are the objects they were."""
    changed = [(before, after) for before, after in pairs if after is not before]
    assert changed
    for before, after in changed:
        assert str(after.text).startswith(f"{before.text}\n\n<waggle-fold>")
    assert any("order of 8" in str(after.text) for _, after in changed)


def test_a_result_goes_on_with_the_lookups_behind_it_or_as_it_is() -> None:
    check_followed(worked(framed()))


@pytest.mark.parametrize("again", [reply, areply])
def test_the_same_from_async_code_whether_a_lookup_is_awaited_or_not(again: Any) -> None:
    check_followed(asyncio.run(aworked(framed(), again)))


@pytest.mark.parametrize("again", [None, lambda tool, args: NOT_HERE, lambda tool, args: Reply(None)])
def test_where_nothing_can_be_looked_up_or_added_results_are_the_objects_they_were(again: Any) -> None:
    watch = framed()
    pairs = [*worked(watch, again), *asyncio.run(aworked(watch, again))]
    assert all(before is after for before, after in pairs)
    assert watch.manager.faults() == {}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("no"), Outcome.TOOL_ERROR),
        (Steering(), Outcome.CANCELLED),
        (asyncio.CancelledError(), Outcome.CANCELLED),
    ],
)
def test_what_a_call_raises_is_taken_in_and_goes_on(error: BaseException, outcome: Outcome) -> None:
    watch = framed()
    with pytest.raises(type(error)) as raised, calling(watch, "order", {"number": "7"}):
        raise error
    assert raised.value is error
    assert watch.manager.session().steps()[-1].outcome is outcome


def test_an_error_that_cannot_say_what_it_is_goes_on_all_the_same() -> None:
    class Mute(ValueError):
        def __str__(self) -> str:
            raise ZeroDivisionError

    watch = framed()
    with pytest.raises(Mute), calling(watch, "order", {"number": "7"}):
        raise Mute
    assert watch.manager.faults() == {"integration": 1}


def test_a_question_has_no_answer_and_nothing_behind_it() -> None:
    watch, question = framed(), Reply(None)
    with calling(watch, "order", {"number": "7"}) as seen:
        pass
    assert seen.followed(question, reply) is question
    assert watch.manager.session().steps()[-1].outcome is Outcome.CANCELLED


def test_a_call_that_cannot_be_announced_is_made_and_is_nobodys() -> None:
    watch, given = framed(), Reply("whole")
    before = len(watch.manager.session().steps())
    with watch.calling(lambda: watch.begin(None, "order", dict([1]))) as seen:  # type: ignore[list-item]
        pass
    assert seen.followed(given, reply) is given
    assert asyncio.run(seen.afollowed(given, areply)) is given
    assert len(watch.manager.session().steps()) == before
    assert watch.manager.faults() == {"integration": 1}


@pytest.mark.parametrize("broken", ["answer", "add"])
def test_a_framework_that_is_spelled_wrong_gets_its_own_result(broken: str) -> None:
    def wrong(*_: object) -> Any:
        raise ZeroDivisionError

    watch = framed()
    setattr(watch, broken, wrong)
    assert all(before is after for before, after in worked(watch))
    assert set(watch.manager.faults()) == {"integration"}


@pytest.mark.parametrize(
    ("value", "made"),
    [("a", "a\n\nmore"), ("", "\n\nmore"), ([], ["more"]), ([{"text": "a"}, 1], [{"text": "a"}, 1, "more"])],
)
def test_a_text_stands_behind_a_text_and_behind_blocks(value: Any, made: Any) -> None:
    assert with_text(value, "more") == made
    assert with_text([], "more", lambda text: {"text": text}) == [{"text": "more"}]


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_things_put_in_last_are_held(keys: list[int], limit: int) -> None:
    held: Recent[int, int] = Recent(limit)
    for place, key in enumerate(keys):
        held[key] = place
        assert held[key] == place
        assert len(held) <= limit
    assert set(held.values()) <= set(range(len(keys)))
