"""Recorded sessions on the command line: mined, replayed, and shown in the demo."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.waggle.cli.support import (
    Home,
    checks,
    command,
    habit,
    ran,
    ran_json,
    run,
    snapshot,
    some_traces,
    trace,
    written,
)
from waggle import (
    ManagerConfig,
    _defaults,
    evaluate,
    locate,
    read_ledger,
)
from waggle.cli.demo import demo_text, run_demo
from waggle.cli.measuring import RULES, Group, verdicts
from waggle.reach.table import COUNTS_FILE, read_counts
from waggle.traces import read_traces

# --- mine -----------------------------------------------------------------------------------------------------


def statuses(*args: object) -> dict[str, str]:
    """What ``waggle mine`` says of each skill, by name."""
    return {each["name"]: each["status"] for each in ran_json("mine", *args)["skills"]}


def test_mine_writes_new_skills_and_knows_them_the_next_time(home: Home, sessions: Path) -> None:
    first = ran_json("mine", sessions)
    counted = [(each["steps"], each["seen"], each["sessions"]) for each in first["skills"]]
    assert counted == [(3, 4, 1), *[(1, 5, 2)] * 3]  # the run of calls, then reads that follow a kind of call
    assert {each["status"] for each in first["skills"]} == {"new"}
    assert first["sessions"] == 2
    names = [each["name"] for each in first["skills"]]
    ledger = read_ledger(home.project.ledger_path)
    assert all(ledger[name].last_promoted for name in names)
    before = snapshot(home.root)
    assert statuses(sessions) == dict.fromkeys(names, "known")
    assert snapshot(home.root) == before
    told = ran("mine", sessions)
    assert [name for name in names if f"known   {name}" not in told] == [], told


def test_mine_learns_what_a_manager_learns_live(home: Home, sessions: Path) -> None:
    library = evaluate.learn(read_traces(sessions), ManagerConfig())
    assert [each["name"] for each in ran_json("mine", sessions)["skills"]] == [each.name for each in library.routes]
    assert read_counts(home.project.ledger_path.with_name(COUNTS_FILE)) == library.counts


def test_mine_keeps_what_a_person_has_edited(home: Home, sessions: Path) -> None:
    name = ran_json("mine", sessions)["skills"][0]["name"]
    path = home.project.directory / name / "SKILL.md"
    path.write_text(path.read_text().replace("It has no parameters", "Beware"))
    before = snapshot(home.root)
    told = statuses(sessions)
    assert [each for each in told if told[each] != "known"] == [name]
    assert told[name] == "edited"
    assert snapshot(home.root) == before


def test_mine_does_not_write_over_a_folder_that_holds_something_else(home: Home, sessions: Path) -> None:
    name = ran_json("mine", sessions, "--dry-run")["skills"][0]["name"]
    folder = home.project.directory / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("mine")
    told = statuses(sessions)
    assert [each for each in told if told[each] != "new"] == [name]
    assert told[name] == "edited"
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]


def test_mine_with_dry_run_says_the_same_and_writes_nothing(home: Home, sessions: Path) -> None:
    before = snapshot(home.root.parent, Path.home())
    dry = ran_json("mine", sessions, "--dry-run")
    assert snapshot(home.root.parent, Path.home()) == before
    assert not (home.root / ".waggle").exists()
    assert dry["dry_run"]
    assert dry["skills"] == ran_json("mine", sessions)["skills"]
    assert set(statuses(sessions, "--dry-run").values()) == {"known"}


def test_mine_stores_paths_of_the_project_relative_to_it(home: Home, tmp_path: Path) -> None:
    found = ran_json("mine", written(tmp_path / "s.jsonl", trace("s", habit(f"{home.root}/src") * 4)))
    steps = ran_json("show", found["skills"][0]["name"])["route"]["steps"]
    assert steps[1]["args"] == {"file_path": {"$project": "src/a.py"}}


def test_mine_learns_into_the_users_store_or_another_folder(home: Home, sessions: Path, tmp_path: Path) -> None:
    names = list(statuses(sessions, "--user"))
    assert names
    assert all(home.user.read(name) for name in names)
    ran("mine", sessions, "--to", tmp_path / "out")
    assert all((tmp_path / "out" / name / "SKILL.md").is_file() for name in names)
    assert (tmp_path / "out" / "ledger.jsonl").is_file()
    assert not (home.root / ".waggle").exists()


def test_mine_remembers_the_project_for_promotion_to_the_user(home: Home, sessions: Path) -> None:
    ran("mine", sessions)
    assert locate.known_projects(locate.user_data_dir()) == [home.root]


def test_mine_follows_the_settings(home: Home, sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAGGLE_MINE_K", "5")
    assert {each["steps"] for each in ran_json("mine", sessions, "--dry-run")["skills"]} == {1}  # by sessions
    monkeypatch.setenv("WAGGLE_MIN_SESSIONS", "3")
    assert ran_json("mine", sessions)["skills"] == []
    monkeypatch.delenv("WAGGLE_MIN_SESSIONS")
    monkeypatch.setenv("WAGGLE_REACH", "false")
    assert ran_json("mine", sessions)["skills"] == []
    monkeypatch.delenv("WAGGLE_REACH")
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


@pytest.mark.parametrize(
    ("name", "recorded", "told"),
    [
        ("strands", (3, 3, 3), ""),
        ("strands-latest", (3, 3, 3), ""),
        ("agent-framework", (3, 3, 3), ""),
        ("strands-redacted", (3, 0, 1), "3 have no whole arguments: they are never made again; 2 have no result"),
        ("agent-framework-without-content", (3, 0, 1), "3 have no whole arguments"),
    ],
)
def test_what_spans_of_a_framework_lack_is_told_and_counted(
    home: Home, name: str, recorded: tuple[int, int, int], told: str
) -> None:
    path = ROOT / "tests" / "waggle" / "traces" / "emitted" / f"{name}.console.jsonl"
    result = run("mine", path, "--json")
    assert result.exit_code == 0
    counts = json.loads(result.stdout)["recorded"]
    assert (counts["calls"], counts["with_arguments"], counts["with_results"]) == recorded
    assert told in result.stderr
    assert bool(told) == bool(result.stderr)


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
    told = statuses(sessions)
    assert (told.pop(name), set(told.values())) == ("edited", {"known"})
    (folder / "route.json").write_text("{}")
    told = statuses(sessions)
    assert (told.pop(name), set(told.values())) == ("edited", {"known"})
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
    names = ["original", "bound", "containment", "shell", "sessions", "curation", "tokens"]
    assert [each["name"] for each in document["rules"]] == names == [rule.name for rule in RULES]
    assert [each["group"] for each in document["groups"]] == ["claude-code (ada/lift)", "total"]
    first, second = read_traces(sessions)
    for rule in RULES:
        report, _ = evaluate.measure("", "", [first], [second], rule.config, curated=rule.curated)
        for group in document["groups"]:
            shown = group["rules"][rule.name]
            counts = ("turns", "ceiling", "saved", "lookups", "used", "detours", "tokens_saved", "tokens_spent")
            assert {each: shown[each] for each in counts} == {each: report.total(each) for each in counts}
            assert shown["routes"] == report.routes
    assert document["groups"][0]["rules"]["bound"]["saved"] == 1
    assert document["groups"][0]["rules"]["bound"]["fired"].values()


def test_replay_prints_a_column_a_rule_and_what_each_comes_to(home: Home, sessions: Path) -> None:
    text = ran("replay", sessions)
    titles = " +".join(re.escape(rule.title) for rule in RULES)
    assert re.search(rf"^ +{titles}$", text, re.MULTILINE)
    assert re.search(r"^claude-code \(ada/lift\)$", text, re.MULTILINE)
    assert re.search(r"^  turns saved +\S.* +1 \(25.0 %\)$", text, re.MULTILINE)
    for rule in RULES:
        assert f"{rule.title}: saved 1 of 4 turns (25.0 %; the ceiling is 2) and " in text


def test_replay_says_in_plain_words_when_nothing_is_saved(home: Home, tmp_path: Path) -> None:
    first = trace("s1", habit() * 4, task="t1")
    other, none = trace("s2", habit("lib"), task="t2"), trace("s3", habit("lib"), task="t1")
    nothing = [f"{rule.title}: nothing to save here with this rule: it " for rule in RULES]
    text = ran("replay", written(tmp_path / "s.jsonl", first, other))
    assert all(f"{each}learned 1 route and none fired (0 of 4 turns;" in text for each in nothing)
    text = ran("replay", written(tmp_path / "s.jsonl", none, other))
    assert all(f"{each}learned no route (0 of 4 turns;" in text for each in nothing)
    detour = trace("s4", [*habit()[:2], ("Edit", {"file_path": "x"}), ("LS", {"path": "lib"})], task="t2")
    text = ran("replay", written(tmp_path / "s.jsonl", first, detour))
    assert all(f"{each}made 1 lookup, of no use" in text for each in nothing)


def test_replay_learns_from_other_sessions_but_never_from_the_same_task(
    home: Home, sessions: Path, tmp_path: Path
) -> None:
    learn = written(tmp_path / "l.jsonl", trace("a", habit() * 4, task="t9"), trace("b", habit() * 4, task="t2"))
    result = run("replay", sessions, "--learn", learn, "--json")
    document = json.loads(result.stdout)
    assert (document["left_out"], document["learn_share"]) == (1, None)
    bound = document["groups"][0]["rules"]["bound"]
    assert (bound["learned_on"], bound["replayed"], bound["routes"]) == (1, 2, 1)
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


# --- demo -----------------------------------------------------------------------------------------------------


def test_the_demo_learns_replays_and_writes_skills_of_the_shipped_sessions(home: Home) -> None:
    text = ran("demo")
    assert "135 recorded sessions of public coding agents" in text
    for agent in ("claude-code", "mini-swe-agent", "pi", "swe-agent"):
        assert re.search(rf"^{agent} \(", text, re.MULTILINE)
    assert all(f"\n- {rule.title}: " in text for rule in RULES)
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
    most = max(route.count for each in first.libraries if each.rule == "curation" for route in each.routes)
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
