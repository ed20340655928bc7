"""Skills on the command line: listed, shown, copied to where an agent looks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waggle.cli.support import (
    BAD,
    LIST,
    LOAD,
    NOW,
    Home,
    ran,
    ran_json,
    run,
    tidy,
)
from waggle import (
    Ledger,
    LedgerEntry,
    Route,
    _defaults,
)
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from tests.conftest import Golden

# --- ls -------------------------------------------------------------------------------------------------------


def settle(home: Home) -> None:
    """One skill that pays, one that costs, one of the user's that was used for nothing."""
    made = [LedgerEntry(LOAD.name, event="used", saved_tokens=20_900)] * 4
    made += [LedgerEntry(LOAD.name, event="detour", spent_tokens=310)]
    made += [LedgerEntry(LIST.name, event="detour", spent_tokens=45)] * 3
    made += [LedgerEntry(LIST.name, event=event, held=True) for event in ("used", "used", "detour")]
    Ledger(home.project.ledger_path).append_many(made)
    Ledger(home.user.ledger_path).append(LedgerEntry(LIST.name, event="used", strategy="routes"))


def test_ls_ranks_the_skills_of_both_stores_by_what_they_saved_then_by_use_then_by_name(
    full: Home, golden: Golden
) -> None:
    settle(full)
    full.project.disable(BAD.name, "failed 3 times and never succeeded", NOW)
    golden.check("cli/ls.txt", ran("ls"))
    skills = ran_json("ls")["skills"]
    keys = [(each["tokens_spent"] - each["tokens_saved"], -each["used"], each["name"]) for each in skills]
    assert keys == sorted(keys)
    assert [each["name"] for each in skills[:2]] == [LOAD.name, LIST.name]
    assert (skills[-1]["name"], skills[-1]["scope"], skills[-1]["detours"]) == (LIST.name, "project", 3)
    assert (skills[-1]["held_used"], skills[-1]["held_detours"]) == (2, 1)
    assert (skills[0]["uses"], skills[0]["yield"], skills[0]["seen"], skills[0]["sessions"]) == (2, 1270, 7, 2)
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


def test_show_says_what_was_settled_and_what_was_held_back(full: Home) -> None:
    settle(full)
    text = ran("show", LOAD.name)
    assert text.endswith("\n  lookups used 4, detours 1, saved 83,600 tokens, spent 310\n")
    assert ran("show", LIST.name).endswith(
        "\n  lookups used 0, detours 3, saved 0 tokens, spent 135\n  held back: 2 would have been used, 1 not\n"
    )
    ledger = ran_json("show", LOAD.name)["ledger"]
    assert (ledger["used"], ledger["tokens_saved"], ledger["tokens_spent"]) == (4, 83_600, 310)


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
