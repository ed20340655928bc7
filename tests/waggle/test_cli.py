"""The command line: what each command prints and writes, its exit code, and what it never does."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from tests.conftest import ROOT, Golden
from waggle import (
    Call,
    LedgerEntry,
    ManagerConfig,
    Param,
    Result,
    Route,
    Scope,
    Store,
    _defaults,
    _render,
    evaluate,
    locate,
    read_ledger,
    skillfile,
)
from waggle.cli import main
from waggle.cli.app import EXIT_CODES, cli
from waggle.cli.demo import demo_json, demo_text, run_demo
from waggle.cli.measuring import RULES, Group, verdicts
from waggle.cli.reference import JSON_KEYS, reference
from waggle.ledger import Ledger
from waggle.routes import RouteStep, named
from waggle.store import user_store
from waggle.traces import TraceBuilder, dump_trace, read_traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from click.testing import Result as Ran

    from waggle.traces import Trace

SESSIONS = ROOT / "examples" / "sessions"
NOW = datetime.now(UTC)


def run(*args: object, stdin: str | bytes | None = None) -> Ran:
    """Run a command in this process; what it raises is a failure of the test."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin, catch_exceptions=False)


def ran(*args: object, code: int = 0) -> str:
    """What a command printed on standard output; its exit code is checked."""
    result = run(*args)
    assert result.exit_code == code, result.output
    return result.stdout


def ran_json(*args: object, code: int = 0) -> Any:
    """The document of a command; it is in ASCII and nothing else is printed."""
    text = ran(*args, "--json", code=code)
    assert text.isascii()
    return json.loads(text)


def route(*steps: tuple[str, Mapping[str, Any]], params: tuple[Param, ...] = (), **facts: Any) -> Route:
    facts = {"count": 3, "support": 1, "learned_at": NOW, **facts}
    return named(Route("", tuple(RouteStep(tool, dict(args)) for tool, args in steps), params, **facts))


LOAD = route(
    ("Grep", {"pattern": "def load", "path": "src"}),
    ("Read", {"file_path": {"$project": "src/load.py"}}),
    ("Read", {"file_path": {"$project": "src/settings.py"}}),
    count=7,
    support=2,
)
LIST = route(("LS", {"path": "docs"}), ("Grep", {"pattern": None}), params=(Param(1, "pattern"),))
OLD = route(("LS", {"path": "old"}), ("Read", {"file_path": "old/a"}), learned_at=NOW - timedelta(days=20))
BAD = route(("LS", {"path": "gone"}), ("Read", {"file_path": "gone/a"}))
TWIN = replace(OLD, name="twin-of-old", learned_at=NOW)


@dataclass(frozen=True)
class Home:
    """A project and a user's store.

    Attributes:
        root: the project's root, which is the working directory.
        project: its store.
        user: the user's.
    """

    root: Path
    project: Store
    user: Store


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    root = tmp_path / "lift"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return Home(root, Store(root / ".waggle" / "skills", root / ".waggle" / "ledger.jsonl"), user_store())


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills of every kind, written once: used, unused, failing, duplicate, and one of the user's."""
    place = tmp_path_factory.mktemp("stored")
    project, user = (Store(place / name / "skills", place / name / "ledger.jsonl") for name in ("project", "user"))
    for each in (LOAD, LIST, OLD, BAD, TWIN):
        project.promote(each)
    user.promote(replace(LIST, scope=Scope.USER))
    log = Ledger(project.ledger_path)
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    log.append_many([LedgerEntry(LOAD.name, 1, 1250, at=at), LedgerEntry(LOAD.name, 1, 20, at=at)])
    log.append_many([LedgerEntry(BAD.name, 1, fail=True, at=at)] * 3)
    Ledger(user.ledger_path).append(LedgerEntry(LIST.name, 1, 40, at=at))
    return place


@pytest.fixture
def full(home: Home, stored: Path) -> Home:
    """A project and a user that have skills."""
    shutil.copytree(stored / "project", home.project.directory.parent)
    shutil.copytree(stored / "user", home.user.directory.parent)
    return home


def tidy(text: str, home: Home) -> str:
    """Output with the places of this test run replaced."""
    return text.replace(str(home.root), "PROJECT").replace(str(Path.home()), "HOME")


