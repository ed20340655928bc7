"""Spans become one episode a trace, by the conventions' names; the example is a real export."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import SessionLogError
from stretto.sessions.episode import Assistant, Episode, ToolResult, Usage, User
from stretto.sessions.otel import CONVENTIONS, Coverage, read_otel
from tests.strategies import json_values

EXAMPLE = Path(__file__).parent.parent / "data" / "pydantic-ai-shop.excerpt.otlp.jsonl"


def value(plain: object) -> dict[str, Any]:
    """A value as this format writes it."""
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(item) for item in plain]}}
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(item)} for key, item in plain.items()]}}
    names = {str: "stringValue", bool: "boolValue", float: "doubleValue", int: "intValue"}
    written = str(plain) if type(plain) is int else plain
    return {} if plain is None else {names[type(plain)]: written}


def span(operation: str | None, start: int, end: int, trace: str = "t1", **fields: Any) -> dict[str, Any]:
    """A span; attributes are given without ``gen_ai.``, with ``_`` for each dot."""
    attributes = {f"gen_ai.{name.replace('_', '.')}": item for name, item in fields.pop("attributes", {}).items()}
    if operation:
        attributes["gen_ai.operation.name"] = operation
    attributes |= fields.pop("others", {})
    return {
        "traceId": trace,
        "spanId": f"s{start}",
        "name": fields.pop("name", operation or "other"),
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": key, "value": value(item)} for key, item in attributes.items()],
        **fields,
    }


def chat(start: int, said: list[str] | None = None, reply: str | None = None, **more: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if said is not None:
        attributes["input_messages"] = json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in said]
        )
    if reply is not None:
        parts = [{"type": "text", "content": reply}, {"type": "tool_call", "name": "x"}]
        attributes["output_messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return span("chat", start, start + 5, attributes=attributes | more.pop("attributes", {}), **more)


def tool(
    name: str, start: int, end: int, result: object = "ok", arguments: object = "{}", **more: Any
) -> dict[str, Any]:
    attributes = {"tool_name": name, "tool_call_arguments": arguments, "tool_call_result": result}
    return span("execute_tool", start, end, attributes=attributes, **more)


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def read(tmp_path: Path, *exports: object, **options: Any) -> list[Episode]:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in exports), encoding="utf-8")
    return list(read_otel(path, **options))


def outline(episode: Episode) -> list[object]:
    """Turns as tuples of tool names, results as (name, content), the user's words as text."""
    return [
        event.text
        if isinstance(event, User)
        else (event.name, event.content)
        if isinstance(event, ToolResult)
        else tuple(call.name for call in event.calls)
        for event in episode.events
    ]


def test_the_example_reads_as_its_project_says() -> None:
    """The first session's outline is published: the user, three turns, the last with two calls and two results."""
    coverage = Coverage()
    (episode,) = read_otel(EXAMPLE, coverage=coverage)
    assert outline(episode) == [
        "Hi, I'm c0@example.com. Please cancel order #W0a, I no longer need it.",
        ("find_user_id_by_email",),
        ("find_user_id_by_email", "user_0"),
        ("get_user_details",),
        ("get_user_details", '{"user_id":"user_0","email":"c0@example.com","orders":["#W0a","#W0b"]}'),
        ("get_order_details", "get_order_details"),
        (
            "get_order_details",
            '{"order_id":"#W0a","status":"pending","items":[{"item_id":"1","name":"Desk lamp"}]}',
        ),
        (
            "get_order_details",
            '{"order_id":"#W0b","status":"pending","items":[{"item_id":"1","name":"Desk lamp"}]}',
        ),
    ]
    assert coverage.counts == [4, 4, 4]
    assert coverage.warning == ""
    assert (
        episode.id,
        episode.domain,
        episode.agent_model,
        episode.reward,
        episode.started_ms,
        episode.sent_after,
    ) == (*("fc13c8ba3df23179e00406150fcae9ac", "otel", "scripted-shop-model", 0.0, 1790608657854, {}),)
    first = next(episode.turns())
    assert first.usage == Usage(64, 6)
    assert first.calls[0].id == "pyd_ai_9a6e4ca1e7a34102ac1e268fe6816292"
    assert first.calls[0].arguments == {"email": "c0@example.com"}


