"""Traces become episodes, turn by turn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.sessions.episode import Assistant, ToolCall, ToolResult, User
from stretto.sessions.manifest import Manifest
from stretto.sessions.traces import episode_of, manifest_of
from waggle.calls import Call, Result
from waggle.traces import TraceBuilder, read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.episode import Event
    from waggle.traces import Kind, Trace

#: Sessions, and turns of the agents: those that call, and all, replies included.
COUNTS = {
    "airline-v1": (144, 814, 1750),
    "airline-v2": (280, 1352, 2971),
    "bfcl-files": (40, 219, 219),
    "bfcl-travel": (38, 204, 204),
    "bfcl-vehicle": (35, 240, 240),
    "dojo-banking": (23, 58, 102),
    "dojo-dailylife": (25, 125, 168),
    "dojo-github": (26, 114, 158),
    "dojo-slack": (28, 107, 140),
    "dojo-workspace": (59, 169, 247),
    "retail": (133, 745, 1395),
}


def built(*events: str, success: bool | None = None, kinds: dict[str, Kind] | None = None) -> Trace:
    """A trace from words: ``u:`` and ``a:`` speak, ``0:x`` calls x in turn 0, ``=x`` answers x, ``!x`` fails it."""
    builder = TraceBuilder()
    for event in events:
        kind, _, text = event.partition(":")
        if kind in ("u", "a"):
            builder.message("user" if kind == "u" else "assistant", text)
        elif kind.isdigit():
            builder.call(Call(f"tool_{text}", {"n": text}, text), int(kind))
        else:
            builder.result(kind[1:], Result(f"of {kind[1:]}", kind[0] == "="))
    return builder.build("s-1", "host/model", "test", domain="shop", success=success, kinds=kinds)


def turn(text: str | None, *calls: str) -> Assistant:
    return Assistant(text, tuple(ToolCall(name, f"tool_{name}", {"n": name}) for name in calls))


def result(name: str, *, error: bool = False) -> ToolResult:
    return ToolResult(name, f"tool_{name}", error, f"of {name}")


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        pytest.param(
            ["u:hi", "0:x", "=x", "a:done"], (User("hi"), turn(None, "x"), result("x"), turn("done")), id="plain"
        ),
        pytest.param(
            ["u:hi", "a:let me see", "0:x"], (User("hi"), turn("let me see", "x")), id="text-of-the-same-message"
        ),
        pytest.param(
            ["u:hi", "a:done", "a:also", "0:x"], (User("hi"), turn("done"), turn("also", "x")), id="asked-twice"
        ),
        pytest.param(
            ["u:hi", "a:done", "u:go on", "0:x"],
            (User("hi"), turn("done"), User("go on"), turn(None, "x")),
            id="user-between",
        ),
        pytest.param(
            ["0:x", "a:wait", "=x", "1:y"],
            (turn(None, "x"), turn("wait"), result("x"), turn(None, "y")),
            id="result-between",
        ),
        pytest.param(["0:x", "a:and", "0:y"], (turn("and", "x", "y"),), id="text-inside-of-a-message"),
        pytest.param(["a:welcome", "u:hi"], (User("hi"),), id="greeting"),
        pytest.param(["a:I begin", "0:x"], (turn("I begin", "x"),), id="begins-with-a-call"),
        pytest.param(["a:alone"], (turn("alone"),), id="all-there-is"),
        pytest.param(
            ["a:one", "a:two", "u:hi"], (turn("one"), turn("two"), User("hi")), id="two-texts-are-no-greeting"
        ),
        pytest.param([], (), id="empty"),
    ],
)
def test_what_is_a_turn(events: list[str], wanted: tuple[Event, ...]) -> None:
    assert episode_of(built(*events)).events == wanted


@pytest.mark.case("HC-11")
def test_calls_of_one_turn_are_one_event_and_results_stay_in_order_of_arrival() -> None:
    """Three calls start as x, y, z and end as z, x, y; a fourth never ends."""
    episode = episode_of(built("0:x", "0:y", "0:z", "0:w", "=z", "!x", "=y", "1:v"))
    assert episode.events == (
        *(turn(None, "x", "y", "z", "w"), result("z"), result("x", error=True), result("y"), turn(None, "v")),
    )
    assert episode.sent_after == {}


def test_a_call_that_was_made_after_a_result_of_its_turn_says_so() -> None:
    episode = episode_of(built("0:x", "0:y", "=x", "0:z", "=y", "0:w", "=z", "=w", "1:v"))
    assert episode.events[0] == turn(None, "x", "y", "z", "w")
    assert episode.sent_after == {"z": 1, "w": 2}


@pytest.mark.case("HC-12")
@pytest.mark.parametrize(("success", "learned"), [(True, True), (None, True), (False, False)])
def test_only_a_verdict_of_failure_keeps_a_session_from_being_learned(*, success: bool | None, learned: bool) -> None:
    """Of HC-12 this pins which sessions count as successes; interactive work has no verdict."""
    assert episode_of(built(success=success)).succeeded is learned


def test_what_else_an_episode_says() -> None:
    trace = built("u:hi")
    episode = episode_of(trace)
    assert (episode.id, episode.agent_model, episode.domain, episode.task_id, episode.task) == (
        *("s-1", "host/model", "shop", "", "s-1"),
    )
    child = TraceBuilder().build("s-1/agent", "host/model", "test", parent="s-1")
    assert episode_of(child).task == episode.task, "a sub-agent is never split from the session that started it"
    assert episode_of(child).domain == "mcp"
    assert episode_of(TraceBuilder().build("s-2", "a", "t", task="12", parent="s-1")).task == "12"


def test_kinds_are_those_of_the_recording() -> None:
    kinds: dict[str, Kind] = {"b": "write", "a": "read"}
    manifest = manifest_of(built("0:x", kinds=kinds))
    assert manifest == Manifest("shop", kinds)
    assert list(manifest.tools) == ["a", "b"]


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        *(("Read", "read"), ("Grep", "read"), ("Edit", "write"), ("Bash", "generic"), ("TodoWrite", "generic")),
        *(
            ("WebFetch", "generic"),
            ("BashOutput", "generic"),
            ("str_replace_editor", "generic"),
            ("made_up", "generic"),
        ),
    ],
)
def test_without_kinds_a_tool_is_a_read_only_when_its_calls_may_be_made_unasked(tool: str, kind: str) -> None:
    builder = TraceBuilder()
    builder.call(Call(tool, {}, "c"), 0)
    assert manifest_of(builder.build("s", "a", "t")).tools == {tool: kind}


words = st.sampled_from(["u:hi", "a:so", "0:x", "0:y", "1:z", "1:w", "2:v"])
answers = st.sampled_from([f"={name}" for name in "xyzwv"])


@given(st.lists(words | answers, max_size=14, unique=True))
def test_every_call_is_in_one_turn_and_every_result_follows_its_call(events: list[str]) -> None:
    trace = built(*events)
    episode = episode_of(trace)
    seen: list[str] = []
    for event in episode.events:
        if isinstance(event, Assistant):
            seen += [call.id for call in event.calls]
        elif isinstance(event, ToolResult):
            assert event.call_id in seen
    assert sorted(seen) == sorted(str(step.call.id) for step in trace.steps)
    assert sum(1 for event in episode.turns() if event.calls) == trace.turns
    assert [event.text for event in episode.events if isinstance(event, User)] == ["hi"] * ("u:hi" in events)


def test_the_shared_traces_have_the_turns_that_were_counted(shared_traces: Path) -> None:
    sessions: Counter[str] = Counter()
    calling: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for path in sorted(shared_traces.glob("tools-*.jsonl.gz")):
        for trace in read_traces(path):
            episode = episode_of(trace)
            sessions[episode.domain] += 1
            calling[episode.domain] += sum(1 for turn in episode.turns() if turn.calls)
            turns[episode.domain] += len(list(episode.turns()))
            assert len(episode.results()) == sum(1 for step in trace.steps if step.result)
    assert {domain: (sessions[domain], calling[domain], turns[domain]) for domain in COUNTS} == COUNTS
    assert sum(sessions.values()) == 907
