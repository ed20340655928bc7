"""Recordings of other programs: found by their content, read as they are, and what they lack is known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from waggle.errors import TraceError
from waggle.traces import FORMATS, Coverage, Trace, dump_trace, read_traces

EMITTED = Path(__file__).parent / "emitted"


def save(path: Path, *records: object, indent: int | None = None) -> Path:
    path.write_text("".join(json.dumps(record, indent=indent) + "\n" for record in records), encoding="utf-8")
    return path


def only(path: Path, **options: Any) -> Trace:
    (trace,) = read_traces(path, **options)
    return trace


def calls(trace: Trace) -> list[tuple[int, str, dict[str, Any], str | None]]:
    return [
        (step.turn, step.call.tool, dict(step.call.args), None if step.result is None else step.result.text)
        for step in trace.steps
    ]


# --- made by the real programs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pydantic-ai.console.json", "pydantic-ai-v2.console.json"])
def test_spans_of_pydantic_ai_are_read_with_arguments_and_results(name: str) -> None:
    """Version 2 of its spans has other names for all of them."""
    trace = only(EMITTED / name)
    assert calls(trace) == [(0, "lookup", {"sku": "A"}, "item A"), (1, "lookup", {"sku": "B"}, "item B")]
    assert trace.agent.startswith("shop/")


def test_spans_of_adk_are_read_without_the_merged_one_and_say_that_content_is_missing() -> None:
    trace = only(EMITTED / "google-adk-without-content.console.jsonl")
    assert [(step.turn, step.call.tool, step.args_cut) for step in trace.steps] == [(0, "lookup", True)] * 2
    coverage = Coverage()
    coverage.add(trace)
    assert (coverage.calls, coverage.with_arguments, coverage.with_results) == (2, 0, 0)
    assert "2 have no result: nothing can be bound from results that are not there" in coverage.summary


def test_spans_of_adk_are_read_with_arguments_and_results_where_their_content_is_captured() -> None:
    trace = only(EMITTED / "google-adk.console.jsonl")
    assert calls(trace) == [
        (0, "lookup", {"sku": "A"}, '{"item": "item A"}'),
        (0, "lookup", {"sku": "B"}, '{"item": "item B"}'),
    ]
    assert [message.text for message in trace.messages] == ["What are A and B?", "done"]
    assert trace.agent == "shop/scripted"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("strands.console.jsonl", "Error: KeyError - 'no item C'"),
        ("strands-latest.console.jsonl", "Error: KeyError - 'no item C'"),
        ("agent-framework.console.jsonl", "KeyError('no item C')"),
    ],
)
def test_spans_of_strands_and_agent_framework_are_read_with_messages_arguments_results_and_errors(
    name: str, error: str
) -> None:
    """Strands has its content in events, in today's names when it is told so; an error is as the model reads it."""
    trace = only(EMITTED / name)
    assert calls(trace) == [
        (0, "lookup", {"sku": "A"}, "item A"),
        (1, "lookup", {"sku": "B"}, "item B"),
        (1, "lookup", {"sku": "C"}, error),
    ]
    assert [step.result and step.result.ok for step in trace.steps] == [True, True, False]
    assert [(message.role, message.text) for message in trace.messages] == [
        ("user", "What are A, B and C?"),
        ("assistant", "done"),
    ]
    assert trace.agent == "shop/scripted"
    coverage = Coverage()
    coverage.add(trace)
    assert (coverage.calls, coverage.with_arguments, coverage.with_results, coverage.summary) == (3, 3, 3, "")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("strands-redacted.console.jsonl", "'no item C'"),
        ("agent-framework-without-content.console.jsonl", "KeyError"),
    ],
)
def test_content_that_was_not_to_be_shown_is_missing_and_errors_still_are_errors(name: str, error: str) -> None:
    trace = only(EMITTED / name)
    assert [(step.turn, step.call.tool, step.args_cut) for step in trace.steps] == [
        (0, "lookup", True),
        (1, "lookup", True),
        (1, "lookup", True),
    ]
    assert [step.result and (step.result.text, step.result.ok, step.result.cut) for step in trace.steps] == [
        *((("", True, True),) * 2),
        (error, False, False),
    ]
    assert not trace.messages
    coverage = Coverage()
    coverage.add(trace)
    assert coverage.summary == (
        "of 3 recorded calls 3 have no whole arguments: they are never made again; "
        "2 have no result: nothing can be bound from results that are not there"
    )


