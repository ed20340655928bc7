"""What a tool is: whose word counts, what covers what, and that nobody's silence makes a read."""

from __future__ import annotations

from typing import Any

import pytest

from waggle import Call, Effect, Manager, Route, ToolSpec, ToolTable
from waggle.routes import RouteStep


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