def snapshot(*places: Path) -> dict[str, bytes]:
    """Every file below some places, and its content; lock files, which only say that somebody was there, left out."""
    return {
        str(path): path.read_bytes()
        for place in places
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


# --- recorded sessions ----------------------------------------------------------------------------------------


def trace(name: str, calls: Iterable[tuple[str, dict[str, Any]]], *, task: str | None = None) -> Trace:
    """A session of one call a turn."""
    builder = TraceBuilder()
    for turn, (tool, args) in enumerate(calls):
        builder.call(Call(tool, args, f"c{turn}"), turn)
        builder.result(f"c{turn}", Result(f"{tool} says src/a.py src/b.py src"))
    return builder.build(name, "claude-code/model", "ada/lift:1@abc", task=task)


def habit(root: str = "src") -> list[tuple[str, dict[str, Any]]]:
    """One round of a habit, and the write that ends it."""
    steps = [("LS", {"path": root}), ("Read", {"file_path": f"{root}/a.py"}), ("Read", {"file_path": f"{root}/b.py"})]
    return [*steps, ("Edit", {"file_path": "x"})]


def written(path: Path, *traces: Trace) -> Path:
    path.write_bytes(b"".join(dump_trace(each) for each in traces))
    return path


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Two tasks: one to learn a habit on, one in which it would have saved a turn."""
    first, second = trace("s1", habit() * 4, task="t1"), trace("s2", habit(), task="t2")
    return written(tmp_path / "sessions.jsonl", first, second)


# --- ls -------------------------------------------------------------------------------------------------------


def test_ls_ranks_the_skills_of_both_stores_by_yield_and_then_by_name(full: Home, golden: Golden) -> None:
    full.project.disable(BAD.name, "failed 3 times and never succeeded", NOW)
    golden.check("cli/ls.txt", ran("ls"))
    skills = ran_json("ls")["skills"]
    keys = [(-each["yield"], each["name"]) for each in skills]
    assert keys == sorted(keys)
    assert {each["scope"] for each in skills} == {"project", "user"}
    assert [each["disabled"] for each in skills if each["disabled"]] == ["failed 3 times and never succeeded"]


def test_ls_can_be_asked_for_one_store(full: Home) -> None:
    def scopes(*options: str) -> set[str]:
        return {each["scope"] for each in ran_json("ls", *options)["skills"]}

    assert scopes("--user") == scopes("--scope", "user") == {"user"}
    assert scopes("--scope", "project") == {"project"}


def test_ls_says_what_to_do_when_there_are_no_skills(home: Home) -> None:
    result = run("ls")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There are no skills yet; `waggle mine TRACE...` learns them from recorded sessions.\n"
    assert ran_json("ls") == {"skills": [], "invalid": []}


@pytest.mark.case("HC-14")
def test_what_cannot_be_read_is_named_with_line_and_reason_and_hides_nothing(full: Home) -> None:
    folder = full.project.directory
    (folder / "unquoted.md").write_text("---\nname: x\ndescription: List PRs: then merge\n---\n")
    (folder / "empty.md").write_text("")
    (folder / "dir.md").mkdir()
    (folder / "newer").mkdir()
    (folder / "newer" / "route.json").write_text('{"waggle_route": 99}')
    document = ran_json("ls")
    assert len(document["skills"]) == 6
    assert len(document["invalid"]) == 4
    assert any("unquoted.md:3: description must be quoted, it contains ': '" in line for line in document["invalid"])
    assert run("ls").stderr.splitlines() == document["invalid"]


# --- show -----------------------------------------------------------------------------------------------------


def test_show_prints_the_skill_as_it_is_and_where_its_files_lie(full: Home, golden: Golden) -> None:
    text = ran("show", LOAD.name)
    golden.check("cli/show.txt", tidy(text, full))
    assert text.startswith((full.project.directory / LOAD.name / "SKILL.md").read_text())


def test_show_gives_programs_the_route(full: Home) -> None:
    document = ran_json("show", LOAD.name)
    assert document["route"] == json.loads((full.project.directory / LOAD.name / "route.json").read_text())
    assert document["ledger"]["yield"] == 1270
    assert document["ledger"]["last_used"] == "2026-03-01T12:00:00Z"
    assert [Path(path).name for path in document["files"]] == ["SKILL.md", "route.json", "run.sh"]


def test_show_finds_the_projects_skill_first_and_the_users_on_request(full: Home) -> None:
    assert ran_json("show", LIST.name)["route"]["scope"] == "project"
    assert ran_json("show", LIST.name, "--user")["ledger"]["yield"] == 40


@pytest.mark.parametrize("name", ["nothing-there", "../../etc", "A B"])
def test_a_skill_that_is_not_there_is_one_line_and_its_own_exit_code(home: Home, name: str) -> None:
    result = run("show", name)
    assert result.exit_code == _defaults.EXIT_SKILL
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert name in result.stderr


def test_a_single_file_of_the_original_is_shown(home: Home) -> None:
    steps = tuple(RouteStep(t, {"path": p}) for t, p in (("ls", "src"), ("read", "README.md")))
    old = replace(home.project, form="file")
    name = old.promote(Route("", steps)).name
    assert ran("show", name).startswith("---\nname: wag_")
    assert ran_json("show", name)["route"]["steps"][0]["tool"] == "ls"


@pytest.mark.case("HC-02")
def test_nothing_in_a_skill_moves_the_terminal_or_makes_printing_raise(full: Home) -> None:
    path = full.project.directory / LOAD.name / "SKILL.md"
    path.write_bytes(path.read_bytes() + b"\x1b[2J \xff \xc2\x9b \xe2\x80\xae [/red] [bold]x[/bold]\n")
    text = ran("show", LOAD.name)
    assert "\\x1b[2J \\udcff \\x9b \\u202e [/red] [bold]x[/bold]" in text
    assert "\udcff \x9b \u202e [/red]" in ran_json("show", LOAD.name)["skill"]


def test_a_skill_without_its_text_says_so(full: Home) -> None:
    (full.project.directory / LOAD.name / "SKILL.md").unlink()
    result = run("show", LOAD.name)
    assert result.exit_code == _defaults.EXIT_SKILL
    assert "SKILL.md is missing" in result.stderr


# --- mine -----------------------------------------------------------------------------------------------------


def test_mine_writes_new_skills_and_knows_them_the_next_time(home: Home, sessions: Path) -> None:
    first = ran_json("mine", sessions)
    assert [(each["status"], each["steps"], each["seen"]) for each in first["skills"]] == [("new", 3, 4)]
    assert first["sessions"] == 2
    name = first["skills"][0]["name"]
    assert read_ledger(home.project.ledger_path)[name].last_promoted
    before = snapshot(home.root)
    assert [each["status"] for each in ran_json("mine", sessions)["skills"]] == ["known"]
    assert snapshot(home.root) == before
    assert "known   " + name in ran("mine", sessions)


def test_mine_learns_what_a_manager_learns_live(home: Home, sessions: Path) -> None:
    learned = evaluate.learn(read_traces(sessions), ManagerConfig())
    assert [each["name"] for each in ran_json("mine", sessions)["skills"]] == [each.name for each in learned]


def test_mine_keeps_what_a_person_has_edited(home: Home, sessions: Path) -> None:
    name = ran_json("mine", sessions)["skills"][0]["name"]
    path = home.project.directory / name / "SKILL.md"
    path.write_text(path.read_text().replace("It has no parameters", "Beware"))
    before = snapshot(home.root)
    assert [each["status"] for each in ran_json("mine", sessions)["skills"]] == ["edited"]
    assert snapshot(home.root) == before


def test_mine_does_not_write_over_a_folder_that_holds_something_else(home: Home, sessions: Path) -> None:
    name = ran_json("mine", sessions, "--dry-run")["skills"][0]["name"]
    folder = home.project.directory / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("mine")
    assert [each["status"] for each in ran_json("mine", sessions)["skills"]] == ["edited"]
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]


def test_mine_with_dry_run_says_the_same_and_writes_nothing(home: Home, sessions: Path) -> None:
    before = snapshot(home.root.parent, Path.home())
    dry = ran_json("mine", sessions, "--dry-run")
    assert snapshot(home.root.parent, Path.home()) == before
    assert not (home.root / ".waggle").exists()
    assert dry["dry_run"]
    assert dry["skills"] == ran_json("mine", sessions)["skills"]
    assert ran_json("mine", sessions, "--dry-run")["skills"][0]["status"] == "known"


def test_mine_stores_paths_of_the_project_relative_to_it(home: Home, tmp_path: Path) -> None:
    found = ran_json("mine", written(tmp_path / "s.jsonl", trace("s", habit(f"{home.root}/src") * 4)))
    steps = ran_json("show", found["skills"][0]["name"])["route"]["steps"]
    assert steps[1]["args"] == {"file_path": {"$project": "src/a.py"}}


def test_mine_learns_into_the_users_store_or_another_folder(home: Home, sessions: Path, tmp_path: Path) -> None:
    (skill,) = ran_json("mine", sessions, "--user")["skills"]
    assert home.user.read(skill["name"])
    ran("mine", sessions, "--to", tmp_path / "out")
    assert (tmp_path / "out" / skill["name"] / "SKILL.md").is_file()
    assert (tmp_path / "out" / "ledger.jsonl").is_file()
    assert not (home.root / ".waggle").exists()


def test_mine_remembers_the_project_for_promotion_to_the_user(home: Home, sessions: Path) -> None:
    ran("mine", sessions)
    assert locate.known_projects(locate.user_data_dir()) == [home.root]


def test_mine_follows_the_settings(home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGGLE_MINE_K", "5")
    assert ran_json("mine", sessions)["skills"] == []
    monkeypatch.setenv("WAGGLE_MINE_K", "3")
    monkeypatch.setenv("WAGGLE_TOOLS_DENY", "LS,Read")
    assert ran_json("mine", sessions)["skills"] == []


def test_mine_reads_standard_input_and_passes_over_damaged_lines(home: Home, sessions: Path) -> None:
    data = sessions.read_bytes()
    result = run("mine", "-", "--json", stdin=data + b"{damaged\n" + b"\xff\n" * 30 + data.splitlines()[1] + b"\n")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["sessions"], len(document["problems"])) == (0, 3, 31)
    notes = result.stderr.splitlines()
    assert notes[0].startswith("-:3: expected one JSON object a line")
    assert notes[-1] == "... and 11 more such problems; --json lists them all"


def test_a_closed_standard_input_is_one_line(home: Home) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" mine - <&-', *command()], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (_defaults.EXIT_TRACE, b"-: standard input is closed\n")


@pytest.mark.case("HC-18")
def test_a_deleted_working_directory_is_one_line(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.root / "gone").mkdir()
    monkeypatch.chdir(home.root / "gone")
    (home.root / "gone").rmdir()
    result = run("ls")
    assert result.exit_code == _defaults.EXIT_STORE
    assert result.stderr == "the working directory has been deleted; change to a directory that exists\n"


@pytest.mark.parametrize("command", ["mine", "replay"])
def test_a_recording_that_is_not_there_or_something_else_has_its_own_exit_code(
    home: Home, sessions: Path, command: str
) -> None:
    for path, problem in ((home.root / "no.jsonl", "there is no such file"), (__file__, ":1: expected recorded")):
        result = run(command, sessions, path)
        assert result.exit_code == _defaults.EXIT_TRACE
        assert result.stderr.startswith(str(path))
        assert problem in result.stderr


@pytest.mark.case("HC-19")
def test_a_store_that_cannot_be_written_is_told_with_the_exit_code_of_stores(home: Home, sessions: Path) -> None:
    (home.root / ".waggle").write_text("a file in its place")
    result = run("mine", sessions)
    assert result.exit_code == _defaults.EXIT_STORE
    assert str(home.root / ".waggle") in result.stderr


@pytest.mark.case("HC-19")
def test_a_route_that_could_not_be_written_is_not_reported_as_new(home: Home, sessions: Path) -> None:
    """The writer works in the background; what stood in its way is told first."""
    (home.root / ".waggle" / "skills.lock").mkdir(parents=True)
    result = run("mine", sessions)
    assert (result.exit_code, result.stdout) == (_defaults.EXIT_STORE, "")
    first, second = result.stderr.splitlines()
    assert first.startswith("a route could not be written")
    assert second.endswith("could not be written; see the message above")


def test_mine_leaves_alone_what_it_cannot_read(home: Home, sessions: Path) -> None:
    name = ran_json("mine", sessions)["skills"][0]["name"]
    folder = home.project.directory / name
    (folder / "SKILL.md").write_bytes(b"\xff")
    assert [each["status"] for each in ran_json("mine", sessions)["skills"]] == ["edited"]
    (folder / "route.json").write_text("{}")
    assert [each["status"] for each in ran_json("mine", sessions)["skills"]] == ["edited"]
    assert (folder / "route.json").read_text() == "{}"


@pytest.mark.case("HC-17")
def test_no_secret_of_a_recording_is_printed_or_written(home: Home, tmp_path: Path) -> None:
    secrets = ("aaa.bbb.ccc", "sk-lab-EXAMPLE000111.seg2_EXAMPLE-333")
    steps = [
        *(("LS", {"path": f"src/{n}"}) for n in range(3)),
        ("Grep", {"pattern": f"Authorization: Bearer {secrets[0]}"}),
        ("Grep", {"pattern": f"X-Token: {secrets[1]}", "path": "src"}),
        *habit()[:3],
        ("Edit", {}),
    ]
    found = ran_json("mine", written(tmp_path / "s.jsonl", trace("s", steps * 8)))["skills"]
    assert found
    printed = "".join(run(*args).output for args in (["ls"], ["verify"], ["gc", "--dry-run"]))
    printed += "".join(run("show", each["name"], "--json").output for each in found)
    kept = b"".join(snapshot(home.root, Path.home()).values())
    assert not [secret for secret in secrets if secret in printed or secret.encode() in kept]


# --- replay ---------------------------------------------------------------------------------------------------


def test_replay_puts_the_rules_side_by_side_with_the_numbers_of_the_library(home: Home, sessions: Path) -> None:
    document = ran_json("replay", sessions)
    assert [each["name"] for each in document["rules"]] == ["original", "exact"]
    assert [each["group"] for each in document["groups"]] == ["claude-code (ada/lift)", "total"]
    first, second = read_traces(sessions)
    for name, config in (("original", ManagerConfig.original()), ("exact", ManagerConfig())):
        report, _ = evaluate.measure("", "", [first], [second], config)
        for group in document["groups"]:
            shown = group["rules"][name]
            counts = ("turns", "ceiling", "saved", "lookups", "used", "detours", "tokens_saved", "tokens_spent")
            assert {each: shown[each] for each in counts} == {each: report.total(each) for each in counts}
            assert shown["routes"] == report.routes
    assert document["groups"][0]["rules"]["exact"]["saved"] == 1
    assert document["groups"][0]["rules"]["exact"]["fired"].values()


def test_replay_prints_a_column_a_rule_and_what_each_comes_to(home: Home, sessions: Path) -> None:
    text = ran("replay", sessions)
    assert re.search(r"^ +the original's rule +exact calls$", text, re.MULTILINE)
    assert re.search(r"^claude-code \(ada/lift\)$", text, re.MULTILINE)
    assert re.search(r"^  turns saved +\S.* +1 \(25.0 %\)$", text, re.MULTILINE)
    assert "exact calls: saved 1 of 4 turns (25.0 %; the ceiling is 2) and " in text


def test_replay_says_in_plain_words_when_nothing_is_saved(home: Home, tmp_path: Path) -> None:
    first = trace("s1", habit() * 4, task="t1")
    other, none = trace("s2", habit("lib"), task="t2"), trace("s3", habit("lib"), task="t1")
    text = ran("replay", written(tmp_path / "s.jsonl", first, other))
    assert "exact calls: nothing to save here with this rule: it learned 1 route and none fired (0 of 4 turns;" in text
    text = ran("replay", written(tmp_path / "s.jsonl", none, other))
    assert "exact calls: nothing to save here with this rule: it learned no route (0 of 4 turns;" in text
    detour = trace("s4", [*habit()[:2], ("Edit", {"file_path": "x"}), ("LS", {"path": "lib"})], task="t2")
    text = ran("replay", written(tmp_path / "s.jsonl", first, detour))
    assert "exact calls: nothing to save here with this rule: it made 1 lookup, of no use" in text


def test_replay_learns_from_other_sessions_but_never_from_the_same_task(
    home: Home, sessions: Path, tmp_path: Path
) -> None:
    learn = written(tmp_path / "l.jsonl", trace("a", habit() * 4, task="t9"), trace("b", habit() * 4, task="t2"))
    result = run("replay", sessions, "--learn", learn, "--json")
    document = json.loads(result.stdout)
    assert (document["left_out"], document["learn_share"]) == (1, None)
    exact = document["groups"][0]["rules"]["exact"]
    assert (exact["learned_on"], exact["replayed"], exact["routes"]) == (1, 2, 1)
    assert (
        "left out of the learning: 1 session of a task that is replayed"
        in run("replay", sessions, "--learn", learn).stderr
    )


def test_replay_with_nothing_left_to_replay_says_so(home: Home, sessions: Path) -> None:
    result = run("replay", sessions, "--learn-share", 1)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "smaller --learn-share" in result.stderr
    assert ran_json("replay", sessions, "--learn-share", 1)["groups"] == []
    assert run("replay", sessions, "--learn-share", 1.5).exit_code == _defaults.EXIT_USAGE


def report(turns: int, saved: int, low: float, gained: int, spent: int) -> evaluate.Report:
    score = evaluate.Score("s", "t", turns, saved, saved, saved, saved, gained, spent)
    return evaluate.Report("total", "r", 1, 1, (score,), evaluate.Interval(saved / turns, low, 1.0))


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        pytest.param(
            report(100, 5, 0.01, 900, 100), "saved 5 of 100 turns (5.0 %; the ceiling is 5) and 900", id="yes"
        ),
        pytest.param(report(100, 5, 0.0, 900, 100), "may be chance: its interval reaches 0", id="chance"),
        pytest.param(report(100, 5, 0.01, 100, 900), "It cost more than it saved: 900 tokens spent", id="dear"),
    ],
)
def test_the_words_under_the_table_do_not_praise_more_than_the_numbers(shown: evaluate.Report, words: str) -> None:
    (line,) = verdicts(Group("total", (shown,)), RULES[:1])
    assert words in line


# --- gc -------------------------------------------------------------------------------------------------------


def test_gc_prints_its_plan_and_changes_nothing(full: Home, golden: Golden) -> None:
    path = full.project.directory / OLD.name / "SKILL.md"
    path.write_text(path.read_text() + "\nA word of ours.\n")
    before = snapshot(full.root, Path.home())
    golden.check("cli/gc-dry-run.txt", ran("gc", "--dry-run"))
    document = ran_json("gc", "--dry-run")
    assert (document["dry_run"], document["result"]) == (True, None)
    assert snapshot(full.root, Path.home()) == before


def test_gc_does_what_its_plan_said_and_has_nothing_to_do_the_second_time(full: Home) -> None:
    plan = ran_json("gc", "--dry-run")["actions"]
    assert {(each["action"], each["name"]) for each in plan} == {
        ("gc", TWIN.name),
        ("demote", BAD.name),
        ("prune", OLD.name),
    }
    result = run("gc")
    assert result.stderr == ""
    assert result.stdout == (
        "project: 1 removed, 1 pruned; user: 0 removed, 0 pruned; 1 switched off, 0 promoted, 0 ledger lines dropped\n"
    )
    assert {each.name for each in full.project.contents().routes} == {LOAD.name, LIST.name, BAD.name}
    again = ran_json("gc")
    assert again["actions"] == []
    assert set(again["result"].values()) == {0}


def test_gc_takes_its_limits_from_the_options_and_the_settings(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def actions(*options: object) -> set[str]:
        return {each["action"] for each in ran_json("gc", "--dry-run", *options)["actions"]}

    assert actions("--stale-days", 30, "--min-fails", 4) == {"gc"}
    monkeypatch.setenv("WAGGLE_STALE_DAYS", "30")
    assert actions() == {"gc", "demote"}
    result = run("gc", "--min-fails", 0)
    assert (result.exit_code, result.stderr) == (2, "arguments: min_fails: expected at least 1, not 0\n")


def test_gc_shares_with_the_user_what_two_known_projects_hold(home: Home, tmp_path: Path) -> None:
    """A second checkout of one project is not a second project, and one that is gone is no obstacle."""
    home.project.promote(LOAD)
    ran("gc")
    for name in ("other", "gone"):
        (tmp_path / name / ".git").mkdir(parents=True)
        locate.remember_project(locate.user_data_dir(), tmp_path / name)
    (tmp_path / "gone" / ".git").rmdir()
    (tmp_path / "gone").rmdir()
    assert ran_json("gc", "--dry-run")["actions"] == []
    Store(tmp_path / "other" / ".waggle" / "skills", tmp_path / "l").promote(LOAD)
    assert ran_json("gc")["result"]["promoted"] == 1
    assert home.user.read(LOAD.name)
    (tmp_path / "other" / ".waggle" / "config.toml").write_text("broken = [")
    ran("gc")


def test_gc_names_what_it_cannot_read_and_leaves_it(full: Home) -> None:
    (full.project.directory / "x.md").write_text("---\n")
    result = run("gc")
    assert result.exit_code == 0
    assert (
        result.stderr
        == f"{full.project.directory / 'x.md'}:1: front matter has no end: a second line '---' is missing\n"
    )
    assert (full.project.directory / "x.md").exists()


@pytest.mark.case("HC-19")
def test_gc_without_a_home_does_the_projects_part_and_says_what_to_set(
    full: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    result = run("gc", "--json")
    assert result.exit_code == _defaults.EXIT_STORE
    assert json.loads(result.stdout)["result"]["removed_project"] == 1
    assert "set WAGGLE_HOME" in result.stderr
    assert run("ls").exit_code == 0


def test_gc_leaves_a_store_alone_that_it_cannot_list(home: Home) -> None:
    home.project.directory.parent.mkdir()
    home.project.directory.write_text("a file in its place")
    log = home.project.ledger_path
    Ledger(log).append(LedgerEntry("kept", 1))
    result = run("gc")
    assert result.exit_code == _defaults.EXIT_STORE
    assert "cannot be read and was left alone" in result.stderr
    assert read_ledger(log)


# --- verify ---------------------------------------------------------------------------------------------------


def findings(code: int = 0) -> list[str]:
    *lines, last = ran("verify", code=code).splitlines()
    assert last.startswith("checked ")
    return lines


def test_verify_finds_nothing_in_what_we_write(full: Home) -> None:
    full.project.disable(BAD.name, "failed", NOW)
    full.project.promote(LOAD)
    assert ran("verify") == "checked 6 skills and 2 ledgers: 0 problems, 0 notes\n"
    assert ran("verify", "--user").startswith("checked 1 skill and 1 ledger:")


def test_verify_works_where_nothing_is(home: Home) -> None:
    assert ran("verify") == "checked 0 skills and 2 ledgers: 0 problems, 0 notes\n"


@pytest.mark.case("HC-04")
def test_a_torn_last_line_is_noted_with_file_line_and_offset(full: Home) -> None:
    path = full.project.ledger_path
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"name": "torn", "st')
    (line,) = findings()
    assert line.startswith(f"{path}:6: note: the last line was cut short, at byte {len(whole):,}, as by a crash")


@pytest.mark.case("HC-04")
def test_a_damaged_line_in_the_middle_is_named_with_line_and_offset_and_has_its_own_exit_code(full: Home) -> None:
    path = full.project.ledger_path
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, b"[1]\n", b"\xff\n", b"\n", b"{}\n", *others]))
    lines = findings(_defaults.EXIT_LEDGER)
    at = [f"{path}:{2 + n}: not a record (byte {len(first) + offset:,});" for n, offset in enumerate((0, 4, 6))]
    assert [line[: len(start)] for line, start in zip(lines, at, strict=False)] == at
    assert len(lines) == 4
    ran("gc")
    assert findings() == []


def test_the_offset_after_a_line_that_is_too_long_is_left_out_not_guessed(home: Home) -> None:
    log = home.project.ledger_path
    Ledger(log).append(LedgerEntry("a", 1))
    log.write_bytes(log.read_bytes() + b"x" * (_defaults.LEDGER_LINE_BYTES + 1) + b"\nbad\n")
    first, second = findings(_defaults.EXIT_LEDGER)
    assert ":2: not a record (byte " in first
    assert ":3: not a record; " in second


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        pytest.param("route.json", '"def load"', '"def save"', ": the fingerprint is 'w1:", id="steps-edited"),
        pytest.param("route.json", '"waggle_route": 1', '"waggle_route": 2', ": expected 1;", id="newer-route"),
        pytest.param(
            "SKILL.md", "description: ", "description: List PRs: ", ":3: description must be quoted", id="unquoted"
        ),
        pytest.param("SKILL.md", "metadata:", "\tmetadata:", ":4: indent with spaces", id="tab"),
        pytest.param("SKILL.md", "name: ", "title: ", ":2: the standard has no key 'title'", id="unknown-key"),
        pytest.param("SKILL.md", "name: ", "description: ", ":3: the key 'description' stands twice", id="twice"),
        pytest.param("SKILL.md", 'name: "', 'name: "x-', ":2: the name is 'x-grep-", id="other-name"),
    ],
)
@pytest.mark.case("HC-14")
def test_a_skill_file_that_is_wrong_is_named_with_its_line(
    full: Home, name: str, old: str, new: str, problem: str
) -> None:
    path = full.project.directory / LOAD.name / name
    edit(path, old, new)
    assert any(line.startswith(f"{path}{problem}") for line in findings(_defaults.EXIT_PROBLEMS))


def test_a_description_that_is_missing_empty_or_too_long_is_a_problem(full: Home) -> None:
    path = full.project.directory / LOAD.name / "SKILL.md"
    for value, problem in (("''", "a 'description' is missing"), ("x" * 1025, "the description has 1,025 characters")):
        path.write_text(re.sub("(?m)^description: .*$", f"description: {value}", path.read_text()))
        assert any(f"{path}:3: {problem}" in line for line in findings(_defaults.EXIT_PROBLEMS))
    path.write_text("---\nname: x\n---\n")
    assert len([line for line in findings(1) if line.startswith(str(path))]) == 3
    path.unlink()
    assert any(line.startswith(f"{path}: is missing") for line in findings(1))


@pytest.mark.case("HC-15")
def test_names_that_no_skill_may_have_are_found_in_folders_that_people_made(home: Home) -> None:
    for name in ("ours", "Bad_Name", ".hidden"):
        (home.project.directory / name).mkdir(parents=True)
        (home.project.directory / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")
    (home.project.directory / "link").symlink_to(home.root)
    lines = findings(_defaults.EXIT_PROBLEMS)
    assert len(lines) == 2
    assert "is a link" in lines[0]
    assert "only the letters a-z, digits and hyphens" in lines[1]


def test_what_a_person_edited_is_a_note_and_no_problem(full: Home) -> None:
    folder = full.project.directory / LOAD.name
    edit(folder / "SKILL.md", "It has no parameters", "Beware")
    edit(folder / "scripts" / "run.sh", "set -u", "set -eu")
    (full.project.directory / OLD.name / "scripts" / "run.sh").unlink()
    lines = findings()
    assert len(lines) == 3
    assert all(": note: " in line for line in lines)


def test_verify_gives_programs_every_finding(full: Home) -> None:
    edit(full.project.directory / LOAD.name / "SKILL.md", "It has no parameters", "Beware")
    (full.project.directory / "x.md").write_text("---\n")
    document = ran_json("verify", code=1)
    assert document["problems"] == 1
    assert [(each["kind"], each["line"]) for each in document["findings"]] == [("problem", 1), ("note", None)]


def test_a_directory_in_the_ledgers_place_is_a_problem_and_no_stack_trace(home: Home) -> None:
    home.project.ledger_path.mkdir(parents=True)
    (line,) = findings(_defaults.EXIT_PROBLEMS)
    assert "cannot be read: is not a file but a directory" in line
    for command in (["ls"], ["gc"], ["gc", "--dry-run"]):
        result = run(*command)
        assert result.exit_code == _defaults.EXIT_STORE
        assert result.stderr.endswith("is not a file but a directory, pipe or device; move it away\n")


def test_texts_that_cannot_be_read_are_problems(full: Home) -> None:
    folder = full.project.directory
    (folder / LOAD.name / "SKILL.md").write_bytes(b"\xff")
    (folder / LIST.name / "SKILL.md").write_bytes(b"x" * (_defaults.SKILL_FILE_BYTES + 1))
    (folder / OLD.name / "SKILL.md").unlink()
    (folder / OLD.name / "SKILL.md").mkdir()
    (folder / BAD.name / "scripts" / "run.sh").write_bytes(b"\xff")
    lines = findings(_defaults.EXIT_PROBLEMS)
    assert len(lines) == 4
    assert sum("is not UTF-8: byte 0" in line for line in lines) == 2


# --- export ---------------------------------------------------------------------------------------------------


def statuses(*args: object, code: int = 0) -> dict[str, str]:
    return {each["name"]: each["status"] for each in ran_json("export", *args, code=code)["skills"]}


def test_export_copies_whole_skills_once(full: Home, tmp_path: Path) -> None:
    to = tmp_path / ".claude" / "skills"
    full.project.disable(BAD.name, "failed", NOW)
    dry = statuses("--to", to, "--dry-run")
    assert not to.exists()
    assert (
        statuses("--to", to)
        == dry
        == {BAD.name: "skipped"} | dict.fromkeys((LOAD.name, LIST.name, OLD.name, TWIN.name), "new")
    )
    source = full.project.directory / LOAD.name
    for path in full.project.files_of(LOAD.name):
        assert (to / LOAD.name / path.relative_to(source)).read_bytes() == path.read_bytes()
    assert set(statuses("--to", to).values()) == {"unchanged", "skipped"}
    edit(source / "SKILL.md", "It has no parameters", "Beware")
    assert statuses("--to", to)[LOAD.name] == "updated"
    assert "Beware" in (to / LOAD.name / "SKILL.md").read_text()


@pytest.mark.parametrize("kind", ["other-skill", "no-route", "other-route", "file", "link"])
def test_export_never_touches_a_folder_that_is_not_a_copy(full: Home, tmp_path: Path, kind: str) -> None:
    to = tmp_path / "skills"
    theirs = to / LOAD.name
    if kind == "file":
        to.mkdir()
        theirs.write_text("mine")
    elif kind == "link":
        to.mkdir()
        theirs.symlink_to(full.project.directory / LOAD.name)
    else:
        theirs.mkdir(parents=True)
        (theirs / "SKILL.md").write_text("mine")
    if kind == "no-route":
        (theirs / "route.json").write_text("{}")
    if kind == "other-route":
        (theirs / "route.json").write_text(skillfile.render_route(replace(LIST, name=LOAD.name)))
    before = snapshot(to)
    result = run("export", "--to", to, LOAD.name)
    assert result.exit_code == _defaults.EXIT_PROBLEMS
    assert "is not a copy of this skill; move it away" in result.stdout
    assert snapshot(to) == before


def test_export_of_named_skills_says_when_one_is_missing_or_not_fit(full: Home, tmp_path: Path) -> None:
    to = tmp_path / "skills"
    assert statuses("--to", to, LIST.name, "--user") == {LIST.name: "new"}
    assert run("export", "--to", to, "nothing").exit_code == _defaults.EXIT_SKILL
    assert run("export").exit_code == _defaults.EXIT_USAGE
    full.project.disable(BAD.name, "failed", NOW)
    assert statuses("--to", to, BAD.name, code=1) == {BAD.name: "refused"}
    old = replace(full.project, form="file").promote(Route("", tuple(RouteStep("ls", {"path": p}) for p in "ab")))
    assert statuses("--to", to, old.name, code=1) == {old.name: "refused"}
    assert statuses("--to", to)[old.name] == "skipped"


@pytest.mark.case("HC-15")
def test_export_does_not_follow_a_link_out_of_the_skill(full: Home, tmp_path: Path) -> None:
    """A skill may come with a stranger's repository."""
    (tmp_path / "secret").write_text("s3cret")
    (full.project.directory / LOAD.name / "notes.md").symlink_to(tmp_path / "secret")
    result = run("export", "--to", tmp_path / "skills", LOAD.name)
    assert result.exit_code == _defaults.EXIT_STORE
    assert "leads out of" in result.stderr
    assert not (tmp_path / "skills").exists()


def test_an_exported_skill_is_refreshed_through_no_link(full: Home, tmp_path: Path) -> None:
    to = tmp_path / "skills"
    ran("export", "--to", to, LOAD.name)
    (tmp_path / "victim").write_text("whole")
    (to / LOAD.name / "SKILL.md").unlink()
    (to / LOAD.name / "SKILL.md").symlink_to(tmp_path / "victim")
    run("export", "--to", to, LOAD.name)
    assert (tmp_path / "victim").read_text() == "whole"


# --- doctor, config -------------------------------------------------------------------------------------------


def checks(code: int = 0) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in ran_json("doctor", code=code)["checks"]}


