"""What each host says and is told; events of Codex and Gemini CLI are those that their real binaries have sent.

`tests/hosts` keeps them, and compares them with what the binaries send now.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.waggle.hook.hook_support import make_project, spoken, spoken_lessons
from waggle import Call, Outcome, Result
from waggle.hook.desk import Desk
from waggle.hook.hosts import NAMES, host_named
from waggle.hook.hosts.host import ADDED_CHARS, Event, answer, read_event
from waggle.hook.lookups import Lookups

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = Path(__file__).parent / "events"
HOSTS = pytest.mark.parametrize("name", NAMES)


def sent(name: str) -> list[dict[str, Any]]:
    """What the real binary has sent."""
    events: list[dict[str, Any]] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))["events"]
    return events


def read(name: str, event: Any, project: str = "/home/ada/project") -> Event | None:
    return read_event(host_named(name), json.dumps(event).encode(), project)


def all_read(name: str) -> list[Event]:
    found = [read(name, event) for event in sent(name)]
    assert None not in found
    return [event for event in found if event]


def calls(events: list[Event]) -> list[tuple[str, dict[str, object]]]:
    return [(event.call.tool, dict(event.call.args)) for event in events if event.call]


# --- Codex ------------------------------------------------------------------------------------------------------------


def test_codex_calls_its_shell_as_its_model_does_and_from_the_sessions_directory() -> None:
    events = all_read("codex")
    assert calls(events) == [
        ("exec_command", {"cmd": "grep -n load_1 src/m1.py"}),
        ("exec_command", {"cmd": "cd src && cat m2.py"}),
        ("exec_command", {"cmd": "cat nothing; exit 3"}),
        ("apply_patch", {"command": "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch"}),
    ]
    assert {(event.conversation, event.root, event.cwd) for event in events} == {
        ("00000000-0000-4000-8000-000000000000", "/home/ada/project", "/home/ada/project")
    }
    assert [event.call.id for event in events if event.call] == ["call_1", "call_2", "call_3", "call_4"]
    assert events[0].result == Result("20:def load_1():\n")
    assert (events[-1].name, events[-1].call) == ("SessionEnd", None)


def test_codex_names_a_sub_agent_and_a_servers_tool() -> None:
    event = sent("codex")[0] | {"agent_id": "7", "tool_name": "mcp__shop__get", "tool_input": {"order": 1}}
    answered = {"content": [{"type": "text", "text": "paid"}], "structuredContent": {"state": "paid"}}
    found = read("codex", event | {"tool_response": answered})
    assert found
    assert found.conversation.endswith("/7")
    assert calls([found]) == [("mcp__shop__get", {"order": 1})]
    assert found.result == Result("paid", value={"state": "paid"})
    failed = read("codex", event | {"tool_response": {**answered, "isError": True}})
    assert failed
    assert not failed.follows


# --- Gemini CLI -------------------------------------------------------------------------------------------------------


def test_gemini_clis_results_are_as_those_of_other_hosts() -> None:
    events = all_read("gemini-cli")
    results = {
        json.dumps(args, sort_keys=True): each.result for each in events if each.call for args in [each.call.args]
    }
    search = results['{"pattern": "load_1\\\\("}'].text.split("\n")
    assert "src/m1.py:20:def load_1():" in search
    assert "src/m1.py-19-# line 19 of module 1" in search
    assert "m10.py" in results['{"dir_path": "src"}'].text.split("\n")
    assert results['{"command": "cat src/m2.py"}'].text.startswith("# line 1 of module 2\n")
    assert results['{"command": "cat src/m2.py"}'].text.endswith("# line 30 of module 2")
    assert results['{"command": "cd src && true"}'] == Result("")
    failed = results['{"command": "cat none; exit 3", "description": "fails"}']
    assert failed == Result("cat: none: No such file or directory", ok=False)
    assert results['{"file_path": "none.py"}'] == Result("File not found: /home/ada/project/none.py", ok=False)
    assert [event.follows for event in events].count(False) == 3
    assert events[-1].call is None


@given(st.lists(st.sampled_from(["x", "Error: y", "Exit Code: 3", "Exit Code: 0", "", "Process Group PGID: 7"])))
def test_whatever_a_command_prints_its_output_is_what_stands_before_the_outcome(printed: list[str]) -> None:
    text = "\n".join(["<untrusted_context>\nOutput: start", *printed, "Process Group PGID: 1\n</untrusted_context>"])
    event = sent("gemini-cli")[7] | {"tool_response": {"llmContent": text}}
    found = read("gemini-cli", event)
    assert found
    assert found.result.text.startswith("start")
    assert "\n".join(["start", *printed]).startswith(found.result.text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def own_texts(root: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What the real tools have shown of the same project, for reads that succeeded; `root` in the place of its path."""
    for event in sent("gemini-cli"):
        response = event.get("tool_response", {})
        if "error" not in response and event.get("tool_name") in ("read_file", "glob", "list_directory"):
            text = response["llmContent"].replace("/home/ada/project", str(root))
            yield event["tool_name"], event["tool_input"], text


