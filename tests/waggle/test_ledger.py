"""The ledger: what the original pins, and that no line is lost to a crash, a full disk, a neighbour or a bad line."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import streams
from tests import strategies
from tests.conftest import ROOT
from tests.waggle.ledger_support import HOUR, NOON, records, relaxed
from waggle._defaults import LEDGER_LINE_BYTES
from waggle.compaction import compact_ledger
from waggle.errors import StoreUnavailable
from waggle.jsonvalue import dumps
from waggle.ledger import Ledger, LedgerCheck, LedgerEntry, Stat, check_ledger, read_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from waggle.jsonvalue import JsonObject
    from waggle.ledger import Event


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


# --- what the original's tests pin ------------------------------------------------------------------------------------


def test_uses_and_yield_are_summed_per_name(path: Path) -> None:
    ledger = Ledger(path)
    ledger.append(LedgerEntry("b", 2, 100))
    ledger.append_many([LedgerEntry("a", 1, 5), LedgerEntry("b", 2, 50)])
    assert list(read_ledger(path).items()) == [("b", Stat(uses=2, yield_tokens=150)), ("a", Stat(1, 5))]


def test_uses_and_failures_are_kept_apart(path: Path) -> None:
    Ledger(path).append_many(
        [LedgerEntry("a", 1, 5), LedgerEntry("a", 1, 7, fail=True), LedgerEntry("a", 1, fail=True)]
    )
    assert read_ledger(path) == {"a": Stat(uses=1, yield_tokens=5, fails=2)}


def test_a_ledger_that_is_missing_is_empty_and_stays_missing(path: Path) -> None:
    assert read_ledger(path) == {}
    assert check_ledger(path) == LedgerCheck(0)
    assert compact_ledger(path, {"a"}) == 0
    assert list(path.parent.iterdir()) == []


def test_compaction_drops_the_names_that_are_gone_and_keeps_the_numbers_of_the_others(path: Path) -> None:
    Ledger(path).append_many([LedgerEntry("a", 1, 5), LedgerEntry("gone", 1, 5), LedgerEntry("a", 1, fail=True)])
    before = path.read_bytes()
    assert compact_ledger(path, ["a"]) == 1
    assert read_ledger(path) == {"a": Stat(1, 5, 1)}
    assert path.read_bytes() == b"".join(line for line in before.splitlines(keepends=True) if b"gone" not in line)


def test_a_line_is_written_as_the_original_writes_it(path: Path) -> None:
    Ledger(path).append_many([LedgerEntry("wag_1", 2, 30), LedgerEntry("wag_1", 2, fail=True)])
    assert path.read_bytes() == (
        b'{"name":"wag_1","steps":2,"yield":30}\n{"name":"wag_1","steps":2,"yield":0,"fail":true}\n'
    )


def test_the_original_s_ledger_adds_up_to_its_own_sums(path: Path) -> None:
    """100,000 lines of 500 names, and what the original counted in them."""
    path.write_bytes(b"".join(dumps(cast("JsonObject", record)) + b"\n" for record in streams.ledger(100_000)))
    golden = json.loads((ROOT / "tests" / "golden" / "original" / "ledger_stats.json").read_bytes())
    stats = read_ledger(path)
    assert {
        name: {"Uses": stat.uses, "Yield": stat.yield_tokens, "Fails": stat.fails} for name, stat in stats.items()
    } == golden
    assert check_ledger(path) == LedgerCheck(100_000)


# --- our own records --------------------------------------------------------------------------------------------------


def test_times_and_events_follow_the_original_s_keys(path: Path) -> None:
    late = NOON.astimezone(timezone(timedelta(hours=-5))) + timedelta(microseconds=7)
    entry = LedgerEntry("a", 1, 2, fail=True, at=late, event="demoted", strategy="routes")
    Ledger(path).append(entry)
    assert path.read_bytes() == (
        b'{"name":"a","steps":1,"yield":2,"fail":true,"at":"2026-03-01T12:00:00Z","event":"demoted","strategy":"routes"}\n'
    )


def test_the_latest_time_of_each_kind_is_known_whatever_the_order_of_the_lines(path: Path) -> None:
    Ledger(path).append_many(
        [
            LedgerEntry("a", at=NOON + HOUR),
            LedgerEntry("a", at=NOON),
            LedgerEntry("a", fail=True, at=NOON + 3 * HOUR),
            LedgerEntry("a", fail=True, at=NOON + 2 * HOUR),
            LedgerEntry("a", event="promoted", at=NOON - HOUR),
            LedgerEntry("a", event="demoted", at=NOON - 3 * HOUR),
            LedgerEntry("a", event="demoted", at=NOON - 2 * HOUR),
            LedgerEntry("a"),
        ]
    )
    assert read_ledger(path) == {
        "a": Stat(3, 0, 2, NOON + HOUR, NOON + 3 * HOUR, last_promoted=NOON - HOUR, last_demoted=NOON - 2 * HOUR)
    }


@pytest.mark.parametrize("at", ['"yesterday"', '"9999"', "12", "null", '"2026-03-01"', "{}"])
def test_a_time_that_is_none_spoils_neither_its_record_nor_the_known_times(path: Path, at: str) -> None:
    Ledger(path).append(LedgerEntry("a", at=NOON))
    with path.open("a", encoding="utf-8") as file:
        file.write(f'{{"name":"a","yield":1,"at":{at}}}\n{{"name":"a","steps":1,"yield":1,"at":{at}}}\n')
    stat = read_ledger(path)["a"]
    assert (stat.uses, stat.yield_tokens) == (3, 2)
    assert stat.last_used in (NOON, None) if at == '"9999"' else stat.last_used == NOON
    assert check_ledger(path) == LedgerCheck(3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LedgerEntry(""),
        lambda: LedgerEntry("a", -1),
        lambda: LedgerEntry("a", yield_tokens=-1),
        lambda: LedgerEntry("a", at=datetime(2026, 3, 1)),  # noqa: DTZ001 - the time without a zone is what is refused
        lambda: LedgerEntry("a", event=cast("Event", "unknown")),
        lambda: LedgerEntry("a", event="used", saved_tokens=-1),
        lambda: LedgerEntry("a", event="detour", spent_tokens=-1),
        lambda: LedgerEntry("a", event="window", calls=-1),
        lambda: LedgerEntry("a", event="window", session="main"),
        lambda: LedgerEntry("a", event="window", session="0123456789"),
    ],
    ids=["no name", "steps", "yield", "no time zone", "event", "saved", "spent", "calls", "no hex", "too long"],
)
def test_an_entry_that_would_not_read_back_cannot_be_made(make: Callable[[], LedgerEntry]) -> None:
    with pytest.raises(ValueError, match=r"."):
        make()


def entries() -> st.SearchStrategy[LedgerEntry]:
    """Records of every event, the settled ones with all that they carry."""
    amounts = st.integers(0, 10**6) | st.sampled_from([2**63, 2**64, 10**40])
    settled = st.builds(
        LedgerEntry,
        name=st.sampled_from(["find-a-file", "wag_00000000ff"]),
        at=st.none() | strategies.times(),
        event=st.sampled_from(["used", "detour", "window"]),
        strategy=st.none() | st.sampled_from(["routes", "flows"]),
        saved_tokens=amounts,
        spent_tokens=amounts,
        held=st.booleans(),
        calls=amounts,
        session=st.none() | st.sampled_from(["0123abcd", "ffffffff"]),
    )
    return strategies.ledger_entries() | settled


@relaxed
@given(st.lists(entries(), max_size=8))
def test_what_is_appended_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, entries: list[LedgerEntry]) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    Ledger(path).append_many(entries)
    assert read_ledger(path) == expected(entries)
    assert check_ledger(path) == LedgerCheck(len(entries))
    if entries:
        assert [record["name"] for record in records(path)] == [entry.name for entry in entries]


def expected(entries: list[LedgerEntry]) -> dict[str, Stat]:
    """The sums again, as plainly as they can be written down."""

    def latest(chosen: list[LedgerEntry]) -> datetime | None:
        return max((entry.at for entry in chosen if entry.at), default=None)

    def settled(chosen: list[LedgerEntry]) -> dict[str, int]:
        made = [entry for entry in chosen if not entry.held]
        used = [entry.saved_tokens for entry in made if entry.event == "used"]
        detours = [entry.spent_tokens for entry in made if entry.event == "detour"]
        return {"used": len(used), "saved": sum(used), "detours": len(detours), "spent": sum(detours)}

    found = {}
    for name in dict.fromkeys(entry.name for entry in entries):
        own = [entry for entry in entries if entry.name == name]
        replays = [entry for entry in own if entry.event == "replayed"]
        uses = [entry for entry in replays if not entry.fail]
        fails = [entry for entry in replays if entry.fail]
        turns = [at for at, entry in enumerate(own) if entry.event in ("promoted", "demoted")]
        counts, since = settled(own), settled(own[turns[-1] + 1 if turns else 0 :])
        found[name] = Stat(
            len(uses),
            sum(entry.yield_tokens for entry in uses),
            len(fails),
            latest(uses),
            latest(fails),
            latest([entry for entry in own if entry.event == "promoted"]),
            latest([entry for entry in own if entry.event == "demoted"]),
            used=counts["used"],
            detours=counts["detours"],
            saved_tokens=counts["saved"],
            spent_tokens=counts["spent"],
            held_used=sum(entry.held and entry.event == "used" for entry in own),
            held_detours=sum(entry.held and entry.event == "detour" for entry in own),
            last_settled=latest([entry for entry in own if entry.event in ("used", "detour")]),
            used_since=since["used"],
            detours_since=since["detours"],
            net_since=since["saved"] - since["spent"],
        )
    return found


@pytest.mark.case("HC-01")
def test_integers_beyond_64_bits_are_added_exactly(path: Path) -> None:
    numbers = [2**64, 2**64 + 1, 10**40, 2**64 - 1, 2**63]
    Ledger(path).append_many([LedgerEntry("a", 1, number) for number in numbers])
    assert read_ledger(path) == {"a": Stat(5, sum(numbers))}


@pytest.mark.case("HC-02")
@pytest.mark.parametrize("name", ["caf\udce9", "\udc9d", "\U0001f600", "日本→"])
def test_a_name_of_any_characters_comes_back_and_the_file_is_valid_utf_8(path: Path, name: str) -> None:
    Ledger(path).append_many([LedgerEntry(name, 1, 1), LedgerEntry(name, 1, 1)])
    path.read_bytes().decode("utf-8")
    assert read_ledger(path) == {name: Stat(2, 2)}
    assert compact_ledger(path, {name}) == 0


@pytest.mark.case("HC-03")
def test_line_separators_in_a_name_do_not_part_its_line(path: Path) -> None:
    name = "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng"
    Ledger(path).append(LedgerEntry(name, 1, 1))
    assert path.read_bytes().count(b"\n") == 1
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write('{"name":"x\u2028y","yield":1}\n')
    assert read_ledger(path) == {name: Stat(1, 1), "x\u2028y": Stat(1, 1)}


# --- lines that are no records ----------------------------------------------------------------------------------------

BAD_LINES = {
    "not JSON": b"{nonsense",
    "not UTF-8": b'{"name":"\xff","steps":1,"yield":1}',
    "blank": b"",
    "spaces": b"   ",
    "a number": b"12",
    "a list": b'["name"]',
    "a text": b'"name"',
    "null": b"null",
    "no name": b'{"steps":1,"yield":1}',
    "an empty name": b'{"name":"","steps":1,"yield":1}',
    "a name that is a list": b'{"name":["a"],"steps":1,"yield":1}',
    "a yield that is a text": b'{"name":"a","steps":1,"yield":"1"}',
    "a yield with a fraction": b'{"name":"a","steps":1,"yield":1.5}',
    "a yield that is true": b'{"name":"a","steps":1,"yield":true}',
    "an unknown event": b'{"name":"a","steps":1,"yield":1,"event":"pondered"}',
    "an event that is a list": b'{"name":"a","steps":1,"yield":1,"event":[]}',
    "saved tokens that are a text": b'{"name":"a","steps":0,"yield":0,"event":"used","saved":"1"}',
    "spent tokens with a fraction": b'{"name":"a","steps":0,"yield":0,"event":"detour","spent":1.5}',
    "calls that are true": b'{"name":"a","steps":0,"yield":0,"event":"window","calls":true}',
    "too long": b'{"name":"a","steps":1,"yield":1,"pad":"' + b"x" * LEDGER_LINE_BYTES + b'"}',
    "nested without end": b'{"name":"a","x":' + b"[" * 100_000,
}


@pytest.mark.case("HC-04")
@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_is_no_record_is_reported_by_its_number_and_hides_no_other(path: Path, line: bytes) -> None:
    good = LedgerEntry("a", 1, 10).encode()
    path.write_bytes(b"\n".join([good, line, good, line, good]) + b"\n")
    assert read_ledger(path) == {"a": Stat(3, 30)}
    check = check_ledger(path)
    assert check == LedgerCheck(3, bad_lines=(2, 4))
    assert check.skipped == 2


@pytest.mark.case("HC-04")
def test_at_every_length_of_a_torn_last_line_the_others_are_read_and_the_fragment_is_located(path: Path) -> None:
    lines = [LedgerEntry(name, 1, 10, at=NOON).encode() + b"\n" for name in ("a", "b", "c")]
    whole = b"".join(lines)
    start = len(whole) - len(lines[2])
    for cut in range(start, len(whole) + 1):
        path.write_bytes(whole[:cut])
        complete = cut >= len(whole) - 1  # without its line end, a record is still one
        torn = start < cut and not complete
        assert list(read_ledger(path)) == (["a", "b", "c"] if complete else ["a", "b"])
        check = check_ledger(path)
        assert check == LedgerCheck(2 + complete, torn_at=start if torn else None)
        assert check.skipped == torn


@pytest.mark.case("HC-04")
def test_what_is_appended_after_a_torn_line_is_read_and_the_fragment_becomes_a_bad_line(path: Path) -> None:
    path.write_bytes(LedgerEntry("a", 1, 1).encode() + b'\n{"name":"to')
    Ledger(path).append(LedgerEntry("b", 1, 1))
    assert read_ledger(path) == {"a": Stat(1, 1), "b": Stat(1, 1)}
    assert check_ledger(path) == LedgerCheck(2, bad_lines=(2,))
    assert compact_ledger(path, {"a", "b"}) == 1
    assert check_ledger(path) == LedgerCheck(2)


@pytest.mark.case("HC-04")
@relaxed
@given(st.lists(entries(), min_size=1, max_size=5), st.data())
def test_a_ledger_cut_anywhere_reads_as_its_first_records(
    tmp_path_factory: pytest.TempPathFactory, entries: list[LedgerEntry], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "ledger.jsonl"
    Ledger(path).append_many(entries)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    count = whole[:cut].count(b"\n") + (whole[cut : cut + 1] == b"\n")
    assert read_ledger(path) == expected(entries[:count])
    assert check_ledger(path).records == count


@relaxed
@given(st.lists(st.binary(max_size=30) | st.sampled_from(list(BAD_LINES.values())[:-2]), max_size=6))
def test_no_bytes_at_all_make_reading_raise(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("noise") / "ledger.jsonl"
    path.write_bytes(b"\n".join([*lines, LedgerEntry("last", 1, 1).encode()]))
    assert read_ledger(path)["last"] == Stat(1, 1)
    check = check_ledger(path)
    assert check.records + check.skipped == path.read_bytes().count(b"\n") + 1


# --- compaction -----------------------------------------------------------------------------------------------------


def test_compaction_keeps_what_a_flow_did_since_a_flow_is_in_no_store(path: Path) -> None:
    for name, strategy in (("a", "routes"), ("gone", "reach"), ("shop: find_user", "flow"), ("older", None)):
        Ledger(path).append(LedgerEntry(name, 1, 5, strategy=strategy))
        Ledger(path).append(LedgerEntry(name, event="detour", strategy=strategy))
    assert compact_ledger(path, {"a"}) == 4
    assert list(read_ledger(path)) == ["a", "shop: find_user"]


def test_compaction_keeps_lines_byte_for_byte_and_events_that_a_later_version_knows(path: Path) -> None:
    kept = [
        b'{ "yield": 1, "name": "a", "mood": "good" }\r',
        b'{"name":"a","event":"pondered","about":["b"]}',
        b'{"name":"a","steps":1,"yield":18446744073709551617}',
        b'{"name":"a"}',
    ]
    path.write_bytes(b"\n".join([kept[0], b"junk", kept[1], b"", b'{"name":"b"}', kept[2], kept[3]]))
    assert compact_ledger(path, {"a", "c"}) == 3
    assert path.read_bytes() == b"".join(line + b"\n" for line in kept)


def test_compaction_that_drops_nothing_writes_nothing(path: Path) -> None:
    Ledger(path).append(LedgerEntry("a"))
    before = path.stat()
    assert compact_ledger(path, {"a"}) == 0
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_compaction_keeps_the_file_s_mode(path: Path) -> None:
    Ledger(path).append_many([LedgerEntry("a"), LedgerEntry("b")])
    path.chmod(0o600)
    compact_ledger(path, {"a"})
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_names_to_keep_can_be_asked_for_under_the_lock(path: Path) -> None:
    Ledger(path).append_many([LedgerEntry("a"), LedgerEntry("b")])
    asked = []

    def keep() -> set[str]:
        asked.append(path.with_name("ledger.jsonl.lock").exists())
        return {"b"}

    assert compact_ledger(path, keep) == 1
    assert (asked, list(read_ledger(path))) == ([True], ["b"])


def test_a_full_disk_costs_neither_the_ledger_nor_a_later_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(path)
    ledger.append_many([LedgerEntry("a"), LedgerEntry("b")])
    before = path.read_bytes()

    def write(descriptor: int, data: memoryview) -> int:
        if len(data) > 9:
            return real(descriptor, data[:9])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        for change in (lambda: ledger.append(LedgerEntry("c")), lambda: compact_ledger(path, {"a"})):
            with pytest.raises(StoreUnavailable, match="space"):
                change()
            assert path.read_bytes() == before
    ledger.append(LedgerEntry("c"))
    assert list(read_ledger(path)) == ["a", "b", "c"]
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["ledger.jsonl", "ledger.jsonl.lock"]


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.case("HC-20")
@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="C"),
        pytest.param({"PYTHONIOENCODING": "cp1252"}, id="cp1252"),
    ],
)
def test_the_same_bytes_are_written_and_read_under_every_locale(
    path: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    code = (
        "import sys; from pathlib import Path; from waggle.ledger import *; path = Path(sys.argv[1]);"
        r"name = '\u2192\u00e9\u65e5\u672c'; Ledger(path).append(LedgerEntry(name, 1, 1));"
        "print(read_ledger(path)[name].uses, check_ledger(path).records)"
    )
    other = tmp_path / "é日" / "ledger.jsonl"
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "error", "-c", code, str(other)],
        env={**os.environ, **variables},
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.split() == [b"1", b"1"]
    Ledger(path).append(LedgerEntry("→é日本", 1, 1))
    assert other.read_bytes() == path.read_bytes()