def test_doctor_finds_a_sound_place_sound(full: Home) -> None:
    found = checks()
    assert {each["state"] for each in found.values()} == {"ok"}
    assert found["project store"]["found"].endswith("5 skills, can be written")
    assert "click 8" in found["dependencies"]["found"]
    assert all(line.startswith(("ok", "state")) for line in ran("doctor").splitlines())


def test_doctor_names_what_is_wrong_and_what_to_do(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.root / ".waggle").write_text("a file in its place")
    monkeypatch.setenv("WAGGLE_STALE_DAY", "3")
    monkeypatch.setenv("WAGGLE_HOME", "relative")
    found = ran_json("doctor", code=_defaults.EXIT_PROBLEMS)["checks"]
    told = {each["check"]: (each["state"], each["remedy"]) for each in found}
    assert told["settings"] == ("note", "correct its spelling, or unset it")
    assert told["project store"][0] == "problem"
    assert told["user store"] == ("problem", "set WAGGLE_HOME to a directory that can be written")
    assert all(each["remedy"] for each in found if each["state"] != "ok")


def test_doctor_goes_on_when_settings_or_the_project_are_wrong(home: Home, tmp_path: Path) -> None:
    (home.root / ".waggle").mkdir()
    (home.root / ".waggle" / "config.toml").write_text("learn = 3\n")
    assert checks(1)["settings"]["found"].endswith("config.toml: learn: expected a valid boolean, not 3")
    home.project.ledger_path.write_bytes(b"x\ny\n")
    assert checks(1)["project store's ledger"]["state"] == "problem"
    result = run("doctor", "--project", tmp_path / "nowhere")
    assert result.exit_code == _defaults.EXIT_PROBLEMS
    assert "no such directory" in result.stdout


