"""The measuring of docs/results-compiler.md, on a few of the shipped sessions and of the generated traces."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.compiler.__main__ import main
from benchmarks.compiler.bfcl import bfcl, counts
from benchmarks.compiler.decoys import Scene, decoys, scenes
from benchmarks.compiler.edges import SEVERAL, SINGLE, Found, find, growth
from benchmarks.compiler.many import many_traces
from benchmarks.compiler.sessions import read_domains
from benchmarks.compiler.tau import sessions_corpus
from stretto.compiler.abstain import Outcome
from stretto.compiler.compiling import compile_traces
from stretto.compiler.paper import Result
from stretto.compiler.schemas import Tools
from stretto.compiler.settings import CompilerSettings
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


def test_the_traces_whose_costs_are_measured_are_compiled_and_replayed() -> None:
    made = compile_traces("refund", many_traces(40), Tools(), CompilerSettings())
    assert made.outcome is Outcome.COMPILED, made.reasons
    assert {each.result for each in (*made.replayed, *made.left_out)} == {Result.SAME}
