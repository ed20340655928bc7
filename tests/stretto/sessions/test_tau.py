"""Results of τ-bench and τ²-bench become episodes; what a customer does on a phone of its own does not."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import SessionLogError
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage, User
from stretto.sessions.tau import Split, read_split, read_tau
from tests.strategies import json_values

if TYPE_CHECKING:
    from pathlib import Path

GREETING = {"role": "assistant", "content": "Hi! How can I help you today?", "cost": 0.0}


def call(name: str, arguments: object, call_id: str = "c1", requestor: str = "assistant") -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}


def says(text: str | None, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls) or None, **more}


def returns(
    content: str | None, call_id: str = "c1", *, error: bool = False, requestor: str = "assistant"
) -> dict[str, Any]:
    return {"role": "tool", "id": call_id, "content": content, "error": error, "requestor": requestor}


def user(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def results(*messages: dict[str, Any], implementation: str = "llm_agent", **run: Any) -> dict[str, Any]:
    return {
        "info": {
            "agent_info": {"implementation": implementation, "llm": "gpt-4.1"},
            "environment_info": {"domain_name": "telecom"},
        },
        "tasks": [],
        "simulations": [{"id": "run-1", "task_id": "7", "trial": 2, "messages": list(messages)} | run],
    }


def read(tmp_path: Path, value: object, **options: Any) -> list[Episode]:
    path = tmp_path / "gpt-4o-airline.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return list(read_tau(path, **options))


def events(tmp_path: Path, *messages: dict[str, Any], **options: Any) -> tuple[object, ...]:
    return read(tmp_path, results(*messages, **options))[0].events


def test_a_simulation_becomes_an_episode(tmp_path: Path) -> None:
    value = results(
        GREETING,
        user("I'm c7@x"),
        says(None, call("find", {"email": "c7@x"}), cost=0.01, usage={"prompt_tokens": 900, "completion_tokens": 12}),
        returns("user_7"),
        says("Done."),
        user("###STOP###"),
        reward_info={"reward": 1.0},
        start_time="1970-01-01T00:00:02.500000",
    )
    assert read(tmp_path, value) == [
        Episode(
            id="run-1",
            events=(
                User("I'm c7@x"),
                Assistant(None, (ToolCall("c1", "find", {"email": "c7@x"}),), Usage(900, 12, 0.01)),
                ToolResult("c1", "find", error=False, content="user_7"),
                Assistant("Done."),
                User("###STOP###"),
            ),
            task_id="7",
            trial=2,
            domain="telecom",
            agent_model="gpt-4.1",
            reward=1.0,
            started_ms=2500,
        )
    ]


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        pytest.param(GREETING, False, id="scripted"),
        pytest.param(GREETING | {"cost": None}, False, id="without-cost"),
        pytest.param(GREETING | {"cost": 0.002}, True, id="a-model-wrote-it"),
        pytest.param(says("Let me look.", call("find", {})), True, id="it-calls"),
    ],
)
def test_only_the_scripted_greeting_is_no_turn(tmp_path: Path, first: dict[str, Any], kept: bool) -> None:  # noqa: FBT001 - a table's column
    assert len(events(tmp_path, first, user("hello"))) == 1 + kept


def test_a_reply_later_on_without_cost_is_a_turn(tmp_path: Path) -> None:
    assert events(tmp_path, user("hello"), GREETING)[1] == Assistant(GREETING["content"])  # type: ignore[arg-type] # a text


def test_what_the_customer_does_on_its_phone_is_left_out_with_its_results(tmp_path: Path) -> None:
    found = events(
        tmp_path,
        user(None, tool_calls=[call("toggle_data", {}, "u1", "user")]),
        returns("on", "u1", requestor="user"),
        says(None, call("get_line", {"id": "L1"}, "c1"), call("reboot", {}, "u2", "user")),
        returns("ok", "u2", requestor="user"),
        returns("active", "c1"),
        says(None, call("reboot", {}, "u3", "user")),
    )
    assert found == (
        Assistant(None, (ToolCall("c1", "get_line", {"id": "L1"}),)),
        ToolResult("c1", "get_line", error=False, content="active"),
    )


def test_in_solo_runs_the_customers_tools_are_the_agents_and_unreturned_calls_are_none(tmp_path: Path) -> None:
    found = events(
        tmp_path,
        says(None, call("toggle_data", {}, "u1", "user"), call("get_line", {}, "c1")),
        returns("on", "u1", requestor="user"),
        returns("active", "c1"),
        says("Solved.", call("get_line", {}, "c2"), call("done", {}, "c3")),
        returns("active", "c2"),
        says(None, call("done", {}, "c4")),
        implementation="llm_agent_solo",
    )
    assert [event for event in found if isinstance(event, Assistant)] == [
        Assistant(None, (ToolCall("u1", "toggle_data", {}), ToolCall("c1", "get_line", {}))),
        Assistant("Solved.", (ToolCall("c2", "get_line", {}),)),
    ]


def test_outside_solo_runs_a_call_without_a_result_stays_a_call(tmp_path: Path) -> None:
    assert events(tmp_path, says(None, call("find", {}))) == (Assistant(None, (ToolCall("c1", "find", {}),)),)


def test_several_results_in_one_message_and_errors_are_read(tmp_path: Path) -> None:
    found = events(
        tmp_path,
        says(None, call("a", {}, "1"), call("b", {}, "2")),
        {"role": "tool", "tool_messages": [returns("Error: no", "2", error=True), returns(None, "1")]},
    )
    assert found[1:] == (ToolResult("2", "b", True, "Error: no"), ToolResult("1", "a", False, ""))


def test_ids_that_calls_share_are_told_apart_and_each_result_goes_to_its_own_call(tmp_path: Path) -> None:
    """Published trajectories repeat ids: over messages, within one, and empty ones."""
    found = events(
        tmp_path,
        says(None, call("a", {}, "x")),
        returns("1", "x"),
        says(None, call("b", {}, "x"), call("c", {}, "x"), call("d", {}, "")),
        returns("2", "x"),
        returns("3", "x"),
        returns("4", ""),
        says(None, call("e", {}, "never answered")),
        says(None, call("f", {}, "never answered")),
        returns("5", "never answered"),
        returns("6", "never answered"),
        returns("7", "nobody's"),
    )
    assert [(event.name, event.content) for event in found if isinstance(event, ToolResult)] == [
        *(("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("f", "5"))
    ]
    assert [call.id for event in found if isinstance(event, Assistant) for call in event.calls] == [
        *("x", "x#2", "x#3", "", "never answered", "never answered#2")
    ]


def test_an_older_trajectory_is_read_with_its_file_as_the_agent(tmp_path: Path) -> None:
    function = {"name": "get_user_details", "arguments": '{"user_id": "mia"}'}
    run = {
        "task_id": 3,
        "reward": 1.0,
        "trial": 1,
        "info": {},
        "traj": [
            {"role": "system", "content": "# Policy"},
            user("Hi"),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c", "name": "get_user_details", "content": "Error: user not found"},
            {"role": "assistant", "content": "Who are you?"},
        ],
    }
    assert read(tmp_path, [run], domain="airline") == [
        Episode(
            id="gpt-4o-airline-3-1",
            events=(
                User("Hi"),
                Assistant(None, (ToolCall("c", "get_user_details", {"user_id": "mia"}),)),
                ToolResult("c", "get_user_details", error=True, content="Error: user not found"),
                Assistant("Who are you?"),
            ),
            task_id="3",
            trial=1,
            domain="airline",
            agent_model="gpt-4o-airline",
            reward=1.0,
        )
    ]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        pytest.param('{"a": 1}', {"a": 1}, id="text"),
        pytest.param({"a": 1}, {"a": 1}, id="object"),
        pytest.param("", {}, id="empty"),
        pytest.param(None, {}, id="none"),
        pytest.param('{"a": ', '{"a": ', id="no-json-binds-to-nothing"),
        pytest.param('{"n": 18446744073709551617}', {"n": 18446744073709551617}, id="beyond-64-bits"),
    ],
)
def test_arguments_are_json_however_they_were_written(tmp_path: Path, written: object, arguments: object) -> None:
    first = events(tmp_path, says(None, call("f", written)))[0]
    assert isinstance(first, Assistant)
    assert first.calls[0].arguments == arguments


@pytest.mark.case("HC-12")
@pytest.mark.parametrize(
    ("run", "learned"),
    [
        pytest.param({"reward_info": {"reward": 1.0}}, True, id="success"),
        pytest.param({"reward_info": {"reward": 1}}, True, id="whole-number"),
        pytest.param({"reward_info": {"reward": 0.5}}, False, id="half"),
        pytest.param({"reward_info": None}, False, id="never-judged"),
        pytest.param({}, False, id="no-word-of-it"),
    ],
)
def test_only_full_rewards_are_successes(tmp_path: Path, run: dict[str, Any], learned: bool) -> None:  # noqa: FBT001 - a table's column
    """Of HC-12 this pins that a run without the benchmark's approval is not learned from."""
    assert read(tmp_path, results(**run))[0].succeeded is learned


