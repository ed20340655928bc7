"""Claude Code transcripts. Those in ``transcripts`` are made up, in the form that versions 1.0 and 2.1 write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.traces import Trace, dump_trace, read_traces, trace_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.errors import TraceError

PROJECT = Path(__file__).parent / "transcripts" / "-home-ada-lift"
MAIN = "5f0c2a51-7b1e-4c0d-9a3e-0d8f1c2b3a4d"
FORK = "9d41b7c0-2f6a-4e5b-8c11-6a7e5d4c3b2a"
OLD = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"


@pytest.fixture(name="main")
def _main() -> Trace:
    (trace,) = read_traces(PROJECT / f"{MAIN}.jsonl")
    return trace


def test_a_session_is_named_and_placed(main: Trace) -> None:
    assert main.session == MAIN
    assert main.agent == "claude-code/claude-opus-4-6"
    assert main.cwd == "/home/ada/lift"
    assert main.source == str(PROJECT / f"{MAIN}.jsonl")
    assert (main.task, main.parent, main.split_key) == (None, None, MAIN)
    assert main.kinds == {}


@pytest.mark.case("HC-11")
def test_calls_of_one_answer_are_one_turn_although_results_stand_between_them(main: Trace) -> None:
    """The answer ``msg_02`` was written as three lines, and the second call's result came before the third call."""
    turns = [(step.call.tool, step.turn) for step in main.steps]
    assert turns == [
        ("Grep", 0),
        ("Read", 1),
        ("Read", 1),
        ("mcp__plans__drawing", 1),
        ("Task", 2),
        ("Edit", 3),
        ("Bash", 4),
        ("Bash", 5),
    ]
    motor, door = main.steps[1:3]
    assert door.ended is not None
    assert motor.ended is not None
    assert motor.started < door.started < door.ended < motor.ended
    assert main.turns == 6


def test_results_are_text_whichever_way_they_were_written(main: Trace) -> None:
    results = [step.result and step.result.text for step in main.steps]
    assert results[1] == "41\tdef stop(self, floor):\n42\t    return self.height < floor * 3"
    assert results[2] == "1\tBUZZER = 3\n2\t\n7\tdef stop_buzzer():"
    assert results[3] == "[image]\ndrawing of floor 2"


def test_errors_interruptions_and_outputs_kept_elsewhere_are_told_apart(main: Trace) -> None:
    edit, tests, sleep = main.steps[5:]
    assert edit.result is not None
    assert tests.result is not None
    assert not edit.result.ok
    assert (tests.result.ok, tests.result.cut) == (True, True)
    assert sleep.result is None


def test_only_what_was_said_is_a_message(main: Trace) -> None:
    """Reasoning, hooks, the host's caveats, the summary of a compaction and API errors are not."""
    assert [(said.role, said.text) for said in main.messages] == [
        ("user", "Why does the lift stop between floors?"),
        ("assistant", "I'll look where it decides to stop."),
        ("user", "The second floor is 3.2 m high, by the way."),
        ("assistant", "One test still fails."),
        ("user", "[Request interrupted by user for tool use]"),
    ]


def test_what_is_written_again_after_a_compaction_counts_once(main: Trace) -> None:
    assert [step.call.id for step in main.steps].count("toolu_06") == 1


def test_a_sub_agent_is_a_trace_of_its_own_that_is_split_with_its_session() -> None:
    (trace,) = read_traces(PROJECT / MAIN / "subagents" / "agent-a1b2c3.jsonl")
    assert (trace.session, trace.parent, trace.split_key) == (f"{MAIN}/a1b2c3", MAIN, MAIN)
    assert trace.agent == "claude-code/claude-haiku-4-5"
    assert [step.call for step in trace.steps] == [
        Call("Glob", {"pattern": "**/floor*.py"}, "toolu_a1"),
        Call("Read", {"file_path": "/home/ada/lift/lift/floors.py"}, "toolu_a2"),
    ]


def test_sub_agents_that_ran_side_by_side_in_an_old_file_are_told_apart_by_their_chains() -> None:
    traces = list(read_traces(PROJECT / f"{OLD}.jsonl"))
    assert [[step.call.tool for step in trace.steps] for trace in traces] == [["Task", "Task"], ["Read"], ["LS"]]
    assert [said.text for trace in traces[1:] for said in trace.messages] == [
        "Check the oil log.",
        "Oiled in January.",
        "Check the cable plan.",
        "There is one plan.",
    ]
    assert {trace.split_key for trace in traces} == {OLD}


def test_a_session_split_off_another_holds_its_own_calls_only() -> None:
    """The copied lines were another session's; counting them twice would be learning and measuring on the same."""
    (trace,) = read_traces(PROJECT / f"{FORK}.jsonl")
    assert [step.call.id for step in trace.steps] == ["toolu_f1"]
    assert [said.text for said in trace.messages] == ["Try the door instead."]
    assert trace.split_key == MAIN


