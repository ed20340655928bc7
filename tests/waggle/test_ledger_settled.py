"""Settled lookups and windows in the ledger: what they add to, and what they leave alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from waggle.compaction import compact_ledger
from waggle.ledger import (
    Ledger,
    LedgerCheck,
    LedgerEntry,
    Stat,
    Window,
    check_ledger,
    read_ledger,
    read_settled,
    read_windows,
)

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def used(name: str = "a", saved: int = 0, *, held: bool = False, strategy: str = "routes") -> LedgerEntry:
    return LedgerEntry(name, event="used", saved_tokens=saved, held=held, strategy=strategy)


def detour(name: str = "a", spent: int = 0, *, held: bool = False, strategy: str = "routes") -> LedgerEntry:
    return LedgerEntry(name, event="detour", spent_tokens=spent, held=held, strategy=strategy)


def window(session: str | None, calls: int, *, held: bool = False) -> LedgerEntry:
    return LedgerEntry("a", event="window", calls=calls, held=held, session=session, strategy="routes")


# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        pytest.param(
            LedgerEntry("a", at=NOON, event="used", strategy="routes", saved_tokens=900),
            b'{"name":"a","steps":0,"yield":0,"at":"2026-03-01T12:00:00Z","event":"used","strategy":"routes","saved":900}',
            id="used",
        ),
        pytest.param(
            detour(spent=12, held=True),
            b'{"name":"a","steps":0,"yield":0,"event":"detour","strategy":"routes","spent":12,"held":true}',
            id="held-detour",
        ),
        pytest.param(
            window("0123abcd", 3),
            b'{"name":"a","steps":0,"yield":0,"event":"window","strategy":"routes","calls":3,"session":"0123abcd"}',
            id="window",
        ),
        pytest.param(
            LedgerEntry("a", event="used"), b'{"name":"a","steps":0,"yield":0,"event":"used"}', id="all-at-default"
        ),
    ],
)
def test_a_line_begins_as_the_originals_and_leaves_out_what_is_at_its_default(entry: LedgerEntry, line: bytes) -> None:
    assert entry.encode() == line


# --- sums -------------------------------------------------------------------------------------------------------------


def test_what_is_settled_changes_no_count_of_replays(path: Path) -> None:
    replays = [LedgerEntry("a", 2, 100, at=NOON), LedgerEntry("a", 1, fail=True)]
    Ledger(path).append_many([*replays, used(saved=70), used(saved=5), detour(spent=30), window("0123abcd", 2)])
    stat = read_ledger(path)["a"]
    assert (stat.uses, stat.yield_tokens, stat.fails, stat.last_used) == (1, 100, 1, NOON)
    assert (stat.used, stat.saved_tokens, stat.detours, stat.spent_tokens) == (2, 75, 1, 30)
    assert (stat.net_tokens, stat.precision) == (45, 2 / 3)


def test_a_lookup_that_was_held_back_is_neither_use_nor_cost(path: Path) -> None:
    Ledger(path).append_many([used(saved=70, held=True), used(held=True), detour(spent=30, held=True)])
    stat = read_ledger(path)["a"]
    assert stat == Stat(held_used=2, held_detours=1)
    assert (stat.precision, stat.held_precision) == (None, 2 / 3)
    assert Stat().held_precision is None


def test_a_window_only_makes_its_name_known(path: Path) -> None:
    Ledger(path).append_many([window("0123abcd", 3), window("0123abcd", 4, held=True)])
    assert read_ledger(path) == {"a": Stat()}
    assert check_ledger(path) == LedgerCheck(2)


def test_the_latest_time_at_which_anything_was_settled_is_known(path: Path) -> None:
    Ledger(path).append_many(
        [
            LedgerEntry("a", event="detour", at=NOON),
            LedgerEntry("a", event="used", held=True, at=NOON + HOUR),
            LedgerEntry("a", event="used", at=NOON - HOUR),
            LedgerEntry("a", event="window", at=NOON + 2 * HOUR),
            LedgerEntry("a", event="used"),
        ]
    )
    assert read_ledger(path)["a"].last_settled == NOON + HOUR


@pytest.mark.parametrize("event", ["promoted", "demoted"])
def test_what_counts_for_switching_off_begins_anew_when_a_skill_is_learned_or_switched_off(
    path: Path, event: str
) -> None:
    line = f'{{"name":"a","steps":0,"yield":0,"event":"{event}"}}\n'
    Ledger(path).append_many([used(saved=70), detour(spent=30), used("b", 1)])
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
    Ledger(path).append_many([detour(spent=9), used("b", 1)])
    stats = read_ledger(path)
    assert (stats["a"].used, stats["a"].detours, stats["a"].net_tokens) == (1, 2, 31)
    assert (stats["a"].used_since, stats["a"].detours_since, stats["a"].net_since) == (0, 1, -9)
    assert stats["b"].used_since == 2


@pytest.mark.parametrize("at", ['"yesterday"', "12", "null", "{}"])
def test_a_time_that_is_none_spoils_no_settled_record(path: Path, at: str) -> None:
    Ledger(path).append(LedgerEntry("a", event="used", at=NOON))
    with path.open("a", encoding="utf-8") as file:
        file.write(f'{{"name":"a","steps":0,"yield":0,"at":{at},"event":"used","saved":1}}\n')
        file.write(f'{{"name":"a","event":"detour","at":{at}}}\n')
    stat = read_ledger(path)["a"]
    assert (stat.used, stat.saved_tokens, stat.detours, stat.last_settled) == (2, 1, 1, NOON)
    assert check_ledger(path) == LedgerCheck(3)


@pytest.mark.case("HC-01")
def test_tokens_beyond_64_bits_are_added_exactly(path: Path) -> None:
    numbers = [2**64, 10**40, 2**63, 7]
    Ledger(path).append_many([used(saved=number) for number in numbers] + [detour(spent=number) for number in numbers])
    stat = read_ledger(path)["a"]
    assert stat.saved_tokens == stat.spent_tokens == sum(numbers)


# --- by strategy, and windows -----------------------------------------------------------------------------------------


def test_one_name_that_two_strategies_replay_is_counted_for_each(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    Ledger(path).append_many([used(saved=5), detour(strategy="flows"), LedgerEntry("a", 1, 100), window("0123abcd", 1)])
    Ledger(other).append_many([used(saved=2), LedgerEntry("a", event="promoted"), LedgerEntry("c", event="detour")])
    assert read_settled(path, other) == {
        ("routes", "a"): Stat(used=2, saved_tokens=7, used_since=2, net_since=7),
        ("flows", "a"): Stat(detours=1, detours_since=1),
        (None, "c"): Stat(detours=1, detours_since=1),
    }
    assert read_settled(tmp_path / "missing.jsonl") == {}


def test_windows_come_back_in_order_and_bad_lines_hide_none(path: Path, tmp_path: Path) -> None:
    Ledger(path).append_many([window("0123abcd", 3), used(), window(None, 0, held=True)])
    with path.open("ab") as file:
        file.write(b'{"name":"a","event":"window","calls":"2"}\n{nonsense\n')
        file.write(b'{"name":"a","event":"window","session":7,"held":1,"calls":2}\n{"name":"a","event":"wind')
    assert read_windows(path, tmp_path / "missing.jsonl") == [
        Window("0123abcd", held=False, calls=3),
        Window("", held=True, calls=0),
        Window("", held=True, calls=2),
    ]


# --- compaction -------------------------------------------------------------------------------------------------------


def test_compaction_keeps_what_was_settled_and_the_windows_of_the_names_that_stay(path: Path) -> None:
    kept = [used(saved=3), detour(spent=2**64), window("0123abcd", 3, held=True)]
    gone = [used("gone"), detour("gone"), LedgerEntry("gone", event="window", session="0123abcd")]
    Ledger(path).append_many([*kept, *gone])
    assert compact_ledger(path, {"a"}) == 3
    assert path.read_bytes() == b"".join(entry.encode() + b"\n" for entry in kept)


def test_compaction_drops_a_settled_line_whose_number_is_none(path: Path) -> None:
    Ledger(path).append(used())
    with path.open("ab") as file:
        file.write(b'{"name":"a","steps":0,"yield":0,"event":"used","saved":"3"}\n')
    assert compact_ledger(path, {"a"}) == 1
    assert path.read_bytes() == used().encode() + b"\n"
