"""Counting what is read after which site: the counts add, and lean on what is known."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waggle.reach.support import count, edit, grep, read, sh
from waggle import jsonvalue
from waggle._defaults import REACH_PRIOR
from waggle.reach.counts import Economy, ReachCounts, ToolSums, worth
from waggle.reach.table import ReachTable, counts_json, forget_rare, merge_into, parse_counts, read_counts
from waggle.reach.targets import AFTER, BEFORE, CallTarget, LinesTarget, Source, read_target
from waggle.values import Place

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonValue

Session = list[tuple[tuple[str, dict[str, "JsonValue"]], str]]

HIT = "src/a.py:100: x"
SEARCH = "search | lines of one file"


def looked(name: str, offset: int = 90, limit: int = 40) -> Session:
    """A search, and a read around its first line, in a session of its own."""
    return [(grep(name), HIT), (read("/repo/src/a.py", offset, limit), "…\n" * limit), (edit(), "")]


def around(counts: ReachCounts) -> str:
    return next(key for key in counts.reached if '"around":"line"' in key and '"nth":0' in key)


def test_a_read_around_a_printed_line_is_counted_with_the_range_that_holds_it() -> None:
    (counts,) = count(looked("x"))
    target = around(counts)
    assert read_target(target) == LinesTarget("Read", "file_path", 0, "", "line", 0)
    assert counts.reached[target][SEARCH] == Counter({(BEFORE.index(10), AFTER.index(30)): 1})
    assert counts.seen[SEARCH] == 1
    assert counts.sessions[target, SEARCH] == 1


def test_a_read_after_a_write_is_reached_from_nothing_before_it() -> None:
    (counts,) = count([(grep("x"), HIT), (edit(), ""), (read("/repo/src/a.py", 90, 40), "")])
    assert not any('"around":"line"' in key for key in counts.reached)


def test_one_offer_is_counted_once_between_two_writes() -> None:
    (counts,) = count([(grep("x"), HIT), (grep("y"), HIT), *looked("z")])
    assert counts.seen[f"{SEARCH} > line 0 of 0"] == 1
    assert counts.seen[SEARCH] == 3


def test_one_session_given_ten_times_is_one_session() -> None:
    total = ReachCounts()
    for counts in count(*[looked("x")] * 10):
        total.add(counts)
    (once,) = count(looked("x"))
    assert counts_json(total) == counts_json(once)


SESSIONS = st.lists(
    st.lists(
        st.sampled_from(
            [
                (grep("x"), HIT),
                (grep("def y"), "src/b.py:5: def y\nsrc/a.py:9: y"),
                (read("/repo/src/a.py", 90, 40), "a\n" * 40),
                (read("/repo/src/b.py"), "b\n" * 90),
                (sh("grep -n x src/a.py"), "7:x"),
                (sh("sed -n 1,40p src/a.py"), "x\n" * 40),
                (edit(), ""),
                (("get_user", {"id": "u1"}), '{"orders": ["o1", "o2"]}'),
                (("get_order", {"id": "o1"}), "{}"),
            ]
        ),
        max_size=8,
    ),
    max_size=5,
)


@given(SESSIONS, st.randoms())
def test_counts_of_parts_add_up_to_the_counts_of_the_whole_in_any_order(sessions: list[Session], order: object) -> None:
    parts = count(*sessions)
    one, other, halves = ReachCounts(), ReachCounts(), [ReachCounts(), ReachCounts()]
    for part in parts:
        one.add(part)
    order.shuffle(parts)  # type: ignore[attr-defined] # a Random
    for number, part in enumerate(parts):
        other.add(part)
        halves[number % 2].add(part)
    # Halves may share a session that occurs twice; then the second half adds nothing of it, so compare without those.
    if len({digest for part in parts for digest in part.digests}) == sum(len(part.digests) for part in parts):
        halves[0].add(halves[1])
        assert _sorted(halves[0]) == _sorted(one)
    assert _sorted(one) == _sorted(other)


def _sorted(counts: ReachCounts) -> bytes:
    told = counts_json(counts)
    told["digests"] = [*sorted(counts.digests)]
    return jsonvalue.canonical(told)


@given(SESSIONS)
def test_counts_survive_their_file(sessions: list[Session]) -> None:
    total = ReachCounts()
    for part in count(*sessions):
        total.add(part)
    again = parse_counts(jsonvalue.loads(jsonvalue.dumps(counts_json(total))))
    assert counts_json(again) == counts_json(total)


@pytest.mark.parametrize("wrong", [[], {}, {"waggle_counts": 9}, {"waggle_counts": 1, "seen": {"a": -1}}, "x", None])
def test_what_are_no_counts_is_refused(wrong: JsonValue) -> None:
    with pytest.raises(ValueError, match=r"counts|field|count"):
        parse_counts(wrong)


def test_a_chance_leans_on_the_coarser_level_until_the_finer_one_has_counts_of_its_own() -> None:
    counts, target = ReachCounts(), CallTarget("t", "", (("id", Source(Place("args", ("id",)))),)).key
    counts.seen.update({"a | ": 20, "a |  | b": 2})
    counts.reached[target] = {"a | ": Counter({(-1, -1): 10}), "a |  | b": Counter({(-1, -1): 2})}
    coarse = 10 / (20 + REACH_PRIOR)
    assert counts.chance(target, ["a | "], (-1, -1)) == pytest.approx(coarse)
    fine = (2 + REACH_PRIOR * coarse) / (2 + REACH_PRIOR)
    assert counts.chance(target, ["a | ", "a |  | b"], (-1, -1)) == pytest.approx(fine)
    assert counts.chance(target, ["a | ", "a |  | never seen"], (-1, -1)) == pytest.approx(coarse)
    assert counts.chance(target, ["unknown"], (-1, -1)) == 0.0


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.05, 0.95))
def test_a_wider_range_is_never_less_likely(before: int, extra: int, threshold: float) -> None:
    total = ReachCounts()
    for number, part in enumerate(count(*(looked(f"n{n}", 100 - before, before + extra + 1) for n in range(6)))):
        assert number < 6
        total.add(part)
    target = around(total) if any('"around":"line"' in key for key in total.reached) else None
    if target is None:
        return
    levels = [SEARCH]
    grid = [[total.chance(target, levels, (b, a)) for a in range(len(AFTER))] for b in range(len(BEFORE))]
    assert all(x <= y for row in grid for x, y in pairwise(row))
    assert all(x <= y for column in zip(*grid, strict=True) for x, y in pairwise(column))
    best = total.best(target, levels, threshold)
    assert best.chance == pytest.approx(
        total.chance(target, levels, (BEFORE.index(best.before), AFTER.index(best.after)))
    )
    assert (best.worth > 0) is (max(max(row) for row in grid) >= threshold or best.worth > 0)


def test_the_range_is_learned_from_the_agents_own_reads() -> None:
    narrow, wide = ReachCounts(), ReachCounts()
    for part in count(*(looked(f"n{n}", 95, 20) for n in range(12))):
        narrow.add(part)
    for part in count(*(looked(f"n{n}", 60, 140) for n in range(12))):
        wide.add(part)
    one, other = (each.best(around(each), [SEARCH], 0.3) for each in (narrow, wide))
    assert (one.before, one.after) == (5, 20)
    assert (other.before, other.after) == (40, 100)
    assert one.worth > 0
    assert other.worth > 0


def test_by_tokens_a_lookup_pays_exactly_from_delta_over_beta_plus_delta_on() -> None:
    sums = ToolSums(parts=1, part_lines=50, chars=50 * 40)
    economy = Economy(context=6000, turns_left=10)
    delta = 50 * 10 * 10
    star = delta / (6000 + delta)
    assert worth(star + 0.001, 50, sums, 0.0, economy) > 0
    assert worth(star - 0.001, 50, sums, 0.0, economy) < 0
    assert worth(0.5, 50, sums, 0.0, Economy(0, 10)) < 0


def test_the_same_threshold_counts_for_every_length_and_the_shorter_is_worth_more() -> None:
    sums = ToolSums(parts=1, part_lines=50, chars=2000)
    assert worth(0.31, 50, sums, 0.3) > worth(0.31, 100, sums, 0.3) > 0
    assert worth(0.29, 1, sums, 0.3) < 0


# --- on disk ----------------------------------------------------------------------------------------------------------


def test_counts_are_merged_on_disk_and_a_file_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    first, second = count(looked("x"), looked("y", 80, 100))
    merge_into(path, first)
    merge_into(path, second)
    merge_into(path, first)
    total = ReachCounts()
    total.add(first)
    total.add(second)
    assert counts_json(read_counts(path)) == counts_json(total)
    path.write_text("[1]")
    with pytest.raises(ValueError, match="Move it away"):
        merge_into(path, first)
    assert path.read_text() == "[1]"
    assert counts_json(read_counts(tmp_path / "none.json")) == counts_json(ReachCounts())


def test_the_strongest_targets_are_kept() -> None:
    total = ReachCounts()
    sessions: list[Session] = [
        [(("a", {"id": str(n)}), ""), (("Read", {"file_path": f"/repo/{n}.py"}), "x")] for n in range(20)
    ]
    for part in count(*sessions, *[looked(f"n{n}") for n in range(3)]):
        total.add(part)
    pruned = total.pruned(4)
    assert len(pruned.reached) == 4
    assert around(total) in pruned.reached
    assert pruned.seen == total.seen


# --- what is followed -------------------------------------------------------------------------------------------------


def test_a_target_is_followed_only_once_it_is_a_route() -> None:
    table = ReachTable(0.3)
    for part in count(*(looked(f"n{n}") for n in range(12))):
        table.add(part)
    target = around(table.counts)
    levels = (SEARCH, f"{SEARCH} | 1 files, 1 lines")
    assert table.choices(levels) == []
    table.allow(SEARCH, target, "the-route")
    assert [choice.key for choice in table.choices(levels)] == [target]
    assert table.route(SEARCH, target) == "the-route"
    assert table.would_pay(target, SEARCH)
    assert math.isclose(table.choices(levels)[0].chance, table.counts.best(target, levels, 0.3).chance)


def test_a_fresh_clone_uses_the_counts_that_a_route_was_written_with() -> None:
    total = ReachCounts()
    for part in count(*(looked(f"n{n}") for n in range(12))):
        total.add(part)
    target = around(total)
    part = parse_counts(counts_json(total.part(target, SEARCH)))
    table = ReachTable(0.3)
    table.allow(SEARCH, target, "the-route", part)
    levels = (SEARCH, f"{SEARCH} | 1 files, 1 lines")
    (choice,) = table.choices(levels)
    assert choice == total.best(target, levels, 0.3)


def test_curation_forgets_what_was_read_once_in_many_sessions(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    assert forget_rare(path) == 0
    once: Session = [(("a", {"id": "1"}), ""), (read("/repo/only.py"), "x"), (edit(), "")]
    for part in count(once, *(looked(f"n{n}") for n in range(9))):
        merge_into(path, part)
    before = read_counts(path)
    assert forget_rare(path, after=11) == 0
    dropped = forget_rare(path, after=10)
    after = read_counts(path)
    assert dropped == len(before.reached) - len(after.reached) > 0
    assert around(after) == around(before)
    assert after.seen == before.seen
    assert forget_rare(path, after=10) == 0
