"""The sessions in ``examples/flows``: whole, licensed, described truly, and split so that nothing leaks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stretto.review.split import units
from stretto.sessions.corpus import open_corpus
from stretto.sessions.traces import episode_of
from tests.conftest import ROOT
from waggle.traces import read_traces
from waggle.values import read_result

SHIPPED = ROOT / "examples" / "flows"
FILES = sorted(SHIPPED.glob("*.jsonl.gz"))

#: All recorded sessions of the repository together, so that a clone stays quick.
MOST_BYTES = 5_000_000


def rows(text: str) -> dict[str, list[str]]:
    """Cells of the table of files, by file; the first two columns are words."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].endswith(".jsonl.gz"):
            found[cells[0]] = cells[2:]
    return found


def test_there_are_two_sides_of_two_domains() -> None:
    assert [file.name.split(".")[0] for file in FILES] == [
        "airline-learn",
        "airline-replay",
        "retail-learn",
        "retail-replay",
    ]
    assert sum(file.stat().st_size for file in (ROOT / "examples").rglob("*.jsonl.gz")) < MOST_BYTES


@pytest.mark.parametrize("domain", ["airline", "retail"])
def test_no_task_and_no_customer_is_on_both_sides(domain: str) -> None:
    sides = [
        [episode_of(trace) for trace in read_traces(SHIPPED / f"{domain}-{side}.jsonl.gz")]
        for side in ("learn", "replay")
    ]
    group = units(episode for side in sides for episode in side)
    learned, replayed = ({group[episode.id] for episode in side} for side in sides)
    assert learned
    assert not learned & replayed


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(Path(file).name.split(".")[0]))
def test_no_text_of_a_session_is_cut(file: Path) -> None:
    """A record that ends early is no JSON any more, and nothing can be bound from it."""
    for recorded in open_corpus(file):
        for result in recorded.episode.results().values():
            if result.content.startswith("{"):
                assert isinstance(read_result(result.content), dict)


def test_the_table_of_the_sessions_is_true() -> None:
    found = {}
    for file in FILES:
        traces = list(read_traces(file))
        won = sum(trace.success is True for trace in traces)
        calls = sum(len(trace.steps) for trace in traces)
        found[file.name] = [str(n) for n in (len(traces), len({trace.task for trace in traces}), won, calls)]
    assert rows((SHIPPED / "README.md").read_text(encoding="utf-8")) == found


def test_the_licence_of_every_session_is_stated() -> None:
    licences = (SHIPPED / "LICENSES.md").read_text(encoding="utf-8")
    sources = {trace.source.partition(":")[0] for trace in read_traces(SHIPPED)}
    assert set(re.findall(r"^- \*\*(.+?)\*\*", licences, re.MULTILINE)) == sources