@pytest.mark.parametrize(
    ("written", "started_ms"),
    [("1970-01-01T01:00:02.5+01:00", 2500), ("yesterday", 0), (None, 0), (7, 0)],
)
def test_a_start_that_cannot_be_read_is_unknown(tmp_path: Path, written: object, started_ms: int) -> None:
    assert read(tmp_path, results(start_time=written))[0].started_ms == started_ms


def test_parts_of_a_message_are_joined_and_an_empty_reply_is_a_turn(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "odd", {"type": "text", "text": "b"}]
    assert events(tmp_path, {"role": "user", "content": parts}, says(None)) == (User("a\nb"), Assistant())


@pytest.mark.case("HC-02")
def test_lone_surrogates_are_read_as_they_are(tmp_path: Path) -> None:
    found = events(tmp_path, user("caf\udce9"), says(None, call("f", {"a": "\udc9d"})), returns("\ud83d\ude00"))
    assert found == (
        User("caf\udce9"),
        Assistant(None, (ToolCall("c1", "f", {"a": "\udc9d"}),)),
        ToolResult("c1", "f", error=False, content="\U0001f600"),
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("text", r"\$: expected an object, found a text", id="no-object"),
        pytest.param({"info": {}}, r"\$\.simulations: expected a list, found nothing", id="no-simulations"),
        pytest.param({"simulations": [3]}, r"\$\.simulations\[0\]: expected an object, found a number", id="no-run"),
        pytest.param(
            {"simulations": [{}]}, r"\$\.simulations\[0\]\.task_id: expected a text, found nothing", id="no-task"
        ),
        pytest.param([{"task_id": 1}], None, id="a-run-without-messages-is-empty"),
        pytest.param([{"task_id": 1, "trial": "x"}], r"\$\[0\]\.trial: expected a whole number", id="trial"),
        pytest.param([{"task_id": 1, "reward": True}], r"\$\[0\]\.reward: expected a number", id="reward"),
        pytest.param([{"task_id": 1, "reward": 10**400}], r"\$\[0\]\.reward: expected a number", id="huge-reward"),
        pytest.param([{"task_id": 1, "traj": ["x"]}], r"\$\[0\]\.traj\[0\]: expected an object", id="message"),
        pytest.param(
            [{"task_id": 1, "traj": [{"role": "assistant", "tool_calls": [{"function": {}}]}]}],
            r"\$\[0\]\.traj\[0\]\.tool_calls\[0\]\.name: expected a text, found nothing",
            id="name",
        ),
        pytest.param(
            [{"task_id": 1, "traj": [user({"a": 1})]}],  # type: ignore[arg-type] # what is wrong with it
            r"\$\[0\]\.traj\[0\]\.content: expected a list, found an object",
            id="content",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, value: object, problem: str | None) -> None:
    if problem is None:
        assert read(tmp_path, value)[0].events == ()
        return
    with pytest.raises(SessionLogError, match=problem) as caught:
        read(tmp_path, value)
    assert str(caught.value).startswith(str(tmp_path))


def test_a_file_that_is_no_json_is_told_and_packed_ones_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"{")
    with pytest.raises(SessionLogError, match="expected results of τ-bench in JSON"):
        list(read_tau(tmp_path / "x.json"))
    (tmp_path / "x.json.gz").write_bytes(gzip.compress(json.dumps(results(user("hi"))).encode()))
    assert len(list(read_tau(tmp_path / "x.json.gz"))) == 1