def test_what_openai_agents_exports_is_read_as_the_conversation_that_it_names() -> None:
    trace = only(EMITTED / "openai-agents.jsonl")
    assert trace.session == "conversation-1"
    assert calls(trace) == [(0, "lookup", {"sku": "A"}, "item A"), (1, "lookup", {"sku": "B"}, "item B")]


def test_a_trajectory_of_mini_swe_agent_has_the_exit_code_of_each_command() -> None:
    trace = only(EMITTED / "mini-swe-agent.traj.json")
    assert [(step.call.args["command"], step.result and step.result.ok) for step in trace.steps] == [
        ("printf 'one\\ntwo\\n'", True),
        ("ls no-such-place", False),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", None),
    ]
    assert trace.messages[0].text == "What is in here?"


def test_what_is_missing_is_still_missing_when_it_was_written_in_the_canonical_format(tmp_path: Path) -> None:
    trace = only(EMITTED / "google-adk-without-content.console.jsonl")
    path = tmp_path / "copy.jsonl"
    path.write_bytes(dump_trace(trace))
    before, after = Coverage(), Coverage()
    before.add(trace)
    after.add(only(path))
    assert before == after


# --- made by the documented formats ---------------------------------------------------------------------------


def codex(*payloads: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload} for kind, payload in payloads]