def test_doctor_names_missing_dependencies(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["click>=8", "not-there>=1", 'pytest>=8; extra == "dev"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needed)
    assert checks(1)["dependencies"]["found"] == "missing: not-there"

    def nothing(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.requires", nothing)
    assert checks()["dependencies"]["state"] == "note"


def test_config_shows_each_setting_with_value_unit_and_source(
    home: Home, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.root / ".waggle").mkdir()
    (home.root / ".waggle" / "config.toml").write_text('tools_deny = ["mcp__db__query"]\n')
    user = Path.home() / ".config" / "waggle" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("[mine]\nk = 4\n")
    monkeypatch.setenv("WAGGLE_FOLLOW_SECONDS", "2")
    golden.check("cli/config.txt", tidy(ran("config"), home))
    document = ran_json("config")
    assert document["settings"]["mine.k"]["value"] == 4
    assert document["project_file"] == str(home.root / ".waggle" / "config.toml")


def test_a_wrong_setting_stops_every_command_with_one_line_a_problem(home: Home) -> None:
    (home.root / ".waggle").mkdir()
    file = home.root / ".waggle" / "config.toml"
    file.write_text('learn = 3\ntools_allow = ["rm"]\n')
    for args in (["config"], ["ls"], ["gc"], ["verify"], ["mine", str(SESSIONS)]):
        result = run(*args)
        assert result.exit_code == _defaults.EXIT_USAGE
        assert [line.startswith(f"{file}: ") for line in result.stderr.splitlines()] == [True, True]


def test_the_home_location_is_used_everywhere(home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGGLE_LOCATION", "home")
    name = ran_json("mine", sessions)["skills"][0]["name"]
    assert not (home.root / ".waggle").exists()
    assert [each["name"] for each in ran_json("ls")["skills"]] == [name]
    assert ran("verify").startswith("checked 1 skill")


# --- demo -----------------------------------------------------------------------------------------------------


def some_traces() -> list[Trace]:
    """The smallest of the shipped files: enough for every part of the report."""
    return [*read_traces(SESSIONS / "coding-swe-agent.jsonl.gz")]


def test_the_demo_learns_replays_and_writes_skills_of_the_shipped_sessions(home: Home) -> None:
    text = ran("demo")
    assert "135 recorded sessions of public coding agents" in text
    for agent in ("claude-code", "mini-swe-agent", "pi", "swe-agent"):
        assert re.search(rf"^{agent} \(", text, re.MULTILINE)
    assert "the original's rule: " in text
    assert "exact calls: " in text
    (path,) = re.findall(r"^The skill seen most often, (.*):$", text, re.MULTILINE)
    shown = (home.root / path).read_text().strip()
    assert "\n".join(f"    {line}" for line in shown.split("\n")) in text
    folders = set(re.findall(r"demo-skills/[^:\s]+$", text, re.MULTILINE))
    assert folders
    assert all(any((home.root / folder).glob("*/SKILL.md")) for folder in folders)


def test_the_demo_is_safe_to_repeat_and_says_what_it_shows(tmp_path: Path) -> None:
    first = run_demo(some_traces(), tmp_path)
    before = snapshot(tmp_path)
    assert before
    again = run_demo(some_traces(), tmp_path)
    assert snapshot(tmp_path) == before
    assert demo_text(again) == demo_text(first)
    assert first.shown
    most = max(route.count for library in first.libraries for route in library.routes)
    assert first.shown[1].count == most


def test_a_demo_that_learns_nothing_says_so(tmp_path: Path) -> None:
    text = demo_text(run_demo([trace("a", habit()), trace("b", habit())], tmp_path))
    assert "No skill was learned, so no file was written." in text
    assert list(tmp_path.iterdir()) == []


def test_without_the_shipped_sessions_the_demo_says_where_to_get_them(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("waggle.__file__", str(tmp_path / "site" / "waggle" / "__init__.py"))
    result = run("demo")
    assert result.exit_code == _defaults.EXIT_TRACE
    assert "run it from a checkout of the repository" in result.stderr
    assert checks()["demo sessions"]["state"] == "note"


# --- documents ------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command}


def test_the_reference_is_what_the_commands_say() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert text == reference(), "python -m waggle.cli.reference > docs/cli.md"


def test_every_command_option_and_exit_code_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(_defaults).items() if name.startswith("EXIT_") and isinstance(value, int)}
    assert {code for code, _ in EXIT_CODES} == codes
    assert all(f"| {code} |" in text for code in codes)
    assert set(commands()) == {"demo", "ls", "show", "mine", "replay", "gc", "verify", "export", "doctor", "config"}
    for name, command in commands().items():
        assert f"## waggle {name}\n" in text
        assert command.help
        assert {"as_json"} <= {param.name for param in command.params}
        for param in command.params:
            assert param.param_type_name == "argument" or getattr(param, "help", None), f"{name} {param.name}"
            assert all(option in text for option in param.opts if option.startswith("-"))


def test_what_writes_or_deletes_can_be_tried_first() -> None:
    dry = {name for name, command in commands().items() if "dry_run" in {param.name for param in command.params}}
    assert dry == {"mine", "gc", "export"}


def paths(value: Any, prefix: str = "") -> set[str]:
    """Paths of all values in a document, the way the reference writes them."""
    if isinstance(value, dict):
        found = {path for key, inner in value.items() for path in paths(inner, f"{prefix}.{key}")}
        return found or {prefix.lstrip(".")}
    if isinstance(value, list):
        return {path for inner in value for path in paths(inner, f"{prefix}[]")}
    return {prefix.lstrip(".")}


def documented(command: str, document: Any) -> None:
    keys = set(JSON_KEYS[command])
    found = {re.sub(r"(\.rules|^settings)\.(mine\.\w+|\w+)", r"\1.NAME", path) for path in paths(document)}
    found = {re.sub(r"^route\..*", "route", re.sub(r"(\.fired)\..*", r"\1", path)) for path in found}
    assert found <= keys, found - keys
    optional = {"skills[].reason", "invalid[]", "problems[]", "result", "fired"}
    assert {key for key in keys - found if key not in optional} == set()


def test_every_key_of_every_json_document_is_documented(full: Home, sessions: Path) -> None:
    (full.project.directory / "x.md").write_text("---\n")
    documented("ls", ran_json("ls"))
    documented("show", ran_json("show", LOAD.name))
    documented("mine", ran_json("mine", sessions, "--dry-run"))
    documented("replay", ran_json("replay", sessions))
    documented("export", ran_json("export", "--to", "out", "--dry-run"))
    documented("verify", ran_json("verify", code=1))
    documented("doctor", ran_json("doctor"))
    documented("config", ran_json("config"))
    documented("gc", ran_json("gc"))
    documented("demo", demo_json(run_demo(some_traces(), full.root / "demo")))


# --- printing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain é 日本 → 👨‍👩", "plain é 日本 → 👨‍👩", id="readable"),
        pytest.param("\x1b[31mred\x07", "\\x1b[31mred\\x07", id="escape-sequence"),
        pytest.param("a\tb\nc\rd", "a\\tb\\nc\\rd", id="line-ends"),
        pytest.param("\x9b2J\x7f\x00", "\\x9b2J\\x7f\\x00", id="c1-controls"),
        pytest.param("\udcff\ud83d", "\\udcff\\ud83d", id="lone-surrogates"),
        pytest.param("\u2028\u202e\u2066", "\\u2028\\u202e\\u2066", id="separators-and-direction"),
    ],
)
def test_text_is_escaped_where_a_terminal_would_obey_it(text: str, shown: str) -> None:
    assert _render.plain(text) == shown


def test_a_table_keeps_its_cells_on_their_lines_and_reads_no_markup() -> None:
    columns = (_render.Column("a"), _render.Column("n", number=True))
    text = _render.table(columns, [["[bold]x[/bold] :smile:", "1"], ["日本\n[/x]", "1,000"]])
    assert text.split("\n") == ["a" + " " * 27 + "n", "[bold]x[/bold] :smile:      1", "日本\\n[/x]              1,000"]
    assert _render.table(columns, []) == ""


def test_only_the_last_column_is_folded_so_that_names_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waggle._render._width", lambda: 30)
    columns = (_render.Column("name"), _render.Column("what it does"))
    lines = _render.table(columns, [["n" * 40, "one two three four five six seven"]]).split("\n")
    assert lines == [
        "name" + " " * 38 + "what it does",
        "n" * 40 + "  one two three four five",
        " " * 42 + "six seven",
    ]


def test_a_json_document_is_ascii_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    value: dict[str, Any] = {"z": "é\u2028\udcff👩\x7f", "a": [10**40, None, 0.1]}
    _render.document(value)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == value
    assert list(json.loads(printed)) == ["z", "a"]


# --- the installed command ------------------------------------------------------------------------------------


def command() -> list[str]:
    """The console script of the environment that runs the tests."""
    script = Path(sys.executable).with_name("waggle")
    assert script.exists(), "install the package: pip install -e ."
    return [str(script)]


def started(*args: object, **options: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command(), *map(str, args)], **{**pipes, **options})


def test_the_installed_command_runs_and_gives_its_exit_codes(home: Home) -> None:
    for args, code in ((["--version"], 0), (["show", "x"], 3), (["nonsense"], 2)):
        process = started(*args)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert bool(out) == (args == ["--version"])
        assert b"Traceback" not in err


@pytest.mark.case("HC-20")
@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="ascii"),
        pytest.param({"PYTHONIOENCODING": "cp1252"}, id="cp1252"),
    ],
)
def test_printing_never_raises_whatever_the_encoding(home: Home, env: dict[str, str]) -> None:
    """What cannot be shown is escaped; files hold the same bytes, and JSON is ASCII."""
    odd = route(("Grep", {"pattern": "→ é 日本", "path": "src"}), ("Read", {"file_path": "日本.md"}))
    home.project.promote(odd)
    (home.project.directory / "日本.md").write_text("---\nname: é→\n", encoding="utf-8")
    environment = os.environ | env | {"PYTHONWARNINGS": "error", "PYTHONWARNDEFAULTENCODING": "1"}
    before = snapshot(home.root)
    encoding = "ascii" if "LC_ALL" in env else "cp1252"
    for args, code in ((["show", odd.name], 0), (["verify"], 1), (["ls", "--json"], 0)):
        process = started(*args, env=environment)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert b"Traceback" not in err
        text = out.decode(encoding)
        if "--json" in args:
            assert out.isascii()
            json.loads(text)
        elif "show" in args:
            assert "\\u2192" in text
            assert "\\u65e5\\u672c" in text
            assert ("é" in text) is (encoding == "cp1252")
    assert snapshot(home.root) == before