def mangled() -> st.SearchStrategy[object]:
    """Results in which one value, somewhere, is another one."""
    whole = results(
        GREETING, user("hi"), says("a", call("f", {"x": 1}), usage={"prompt_tokens": 1}), returns("r"), reward_info={}
    )

    def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
        if not path:
            return new
        copy = value.copy()
        copy[path[0]] = replaced(value[path[0]], path[1:], new)
        return copy

    def paths(value: Any) -> list[tuple[Any, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [(), *((key, *rest) for key, item in items for rest in paths(item))]

    return st.builds(replaced, st.just(whole), st.sampled_from(paths(whole)), json_values())


@given(value=mangled() | json_values() | st.lists(st.dictionaries(st.sampled_from(["task_id", "traj"]), json_values())))
def test_no_results_file_ends_in_anything_but_episodes_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    try:
        episodes = read(tmp_path_factory.getbasetemp(), value)
    except SessionLogError as error:
        assert "$" in error.problem  # noqa: PT017 - either outcome is right
    else:
        for episode in episodes:
            calls = [call.id for turn in episode.turns() for call in turn.calls]
            assert len(set(calls)) == len(calls)
            assert set(episode.results()) <= set(calls)


@given(data=st.binary(max_size=40).filter(lambda data: data.strip() != b"[]"))
def test_no_bytes_end_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_bytes(data)
    with pytest.raises(SessionLogError):
        list(read_tau(path))
    with pytest.raises(SessionLogError):
        read_split(path)


def test_a_split_names_the_tasks_to_learn_from_and_to_measure_on(tmp_path: Path) -> None:
    path = tmp_path / "split_tasks.json"
    path.write_text('{"train": ["0", 1], "test": ["2"], "train+test": ["0", "1", "2"]}', encoding="utf-8")
    assert read_split(path) == Split(frozenset({"0", "1"}), frozenset({"2"}))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"train": ["0"]}', r"\$\.test: expected a list, found nothing"),
        ('{"train": [{}], "test": []}', r"\$\.train\[0\]: expected a text, found an object"),
        ('{"train": ["0"], "test": [0]}', "task '0' is in both lists"),
        ("nonsense", "expected a split of tasks in JSON"),
    ],
)
def test_a_split_that_would_measure_on_what_was_learned_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "split_tasks.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SessionLogError, match=problem):
        read_split(path)