def item(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "response_item", {"type": kind, **fields}


def shell(name: str, command: str) -> tuple[str, dict[str, Any]]:
    return item("function_call", name="shell_command", arguments=json.dumps({"command": command}), call_id=name)


def test_a_codex_transcript_is_read_with_its_parallel_calls_as_one_turn(tmp_path: Path) -> None:
    packed = json.dumps({"output": "gone", "metadata": {"exit_code": 1, "duration_seconds": 0.1}})
    said = [{"type": "input_text", "text": "why?"}]
    host = [{"type": "input_text", "text": "<environment_context>\n..."}]
    lines = codex(
        ("session_meta", {"id": "s", "cwd": "/work"}),
        ("turn_context", {"model": "gpt-5"}),
        item("message", role="user", content=host),
        item("message", role="user", content=said),
        ("event_msg", {"type": "user_message", "message": "why?"}),
        shell("a", "ls"),
        shell("b", "cat x"),
        item("function_call_output", call_id="a", output="Exit code: 0\nWall time: 0.1 seconds\nOutput:\nx\n"),
        item("function_call_output", call_id="b", output=packed),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c"),
        item("custom_tool_call_output", call_id="c", output="…12 tokens truncated…"),
        item("local_shell_call", call_id="d", action={"type": "exec", "command": ["ls"], "env": None}),
    )
    trace = only(save(tmp_path / "rollout-1.jsonl", *lines))
    assert (trace.session, trace.agent, trace.cwd) == ("s", "codex/gpt-5", "/work")
    assert [message.text for message in trace.messages] == ["why?"]
    assert calls(trace) == [
        (0, "shell_command", {"command": "ls"}, "x\n"),
        (0, "shell_command", {"command": "cat x"}, "gone"),
        (1, "apply_patch", {"input": "*** Begin Patch"}, "…12 tokens truncated…"),
        (2, "local_shell", {"command": "ls"}, None),
    ]
    assert [step.result and (step.result.ok, step.result.cut) for step in trace.steps] == [
        *((True, False), (False, False), (True, True), None),
    ]


def test_a_swe_agent_trajectory_has_its_interfaces_arguments_by_name(tmp_path: Path) -> None:
    steps = [
        {"action": "open src/a.py 12\n", "observation": "[File: a.py]", "thought": "I look."},
        {"action": "ls -la | head", "observation": "a.py", "thought": ""},
        {"action": "edit 1:2\nx\nend_of_edit", "observation": "Your proposed edit has introduced new errors"},
        {"action": "str_replace_editor view /a.py --view_range 1 2", "observation": "x<response clipped>"},
        {"action": "submit", "observation": None},
    ]
    (tmp_path / "django-1").mkdir()
    path = save(tmp_path / "django-1" / "django-1.traj", {"trajectory": steps, "info": {}, "history": []}, indent=2)
    trace = only(tmp_path)
    assert (trace.session, trace.source) == ("django-1", str(path))
    assert [(step.call.tool, step.call.args) for step in trace.steps] == [
        ("open", {"path": "src/a.py", "line_number": 12}),
        ("bash", {"command": "ls -la | head"}),
        ("edit", {"input": "1:2\nx\nend_of_edit"}),
        ("str_replace_editor", {"command": "view", "path": "/a.py", "input": "--view_range 1 2"}),
        ("submit", {}),
    ]
    assert [step.result and (step.result.ok, step.result.cut) for step in trace.steps] == [
        *((True, False), (True, False), (False, False), (True, True), None),
    ]


def agents_span(name: str, data: dict[str, Any], second: int, **more: Any) -> dict[str, Any]:
    when = {"started_at": f"2026-01-01T00:00:0{second}+00:00", "ended_at": f"2026-01-01T00:00:0{second}.5+00:00"}
    return {"object": "trace.span", "id": name, "trace_id": "t", "parent_id": None, "span_data": data, **when, **more}


def test_openai_agents_traces_are_grouped_by_what_their_trace_names(tmp_path: Path) -> None:
    function = {"type": "function", "name": "lookup", "input": '{"sku": "A"}', "output": "item A"}
    records = [
        {"object": "trace", "id": "t", "workflow_name": "w", "group_id": "talk", "metadata": None},
        agents_span("s1", {"type": "generation", "model": "gpt-5"}, 1),
        agents_span("s2", function, 2),
        agents_span("s3", {**function, "output": None}, 3, error={"message": "gone", "data": None}),
        agents_span("s4", {"type": "agent", "name": "shop"}, 1),
    ]
    trace = only(save(tmp_path / "agents.jsonl", *records))
    assert (trace.session, trace.agent) == ("talk", "otel/gpt-5")
    assert [(step.call.args, step.result and (step.result.text, step.result.ok)) for step in trace.steps] == [
        *(({"sku": "A"}, ("item A", True)), ({"sku": "A"}, ("gone", False))),
    ]


def console(name: str, span: str, parent: str | None, kind: str, second: int, **attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "context": {"trace_id": "0xt", "span_id": f"0x{span}"},
        "kind": f"SpanKind.{kind}",
        "parent_id": f"0x{parent}" if parent else None,
        "start_time": f"2026-01-01T00:00:0{second}Z",
        "end_time": f"2026-01-01T00:00:0{second}.5Z",
        "status": {"status_code": "UNSET"},
        "attributes": {key.replace("_", "."): value for key, value in attributes.items()},
        "events": [],
    }


def test_one_call_that_left_spans_of_agent_client_and_server_is_one_call(tmp_path: Path) -> None:
    mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "x"}
    records = [
        console("execute_tool x", "1", None, "INTERNAL", 1),
        console("MCP send tools/call x", "2", "1", "CLIENT", 1),
        console("tools/call x", "3", "2", "SERVER", 1),
        console("tools/call y", "4", None, "SERVER", 3),
    ]
    records[0]["attributes"] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
    records[1]["attributes"] = records[2]["attributes"] = mcp
    records[3]["attributes"] = {"mcp.method.name": "tools/call"}
    trace = only(save(tmp_path / "spans.json", *records, indent=4))
    assert [(step.call.tool, step.call.id) for step in trace.steps] == [("x", "1"), ("y", "4")]


def tool_span(*events: tuple[str, dict[str, Any]], **attributes: Any) -> dict[str, Any]:
    span = console("execute_tool x", "1", None, "INTERNAL", 1)
    span["attributes"] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
    span["attributes"] |= {key.replace("__", "."): value for key, value in attributes.items()}
    span["events"] = [{"name": name, "attributes": given} for name, given in events]
    return span


STRANDS = {"gen_ai__system": "strands-agents"}
ASKED = ("gen_ai.tool.message", {"role": "tool", "content": '{"sku": "A"}'})


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([{"text": "a"}, {"image": {}}, {"text": "b"}], "a\nb"),
        ([{"json": {"number": 7}}], '{"number":7}'),
        ([{"json": None}], "null"),
        ([{"json": 1}, {"json": 2}], '[{"json": 1}, {"json": 2}]'),
        ([{"image": {}}], '[{"image": {}}]'),
        ([], "[]"),
    ],
)
def test_content_blocks_of_strands_are_read_as_what_they_say(tmp_path: Path, blocks: list[Any], text: str) -> None:
    answered = ("gen_ai.choice", {"message": json.dumps(blocks), "id": "1"})
    (step,) = only(save(tmp_path / "spans.jsonl", tool_span(ASKED, answered, **STRANDS))).steps
    assert step.call.args == {"sku": "A"}
    assert step.result is not None
    assert (step.result.text, step.result.ok) == (text, True)