def test_the_example_reads_the_same_packed_and_spread_over_lines(tmp_path: Path) -> None:
    wanted = list(read_otel(EXAMPLE))
    packed, spread = tmp_path / "spans.gz", tmp_path / "spans.json"
    packed.write_bytes(gzip.compress(EXAMPLE.read_bytes()))
    spread.write_text(json.dumps(json.loads(EXAMPLE.read_bytes()), indent=2), encoding="utf-8")
    assert list(read_otel(packed)) == list(read_otel(spread)) == wanted


def test_spans_may_come_in_any_order_and_over_many_exports(tmp_path: Path) -> None:
    spans = [chat(0, ["hi"]), tool("a", 10, 20), chat(30, ["hi"]), tool("b", 40, 45), tool("c", 41, 42)]
    apart = read(tmp_path, *(export(one) for one in reversed(spans)))
    assert apart == read(tmp_path, export(*spans))
    assert outline(apart[0]) == ["hi", ("a",), ("a", "ok"), ("b", "c"), ("c", "ok"), ("b", "ok")]


def test_traces_are_in_order_of_their_earliest_span_then_by_id(tmp_path: Path) -> None:
    spans = [
        *(chat(50, trace="late"), chat(20, trace="b"), chat(20, trace="a"), chat(60, trace="root-first")),
        span(None, 1, 99, trace="root-first"),
        span(None, 0, 99, trace="no-agent"),
    ]
    found = read(tmp_path, export(*spans))
    assert [episode.id for episode in found] == ["root-first", "a", "b", "late"]


def test_only_messages_beyond_those_already_heard_are_said(tmp_path: Path) -> None:
    found = read(tmp_path, export(chat(0, ["one"], "r1"), chat(10, ["one", "two", "three"], "r2"), chat(20, ["four"])))
    assert found[0].events == (
        *(User("one"), Assistant("r1"), User("two"), User("three"), Assistant("r2"), Assistant()),
    )


def test_texts_of_a_message_are_joined_and_messages_without_text_left_out(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "parts": [{"type": "text", "content": "be kind"}]},
        {"role": "user", "parts": [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "result": "x"}]},
        {"role": "user", "parts": "odd"},
        "odd",
    ]
    for written in (json.dumps(messages), messages[:3]):
        (episode,) = read(tmp_path, export(chat(0, attributes={"input_messages": written})))
        assert episode.events == (User("a\nb"), Assistant())


def test_tools_without_a_model_join_a_turn_while_one_of_its_spans_is_open(tmp_path: Path) -> None:
    spans = [tool("a", 0, 10), tool("b", 5, 30), tool("c", 20, 25), tool("d", 30, 31), chat(40), tool("e", 90, 91)]
    assert outline(read(tmp_path, export(*spans))[0]) == [
        *(("a", "b", "c"), ("a", "ok"), ("c", "ok"), ("b", "ok"), ("d",), ("d", "ok"), ("e",), ("e", "ok")),
    ]


def test_how_many_results_were_back_when_a_call_was_sent(tmp_path: Path) -> None:
    """What a decision may take as pending: a call that began after another one of its turn had ended."""
    spans = [chat(0), tool("a", 10, 20), tool("b", 15, 40), tool("c", 20, 30), tool("d", 40, 40)]
    assert read(tmp_path, export(*spans))[0].sent_after == {"s20": 1, "s40": 3}


