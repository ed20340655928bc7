"""From recorded sessions to traces, and what the user says of tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.compiler import declared
from stretto.compiler.declared import Declared, declared_from_data, read_declared
from stretto.compiler.injecting import Injection
from stretto.compiler.model import UNLOGGED, Effect
from stretto.compiler.reading import raw_tool, read_recorded, value_of_result
from stretto.errors import CanonicalCollision, ToolsError
from stretto.procedure.contracts import contract_key, listed_contract
from stretto.sessions.corpus import Recorded, open_corpus
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from stretto.sessions.listing import tools_of
from stretto.sessions.manifest import Manifest
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stretto.compiler.model import Trace
    from stretto.compiler.reading import Reading
    from stretto.sessions.episode import Event
    from waggle.jsonvalue import JsonValue


def recorded(*events: Event, manifest: Manifest | None = None, **more: Any) -> Recorded:
    """A session that succeeded."""
    return Recorded(
        Episode(id=more.pop("id", "s"), events=events, reward=more.pop("reward", 1.0), **more), manifest or Manifest()
    )


def calls(*made: tuple[str, JsonValue], text: str | None = None, first: int = 1) -> Assistant:
    """One turn; ids are c1, c2, …."""
    return Assistant(text, tuple(ToolCall(f"c{n}", tool, args) for n, (tool, args) in enumerate(made, first)))


def result(number: int, content: str, *, error: bool = False) -> ToolResult:
    return ToolResult(f"c{number}", "", error, content)


def read(*sessions: Recorded, declared: Any = None, **more: Any) -> Reading:
    said = None if declared is None else declared_from_data({"stretto_tools": 1, **declared})
    return read_recorded(sessions, said, **more)


def only(*events: Event, **more: Any) -> Trace:
    (trace,) = read(recorded(*events), **more).traces
    return trace


def test_events_get_positions_in_order_and_texts_of_the_agent_are_thoughts() -> None:
    trace = only(
        User("Where is PX-2210?"),
        calls(("track", {"number": "PX-2210"}), text="I will look."),
        result(1, '{"state": "in transit"}'),
        Assistant("In transit."),
        User("Thanks"),
    )
    assert trace.request == "Where is PX-2210?"
    assert [(each.index, each.text) for each in trace.thoughts] == [(1, "I will look."), (4, "In transit.")]
    assert [(call.index, call.ended, call.output) for call in trace.calls] == [(2, 3, {"state": "in transit"})]
    assert [(each.index, each.text) for each in trace.utterances] == [(5, "Thanks")]
    assert trace.answer == "In transit."


def test_calls_of_one_turn_do_not_precede_each_other_even_where_one_was_back_before_another_was_sent() -> None:
    first, second = only(
        User("x"),
        calls(("a", {}), ("b", {})),
        result(1, "one"),
        result(2, "two"),
        calls(("a", {}), first=3),
        result(3, ""),
    ).calls[:2]
    assert not first.precedes(second)
    assert not second.precedes(first)


def test_a_call_of_a_later_turn_is_preceded_by_those_that_were_back() -> None:
    first, second, third = only(
        User("x"),
        calls(("a", {}), ("b", {})),
        result(2, "two"),
        calls(("c", {}), first=3),
        result(1, "one"),
        result(3, ""),
    ).calls
    assert second.precedes(third)
    assert not first.precedes(third)


def test_an_error_is_a_failed_call_whose_output_is_known() -> None:
    (call,) = only(User("x"), calls(("a", {})), result(1, '{"error": "busy"}', error=True)).calls
    assert (call.ok, call.output) == (False, {"error": "busy"})


def test_a_call_without_a_result_was_not_logged_where_the_agent_went_on_and_never_ended_where_not() -> None:
    first, second = only(User("x"), calls(("a", {})), calls(("b", {}), first=2)).calls
    assert (first.output, first.ok) == (UNLOGGED, True)
    assert first.precedes(second)
    assert (second.output, second.ok, second.ended) == (UNLOGGED, False, None)


def test_an_empty_result_is_one_unless_the_recording_leaves_out_what_it_does_not_have() -> None:
    events = (User("x"), calls(("a", {})), result(1, ""))
    assert only(*events).calls[0].output == ""
    assert only(*events, sparse=True).calls[0].output is UNLOGGED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": [1.5]}"', {"a": [1.5]}),
        ("null", None),
        ("4200", 4200),
        ("user_6490", "user_6490"),
        ("{not json", "{not json"),
        ("Order A-1\nOrder A-2", "Order A-1\nOrder A-2"),
        ("", ""),
    ],
)
def test_a_result_is_read_as_json_where_it_is_json(text: str, value: JsonValue) -> None:
    assert value_of_result(text) == value


@pytest.mark.parametrize(
    ("name", "server", "tool"),
    [
        ("refund", "", "refund"),
        ("shop::refund", "shop", "refund"),
        ("mcp__git_hub__create_issue", "git_hub", "create_issue"),
    ],
)
def test_a_recorded_name_tells_server_and_tool(name: str, server: str, tool: str) -> None:
    assert (raw_tool(name).server, raw_tool(name).name) == (server, tool)


LISTED = Manifest("shop", {"get": "read", "pay": "write", "think": "generic"})
MADE = (User("x"), calls(("get", {}), ("pay", {}), ("think", {}), ("other", {})))


def effects(found: Reading) -> dict[str, Effect]:
    return {call.raw_name: call.effect for call in found.traces[0].calls}


def test_an_effect_is_the_users_word_before_a_trusted_recording_and_unknown_otherwise() -> None:
    session = recorded(*MADE, manifest=LISTED)
    assert set(effects(read(session)).values()) == {Effect.UNKNOWN}
    trusted = {"get": Effect.READ, "pay": Effect.IRREVERSIBLE, "think": Effect.UNKNOWN, "other": Effect.UNKNOWN}
    assert effects(read(session, trust=True)) == trusted
    said = {"tools": {"pay": {"effect": "write"}, "get": {"effect": "unknown"}, "other": {"effect": "auth"}}}
    told = {**trusted, "pay": Effect.WRITE, "get": Effect.UNKNOWN, "other": Effect.AUTH}
    assert effects(read(session, declared=said, trust=True)) == told


def test_where_sessions_disagree_on_a_tool_the_worse_is_believed() -> None:
    one = recorded(*MADE, manifest=LISTED, id="1")
    other = recorded(*MADE, manifest=Manifest("shop", {"get": "write"}), id="2")
    assert effects(read(one, other, trust=True))["get"] is Effect.IRREVERSIBLE


def test_what_is_declared_reaches_calls_schemas_links_and_names() -> None:
    schema = {"type": "object", "properties": {"token": {"type": "string"}}}
    found = read(
        recorded(User("x"), calls(("shop::pay", {"token": "t"}), ("docs", {}))),
        declared={
            "tools": {
                "shop::pay": {"app": "till", "action": "pay", "policy": True, "sessions": ["token"], "input": schema},
                "docs": {"discovery": True, "secrets": ["key"]},
                "nobody": {"effect": "read"},
            },
            "links": [{"output": ["tools.docs", "$.t"], "argument": ["till.pay", "$.token"]}],
        },
    )
    pay, docs = found.traces[0].calls
    assert (pay.name, pay.raw_name, pay.server, pay.policy, docs.discovery) == ("till.pay", "pay", "shop", True, True)
    assert found.tools.of("till.pay").input == schema
    assert found.tools.of("till.pay").sessions == {"token"}
    assert found.tools.of("tools.docs").secrets == {"key"}
    assert found.tools.links == {(("tools.docs", "$.t"), ("till.pay", "$.token"))}
    assert found.warnings[0] == "nobody is declared, and no session calls it"


def test_aliases_that_hide_what_is_done_are_refused() -> None:
    said = {name: {"effect": "write", "app": "list", "action": "update"} for name in ("addSong", "remove_song")}
    with pytest.raises(CanonicalCollision, match=r"addSong|remove_song"):
        read(recorded(User("x"), calls(("addSong", {}), ("remove_song", {}))), declared={"tools": said})


def test_a_contract_of_a_recorded_listing_is_that_of_the_same_listing_later() -> None:
    tool: dict[str, Any] = {
        "name": "pay",
        "annotations": {"readOnlyHint": False},
        "inputSchema": {"properties": {"id": {"type": "string"}}, "required": ["id"]},
    }
    found = read(recorded(User("x"), calls(("pay", {"id": "a"})), manifest=tools_of([tool])))
    contract = found.contracts[contract_key("", "pay")]
    assert contract == listed_contract(tool)
    tool["inputSchema"]["required"] = ["id", "reason"]
    tool["inputSchema"]["properties"]["reason"] = {"type": "string"}
    assert contract.input != listed_contract(tool).input


def test_sessions_of_which_nothing_can_be_made_again_are_left_out_and_counted() -> None:
    whole = recorded(User("x"), calls(("a", {})), id="whole")
    found = read(
        whole,
        recorded(User("x"), Assistant("hello"), id="talk"),
        recorded(User("x"), calls(("a", None)), id="unrecorded"),
        recorded(User("x"), calls(("a", ["x"])), id="list"),
        recorded(User("x"), calls(("a", {})), id="failed", reward=0.0),
    )
    assert [trace.id for trace in found.traces] == ["whole"]
    assert found.warnings == (
        "1 of 5 sessions left out: arguments are no object",
        "1 of 5 sessions left out: arguments were not recorded",
        "1 of 5 sessions left out: nothing is called",
        "1 of 5 sessions left out: they did not reach their goal",
        (
            "it is not known what 1 of 1 tools do, so each counts as one that changes something for good: "
            "declare them, or trust the servers"
        ),
    )
    assert len(read(whole, recorded(User("y"), calls(("a", {})), id="f", reward=0.0), failed=True).traces) == 2


def test_sessions_of_one_id_are_told_apart_by_what_happened_in_any_order_and_a_copy_is_none() -> None:
    one = recorded(User("x"), calls(("a", {})))
    other = recorded(User("y"), calls(("a", {})))
    forth, back = read(one, other, one), read(other, one)
    assert [trace.id for trace in forth.traces] == [trace.id for trace in back.traces]
    assert len({trace.id for trace in forth.traces}) == 2
    assert all(trace.id.startswith("s~") for trace in forth.traces)


@given(st.permutations(range(4)))
def test_the_order_of_sessions_changes_nothing(order: Sequence[int]) -> None:
    sessions = [
        recorded(User(f"x{n}"), calls(("createIssue" if n % 2 else "create-issue", {"n": n})), id=f"{n}")
        for n in range(4)
    ]
    assert read(*(sessions[n] for n in order)) == read(*sessions)


def test_shipped_sessions_become_traces_whose_positions_are_in_order() -> None:
    corpus = open_corpus(ROOT / "examples" / "flows" / "retail-replay.jsonl.gz")
    found = read_recorded(corpus, trust=True)
    assert found.traces
    for trace in found.traces:
        indices = [call.index for call in trace.calls]
        assert indices == sorted(set(indices))
        assert all(call.ended is None or call.ended > call.index for call in trace.calls)
    assert {call.effect for trace in found.traces for call in trace.calls} >= {Effect.READ, Effect.IRREVERSIBLE}


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_file_of_declarations_is_toml_or_json(tmp_path: Path) -> None:
    toml, json = tmp_path / "tools.toml", tmp_path / "tools.json"
    toml.write_text('stretto_tools = 1\n[tools.get]\neffect = "read"\n', encoding="utf-8")
    json.write_text('{"stretto_tools": 1, "tools": {"get": {"effect": "read"}}}', encoding="utf-8")
    assert read_declared(toml) == read_declared(json)
    assert isinstance(read_declared(toml), Declared)


def examples() -> list[str]:
    """The example of the module, and that of the documentation."""
    told = str(declared.__doc__).partition("::\n\n")[2].partition("\n\nNot responsible")[0]
    documented = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    return [told.replace("\n    ", "\n").strip(), *re.findall(r"```toml\n(stretto_tools.*?)```", documented, re.DOTALL)]


@pytest.mark.parametrize("text", examples(), ids=["module", "documentation"])
def test_the_examples_are_files_of_declarations(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(text, encoding="utf-8")
    found = read_declared(path)
    assert set(found.tools) == {"get_order", "login", "refund", "show_tool"}
    assert found.links[0].argument == ("shop.refund", "$.payment_id")
    (inject,) = found.inject
    assert (inject.tool, inject.path, inject.scope, inject.days) == ("get_team", "$.team_id", {"tenant": "acme"}, 30)


@pytest.mark.parametrize(
    ("content", "at", "problem"),
    [
        ({}, "$.stretto_tools", "missing"),
        ({"stretto_tools": 2}, "$.stretto_tools", "expected 1"),
        ({"stretto_tools": 1, "tool": {}}, "$.tool", "unknown field"),
        (
            {"stretto_tools": 1, "inject": [{"tool": "a", "path": "$.b", "scope": {}}]},
            "$.inject[0].scope",
            "expected 1 items",
        ),
        (
            {"stretto_tools": 1, "inject": [{"tool": "a", "path": "b", "scope": {"user": "x"}}]},
            "$.inject[0].path",
            "pattern",
        ),
        (
            {
                "stretto_tools": 1,
                "inject": [{"tool": "a", "path": "$.b", "scope": {"user": name}} for name in ("x", "y")],
            },
            "$",
            "expected one user in all of inject, and there are x and y",
        ),
        ({"stretto_tools": 1, "tools": {"a b": {"efect": "read"}}}, '$.tools["a b"].efect', "unknown field"),
        ({"stretto_tools": 1, "tools": {"a": {"effect": "reads"}}}, "$.tools.a.effect", "expected 'read'"),
        ({"stretto_tools": 1, "tools": {"a": {"policy": 1}}}, "$.tools.a.policy", "expected true or false"),
        ({"stretto_tools": 1, "tools": {"a": {"app": "x"}}}, "$.tools.a", "expected both app and action"),
        ({"stretto_tools": 1, "tools": {"a": {"input": {"default": float("nan")}}}}, "$.tools.a.input", "JSON Schema"),
        ({"stretto_tools": 1, "links": [{"output": ["a", "b"]}]}, "$.links[0].output[1]", "pattern"),
    ],
)
def test_a_fault_of_a_declaration_is_told_with_its_place(content: object, at: str, problem: str) -> None:
    with pytest.raises(ToolsError) as caught:
        declared_from_data(content, "tools.toml")
    assert (caught.value.path, caught.value.at) == ("tools.toml", at)
    assert problem in caught.value.problem


@pytest.mark.parametrize("data", [b"stretto_tools = ", b"\xff", b"[[[["])
def test_a_file_that_is_none_is_told_with_its_path(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tools.toml"
    path.write_bytes(data)
    with pytest.raises(ToolsError, match=r"tools\.toml: is no TOML"):
        read_declared(path)
    with pytest.raises(ToolsError, match="cannot be read"):
        read_declared(tmp_path / "none.toml")


def test_a_value_to_be_injected_is_named_by_its_tool_and_one_that_is_never_called_is_told() -> None:
    inject: list[dict[str, Any]] = [
        {"tool": name, "path": "$.team_id", "scope": {"tenant": "acme"}, "days": 7} for name in ("get_team", "missing")
    ]
    found = read(recorded(User("x"), calls(("mcp__org__get_team", {}))), declared={"inject": inject})
    assert found.inject == (Injection("org.get_team", "$.team_id", (("tenant", "acme"),), 7),)
    assert "missing $.team_id is to be injected, and no session calls it" in found.warnings
