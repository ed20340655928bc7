"""The measuring of docs/results.md, on a few of the shipped sessions."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks.results.__main__ import main
from benchmarks.results.jobs import FOLDS, Job, grouped, sides
from benchmarks.results.memory import around, counted_threshold, kept_levels, learn_alone, put_together
from benchmarks.results.rows import ABLATION, MAIN, MODES, ROWS
from benchmarks.results.study import Point
from tests.conftest import ROOT
from waggle.evaluate import Interval, learn
from waggle.reach.targets import LinesTarget, read_target
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.traces import Trace

TOOLS = ToolTable()
SHIPPED = ROOT / "examples" / "sessions"


def excerpt(folder: Path, sessions: int) -> Path:
    """The first of the shipped sessions of one agent, as a collection of their own."""
    with gzip.open(SHIPPED / "coding-mini-swe-agent-gemini.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [next(file) for _ in range(sessions)]
    (folder / "coding-some.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    """Ten sessions of one agent."""
    (group,) = grouped(excerpt(tmp_path_factory.mktemp("traces"), 10)).values()
    return group


@pytest.mark.parametrize("name", ["original", "containment", "shell", "default", "tokens"])
def test_a_library_put_together_from_parts_is_the_one_learned_from_the_whole(some: list[Trace], name: str) -> None:
    row = ROWS[name]
    parts = [learn_alone(trace, MODES[row.mode], TOOLS) for trace in some]
    together, whole = put_together(parts, row.config, TOOLS), learn(some, row.config, TOOLS)
    assert [replace(route, learned_at=None) for route in together.routes] == [
        replace(route, learned_at=None) for route in whole.routes
    ]
    assert together.counts == whole.counts


def test_every_session_is_replayed_once_and_no_task_is_on_both_sides() -> None:
    for traces in grouped(SHIPPED).values():
        replayed: list[int] = []
        for fold in range(FOLDS):
            known, rest = sides(traces, Job("", "fold", fold, "default"))
            assert not {traces[i].split_key for i in known} & {traces[i].split_key for i in rest}
            assert sorted(known + rest) == list(range(len(traces)))
            replayed += rest
        assert sorted(replayed) == list(range(len(traces)))


def test_a_curve_never_replays_a_task_that_was_learned() -> None:
    for traces in grouped(SHIPPED).values():
        known, rest = sides(traces, Job("", "curve", 1, "default", size=4))
        assert len(known) == min(4, len(traces))
        assert not {traces[i].split_key for i in known} & {traces[i].split_key for i in rest}


def test_the_floor_knows_the_first_line_of_the_first_file_and_one_range(some: list[Trace]) -> None:
    library = put_together((learn_alone(trace, MODES["forms"], TOOLS) for trace in some), MAIN[-1].config, TOOLS)
    floor = around(library.counts, 80)
    targets = [read_target(key) for key in floor.reached]
    assert targets
    assert all(isinstance(t, LinesTarget) and (t.around, t.nth) == ("line", 0) and t.file < 1 for t in targets)
    cells = {cell for by_site in floor.reached.values() for found in by_site.values() for cell in found}
    assert len(cells) == 1


def test_leaving_out_the_finer_levels_leaves_the_coarsest_of_each_site(some: list[Trace]) -> None:
    counts = learn_alone(some[0], MODES["forms"], TOOLS).counts
    assert kept_levels(counts, 3) == counts
    coarse = kept_levels(counts, 1)
    assert {key.partition(" > ")[0].count(" | ") for key in coarse.seen} == {1}
    assert {site for sites in coarse.reached.values() for site in sites} <= set(coarse.seen)


def test_the_counted_threshold_is_a_chance_and_1_where_nothing_reads(some: list[Trace]) -> None:
    assert 0 < counted_threshold(some, TOOLS) < 1
    assert counted_threshold([], TOOLS) == 1


def test_the_page_says_what_the_numbers_say_and_the_same_again_from_what_was_kept(tmp_path: Path) -> None:
    traces, kept, page, numbers = (tmp_path / name for name in ("traces", "kept", "page.md", "numbers.json"))
    traces.mkdir()
    options = ["--traces", str(excerpt(traces, 8)), "--workers", "1", "--only", "main", "curve", "skills"]
    options += ["--keep", str(kept), "--markdown", str(page), "--json", str(numbers)]
    assert main(options) == 0
    first = page.read_bytes()
    total = json.loads(numbers.read_text(encoding="utf-8"))["rows"]["default"]["all"]
    assert total["replayed"] == 8
    share = f"{100 * total['saved'] / total['turns']:.1f} %"
    assert f"saves {total['saved']} of {total['turns']} turns ({share}" in first.decode()
    assert main(options) == 0
    assert page.read_bytes() == first


def test_each_row_of_the_ablation_differs_from_the_default_in_one_thing() -> None:
    for row in ABLATION:
        fields = ("config", "mined", "change")
        assert sum(getattr(row, field) != getattr(ROWS["default"], field) for field in fields) == 1


def test_the_curve_is_drawn_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `results`")
    from benchmarks.results.curve import draw

    points = [Point(n, 24, Interval(0.01 * n, 0.005 * n, 0.02 * n)) for n in (1, 2, 4)]
    for name in ("one.svg", "two.svg"):
        draw({"agent (owner/repository)": points}, tmp_path / name)
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert "turns saved" in text
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")