@pytest.mark.parametrize(
    ("more", "error", "content"),
    [
        pytest.param({}, False, "ok", id="ok"),
        pytest.param({"status": {"code": 1}}, False, "ok", id="status-ok"),
        pytest.param({"status": {"code": 2, "message": "gone"}}, True, "ok", id="result-wins"),
        pytest.param(
            {"status": {"code": "STATUS_CODE_ERROR", "message": "gone"}, "result": None}, True, "gone", id="text"
        ),
        pytest.param({"others": {"error.type": "Timeout"}, "result": None}, True, "Timeout", id="error-type"),
        pytest.param(
            {"others": {"error.type": "Timeout"}, "status": {"message": "late"}, "result": None},
            True,
            "late",
            id="both",
        ),
        pytest.param({"status": {"code": 2}, "result": None}, True, "", id="nothing-said"),
        pytest.param({"result": None}, False, "", id="no-result"),
        pytest.param({"result": {"a": [1, True, None, 1.5]}}, False, '{"a":[1,true,null,1.5]}', id="structured"),
    ],
)
def test_what_a_result_says(tmp_path: Path, more: dict[str, Any], error: bool, content: str) -> None:  # noqa: FBT001 - a table's column
    (episode,) = read(tmp_path, export(tool("a", 0, 1, more.pop("result", "ok"), **more)))
    assert episode.events[1] == ToolResult("s0", "a", error, content)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        pytest.param('{"id": 18446744073709551617}', {"id": 18446744073709551617}, id="text"),
        pytest.param({"id": 7}, {"id": 7}, id="structured"),
        pytest.param("{", "{", id="cut-off"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_arguments_are_json_however_they_were_written(tmp_path: Path, written: object, arguments: object) -> None:
    (episode,) = read(tmp_path, export(tool("a", 0, 1, arguments=written)))
    assert next(episode.turns()).calls[0].arguments == arguments


def test_names_ids_and_models_have_fallbacks(tmp_path: Path) -> None:
    (episode,) = read(
        tmp_path,
        export(
            span("generate_content", 0, 1, attributes={"request_model": "asked"}),
            span("execute_tool", 2, 3, name="execute_tool look_up"),
            span("text_completion", 4, 5, attributes={"response_model": "answered"}),
        ),
    )
    assert episode.agent_model == "asked"
    assert next(episode.turns()).calls[0].name == "look_up"
    assert next(episode.turns()).calls[0].id == "s2"
    assert read(tmp_path, export(tool("a", 0, 1)))[0].agent_model == "unknown"


def test_calls_that_share_an_id_are_told_apart(tmp_path: Path) -> None:
    (episode,) = read(tmp_path, export(tool("a", 0, 9), tool("b", 0, 8)))
    assert [result.name for result in episode.results().values()] == ["b", "a"]


def test_missing_content_is_counted_and_told_once_at_the_end(tmp_path: Path) -> None:
    told: list[SessionLogError] = []
    coverage = Coverage()
    spans = [tool("a", 0, 1), tool("b", 2, 3, result=None), tool("c", 4, 5, arguments=None, result=None)]
    failed = tool("d", 6, 7, result=None, status={"code": 2, "message": "no"})
    read(tmp_path, export(*spans, failed), coverage=coverage, on_problem=told.append)
    assert coverage.counts == [4, 3, 2]
    assert [error.problem for error in told] == [coverage.warning]
    assert "of 4 tool calls 3 have arguments and 2 have results" in coverage.warning


def test_messages_that_a_limit_cut_off_are_told_and_passed_over(tmp_path: Path) -> None:
    told: list[SessionLogError] = []
    (episode,) = read(tmp_path, export(chat(0, attributes={"input_messages": '[{"role": "us'})), on_problem=told.append)
    assert episode.events == (Assistant(),)
    assert "gen_ai.input.messages is no list of messages" in told[0].problem


@pytest.mark.case("HC-04")
def test_a_last_line_that_is_cut_off_is_passed_over_and_told(tmp_path: Path) -> None:
    """Of HC-04 this pins the export: cut at any byte of its last line, what stands before it is read."""
    path = tmp_path / "spans.jsonl"
    first, second = (json.dumps(export(chat(0, trace=name))).encode() + b"\n" for name in ("a", "b"))
    for length in range(1, len(second) - 1):
        path.write_bytes(first + second[:length])
        told: list[SessionLogError] = []
        assert [episode.id for episode in read_otel(path, on_problem=told.append)] == ["a"]
        assert [error.problem for error in told] == ["the last line (2) is cut off and was passed over"]
    path.write_bytes(first + second[:-1])
    assert len(list(read_otel(path))) == 2
    path.write_bytes(first + second[:9] + b"\n" + first)
    with pytest.raises(SessionLogError, match=r"spans.jsonl:2: expected one export of spans a line"):
        list(read_otel(path))


@pytest.mark.case("HC-02")
def test_lone_surrogates_in_spans_are_read_as_they_are(tmp_path: Path) -> None:
    (episode,) = read(tmp_path, export(tool("a", 0, 1, "caf\udce9", '{"a": "\\udc9d"}')))
    assert next(episode.turns()).calls[0].arguments == {"a": "\udc9d"}
    assert outline(episode)[1] == ("a", "caf\udce9")


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        pytest.param([], r":1: \$: expected an object, found a list", id="no-object"),
        pytest.param({"spans": []}, r"\$\.resourceSpans: expected a list, found nothing", id="no-resources"),
        pytest.param({"resourceSpans": [{}]}, r"\$\.resourceSpans\[0\]\.scopeSpans: expected a list", id="no-scopes"),
        pytest.param(
            {"resourceSpans": [{"scopeSpans": [{}]}]},
            r"\$\.resourceSpans\[0\]\.scopeSpans\[0\]\.spans: expected a list, found nothing",
            id="no-spans",
        ),
        pytest.param(export({}), r"spans\[0\]\.traceId: expected a text, found nothing", id="no-trace"),
        pytest.param(
            export(chat(0) | {"startTimeUnixNano": "soon"}),
            r"\.startTimeUnixNano: expected nanoseconds as a whole number, found a text",
            id="time",
        ),
        pytest.param(
            export(chat(0) | {"attributes": [{"key": 1}]}), r"\.attributes\[0\]\.key: expected a text", id="key"
        ),
        pytest.param(
            export(chat(0) | {"attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": []}}]}),
            r"\.attributes\[0\]\.value\.stringValue: expected a single value, found a list",
            id="value",
        ),
    ],
)
def test_a_fault_is_told_with_its_line_and_place(tmp_path: Path, one: object, problem: str) -> None:
    with pytest.raises(SessionLogError, match=problem):
        read(tmp_path, one)


