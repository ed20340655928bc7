"""Traces as values: order, pairing, the unit to split by."""

from __future__ import annotations

import pytest

from waggle.calls import Call, Result
from waggle.traces import Ended, Message, Started, Trace, TraceBuilder


def test_events_come_back_in_the_order_they_were_added() -> None:
    builder = TraceBuilder()
    builder.message("user", "why?")
    builder.call(Call("a", {}, "1"), 0)
    builder.call(Call("b", {}, "2"), 0)
    builder.result("2", Result("two"))
    builder.message("assistant", "so")
    builder.result("1", Result("one"))
    trace = builder.build("s", "agent", "here")
    first, second = trace.steps
    assert list(trace.events()) == [
        Message("user", "why?", 0),
        Started(first),
        Started(second),
        Ended(second),
        Message("assistant", "so", 4),
        Ended(first),
    ]


@pytest.mark.case("HC-11")
def test_results_that_arrive_in_another_order_are_with_their_own_calls() -> None:
    """Steps are in order of starting; a call that never ends has no result."""
    builder = TraceBuilder()
    for name in ("1", "2", "3", "4"):
        builder.call(Call("read", {"n": int(name)}, name), 0)
    for name in ("3", "1", "2"):
        builder.result(name, Result(f"of {name}"))
    steps = builder.build("s", "agent", "here").steps
    assert [step.call.args["n"] for step in steps] == [1, 2, 3, 4]
    assert [step.result and step.result.text for step in steps] == ["of 1", "of 2", "of 3", None]
    assert [(step.started, step.ended) for step in steps] == [(0, 5), (1, 6), (2, 4), (3, None)]


def test_a_result_recorded_before_its_call_ends_right_after_it() -> None:
    builder = TraceBuilder()
    builder.result("1", Result("early"))
    builder.call(Call("a", {}, "1"), 0)
    builder.call(Call("b", {}, "2"), 1)
    first, second = builder.build("s", "agent", "here").steps
    assert first.result == Result("early")
    assert (first.started, first.ended, second.started) == (0, 1, 2)
    assert builder.orphans == ()


def test_what_belongs_nowhere_is_refused() -> None:
    builder = TraceBuilder()
    assert builder.call(Call("a", {}, "1"), 0)
    assert not builder.call(Call("b", {}, "1"), 1)
    assert builder.result("1", Result("one"))
    assert not builder.result("1", Result("another"))
    assert builder.result("9", Result("of nobody"))
    assert not builder.result("9", Result("of nobody else"))
    assert builder.orphans == ("9",)
    (step,) = builder.build("s", "agent", "here").steps
    assert (step.call.tool, step.result) == ("a", Result("one"))


@pytest.mark.parametrize(
    ("task", "parent", "expected"),
    [
        pytest.param("django-1", None, "django-1", id="task"),
        pytest.param("django-1", "p", "django-1", id="task-before-parent"),
        pytest.param(None, "p", "p", id="sub-agent-with-its-session"),
        pytest.param(None, None, "s", id="interactive"),
    ],
)
def test_the_unit_to_split_by(task: str | None, parent: str | None, expected: str) -> None:
    assert Trace("s", "agent", "here", task=task, parent=parent).split_key == expected


def test_turns_count_messages_that_call_and_not_calls() -> None:
    builder = TraceBuilder()
    for name, turn in (("1", 0), ("2", 0), ("3", 1)):
        builder.call(Call("a", {}, name), turn)
    assert builder.build("s", "agent", "here").turns == 2


def test_a_call_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="a recorded call of 'Read' needs an id"):
        TraceBuilder().call(Call("Read"), 0)