def test_a_lookup_in_gemini_cli_shows_what_its_own_tool_shows(root: Path) -> None:
    lookups = Lookups(host_named("gemini-cli"), root)
    seen = 0
    for tool, args, text in own_texts(root):
        made = lookups.run(tool, args, str(root)).text
        head, _, rest = text.partition("--- FILE CONTENT (truncated) ---\n")
        if rest:
            assert made == f"[lines 18 to 22 of 31]\n{rest}"
        elif tool == "read_file":
            assert made == text
        else:
            head, _, rest = text.partition(":\n" if tool == "list_directory" else "first):\n")
            assert head
            assert sorted(made.split("\n")) == sorted(
                rest.replace(f"{head}:\n", "").split("\n")[-len(made.split("\n")) :]
            )
        seen += 1
    assert seen == 4


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"file_path": "../x"}),
        ("read_file", {"file_path": "src/m1.py", "start_line": "1"}),
        ("read_file", {"file_path": "src/m1.py", "start_line": 5, "end_line": 4}),
        ("read_file", {"file_path": 7}),
        ("read_file", {}),
        ("glob", {"pattern": "**/*.py"}),
        ("glob", {"pattern": "*", "case_sensitive": True}),
        ("list_directory", {"dir_path": "/etc"}),
        ("list_directory", {"dir_path": "none"}),
        ("list_directory", {}),
        ("run_shell_command", {"command": "cat ../x"}),
        ("run_shell_command", {"command": "ls", "is_background": True}),
        ("Read", {"file_path": "src/m1.py"}),
        ("write_file", {"file_path": "x", "content": ""}),
    ],
)
def test_what_gemini_clis_tools_would_not_read_so_is_not_read(root: Path, tool: str, args: dict[str, Any]) -> None:
    assert not Lookups(host_named("gemini-cli"), root).run(tool, args, str(root)).ok


# --- Cursor -----------------------------------------------------------------------------------------------------------

CURSOR: dict[str, Any] = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "hook_event_name": "postToolUse",
    "cursor_version": "2.4.0",
    "workspace_roots": ["/home/ada/project"],
    "tool_use_id": "t1",
}


def test_cursor_hides_json_in_texts() -> None:
    shell = {"command": "npm test", "working_directory": "/home/ada/project/web"}
    said = {"exitCode": 1, "stdout": "1 failed", "stderr": "see above"}
    event = CURSOR | {"tool_name": "Shell", "tool_input": json.dumps(shell), "tool_output": json.dumps(said)}
    found = read("cursor", event, "")
    assert found
    assert calls([found]) == [("Shell", {"command": "cd web && npm test"})]
    assert (found.result, found.root) == (Result("1 failed\nsee above", ok=False), "/home/ada/project")
    event |= {"tool_name": "Read", "tool_input": {"file_path": "a.md"}, "tool_output": "# {a}"}
    found = read("cursor", event)
    assert found
    assert found.result.text == "# {a}"
    failed = CURSOR | {"hook_event_name": "postToolUseFailure", "tool_name": "Read", "tool_input": {}}
    found = read("cursor", failed | {"error_message": "gone", "is_interrupt": True})
    assert found
    assert found.result == Result("gone", ok=False, outcome=Outcome.CANCELLED)


