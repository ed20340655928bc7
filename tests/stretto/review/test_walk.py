"""Walking recorded sessions: at each result the flow sees what it would have seen live, and nothing of later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.review.walk import NextStep, Walker, is_own, next_step
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from tests.stretto.review.replay_support import shop_flow, worked_example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.sessions.episode import Event

FLOW = shop_flow()


def call(key: str, tool: str = "get_order", **arguments: str) -> ToolCall:
    return ToolCall(key, tool, dict(arguments))


def result(key: str, content: str = "{}", tool: str = "get_order", *, error: bool = False) -> ToolResult:
    return ToolResult(key, tool, error, content)


@pytest.mark.parametrize(
    ("key", "own"),
    [("stretto-3", True), ("shop::stretto-3", True), ("c1", False), ("shop::c1", False), ("my-stretto-3", False)],
)
def test_the_flows_own_lookups_are_known_by_their_ids(key: str, own: bool) -> None:  # noqa: FBT001 - a row of a table
    assert is_own(key) is own


@pytest.mark.parametrize(
    ("following", "step"),
    [
        pytest.param([], None, id="nothing-follows"),
        pytest.param([result("c2")], None, id="another-result"),
        pytest.param([User("and?")], NextStep(None), id="the-user-speaks"),
        pytest.param([Assistant("Done.")], NextStep(None), id="a-reply"),
        pytest.param(
            [Assistant(calls=(call("c2", "a"), call("c3", "b")))], NextStep("a"), id="the-first-call-of-the-next-turn"
        ),
        pytest.param([Assistant(calls=(call("stretto-1", "a"),))], NextStep("a", own=True), id="a-lookup-served"),
    ],
)
def test_what_follows_a_result(following: Sequence[Event], step: NextStep | None) -> None:
    assert next_step([result("c1"), *following], 0) == step


def test_a_result_that_ends_the_session_is_no_point() -> None:
    events = (Assistant(calls=(call("c1", "clock"),)), result("c1", tool="clock"))
    assert list(Walker(FLOW).points(Episode("e", events))) == []


def test_what_was_sent_and_is_unanswered_runs_and_what_was_sent_later_is_not_known() -> None:
    """c1 and c2 are sent at once, c3 after one result: at c1's result c3 has not been sent."""
    user = ToolCall("u", "get_user", {"user": "u-7"})
    events: tuple[Event, ...] = (
        Assistant(calls=(user,)),
        result("u", '{"orders": ["#A", "#B", "#C", "#D"]}', "get_user"),
        Assistant(calls=(call("c1", order="#A"), call("c2", order="#B"), call("c3", order="#C"))),
        result("c1"),
        result("c2"),
        result("c3"),
        Assistant("Done."),
    )
    episode = Episode("e", events, sent_after={"c3": 1})
    bound = []
    for point in Walker(FLOW).points(episode):
        found = point.situation().bind("get_order")
        bound.append((point.call_id, getattr(found, "arguments", None)))
    assert bound == [
        ("u", {"order": "#A"}),
        ("c1", {"order": "#C"}),  # A has returned, B is running
        ("c2", {"order": "#D"}),  # C has been sent by now
        ("c3", {"order": "#D"}),
    ]


def test_the_call_that_returned_last_is_the_last_step() -> None:
    events: tuple[Event, ...] = (
        Assistant(calls=(call("c1", "find_user"), call("c2", "clock"))),
        result("c2", tool="clock"),
        result("c1", tool="find_user", error=True),
        Assistant("Done."),
    )
    sites = [point.situation().site for point in Walker(FLOW).points(Episode("e", events))]
    assert sites == [("clock", False), ("find_user", True)]


def test_a_result_that_comes_after_its_turn_is_no_point() -> None:
    events: tuple[Event, ...] = (
        Assistant(calls=(call("c1"), call("c2"))),
        result("c1"),
        Assistant("Wait."),
        result("c2"),
        Assistant(calls=(call("c3"),)),
        result("c3"),
        result("c3"),
        Assistant("Done."),
    )
    assert [point.call_id for point in Walker(FLOW).points(Episode("e", events))] == ["c1", "c3"]


def test_a_call_sent_last_and_never_answered_has_still_been_made() -> None:
    user = ToolCall("u", "get_user", {"user": "u-7"})
    events: tuple[Event, ...] = (
        Assistant(calls=(user, call("c1", order="#A"))),
        result("u", '{"orders": ["#A", "#B"]}', "get_user"),
        Assistant("Wait."),
        Assistant(calls=(call("c2", "clock"),)),
        result("c2", tool="clock"),
        Assistant("Done."),
    )
    points = list(Walker(FLOW).points(Episode("e", events, sent_after={"c1": 1})))
    assert [point.call_id for point in points] == ["u", "c2"]
    *_, last = Walker(FLOW).points(Episode("e", events, sent_after={"c1": 1}))
    assert getattr(last.situation().bind("get_order"), "arguments", None) == {"order": "#B"}


def test_a_session_apart_stands_where_the_walk_stands_and_does_not_disturb_it() -> None:
    for point in Walker(FLOW).points(worked_example()):
        here, apart = point.situation(), point.apart()
        there = apart.situation()
        assert (there.site, there.history) == (here.site, here.history)
        for tool in FLOW.manifest.reads:
            assert there.bind(tool) == here.bind(tool)
        apart.turn()
        apart.call(call("x", "get_user", user="u-9"))
        assert point.situation() == here


EVENTS = st.lists(
    st.one_of(
        st.builds(User, st.just("#A")),
        st.just(Assistant("ok")),
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(
            lambda keys: Assistant(calls=tuple(call(key, order=f"#{key}") for key in dict.fromkeys(keys)))
        ),
        st.builds(result, st.sampled_from("abcdz"), st.sampled_from(["{}", "x", '{"orders": ["#A"]}'])),
    ),
    max_size=15,
)


@given(EVENTS, st.dictionaries(st.sampled_from("abcd"), st.integers(0, 4)))
def test_any_events_can_be_walked(events: list[Event], sent: dict[str, int]) -> None:
    """Repeated ids, results of nobody's calls, calls said to be sent after results that never come."""
    episode = Episode("e", tuple(events), sent_after=sent)
    for point in Walker(FLOW).points(episode):
        assert isinstance(events[point.index], ToolResult)
        assert isinstance(events[point.turn], Assistant)
        assert point.situation().site is not None
        assert point.apart().situation().history == point.situation().history
