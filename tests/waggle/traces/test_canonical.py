"""The canonical format: what is written is read back, what is malformed is reported with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.errors import TraceError
from waggle.traces import Trace, TraceBuilder, cut_text, dump_trace, read_traces
from waggle.traces.cut import has_cut, is_cut

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonObject
    from waggle.traces import Kind

TEXTS = st.one_of(
    st.text(st.characters(codec=None)),
    st.sampled_from(["caf\udce9", "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng", "\ud83d", "{", '"', "null"]),
    st.text(min_size=3).map(lambda text: cut_text(text, 1)),
)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), TEXTS
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ARGS = st.dictionaries(TEXTS, VALUES, max_size=3)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any trace that a reader can give: messages, calls of one or several turns, results in any order or missing."""
    builder = TraceBuilder()
    waiting: list[str] = []
    calls = turn = 0
    for kind in draw(st.lists(st.sampled_from(["user", "assistant", "call", "next turn", "result"]), max_size=12)):
        if kind == "user":
            builder.message("user", draw(TEXTS))
        elif kind == "assistant":
            builder.message("assistant", draw(TEXTS))
        elif kind == "next turn":
            turn += 1
        elif kind == "call":
            calls += 1
            args = draw(ARGS)
            builder.call(Call(draw(TEXTS), args, f"c{calls}"), turn, args_cut=has_cut(args.values()))
            waiting.append(f"c{calls}")
        elif waiting:
            text = draw(TEXTS)
            cut = is_cut(text) or draw(st.booleans())
            builder.result(
                waiting.pop(draw(st.integers(0, len(waiting) - 1))), Result(text, draw(st.booleans()), cut=cut)
            )
    kinds: st.SearchStrategy[Kind] = st.sampled_from(["read", "write", "generic"])
    optional = st.none() | TEXTS
    return builder.build(
        draw(TEXTS),
        draw(TEXTS),
        draw(TEXTS),
        task=draw(optional),
        domain=draw(optional),
        success=draw(st.none() | st.booleans()),
        parent=draw(optional),
        cwd=draw(optional),
        kinds=draw(st.dictionaries(TEXTS, kinds, max_size=3)),
    )


@pytest.mark.case("HC-01")
@pytest.mark.case("HC-02")
@pytest.mark.case("HC-03")
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(traces(), min_size=1, max_size=3))
def test_what_is_written_is_read_back(tmp_path: Path, written: list[Trace]) -> None:
    """The same traces, a line each, in valid UTF-8, whatever characters and numbers are in them."""
    path = tmp_path / "traces.jsonl"
    data = b"".join(map(dump_trace, written))
    path.write_bytes(data)
    read = list(read_traces(path))
    assert read == written
    assert b"".join(map(dump_trace, read)) == data  # types too: True == 1 in Python, in JSON it is not
    assert data.decode("utf-8").count("\n") == len(written)


def session(*events: JsonObject, **fields: Any) -> JsonObject:
    """A session in the canonical format, as another program might write it."""
    record: JsonObject = {"session": "s", "source": "o/r:f@c", "agent": "host/model", "domain": "coding", "task": None}
    return record | {"success": None, "tools": {}, "events": list(events)} | fields


def call(name: str = "c1", **fields: Any) -> JsonObject:
    record: JsonObject = {"type": "call", "id": name, "turn": 0, "tool": "Read", "args": {"file_path": "a.py"}}
    return record | fields


def result(name: str = "c1", **fields: Any) -> JsonObject:
    record: JsonObject = {"type": "result", "id": name, "ok": True, "content": "text"}
    return record | fields


def saved(path: Path, *records: object) -> Path:
    file = path / "traces.jsonl"
    file.write_bytes(b"".join(jsonvalue.dumps(record) + b"\n" for record in records))  # type: ignore[arg-type]  # any JSON
    return file


def test_every_field_of_a_session_is_read(tmp_path: Path) -> None:
    record = session(
        {"type": "user", "text": "why?"},
        call(),
        result(ok=False, content="no such file"),
        {"type": "assistant", "text": "so"},
        task="django-1",
        success=False,
        tools={"Read": {"kind": "read"}},
    )
    (trace,) = read_traces(saved(tmp_path, record))
    assert (trace.session, trace.agent, trace.source, trace.domain) == ("s", "host/model", "o/r:f@c", "coding")
    assert (trace.task, trace.success, trace.kinds) == ("django-1", False, {"Read": "read"})
    assert [(said.role, said.text, said.at) for said in trace.messages] == [("user", "why?", 0), ("assistant", "so", 3)]
    (step,) = trace.steps
    assert step.call == Call("Read", {"file_path": "a.py"}, "c1")
    assert step.result == Result("no such file", ok=False)


