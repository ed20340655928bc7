"""What a tool is: whose word counts, what covers what, and that nobody's silence makes a read."""

from __future__ import annotations

from typing import Any

import pytest

from waggle import Call, Effect, Manager, Route, ToolSpec, ToolTable
from waggle.routes import RouteStep
from waggle.tools import LineRange


def effect(table: ToolTable, tool: str, **args: Any) -> Effect:
    return table.effect(tool, args)


@pytest.mark.parametrize(
    "tool", ["Read", "Grep", "Glob", "LS", "read", "search", "grep", "ls", "glob", "list_directory"]
)
def test_known_readers_read(tool: str) -> None:
    assert effect(ToolTable(), tool, path="x") is Effect.READ


@pytest.mark.parametrize("tool", ["Write", "Edit", "Task", "deploy", "", "read_and_delete", "READ"])
def test_what_nobody_vouches_for_is_a_write(tool: str) -> None:
    assert effect(ToolTable(), tool, path="x") is Effect.WRITE


@pytest.mark.parametrize(
    ("command", "expected"),
    [("grep -n x a.py | head", Effect.READ), ("rm x", Effect.WRITE), (7, Effect.WRITE), (None, Effect.WRITE)],
)
def test_a_shell_tool_reads_when_its_command_provably_does(command: Any, expected: Effect) -> None:
    assert effect(ToolTable(), "Bash", command=command) is expected
    assert effect(ToolTable(), "Bash") is Effect.WRITE


def test_a_shell_command_with_an_argument_nobody_knows_is_no_read() -> None:
    assert effect(ToolTable(), "Bash", command="ls", description="look", timeout=5) is Effect.READ
    assert effect(ToolTable(), "Bash", command="ls", run_in_background=True) is Effect.WRITE


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("exec_command", "cmd"),
        ("container.exec", "cmd"),
        *((tool, "command") for tool in ("shell_command", "shell", "local_shell", "run_shell_command", "Shell")),
    ],
)
def test_the_shells_of_codex_gemini_cli_and_cursor_read_when_their_command_does(tool: str, argument: str) -> None:
    table = ToolTable()
    assert effect(table, tool, **{argument: "sed -n 1,5p a.py"}) is Effect.READ
    assert effect(table, tool, **{argument: "rm a.py"}) is Effect.WRITE
    assert effect(table, tool, **{argument: "ls", "workdir": "/elsewhere"}) is Effect.WRITE
    form, args = table.spoken(tool, {argument: "sed -n 1,5p a.py"})
    assert (form, args) == ("sed -n {first},{last}p {path}", {"first": 1, "last": 5, "path": "a.py"})
    assert table.said(tool, form, args) == {argument: "sed -n 1,5p a.py"}


def test_what_does_not_change_a_shells_answer_is_dropped_and_what_leaves_its_sandbox_is_a_write() -> None:
    table = ToolTable()
    args: dict[str, Any] = {"cmd": "ls", "yield_time_ms": 1000, "max_output_tokens": 4000}
    assert table.essential("exec_command", args) == {"cmd": "ls"}
    assert effect(table, "exec_command", **args) is Effect.READ
    assert effect(table, "exec_command", **args, sandbox_permissions="require_escalated") is Effect.WRITE


@pytest.mark.parametrize(
    ("expected", "tools"),
    [
        (
            Effect.READ,
            ["list_directory", "glob", "grep_search", "search_file_content", "read_many_files", "view_image"],
        ),
        (Effect.WRITE, ["apply_patch", "write_stdin", "replace", "write_file", "save_memory", "StrReplace", "Delete"]),
        (Effect.NOTE, ["update_plan", "write_todos", "update_topic", "request_user_input"]),
    ],
)
def test_other_tools_of_those_hosts_are_known(expected: Effect, tools: list[str]) -> None:
    assert [effect(ToolTable(), tool, dir_path="x") for tool in tools] == [expected] * len(tools)


@pytest.mark.parametrize("tool", ["google_web_search", "web_fetch", "read_background_output", "activate_skill"])
def test_what_costs_or_moves_a_cursor_is_never_repeated(tool: str) -> None:
    assert effect(ToolTable(), tool) is Effect.READ
    assert not ToolTable().may_repeat(tool, {})


@pytest.mark.parametrize(
    ("args", "bounds"),
    [
        ({}, (1, 2000)),
        ({"start": 5, "end": 7}, (5, 7)),
        ({"start": 5}, (5, 2004)),
        ({"end": 7}, (1, 7)),
        ({"start": 0, "end": 7}, (1, 7)),
        ({"start": "5"}, None),
        ({"end": True}, None),
    ],
)
def test_a_range_may_be_asked_for_by_its_last_line(args: dict[str, Any], bounds: Any) -> None:
    lines = LineRange("start", last="end", default=2000)
    assert lines.bounds(args) == bounds
    assert lines.written(5, 7) == {"start": 5, "end": 7}
    assert LineRange("offset", "limit").written(5, 7) == {"offset": 5, "limit": 3}


def test_a_tool_that_views_and_edits_is_judged_by_its_argument() -> None:
    assert effect(ToolTable(), "str_replace_editor", command="view", path="x") is Effect.READ
    assert effect(ToolTable(), "str_replace_editor", command="insert", path="x") is Effect.WRITE


def test_a_servers_hint_suggests_and_the_users_word_decides() -> None:
    table = ToolTable()
    table.hint("lookup", read_only=True)
    table.hint("Write", read_only=True)
    table.hint("Read", read_only=False)
    assert effect(table, "lookup") is Effect.READ
    assert effect(table, "Write", file_path="x") is Effect.WRITE
    assert effect(table, "Read", file_path="x") is Effect.WRITE  # a server that says it writes is believed
    table.allow("Read", "my_search")
    table.deny("lookup", "Grep")
    assert effect(table, "Read", file_path="x") is Effect.READ
    assert effect(table, "my_search") is Effect.READ
    assert effect(table, "lookup") is Effect.WRITE
    assert effect(table, "Grep", pattern="x") is Effect.WRITE
    assert table.spec("Read").lines is not None  # what else is known of it is kept
    assert table.spec("my_search").name == "my_search"


def test_a_hint_never_makes_a_known_shell_a_read() -> None:
    table = ToolTable()
    table.hint("Bash", read_only=True)
    assert effect(table, "Bash", command="rm x") is Effect.WRITE


@pytest.mark.parametrize(
    "spec",
    [
        ToolSpec("t", Effect.READ, repeatable=False),
        ToolSpec("t", Effect.READ, metered=True),
        ToolSpec("t", Effect.READ, sensitive=True),
        ToolSpec("t"),
    ],
)
def test_what_may_not_be_repeated_is_never_made_on_the_agents_behalf(spec: ToolSpec) -> None:
    table = ToolTable()
    table.register(spec)
    assert not table.may_repeat("t", {})
    steps = (RouteStep("ls", {"path": "a"}), RouteStep("ls", {"path": "b"}), RouteStep("t", {}))
    manager = Manager(tools=table, routes=[Route("r", steps)])
    for path in "ab":
        manager.observe(Call("ls", {"path": path}), "x")
    assert manager.follow(lambda _tool, _args: "never") is None


def test_arguments_that_do_not_change_the_answer_are_dropped() -> None:
    table = ToolTable()
    kept = table.essential("Bash", {"command": "ls", "description": "look", "timeout": 5})
    assert kept == {"command": "ls"}
    assert table.essential("Read", {"description": "x"}) == {"description": "x"}