def test_a_reader_that_goes_away_is_no_error(full: Home) -> None:
    """The command ends with the code of its work, quietly."""
    for args in (["show", LOAD.name], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        process = started(*args, stdout=writer)
        os.close(writer)
        err = process.communicate(timeout=60)[1]
        assert err == b""
        assert process.returncode == (1 if args == ["--help"] else 0)


def test_a_closed_standard_output_is_no_error(full: Home) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" ls >&-', *command()], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line(full: Home) -> None:
    for args in (["ls"], ["--help"]):
        with Path("/dev/full").open("wb") as nowhere:
            process = started(*args, stdout=nowhere)
            err = process.communicate(timeout=60)[1]
        assert process.returncode == _defaults.EXIT_STORE
        assert err.endswith(b"No space left on device\n")
        assert err.count(b"\n") == 1


def test_the_entry_point_returns_the_exit_code(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(*args: str) -> int:
        monkeypatch.setattr(sys, "argv", ["waggle", *args])
        return main()

    assert (code("ls"), code("show", "x"), code("nonsense"), code("ls", "--user", "--scope", "project")) == (0, 3, 2, 2)

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("waggle.cli.app.run", interrupted)
    assert code("ls") == _defaults.EXIT_INTERRUPTED


def test_a_bug_of_ours_is_not_passed_off_as_the_users_mistake(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ExceptionGroup("bugs", [ZeroDivisionError()])

    monkeypatch.setattr("waggle.cli.place.load_settings", broken)
    with pytest.raises(ExceptionGroup):
        run("ls")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_ends_with_130_and_without_a_stack_trace(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "live")
    process = started("mine", tmp_path / "live")
    with (tmp_path / "live").open("wb"):  # opens when the command has opened it, too
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == _defaults.EXIT_INTERRUPTED
    assert (out, err) == (b"", b"stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_a_progress_bar_on_standard_error_only(home: Home, sessions: Path, colour: bool) -> None:  # noqa: FBT001 - a case
    import pty

    parent, child = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"} | ({} if colour else {"NO_COLOR": "1"})
    process = started("mine", sessions, stderr=child, env=env)
    out, _ = process.communicate(timeout=60)
    os.close(child)
    seen = b""
    try:
        while chunk := os.read(parent, 65536):
            seen += chunk
    except OSError:  # how a terminal without a writer ends
        pass
    finally:
        os.close(parent)
    assert b"mining" in seen
    assert (re.search(rb"\x1b\[[0-9;]*3[0-9][0-9;]*m", seen) is not None) is colour
    assert out.startswith(b"status")
    assert b"\x1b" not in out
