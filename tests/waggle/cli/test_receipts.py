"""``waggle why`` and ``waggle why-not``: where values come from, and what stood in a route's way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.waggle.cli.support import BAD, LIST, LOAD, NOW, Home, edit, ran, ran_json, run, written
from tests.waggle.recorded import trace
from waggle import _defaults
from waggle.cli.receipts import _SHOWN
from waggle.reach.table import COUNTS_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.traces import Trace

WRITE = ("Edit", {"file_path": "x"})


def grep(number: int) -> tuple[str, dict[str, Any], str]:
    return ("Grep", {"pattern": f"def p{number}"}, f"src/f{number}.py:{number + 40}:def p{number}")


def around(number: int) -> tuple[str, dict[str, Any]]:
    return ("Read", {"file_path": f"src/f{number}.py", "offset": number + 30, "limit": 40})


def habit(number: int) -> Trace:
    """A session that searches, reads around what was found, and writes."""
    return trace([grep(number)], [around(number)], [WRITE], session=f"s{number}", task=f"t{number}")


@pytest.fixture
def habits(tmp_path: Path) -> Path:
    return written(tmp_path / "habits.jsonl", *(habit(number) for number in range(6)))


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """Sessions in which the habit is met again, and not always followed."""
    return written(
        tmp_path / "later.jsonl",
        trace([grep(7)], [around(7)], [WRITE], session="agrees"),
        trace([grep(8)], [("Read", {"file_path": "src/other.py"})], [WRITE], session="disagrees"),
        trace([("Read", {"file_path": "src/f9.py"})], [grep(9)], session="known"),
    )


@pytest.fixture
def after(home: Home, habits: Path) -> str:
    """The skill that reads around the line that a search prints."""
    names = [each["name"] for each in ran_json("mine", habits)["skills"]]
    (name,) = [name for name in names if name.startswith("read-lines-of-1st-file-after-search-")]
    return str(name)


# --- why ------------------------------------------------------------------------------------------------------


def test_why_says_what_a_route_follows_where_each_value_comes_from_and_how_often_that_was_so(after: str) -> None:
    lines = ran("why", after).splitlines()
    assert lines[:6] == [
        after,
        "",
        "After a search that prints lines of one file:",
        "",
        "  file_path: the 1st file that it names",
        "  lines: around the 1st line number printed for it",
    ]
    rows = [[cell.strip() for cell in line.split("  ") if cell] for line in lines[7:]]
    places = ["where", "all", "1 file, 1 line"]
    assert [row[0] for row in rows] == places
    assert all(row[1:3] == ["6", "6"] and row[-1] == "10 before to 30 after" for row in rows[1:])
    assert rows[-1][4] == "yes"


def test_why_with_sessions_lists_each_occurrence_those_that_disagreed_first(after: str, later: Path) -> None:
    text = ran("why", after, later)
    head, *rows = text[text.index("3 occurrences") :].splitlines()
    assert head == "3 occurrences, 1 agreed"
    assert [row.split() for row in rows[1:]] == [
        ["disagrees", "0", "disagreed", "src/f8.py:48", "src/other.py:1-2000"],
        ["known", "1", "disagreed", "src/f9.py:49", "-"],
        ["agrees", "0", "agreed", "src/f7.py:47", "src/f7.py:37-76"],
    ]


def test_why_says_the_same_to_programs(after: str, later: Path) -> None:
    document = ran_json("why", after, later)
    assert (document["name"], document["occurrences"], document["sessions"]) == (after, 6, 6)  # when it was learned
    assert document["after"] == "a search that prints lines of one file"
    assert document["values"]["file_path"] == "the 1st file that it names"
    first, *_, last = document["evidence"]
    assert (first["where"], first["times"], first["read"], first["lines"]) == ("", 6, 6, "10 before to 30 after")
    assert last["made"] is True
    assert [(each["session"], each["call"], each["agreed"]) for each in document["listed"]] == [
        ("agrees", 0, True),
        ("disagrees", 0, False),
        ("known", 1, False),
    ]
    assert document["problems"] == []


def test_why_of_a_mined_route_says_how_often_its_calls_repeat_and_what_is_open(full: Home) -> None:
    assert ran("why", LOAD.name) == f"{LOAD.name}\n\nThe same 3 calls, 7 times in 2 sessions.\n"
    assert ran("why", LIST.name, "--scope", "project").endswith(
        "\n  pattern: open; pattern of call 2 came from no one place\n"
    )
    document = ran_json("why", LOAD.name)
    assert document == {"name": LOAD.name, "occurrences": 7, "sessions": 2, "listed": [], "problems": []}


def test_why_shows_at_most_so_many_occurrences_and_agreed_ones_among_them(after: str, tmp_path: Path) -> None:
    many = [trace([grep(n)], [WRITE], session=f"no{n}") for n in range(_SHOWN + 5)]
    text = ran("why", after, written(tmp_path / "many.jsonl", *many, *(habit(n) for n in range(5))))
    assert f"{_SHOWN + 10} occurrences, 5 agreed" in text
    assert (text.count("  disagreed  "), text.count("  agreed  ")) == (_SHOWN, 3)


def test_why_of_a_route_from_elsewhere_tells_what_it_was_written_with(home: Home, after: str) -> None:
    """A project whose own counts are gone, or a skill that was copied, has those in its route.json."""
    home.project.ledger_path.with_name(COUNTS_FILE).unlink()
    assert [row["times"] for row in ran_json("why", after)["evidence"]] == [6, 6]


# --- why-not --------------------------------------------------------------------------------------------------


def test_why_not_counts_the_answers_and_shows_those_that_tell_something(after: str, later: Path) -> None:
    counts, _, table = ran("why-not", after, later).partition("\n\n")
    assert [line.split(maxsplit=1) for line in counts.splitlines()] == [
        ["2", "fires"],
        ["5", "prefix not matched"],
        ["1", "already made"],
    ]
    _, *rows = table.splitlines()
    assert [row.split()[:3] for row in rows] == [
        ["agrees", "0", "fires"],
        ["disagrees", "0", "fires"],
        ["known", "1", "already"],
    ]
    assert rows[0].endswith(": src/f7.py:47")


def test_why_not_at_one_call_says_what_was_made_instead(after: str, later: Path) -> None:
    text = ran("why-not", after, later, "--at", 2)
    assert text.count("this was a call of `Edit`, it follows a search") == 2
    answers = ran_json("why-not", after, later, "--at", 0)["answers"]
    assert [(each["session"], each["call"], each["answer"]) for each in answers] == [
        ("agrees", 0, "fires"),
        ("disagrees", 0, "fires"),
        ("known", 0, "prefix not matched"),
    ]
    assert ran_json("why-not", after, later, "--at", 99)["answers"] == []


def test_why_not_follows_the_threshold_of_the_settings(
    after: str, later: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAGGLE_THRESHOLD", "0.97")
    assert {each["answer"] for each in ran_json("why-not", after, later, "--at", 0)["answers"]} == {
        "chance too small",
        "prefix not matched",
    }
    monkeypatch.setenv("WAGGLE_THRESHOLD", "tokens")
    (first, *_) = ran_json("why-not", after, later, "--at", 0)["answers"]
    assert (first["answer"], first["detail"].endswith("%")) == ("chance too small", True)  # of a short context


def test_why_not_of_a_mined_route(full: Home, tmp_path: Path) -> None:
    calls = [("Grep", {"pattern": "def load", "path": "src"}), ("Read", {"file_path": "src/load.py"})]
    fires = trace(*[[call] for call in calls], session="fires")
    stale = trace([calls[0]], [WRITE], [calls[1]], session="stale")
    told = ran_json("why-not", LOAD.name, written(tmp_path / "s.jsonl", fires, stale))["answers"]
    assert [(each["session"], each["answer"]) for each in told] == [
        ("fires", "prefix not matched"),
        ("fires", "fires"),
        ("stale", "prefix not matched"),
        ("stale", "prefix not matched"),
        ("stale", "stale after a write"),
    ]


def test_why_not_of_a_route_that_is_switched_off_says_why_it_was(full: Home, after: str, later: Path) -> None:
    full.project.disable(BAD.name, "failed 3 times", NOW)
    full.project.disable(after, "hardly ever asked for", NOW)
    for name, reason in ((BAD.name, "failed 3 times"), (after, "hardly ever asked for")):
        document = ran_json("why-not", name, later)
        assert {(each["answer"], each["detail"]) for each in document["answers"]} == {("switched off", reason)}
    assert ran_json("why", after)["evidence"]


def test_why_not_says_how_many_answers_it_does_not_show(after: str, tmp_path: Path) -> None:
    many = written(tmp_path / "many.jsonl", *(habit(n) for n in range(_SHOWN + 4)))
    assert run("why-not", after, many).stderr == "4 more; --json has all, --at shows one call\n"


# --- both -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["why", "why-not"])
def test_a_skill_that_is_not_there_or_cannot_be_read_is_one_line(full: Home, later: Path, command: str) -> None:
    result = run(command, "no-such-skill", later)
    assert (result.exit_code, result.stdout) == (_defaults.EXIT_SKILL, "")
    assert "there is no skill 'no-such-skill'" in result.stderr
    edit(full.project.directory / LOAD.name / "route.json", '"waggle_route": 1', '"waggle_route": 9')
    result = run(command, LOAD.name, later)
    assert result.exit_code == _defaults.EXIT_SKILL
    assert "$.waggle_route" in result.stderr


@pytest.mark.parametrize("command", ["why", "why-not"])
def test_counts_that_cannot_be_read_are_one_line_that_names_them(
    home: Home, after: str, later: Path, command: str
) -> None:
    path = home.project.ledger_path.with_name(COUNTS_FILE)
    path.write_text('{"waggle_counts": 9}', encoding="utf-8")
    result = run(command, after, later)
    assert result.exit_code == _defaults.EXIT_STORE
    assert result.stderr.splitlines()[-1].startswith(str(path))
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["why", "why-not"])
def test_damaged_lines_of_a_recording_are_passed_over_and_named(after: str, later: Path, command: str) -> None:
    data = later.read_bytes()
    result = run(command, after, "-", "--json", stdin=data + b"{damaged\n")
    assert (result.exit_code, len(json.loads(result.stdout)["problems"])) == (0, 1)
    assert result.stderr.startswith("-:4: ")


def test_why_not_needs_a_session_and_why_does_not(after: str) -> None:
    assert run("why-not", after).exit_code == _defaults.EXIT_USAGE
    assert run("why", after).exit_code == 0


def test_both_look_in_the_users_store_when_they_are_told_to(full: Home, later: Path) -> None:
    assert ran_json("why", LIST.name, "--user")["name"] == LIST.name
    assert run("why", LOAD.name, "--user").exit_code == _defaults.EXIT_SKILL
    assert run("why-not", LOAD.name, later, "--scope", "user").exit_code == _defaults.EXIT_SKILL
