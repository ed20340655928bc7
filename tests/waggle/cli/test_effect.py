"""``waggle stats``: what folds saved, from whose ledgers, and what is said where nothing is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.waggle.cli.support import LIST, LOAD, Home, ran, ran_json, run
from waggle import Ledger, LedgerEntry, _defaults

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Golden


def windows(sessions: int, *, folded: int, held: int) -> list[LedgerEntry]:
    return [
        LedgerEntry(LOAD.name, event="window", held=kind, calls=calls + number % 2, session=f"{number:08x}")
        for number in range(sessions)
        for kind, calls in ((False, folded), (True, held))
    ]


def settled(name: str, *, used: int = 0, detours: int = 0, held: bool = False) -> list[LedgerEntry]:
    saved = LedgerEntry(name, event="used", saved_tokens=2_500, strategy="routes", held=held)
    spent = LedgerEntry(name, event="detour", spent_tokens=300, strategy="routes", held=held)
    return [saved] * used + [spent] * detours


@pytest.fixture
def measured(home: Home) -> Home:
    """A project whose folds save two calls a time, and a user whose skill is never asked for."""
    Ledger(home.project.ledger_path).append_many(
        [
            *windows(8, folded=1, held=3),
            *settled(LOAD.name, used=6, detours=2),
            *settled(LOAD.name, used=3, detours=1, held=True),
            LedgerEntry("list_issues", event="used", saved_tokens=100, strategy="flows"),
        ]
    )
    Ledger(home.user.ledger_path).append_many(
        [*settled(LIST.name, detours=4), LedgerEntry(LIST.name, event="window", calls=2, session="00000000")]
    )
    return home


def test_stats_shows_the_difference_with_its_interval_and_the_totals(measured: Home, golden: Golden) -> None:
    text = ran("stats")
    golden.check("cli/stats.txt", text)
    assert text == ran("stats")


def test_stats_fits_a_terminal_of_80_columns(measured: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waggle._render._width", lambda: 80)
    assert max(map(len, ran("stats").splitlines())) <= 80


def test_stats_gives_programs_every_figure(measured: Home) -> None:
    found = ran_json("stats")
    assert found["effect"]["held_back"] == {"sessions": 8, "windows": 8, "calls": 28, "mean_calls": 3.5}
    assert found["effect"]["with_folds"] == {"sessions": 8, "windows": 9, "calls": 14, "mean_calls": 14 / 9}
    assert found["effect"]["saved"] == 3.5 - 14 / 9
    assert 0 < found["effect"]["saved_low"] <= found["effect"]["saved"] <= found["effect"]["saved_high"]
    assert found["effect"]["sentence"].startswith("Folds save 1.9 calls a time (")
    assert [(each["strategy"], each["used"], each["detours"]) for each in found["strategies"]] == [
        ("routes", 6, 6),
        ("flows", 1, 0),
    ]
    assert [each["name"] for each in found["skills"]] == [LOAD.name, "list_issues", LIST.name]
    assert found["skills"][0] == {
        "strategy": "routes",
        "name": LOAD.name,
        "used": 6,
        "detours": 2,
        "tokens_saved": 15_000,
        "tokens_spent": 600,
        "held_used": 3,
        "held_detours": 1,
        "precision": 0.75,
        "held_precision": 0.75,
    }
    assert found["skills"][1]["held_precision"] is None


def test_stats_can_be_asked_for_one_store_or_one_ledger(measured: Home, tmp_path: Path) -> None:
    def names(*args: object) -> list[str]:
        return [each["name"] for each in ran_json("stats", *args)["skills"]]

    assert names("--user") == [LIST.name]
    assert names("--scope", "project") == [LOAD.name, "list_issues"]
    Ledger(tmp_path / "other.jsonl").append_many(settled("elsewhere", used=1))
    assert names(tmp_path / "other.jsonl") == ["elsewhere"]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        pytest.param([], "Nothing to compare yet: no lookup was due; to hold back a fifth", id="no ledger"),
        pytest.param(
            windows(3, folded=1, held=1)[::2], "Nothing to compare yet: no lookup was held back; to", id="none held"
        ),
        pytest.param(
            windows(3, folded=1, held=1)[1::2],
            "Nothing to compare yet: every lookup was held back",
            id="all held",
        ),
        pytest.param(windows(3, folded=1, held=9), "Too few sessions for an interval: 3 with folds and 3", id="few"),
        pytest.param(windows(20, folded=2, held=2), "No effect shown: the difference is 0.0 calls (", id="no effect"),
        pytest.param(windows(20, folded=4, held=1), "Folds cost 3.0 calls a time (", id="cost"),
    ],
)
def test_stats_claims_no_more_than_the_windows_show(home: Home, entries: list[LedgerEntry], said: str) -> None:
    Ledger(home.project.ledger_path).append_many(entries)
    assert said in ran("stats")
    document = ran_json("stats")["effect"]
    assert said in document["sentence"]
    assert (document["saved_low"] is None) is not said.startswith(("No effect", "Folds"))


@pytest.mark.case("HC-04")
def test_lines_that_are_no_records_hide_nothing(measured: Home) -> None:
    before = ran("stats")
    with measured.project.ledger_path.open("ab") as file:
        file.write(b'{nonsense\n{"name":"a","event":"window","calls":"many"}\n{"name":"a","event":"used","sa')
    assert ran("stats") == before


def test_a_ledger_that_is_not_there_or_no_file_is_one_line(home: Home, tmp_path: Path) -> None:
    missing = run("stats", tmp_path / "missing.jsonl")
    assert (missing.exit_code, missing.stdout) == (_defaults.EXIT_USAGE, "")
    assert "missing.jsonl" in missing.stderr
    home.project.ledger_path.mkdir(parents=True)
    result = run("stats")
    assert (result.exit_code, result.stdout) == (_defaults.EXIT_STORE, "")
    assert len(result.stderr.splitlines()) == 1
    assert "ledger.jsonl" in result.stderr