def test_values_that_are_nested_without_end_are_refused(tmp_path: Path) -> None:
    nested: object = "x"
    for _ in range(120):
        nested = [nested]
    with pytest.raises(SessionLogError, match="nested too deeply"):
        read(tmp_path, export(tool("a", 0, 1, nested)))


def test_empty_files_and_other_files_are_told(tmp_path: Path) -> None:
    for data in (b"", b"\n \n", b"hello\nworld\n"):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(SessionLogError, match="expected an export of spans"):
            list(read_otel(tmp_path / "x"))


def test_the_conventions_are_named_for_the_flow() -> None:
    assert CONVENTIONS == "OpenTelemetry GenAI semantic conventions 1.38.0"


def mangled() -> st.SearchStrategy[Any]:
    """Exports in which one value, somewhere, is another one."""
    whole = export(chat(0, ["hi"], "yes"), tool("a", 5, 9, {"x": [1]}), tool("b", 6, 7, status={"code": 2}))

    def replaced(old: Any, path: tuple[Any, ...], new: object) -> Any:
        if not path:
            return new
        copy = old.copy()
        copy[path[0]] = replaced(old[path[0]], path[1:], new)
        return copy

    def paths(old: Any) -> list[tuple[Any, ...]]:
        items = old.items() if isinstance(old, dict) else enumerate(old) if isinstance(old, list) else ()
        return [(), *((key, *rest) for key, item in items for rest in paths(item))]

    return st.builds(replaced, st.just(whole), st.sampled_from(paths(whole)), json_values())


@given(st.lists(mangled() | json_values(), max_size=3))
def test_no_export_ends_in_anything_but_episodes_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, exports: list[object]
) -> None:
    try:
        episodes = read(tmp_path_factory.getbasetemp(), *exports)
    except SessionLogError:
        return
    for episode in episodes:
        calls = [call.id for turn in episode.turns() for call in turn.calls]
        assert set(episode.results()) == set(calls)
        assert len(set(calls)) == len(calls)


@given(data=st.binary(max_size=40))
def test_no_bytes_end_in_a_traceback_of_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.otlp"
    path.write_bytes(data)
    with pytest.raises(SessionLogError):
        list(read_otel(path))