def test_a_project_directory_has_its_sessions_each_before_its_sub_agents() -> None:
    names = [file.relative_to(PROJECT).as_posix() for file in trace_files(PROJECT)]
    assert names == [f"{OLD}.jsonl", f"{MAIN}.jsonl", f"{MAIN}/subagents/agent-a1b2c3.jsonl", f"{FORK}.jsonl"]
    sessions = [trace.session for trace in read_traces(PROJECT)]
    assert sessions[3:] == [MAIN, f"{MAIN}/a1b2c3", FORK]


def test_a_result_without_a_call_is_reported_with_its_line() -> None:
    problems: list[TraceError] = []
    list(read_traces(PROJECT / f"{MAIN}.jsonl", on_problem=problems.append))
    assert [(error.line, error.problem) for error in problems] == [
        (35, "a result was passed over: no call has its id 'toolu_99'")
    ]


def test_a_transcript_survives_being_written_in_the_canonical_format(tmp_path: Path, main: Trace) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(dump_trace(main))
    (again,) = read_traces(path)
    assert dump_trace(again) == dump_trace(main)
    assert [step.result for step in again.steps] == [step.result for step in main.steps]
    assert again.cwd == main.cwd


def line(kind: str, content: Any, session: str = "s", **fields: Any) -> bytes:
    message = {"role": kind, "content": content, "id": fields.pop("message_id", "m")}
    return jsonvalue.dumps({"type": kind, "sessionId": session, "message": message} | fields) + b"\n"


def use(name: str, tool: str = "Read") -> dict[str, object]:
    return {"type": "tool_use", "id": name, "name": tool, "input": {}}


def answer(name: str, content: object = "text") -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


@pytest.fixture(name="read")
def _read(tmp_path: Path) -> Callable[..., tuple[list[Trace], list[str]]]:
    def read(*lines: bytes) -> tuple[list[Trace], list[str]]:
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join(lines))
        problems: list[TraceError] = []
        return list(read_traces(path, on_problem=problems.append)), [f"{e.line}: {e.problem}" for e in problems]

    return read


def test_calls_without_a_message_id_are_a_turn_a_line(read: Any) -> None:
    lines = [line("assistant", [use("1"), use("2")], message_id=None), line("assistant", [use("3")], message_id=None)]
    (trace,), problems = read(*lines)
    assert [step.turn for step in trace.steps] == [0, 0, 1]
    assert problems == []


def test_a_result_line_that_was_written_before_its_call_is_paired(read: Any) -> None:
    (trace,), problems = read(line("user", [answer("1", "early")]), line("assistant", [use("1")]))
    assert trace.steps[0].result == Result("early")
    assert problems == []


def test_several_sessions_in_one_stream_are_several_traces(read: Any) -> None:
    traces, _ = read(
        line("assistant", [use("1")], "one"), line("assistant", [use("2")], "two"), line("user", [answer("2")], "two")
    )
    assert [(trace.session, len(trace.steps)) for trace in traces] == [("one", 1), ("two", 1)]


def test_a_line_that_stands_there_twice_counts_once(read: Any) -> None:
    (trace,), _ = read(line("user", "why?", uuid="u"), line("user", "why?", uuid="u"), line("user", "why?", uuid="v"))
    assert [said.text for said in trace.messages] == ["why?", "why?"]


@pytest.mark.parametrize(
    ("damaged", "problem"),
    [
        pytest.param(line("user", 7), "$.message.content: expected a text or a list of blocks", id="content"),
        pytest.param(
            jsonvalue.dumps({"type": "user", "sessionId": "s"}) + b"\n",
            "$.message: expected an object",
            id="no-message",
        ),
        pytest.param(
            line("assistant", [{"type": "tool_use", "name": "Read"}]),
            "$.message.content[]: expected a tool_use with id, name and input",
            id="call-without-id",
        ),
        pytest.param(
            line("user", [{"type": "tool_result", "content": "x"}]),
            "$.message.content[]: expected a tool_result with tool_use_id",
            id="result-without-id",
        ),
        pytest.param(
            line("user", [answer("1", {"a": 1})]),
            "$.message.content[].content: expected a text or a list of blocks",
            id="result-of-another-form",
        ),
    ],
)
def test_a_line_of_an_unknown_form_is_passed_over_and_reported(read: Any, damaged: bytes, problem: str) -> None:
    (trace,), problems = read(line("user", "before"), damaged, line("user", "after"))
    assert [said.text for said in trace.messages] == ["before", "after"]
    assert problems == [f"2: {problem}; the rest of the line was passed over"]


def test_lines_that_name_no_session_are_no_trace(read: Any) -> None:
    assert read(b'{"type":"summary","summary":"Oil","leafUuid":"u"}\n') == ([], [])
    assert read(b'{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}\n') == ([], [])
