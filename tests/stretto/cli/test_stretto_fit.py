"""Fitting tree procedures: ``fit-procedure``, and what is done with its files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.tree_world import MANIFEST, OPTIONS, World, demonstrations
from stretto.procedure.trees.file import dump_trees
from stretto.procedure.trees.fitting import fit_trees
from stretto.procedure.trees.held_out import replay_held_out
from stretto.procedure.trees.paper import TreeResult
from stretto.sessions.episode import Assistant, ToolResult, User
from tests.conftest import ROOT
from tests.stretto.cli.stretto_cli_support import command, ran, refused, run
from tests.stretto.cli.test_stretto_command import documented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stretto.sessions.episode import Episode, Event

SECONDS = 120
SERVER = ROOT / "tests" / "stretto" / "procedure" / "trees" / "phone_server.py"
CHECKS = [{"phrase": "works again", "probe": "check_status", "contains": ["signal: good", "data: on"]}]
HANDOFF = ("--handoff", "transfer", "--handoff-argument", "summary=A person is needed.")


def _events(event: Event) -> Iterable[dict[str, Any]]:
    match event:
        case User(text):
            yield {"type": "user", "text": text}
        case Assistant(calls=calls):
            for call in calls:
                yield {
                    "type": "call",
                    "id": call.id,
                    "turn": int(call.id[1:]),
                    "tool": call.name,
                    "args": call.arguments,
                }
        case ToolResult():
            yield {"type": "result", "id": event.call_id, "ok": not event.error, "content": event.content}


def traces(
    path: Path, sessions: Iterable[Episode], *, domain: str = "phone", named: Callable[[str], str] = str
) -> Path:
    """A file of canonical traces."""
    lines = []
    for each in sessions:
        events = [told for event in each.events for told in _events(event)]
        for told in events:
            if told["type"] == "call":
                told["tool"] = named(told["tool"])
        about = {"session": each.id, "source": "here", "agent": "expert", "domain": domain, "task": each.task_id}
        kinds = {named(tool): {"kind": kind} for tool, kind in MANIFEST.tools.items()}
        lines.append(json.dumps({**about, "success": each.succeeded, "tools": kinds, "events": events}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def told() -> list[Episode]:
    return demonstrations(range(20), trials=4)


@pytest.fixture
def phone(here: Path, told: list[Episode]) -> Path:
    (here / "checks.json").write_text(json.dumps(CHECKS))
    return traces(here / "phone.jsonl", told)


def ran_json(*args: object) -> Any:
    """The document of the command, whose keys are all documented."""
    text = ran("fit-procedure", "--json", *args)
    assert text.isascii()
    found = json.loads(text)
    documented("fit-procedure", found)
    return found


# --- what is written --------------------------------------------------------------------------------------------------


def test_the_file_is_what_is_fitted_and_the_report_what_is_measured(phone: Path, told: list[Episode]) -> None:
    given = (phone, "--trust-servers", *HANDOFF, "--checks", "checks.json")
    found = ran_json(*given, "--out", "p.json")
    options = replace(OPTIONS, sources=("phone.jsonl",))
    fitted = fit_trees(told, MANIFEST, options)
    assert Path("p.json").read_bytes() == dump_trees(fitted.procedure)
    held_out = replay_held_out(told, MANIFEST, options)
    assert found["held_out"] == {
        "parts": held_out.parts,
        "sessions": 80,
        **{str(result).replace(" ", "_"): count for result, count in held_out.results.items()},
    }
    assert (found["sessions"], found["tasks"], found["decisions"]) == (80, 20, fitted.decisions)
    assert (found["without"], found["warnings"]) == ({}, [])
    text = ran("fit-procedure", *given, "--out", "p.json", "--force")
    assert f"in 5 parts: {held_out.results[TreeResult.SAME]} same (" in text
    assert text.startswith(f"phone: 80 sessions, 20 tasks, {fitted.decisions:,} decisions, ")


def test_every_option_reaches_the_fit(phone: Path, told: list[Episode]) -> None:
    more = ("--sure", "0.9", "--unsure-reads", "--no-symbols", "--max-calls", "7", "--bag", "3", "--seed", "2")
    ran("fit-procedure", phone, "--trust-servers", *more, "--parts", "0", "--out", "p.json")
    options = replace(OPTIONS, sources=("phone.jsonl",), handoff="", handoff_arguments={}, checks=())
    options = replace(options, sure=0.9, sure_reads=False, symbolic=False, max_calls=7, bag=3, seed=2)
    assert Path("p.json").read_bytes() == dump_trees(fit_trees(told, MANIFEST, options).procedure)


def test_the_order_of_sessions_changes_no_byte(phone: Path, told: list[Episode]) -> None:
    ran("fit-procedure", phone, "--trust-servers", "--out", "p.json")
    traces(phone, reversed(told))
    ran("fit-procedure", phone, "--trust-servers", "--out", "q.json")
    assert Path("p.json").read_bytes() == Path("q.json").read_bytes()


def test_a_dry_run_writes_nothing_and_a_file_that_is_there_is_kept(phone: Path) -> None:
    result = run("fit-procedure", phone, "--trust-servers", "--out", "p.json", "--dry-run", "--parts", "0")
    assert result.exit_code == 0
    assert "would write p.json" in result.stderr
    assert not Path("p.json").exists()
    Path("p.json").write_text("mine")
    assert "p.json: is there; --force replaces it" in refused("fit-procedure", phone, "--out", "p.json")
    assert Path("p.json").read_text() == "mine"


def test_tools_that_nobody_declares_are_changes_and_it_is_said(phone: Path) -> None:
    result = run("fit-procedure", phone, "--out", "p.json", "--parts", "0")
    assert json.loads(Path("p.json").read_text())["reads"] == []
    assert "it is not known what 9 of 9 tools do" in result.stderr
    assert "there is no check" in result.stderr
    Path("tools.toml").write_text('stretto_tools = 1\ntools.get_line.effect = "read"\n')
    ran("fit-procedure", phone, "--tools", "tools.toml", "--out", "p.json", "--parts", "0", "--force")
    assert json.loads(Path("p.json").read_text())["reads"] == ["get_line"]
    Path("kinds.json").write_text(json.dumps({"domain": "phone", "tools": {"get_bills": "read"}}))
    ran("fit-procedure", phone, "--manifest", "kinds.json", "--out", "p.json", "--parts", "0", "--force")
    assert json.loads(Path("p.json").read_text())["reads"] == ["get_bills"]


# --- what cannot be fitted --------------------------------------------------------------------------------------------


def test_where_no_session_serves_the_files_are_named_with_what_is_missing(phone: Path, told: list[Episode]) -> None:
    traces(phone, [replace(each, reward=0.0) for each in told[:3]])
    assert refused("fit-procedure", phone, "--out", "p.json") == (
        f"{phone}: no session serves to fit trees: 3 failed; one serves that reached its goal, and in which "
        "nobody spoke after the first call"
    )
    assert not Path("p.json").exists()


def test_sessions_of_several_domains_are_told_apart(phone: Path, told: list[Episode]) -> None:
    other = traces(phone.with_name("other.jsonl"), told[:8], domain="other")
    phone.write_text(phone.read_text() + other.read_text().replace('"session": "', '"session": "o'))
    line = refused("fit-procedure", phone, "--out", "p.json")
    assert line == f"{phone}: sessions of several domains, other, phone; take one with --only"
    assert "no session is of sea; there are: other, phone" in refused(
        "fit-procedure", phone, "--only", "sea", "--out", "p.json"
    )
    found = ran_json(phone, "--only", "other", "--trust-servers", "--out", "p.json")
    assert (found["domain"], found["sessions"]) == ("other", 8)


def test_what_does_not_go_together_is_refused(phone: Path) -> None:
    for options, problem in (
        (("--handoff-argument", "a=1"), "--handoff-argument goes with --handoff"),
        (("--handoff", "transfer", "--handoff-argument", "a"), "expected NAME=VALUE"),
        (("--unsure-reads",), "--unsure-reads goes with --sure"),
        (("--sessions", "x"), "give one of them"),
        (("--sure", "0"), "--sure"),
    ):
        assert problem in run("fit-procedure", phone, *options, "--out", "p.json").stderr
    Path("odd.json").write_text('[{"phrase": "x", "probe": ""}]')
    odd = refused("fit-procedure", phone, "--checks", "odd.json", "--out", "p.json")
    assert odd == "odd.json: expected a text that is not empty @ $[0].probe"
    Path("odd.json").write_text('[{"phrase": "x", "probe": "pay_bill"}]')
    assert "pay_bill is not known to be a read" in refused(
        "fit-procedure", phone, "--checks", "odd.json", "--trust-servers", "--out", "p.json"
    )


def test_a_tool_that_takes_a_secret_is_refused_since_trees_have_no_place_for_one(phone: Path) -> None:
    Path("tools.toml").write_text('stretto_tools = 1\n[tools.refuel]\nsecrets = ["gb"]\n')
    line = refused("fit-procedure", phone, "--tools", "tools.toml", "--out", "p.json")
    assert "tools.toml: refuel takes a secret, gb" in line


# --- what is done with it ---------------------------------------------------------------------------------------------


def ran_on(task: int, here: Path, *more: str, ticket: str = "") -> tuple[int, Any, list[Any]]:
    """A run against a server: exit code, document, what was written."""
    words = ["stretto-procedure", "--procedure", "p.json", "--ticket", ticket or World(task).ticket, "--json"]
    words[0] = str(Path(sys.executable).with_name(words[0]))
    book = here / f"book-{task}"
    server = ["--", sys.executable, str(SERVER), str(task), str(book)]
    done = subprocess.run([*words, *more, *server], cwd=here, capture_output=True, check=False, timeout=SECONDS)
    assert done.stdout, done.stderr
    written = [json.loads(line) for line in book.read_text().splitlines()] if book.exists() else []
    return done.returncode, json.loads(done.stdout), written


def test_a_fitted_file_is_shown_checked_and_run_on_tickets_that_were_never_seen(phone: Path, here: Path) -> None:
    pytest.importorskip("mcp.server", reason="needs the MCP SDK")
    done = subprocess.run(
        [
            *command(),
            "fit-procedure",
            str(phone),
            "--trust-servers",
            *HANDOFF,
            "--checks",
            "checks.json",
            "--out",
            "p.json",
        ],
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert b"80 sessions, 20 tasks" in done.stdout
    shown = ran("procedure", "show", "p.json")
    features = {
        each for site in json.loads(ran("procedure", "show", "p.json", "--json"))["sites"] for each in site["features"]
    }
    assert features
    assert all(feature in shown for feature in features)
    assert ran("procedure", "check", "p.json") == "it fits together\n"
    verdicts = set()
    for task in {World(task).trouble: task for task in range(1000, 1020)}.values():
        code, told, written = ran_on(task, here)
        expected = expected_of(task)
        assert [tool for tool, _ in written] == [tool for tool, _ in expected]
        assert [given for tool, given in written if tool != "transfer"] == [
            given for tool, given in expected if tool != "transfer"
        ]
        assert code == 0
        verdicts.add(told["verdict"])
    assert verdicts == {"resolved", "transferred"}


def expected_of(task: int) -> list[tuple[str, Any]]:
    """What the expert writes."""
    (episode,) = demonstrations([task], trials=1)
    writes = {tool for tool, kind in MANIFEST.tools.items() if kind == "write"}
    return [(call.name, call.arguments) for turn in episode.turns() for call in turn.calls if call.name in writes]


def test_a_run_without_a_check_says_what_was_done_and_that_nothing_tells_whether_it_is_right(
    phone: Path, here: Path
) -> None:
    pytest.importorskip("mcp.server", reason="needs the MCP SDK")
    ran("fit-procedure", phone, "--trust-servers", "--parts", "0", "--out", "p.json")
    task = next(task for task in range(1000, 1100) if World(task).trouble == "roaming")
    words = [str(Path(sys.executable).with_name("stretto-procedure")), "--procedure", "p.json"]
    server = ["--", sys.executable, str(SERVER), str(task), str(here / "book")]
    done = subprocess.run(
        [*words, "--ticket", World(task).ticket, *server], cwd=here, capture_output=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 1
    assert done.stdout.decode().startswith("hand_back\nnothing was there to check it with\ndone before: ")
    assert b"enable_roaming" in done.stdout


def test_names_with_a_server_are_run_at_that_server(here: Path, told: list[Episode]) -> None:
    pytest.importorskip("mcp.server", reason="needs the MCP SDK")
    path = traces(here / "hosted.jsonl", told, named=lambda tool: f"mcp__phone__{tool}")
    ran("fit-procedure", path, "--trust-servers", "--parts", "0", "--out", "p.json")
    task = next(task for task in range(1000, 1100) if World(task).trouble == "empty")
    _, found, written = ran_on(task, here)
    assert [tool for tool, _ in written] == ["refuel"]
    assert all(each["ok"] for each in found["calls"])


def test_real_solo_sessions_are_fitted(here: Path, shared_traces: Path) -> None:
    full = shared_traces / "tools-dojo.jsonl.gz"
    found = ran_json(full, "--only", "dojo-slack", "--trust-servers", "--sure", "0.95", "--out", "p.json")
    assert (found["sessions"], found["tasks"], found["held_out"]["wrong"]) == (22, 12, 0)
    assert found["without"] == {"failed": 5, "not solo": 1}
    assert ran("procedure", "check", "p.json") == "it fits together\n"