def test_a_status_of_the_tool_is_an_error_also_where_the_span_has_none(tmp_path: Path) -> None:
    answered = ("gen_ai.choice", {"message": '[{"text": "gone"}]', "id": "1"})
    span = tool_span(ASKED, answered, gen_ai__tool__status="error")
    (step,) = only(save(tmp_path / "spans.jsonl", span)).steps
    assert step.result is not None
    assert (step.result.text, step.result.ok) == ("gone", False)


def test_another_frameworks_values_are_left_as_they_are(tmp_path: Path) -> None:
    """Its tool may well return a list of objects with texts, or speak of what is redacted."""
    values = {"gen_ai__tool__call__arguments": '{"sku": "A"}', "gen_ai__tool__call__result": '[{"text": "a"}]'}
    (step,) = only(save(tmp_path / "spans.jsonl", tool_span(**values))).steps
    assert step.result is not None
    assert step.result.text == '[{"text": "a"}]'
    (step,) = only(
        save(tmp_path / "spans.jsonl", tool_span(**values | {"gen_ai__tool__call__result": "[REDACTED]"}))
    ).steps
    assert step.result is not None
    assert (step.result.text, step.result.cut) == ("[REDACTED]", False)


# --- any file -------------------------------------------------------------------------------------------------


def test_a_format_can_be_forced_and_one_that_is_not_known_is_named(tmp_path: Path) -> None:
    path = save(tmp_path / "x.json", {"messages": [{"role": "user", "content": "hi"}]})
    with pytest.raises(TraceError, match=r"x\.json:1: expected recorded sessions.*looked for: canonical traces"):
        list(read_traces(path))
    assert only(path, named="mini-swe-agent").messages[0].text == "hi"
    with pytest.raises(ValueError, match="there is no format 'csv'; there are canonical, claude-code"):
        list(read_traces(path, named="csv"))


def test_in_a_directory_other_json_is_passed_over_quietly(tmp_path: Path) -> None:
    save(tmp_path / "package.json", {"name": "x"}, indent=2)
    with pytest.raises(TraceError, match="there are no recorded sessions"):
        list(read_traces(tmp_path))
    save(
        tmp_path / "spans.json",
        *map(
            json.loads, (EMITTED / "google-adk-without-content.console.jsonl").read_text(encoding="utf-8").splitlines()
        ),
    )
    assert len(list(read_traces(tmp_path))) == 1


def test_a_damaged_span_is_passed_over_and_named(tmp_path: Path) -> None:
    good = console("execute_tool x", "1", None, "INTERNAL", 1)
    good["attributes"] = {"gen_ai.operation.name": "execute_tool"}
    path = save(tmp_path / "spans.jsonl", good, {**good, "start_time": "soon"})
    problems: list[TraceError] = []
    assert len(only(path, on_problem=problems.append).steps) == 1
    assert [str(error) for error in problems] == [
        f"{path}:2: $.start_time: expected a time in ISO 8601, found a text; the span was passed over"
    ]


_KEYS = ["type", "payload", "call_id", "messages", "info", "trajectory", "action", "observation", "content", "role"]
_KEYS += [
    "resourceSpans",
    "scopeSpans",
    "spans",
    "attributes",
    "context",
    "span_data",
    "object",
    "id",
    "name",
    "start_time",
    "events",
    "gen_ai.system",
    "gen_ai.choice",
    "gen_ai.tool.message",
    "gen_ai.operation.name",
    "message",
    "parts",
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("named", FORMATS)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(records=st.lists(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5), min_size=1, max_size=4))
def test_no_input_makes_a_reader_raise_anything_but_an_error_with_file_and_line(
    tmp_path: Path, named: str, records: list[dict[str, Any]]
) -> None:
    path = save(tmp_path / "any.jsonl", *records)
    problems: list[TraceError] = []
    list(read_traces(path, named=named, on_problem=problems.append))
    assert all(error.path == str(path) and error.line for error in problems)
    raised: list[str] = []
    try:
        list(read_traces(path, named=named))
    except TraceError as error:
        raised.append(str(error))
    assert all(re.match(rf"{re.escape(str(path))}:\d+: ", text) for text in raised)