def test_cursors_end_of_a_session_may_name_it_in_either_way() -> None:
    for key in ("conversation_id", "session_id"):
        event = {"hook_event_name": "sessionEnd", key: "c1", "workspace_roots": ["/home/ada/project"]}
        found = read("cursor", event)
        assert found
        assert (found.conversation, found.call) == ("c1", None)


@pytest.mark.parametrize("spelled", ["postToolUse", "PostToolUse"])
def test_claude_codes_hook_takes_nothing_in_when_cursor_runs_it(tmp_path: Path, spelled: str) -> None:
    desk = Desk(tmp_path / "place")
    event = CURSOR | {"hook_event_name": spelled, "session_id": "c1", "cwd": str(tmp_path), "tool_name": "Read"}
    data = json.dumps(event | {"tool_input": {"file_path": "x"}, "tool_output": "y"}).encode()
    assert desk.answer("claude-code", str(tmp_path), data) == b""
    assert desk.faults() == {}
    assert not (tmp_path / "place").exists()


# --- all --------------------------------------------------------------------------------------------------------------


@HOSTS
def test_only_keys_that_the_host_knows_are_printed_and_nothing_when_there_is_nothing(name: str) -> None:
    host = host_named(name)
    event = Event("AfterTool", "c", "/p", "/p", Call("x"))
    assert answer(host, event, "") == b""
    told = json.loads(answer(host, event, "text"))
    if name == "cursor":
        assert told == {"additional_context": "text"}
    else:
        assert told == {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "text"}}
    with pytest.raises(ValueError, match="9,001 characters"):
        answer(host, event, "x" * (ADDED_CHARS + 1))


@HOSTS
@pytest.mark.parametrize("event", [{}, {"hook_event_name": "SessionStart", "session_id": "s"}, {"hook_event_name": 7}])
def test_what_says_nothing_to_waggle_is_passed_over(name: str, event: Any) -> None:
    assert read(name, event) is None


@HOSTS
@pytest.mark.parametrize("more", [{}, {"session_id": "s", "conversation_id": "s"}, {"session_id": 7}])
def test_an_event_that_is_not_formed_as_the_hosts_are_is_refused_with_its_place(name: str, more: Any) -> None:
    first = host_named(name).settings.events[0]
    with pytest.raises(ValueError, match=r"@ \$"):
        read(name, {"hook_event_name": first, **more})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    *("session_id", "conversation_id", "agent_id", "cwd", "tool_name", "tool_input", "tool_response", "tool_output"),
    *("tool_use_id", "workspace_roots", "error", "error_message", "is_interrupt"),
)


@HOSTS
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_host_says_nothing_is_raised_and_what_is_printed_is_its_own_json(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("desk")
    host = host_named(name)
    event = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, ANY)))
    event["hook_event_name"] = data.draw(st.sampled_from([*host.settings.events, "x"]))
    if data.draw(st.booleans()):  # as far as the tools' own arguments and answers
        event |= {"session_id": "s", "conversation_id": "s", "tool_name": data.draw(st.sampled_from([*host.lookups]))}
        event["tool_input"] = data.draw(st.dictionaries(st.sampled_from(["command", "file_path", "dir_path"]), ANY))
    desk = Desk(place / "hook")
    raw = data.draw(st.binary(max_size=40)) if data.draw(st.integers(0, 9)) == 0 else json.dumps(event).encode()
    assert desk.answer(name, str(place), raw) == b""
    desk.close()


