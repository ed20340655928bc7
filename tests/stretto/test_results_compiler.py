"""The measuring of docs/results-compiler.md, on a few of the shipped sessions and of the generated traces."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.compiler.__main__ import main
from benchmarks.compiler.agreement import CHOSEN_ON, FLOOR, agreements, parts, resampled_scores
from benchmarks.compiler.bfcl import bfcl, counts
from benchmarks.compiler.decoys import Scene, decoys, scenes
from benchmarks.compiler.edges import SEVERAL, SINGLE, Found, find, growth
from benchmarks.compiler.many import many_traces
from benchmarks.compiler.sessions import read_domains, read_sessions
from benchmarks.compiler.tau import sessions_corpus
from benchmarks.compiler.trees_page import trees_section
from benchmarks.trees import TreesOf, recorded
from stretto.compiler.abstain import Outcome
from stretto.compiler.compiling import compile_traces
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.measure import score_clusters
from stretto.compiler.paper import Result
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
from stretto.procedure.trees.held_out import HeldOut
from stretto.procedure.trees.paper import TreeResult
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def executed() -> Found:
    """What is found in the executed tasks of BFCL."""
    return find(bfcl())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first of the shipped retail sessions."""
    made = tmp_path_factory.mktemp("traces")
    with gzip.open(ROOT / "examples" / "flows" / "retail-learn.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [next(file) for _ in range(12)]
    (made / "tools-some.jsonl").write_text("".join(lines), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """A page, and its numbers."""
    made = tmp_path_factory.mktemp("page")
    page, numbers = made / "page.md", made / "numbers.json"
    options = ["--traces", str(folder), "--every", "701", "--sizes", "6"]
    assert main([*options, "--markdown", str(page), "--json", str(numbers)]) == 0
    return page.read_text(encoding="utf-8"), json.loads(numbers.read_text(encoding="utf-8"))


def row(found: Found, name: str) -> str:
    """The row of a table."""
    scores = found.scores(name)
    cells = [f"{len(found.rows[name]):,}"]
    for share in (scores.precision, scores.recall):
        low, high = share.interval
        cells.append(f"{share.value:.3f} [{low:.3f}, {high:.3f}]")
    return f"| {' | '.join([*cells, f'{scores.f1:.3f}'])} |"


def test_the_page_says_what_the_functions_return(executed: Found, written: tuple[str, dict[str, Any]]) -> None:
    text, numbers = written
    for name in (SEVERAL, SINGLE):
        assert f"| **{name}** {row(executed, name)}" in text
    assert f"| adjacency {row(executed, 'adjacency')}" in text
    scores = executed.scores(SEVERAL)
    counted = numbers["edges"]["BFCL"][SEVERAL]
    assert (counted["right"], counted["found"], counted["true"]) == (
        scores.precision.hits,
        scores.precision.count,
        scores.recall.count,
    )
    assert numbers["domains"]["retail"]["sessions"] == 12
    assert "## What sessions were about" in text
    assert text.count("\n| by task | words (TF-IDF) | ") == 2
    assert {each["items"] for each in numbers["groups"] if each["label"] == "domain"} >= {12}
    assert list(numbers["costs"]) == ["6"]


def test_the_committed_page_has_the_numbers_of_the_executed_tasks(executed: Found) -> None:
    text = (ROOT / "docs" / "results-compiler.md").read_text(encoding="utf-8")
    for name in executed.rows:
        assert row(executed, name) in text


def test_of_executed_tasks_the_rule_finds_more_than_each_trace_alone_and_nothing_that_is_not_there(
    executed: Found,
) -> None:
    several, single = executed.scores(SEVERAL), executed.scores(SINGLE)
    assert several.precision.value >= 0.99 > single.precision.value
    assert several.recall.value >= 0.9 > single.recall.value
    assert counts()["proven"] > 2 * counts()["read"]
    distinctive = executed.of("distinctive")
    assert len(distinctive & executed.rows[SEVERAL]) >= 0.99 * len(distinctive)


def test_the_more_traces_of_an_intent_the_less_of_what_is_found_is_coincidence(executed: Found) -> None:
    first, last = growth(executed.corpus, (1, 12)).values()
    assert first.precision.value < 0.97
    assert last == executed.scores(SEVERAL)


def test_what_the_user_names_is_known_and_no_dependency(executed: Found) -> None:
    assert "known" in executed.wrong(SINGLE)
    assert not executed.wrong(SEVERAL)


def test_nothing_that_the_rule_says_of_decoys_is_wrong_and_what_is_settled_it_finds() -> None:
    found = find(decoys(every=23))
    scores = found.scores(SEVERAL)
    assert scores.precision.count
    assert scores.precision.value == 1
    settled = found.of("settled")
    assert settled
    assert settled <= found.rows[SEVERAL]
    assert found.scores("most recent candidate").precision.value < 0.9


def test_what_is_not_settled_is_suspected_and_not_lost() -> None:
    tie = Scene("producer", frozenset(["second"]), agree=True, vary=True, small=False)
    found = find(decoys([tie]))
    assert not found.rows[SEVERAL]
    assert found.suspected >= found.corpus.gold


def test_every_combination_is_there_once() -> None:
    each = list(scenes())
    assert len(each) == len(set(each))
    assert {scene.origin for scene in each} == {
        "producer",
        "user",
        "context",
        "default",
        "failed",
        "unlogged",
        "known",
    }


def test_unique_values_of_sessions_are_the_truth_that_one_trace_shows(folder: Path) -> None:
    (domain,) = read_domains(folder)
    found = find(sessions_corpus(domain))
    assert found.scores(SINGLE).recall.value > 0.95
    assert found.scores(SEVERAL).precision.value == 1


def test_sessions_that_thresholds_were_chosen_on_are_apart_from_those_held_out(folder: Path) -> None:
    chosen = read_sessions(folder)
    other = [replace(trace, meta={**trace.meta, "domain": "elsewhere"}) for trace in chosen[:5]]
    assert {trace.meta["domain"] for trace in chosen} <= CHOSEN_ON
    found = parts([*chosen, *other])
    assert [(part.name, len(part.traces), part.domains) for part in found] == [("held out", 5, 1), ("chosen on", 12, 1)]
    assert [part.name for part in parts(chosen)] == ["chosen on"]


def test_groups_are_compared_with_domains_and_tasks_before_and_after_they_are_parted_by_effects(folder: Path) -> None:
    (part,) = parts(read_sessions(folder))
    found = list(agreements(part, TfidfEmbedder(), rounds=20))
    assert [(each.grouping, each.label) for each in found] == [
        (grouping, label) for grouping in ("clusters", "intents") for label in ("domain", "task")
    ]
    for each in found:
        assert each.purity.value == pytest.approx(each.scores.purity.value)
        assert each.ari.value == pytest.approx(each.scores.ari)
        assert each.scores.coverage.count == each.whole.coverage.hits
    assert found[0].whole.purity.value == 1  # all are of one domain
    assert found[0].whole.clusters < found[2].whole.clusters


some_groups = st.lists(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcdef")), max_size=9), max_size=5)


@given(some_groups, st.sampled_from([1, FLOOR]))
def test_what_is_resampled_is_the_measure_itself(told: list[list[tuple[str, str]]], floor: int) -> None:
    groups = [[f"{number}-{at}" for at in range(len(group))] for number, group in enumerate(told)]
    pairs = {f"{number}-{at}": pair for number, group in enumerate(told) for at, pair in enumerate(group)}
    labels, units = {item: pair[0] for item, pair in pairs.items()}, {item: pair[1] for item, pair in pairs.items()}
    purity, ari = resampled_scores(groups, labels, units, floor=floor, rounds=3)
    scores = score_clusters(groups, labels, floor=floor)
    assert purity.value == pytest.approx(scores.purity.value)
    assert ari.value == pytest.approx(scores.ari)
    assert 0 <= purity.low <= purity.high <= 1
    assert ari.high <= 1 + 1e-9


def test_copies_of_a_task_do_not_make_a_measure_better() -> None:
    groups = [[f"{number}-{at}" for at in range(6)] for number in range(30)]
    items = [item for group in groups for item in group]
    labels = {item: number % 7 for number, item in enumerate(items)}
    purity, ari = resampled_scores(groups, labels, {item: item for item in items}, rounds=200)
    for interval in (purity, ari):
        assert interval.low < interval.value < interval.high
    assert ari.high < 0.1


def test_trees_are_shown_by_domain_and_by_how_they_were_fitted(folder: Path) -> None:
    assert not list(recorded(folder))  # which has no solo sessions
    held_out = HeldOut(3, 2, {**dict.fromkeys(TreeResult, 0), TreeResult.SAME: 3, TreeResult.WRONG: 1})
    text = "\n".join(trees_section([TreesOf("shop", "sure", held_out)]))
    assert "| domain | sessions | tasks | fitted | same | same writes | short | unknown | wrong |" in text
    assert "| shop | 4 | 3 | sure | 75% | 0% | 0% | 0% | 25% |" in text


def test_the_traces_whose_costs_are_measured_are_compiled_and_replayed() -> None:
    made = compile_traces("refund", many_traces(40), Tools(), CompilerSettings())
    assert made.outcome is Outcome.COMPILED, made.reasons
    assert {each.result for each in (*made.replayed, *made.left_out)} == {Result.SAME}
