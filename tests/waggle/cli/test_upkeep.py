"""Upkeep on the command line: curation, verification, diagnosis, settings."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waggle.cli.support import (
    BAD,
    LIST,
    LOAD,
    NOW,
    OLD,
    SESSIONS,
    TWIN,
    Home,
    checks,
    edit,
    ran,
    ran_json,
    run,
    snapshot,
    tidy,
)
from waggle import (
    LedgerEntry,
    Store,
    _defaults,
    locate,
    read_ledger,
)
from waggle.ledger import Ledger

if TYPE_CHECKING:
    from tests.conftest import Golden

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


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        pytest.param("route.json", '"def load"', '"def save"', ": the fingerprint is 'w1:", id="steps-edited"),
        pytest.param("route.json", '"waggle_route": 1', '"waggle_route": 3', ": expected 1 to 2;", id="newer-route"),
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


# --- doctor, config -------------------------------------------------------------------------------------------


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
    names = {each["name"] for each in ran_json("mine", sessions)["skills"]}
    assert not (home.root / ".waggle").exists()
    assert {each["name"] for each in ran_json("ls")["skills"]} == names
    assert ran("verify").startswith(f"checked {len(names)} skills")
    assert ran_json("why", min(names), sessions)["problems"] == []