def test_what_a_session_need_not_say_may_be_missing(tmp_path: Path) -> None:
    (trace,) = read_traces(saved(tmp_path, {"session": "s", "agent": "host/model", "events": []}))
    assert trace == Trace("s", "host/model", "")


def test_keys_and_events_of_a_newer_writer_are_passed_over(tmp_path: Path) -> None:
    record = session({"type": "plan", "steps": 3}, call(seconds=0.1), result(), format=9)
    (trace,) = read_traces(saved(tmp_path, record))
    assert [(step.started, step.ended) for step in trace.steps] == [(0, 1)]


def test_a_cut_result_and_cut_arguments_are_marked(tmp_path: Path) -> None:
    long = cut_text("x" * 100, 10)
    record = session(call(args={"edits": [{"new": long}]}), result(content=long), call("c2"), result("c2"))
    (trace,) = read_traces(saved(tmp_path, record))
    first, second = trace.steps
    assert (first.args_cut, second.args_cut) == (True, False)
    assert first.result is not None
    assert second.result is not None
    assert (first.result.cut, second.result.cut) == (True, False)
    assert first.result.text == long


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        pytest.param(session() | {"session": 7}, "$.session: expected a text, found a whole number", id="session"),
        pytest.param(session(agent=None), "$.agent: expected a text, found nothing", id="agent"),
        pytest.param(session(task=7), "$.task: expected a text, found a whole number", id="task"),
        pytest.param(session(success="yes"), "$.success: expected true or false, found a text", id="success"),
        pytest.param(session(tools=[]), "$.tools: expected an object, found a list", id="tools"),
        pytest.param(
            session(tools={"x": {"kind": "?"}}), "$.tools['x'].kind: expected read, write or generic", id="kind"
        ),
        pytest.param(session(events={}), "$.events: expected a list, found an object", id="events"),
        pytest.param(session("call"), "$.events[0]: expected an object, found a text", id="event"),  # type: ignore[arg-type]  # the point
        pytest.param(session({}), "$.events[0].type: expected a text, found nothing", id="type-missing"),
        pytest.param(session({"type": []}), "$.events[0].type: expected a text, found a list", id="type-wrong"),
        pytest.param(session({"type": "user"}), "$.events[0].text: expected a text, found nothing", id="text"),
        pytest.param(
            session(call(), call("c2", args=[])), "$.events[1].args: expected an object, found a list", id="args"
        ),
        pytest.param(
            session(call(turn=True)), "$.events[0].turn: expected a whole number, found true or false", id="turn"
        ),
        pytest.param(session(call(tool=None)), "$.events[0].tool: expected a text, found nothing", id="tool"),
        pytest.param(session(call(id=1.5)), "$.events[0].id: expected a text, found a number", id="id"),
        pytest.param(
            session(call(), result(ok=1)), "$.events[1].ok: expected true or false, found a whole number", id="ok"
        ),
        pytest.param(
            session(call(), result(content=[])), "$.events[1].content: expected a text, found a list", id="content"
        ),
        pytest.param(
            session(call(), call()),
            "$.events[1].id: expected an id of its own, found that of an earlier call",
            id="id-twice",
        ),
        pytest.param(
            session(call(), result(), result()),
            "$.events[2].id: expected one result a call, found a second one",
            id="result-twice",
        ),
    ],
)
def test_a_malformed_session_is_reported_with_its_place_and_the_others_are_read(
    tmp_path: Path, record: JsonObject, problem: str
) -> None:
    path = saved(tmp_path, session(session="before"), record, session(session="after"))
    problems: list[TraceError] = []
    read = [trace.session for trace in read_traces(path, on_problem=problems.append)]
    assert read == ["before", "after"]
    assert [str(error) for error in problems] == [f"{path}:2: {problem}"]
    with pytest.raises(TraceError) as raised:
        list(read_traces(path))
    assert str(raised.value) == f"{path}:2: {problem}"


def test_a_result_of_no_call_is_left_out_and_reported(tmp_path: Path) -> None:
    path = saved(tmp_path, session(call(), result("c9")))
    problems: list[TraceError] = []
    (trace,) = read_traces(path, on_problem=problems.append)
    assert trace.steps[0].result is None
    assert [str(error) for error in problems] == [f"{path}:1: a result was passed over: no call has its id 'c9'"]
    assert list(read_traces(path)) == [trace]


def test_calls_are_renamed_in_order_of_starting_when_written() -> None:
    builder = TraceBuilder()
    for name in ("toolu_b", "toolu_a"):
        builder.call(Call("Read", {}, name), 0)
    builder.result("toolu_a", Result("a"))
    record = cast("JsonObject", jsonvalue.loads(dump_trace(builder.build("s", "agent", "here"))))
    events = cast("list[JsonObject]", record["events"])
    assert [event["id"] for event in events] == ["c1", "c2", "c2"]