def taught(desk: Desk, name: str, root: Path, *, ends: bool = True) -> None:
    for event in spoken_lessons(name, root, ends=ends):
        assert desk.answer(name, str(root), event) == b""


OTHERS = pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("codex", 'exec_command {"cmd":"cat ROOT/src/m10.py"}'),
        ("gemini-cli", 'read_file {"file_path":"ROOT/src/m10.py"}'),
        ("cursor", 'Read {"path":"ROOT/src/m10.py"}'),
    ],
)


@OTHERS
@pytest.mark.parametrize("ends", [True, False])
def test_what_two_sessions_taught_rides_in_the_third(
    tmp_path: Path, root: Path, name: str, lookup: str, *, ends: bool
) -> None:
    """A session that no event has ended is counted when it was not heard of for long."""
    desk = Desk(tmp_path / "place")
    taught(desk, name, root, ends=ends)
    if not ends:
        assert desk.settle_stale(unused_s=0) == 2
    assert not list((tmp_path / "place" / "sessions").glob("*.jsonl"))
    told = desk.answer(name, str(root), spoken(name, root, "third", "search", 10)).decode()
    added = json.loads(told)
    text = added.get("additional_context") or added["hookSpecificOutput"]["additionalContext"]
    assert lookup.replace("ROOT", str(root)) in text
    assert "def load_10():" in text
    assert desk.faults() == {}


def test_what_one_host_has_taught_is_not_read_for_another_whose_tools_it_does_not_name(
    tmp_path: Path, root: Path
) -> None:
    desk = Desk(tmp_path / "place")
    taught(desk, "gemini-cli", root)
    assert desk.answer("codex", str(root), spoken("codex", root, "other", "search", 10)) == b""
    assert desk.answer("gemini-cli", str(root), spoken("gemini-cli", root, "same", "search", 10))


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("codex", ".codex/config.toml", '[permissions.work.filesystem]\n"secret" = "none"\n'),
        ("codex", ".codex/config.toml", "[permissions"),
        ("gemini-cli", ".geminiignore", "# ours\nsrc/\n!src/m10.py\n"),
        ("gemini-cli", ".gemini/settings.json", '{"tools":{"exclude":["read_file"]}}'),
        ("gemini-cli", ".gemini/settings.json", '{"tools":{"core":["glob"]}}'),
        ("gemini-cli", ".gemini/settings.json", '{"excludeTools":["read_file(x)"]}'),
        ("gemini-cli", ".gemini/settings.json", '{"tools":[]}'),
        ("gemini-cli", ".gemini/policies/a.toml", '[[rule]]\ntoolName = ["read_file"]\ndecision = "deny"\n'),
        ("gemini-cli", ".gemini/policies/a.toml", '[[rule]]\ntoolName = "*"\ndecision = "deny"\n'),
        ("cursor", ".cursorignore", "m10.py\n"),
        ("cursor", ".cursor/cli.json", '{"permissions":{"deny":["Read(src/**)"]}}'),
    ],
)
def test_what_a_hosts_own_files_deny_is_not_read(tmp_path: Path, root: Path, name: str, file: str, text: str) -> None:
    desk = Desk(tmp_path / "place")
    taught(desk, name, root)
    assert desk.answer(name, str(root), spoken(name, root, "before", "search", 10))
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)
    assert desk.answer(name, str(root), spoken(name, root, "after", "search", 10)) == b""


def test_a_policy_that_denies_something_else_denies_no_read(root: Path) -> None:
    policies = root / ".gemini" / "policies"
    policies.mkdir(parents=True)
    rules = '[[rule]]\ntoolName = "write_file"\ndecision = "deny"\n[[rule]]\ntoolName = "glob"\ndecision = "allow"\n'
    (policies / "a.toml").write_text(rules)
    assert Lookups(host_named("gemini-cli"), root).allows("read_file", {"file_path": "src/m1.py"}, str(root))


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'vim' is none of claude-code, codex"):
        host_named("vim")
