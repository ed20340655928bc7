"""Real recordings: the sessions shipped in ``examples/sessions``, and the full collection where it is there."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from waggle import jsonvalue
from waggle.traces import Trace, dump_trace, read_traces, split_cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from waggle.errors import TraceError
    from waggle.jsonvalue import JsonObject

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "examples" / "sessions"
FILES = sorted(SHIPPED.glob("*.jsonl.gz"))

#: What may be shipped: 2.5 MB, at least so many sessions of each agent, texts of this length.
MOST_BYTES = 2_500_000
RESULT_CHARACTERS = 3_000
MESSAGE_CHARACTERS = 1_000

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: cast("Path", file).name.split(".")[0])


def rows(text: str) -> list[list[str]]:
    """Cells of the rows of a page's tables, headings and rules apart."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [row for row in cells if row[0].endswith(".jsonl.gz")]


def counted(file: str, traces: Iterable[Trace]) -> dict[tuple[str, str, str], Counter[str]]:
    """Sessions, calls and calls by kind, by file, domain and agent."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for trace in traces:
        counts = found.setdefault((file, trace.domain or "", trace.agent), Counter())
        counts["sessions"] += 1
        counts["calls"] += len(trace.steps)
        counts.update(trace.kinds[step.call.tool] for step in trace.steps)
    return found


@each_file
def test_a_shipped_session_is_read_whole_and_written_back_unchanged(file: Path) -> None:
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    problems: list[TraceError] = []
    traces = list(read_traces(file, on_problem=problems.append))
    assert problems == []
    assert [dump_trace(trace) for trace in traces] == lines


@each_file
def test_every_result_of_a_shipped_session_is_with_its_own_call(file: Path) -> None:
    """Counted a second time from the bare JSON, by id."""
    for line, trace in zip(gzip.decompress(file.read_bytes()).split(b"\n"), read_traces(file), strict=False):
        events = cast("list[JsonObject]", cast("JsonObject", jsonvalue.loads(line))["events"])
        results = {event["id"]: event["content"] for event in events if event["type"] == "result"}
        calls = [event["id"] for event in events if event["type"] == "call"]
        assert [step.call.id for step in trace.steps] == calls
        assert {step.call.id: step.result.text for step in trace.steps if step.result} == results
        assert len(list(trace.events())) == len(events)


@each_file
def test_what_a_shipped_session_quotes_is_short(file: Path) -> None:
    for trace in read_traces(file):
        for step in trace.steps:
            if step.result is not None:
                assert len(split_cut(step.result.text)[0]) <= RESULT_CHARACTERS
        assert all(len(split_cut(said.text)[0]) <= MESSAGE_CHARACTERS for said in trace.messages)


def test_enough_is_shipped_of_each_agent_and_not_too_much() -> None:
    """Half of the sessions to learn from, half to replay, of five kinds of agents."""
    agents: Counter[str] = Counter()
    for trace in read_traces(SHIPPED):
        agents[trace.agent.partition("/")[0]] += 1
    assert agents["claude-code"] >= 40
    assert agents["mini-swe-agent"] >= 50
    assert set(agents) == {"claude-code", "mini-swe-agent", "pi", "swe-agent"}
    assert sum(file.stat().st_size for file in FILES) <= MOST_BYTES


def test_the_table_of_the_shipped_sessions_is_true() -> None:
    stated = {row[0]: row[2:] for row in rows((SHIPPED / "README.md").read_text(encoding="utf-8"))}
    found = {}
    for file in FILES:
        traces = list(read_traces(file))
        tasks = {trace.task for trace in traces if trace.task}
        calls = sum(len(trace.steps) for trace in traces)
        found[file.name] = [str(len(traces)), str(len(tasks) or "–"), str(calls)]  # noqa: RUF001 - the table's dash
    assert stated == found


def test_the_licence_of_every_shipped_session_is_stated() -> None:
    licences = (SHIPPED / "LICENSES.md").read_text(encoding="utf-8")
    sources = {trace.source.partition(":")[0] for trace in read_traces(SHIPPED)}
    assert set(re.findall(r"^- \*\*(.+?)\*\*", licences, re.MULTILINE)) == sources


def test_the_shipped_sessions_are_what_the_rule_selects(shared_traces: Path, tmp_path: Path) -> None:
    command = [sys.executable, "examples/select_sessions.py", str(shared_traces), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    shipped = sorted((ROOT / "examples").rglob("*.jsonl.gz"))
    assert sorted(tmp_path.rglob("*.*")) == [tmp_path / file.relative_to(ROOT / "examples") for file in shipped]
    for file in shipped:  # compared unpacked: another zlib may pack the same sessions differently
        selected = tmp_path / file.relative_to(ROOT / "examples")
        assert gzip.decompress(selected.read_bytes()) == gzip.decompress(file.read_bytes())


def test_the_full_collection_has_the_counts_its_table_states(shared_traces: Path) -> None:
    stated = {}
    for file, domain, agent, sessions, _, calls, read, write in rows(
        (shared_traces / "README.md").read_text(encoding="utf-8")
    ):
        stated[file, domain, agent] = [int(sessions), int(calls), int(read), int(write)]
    problems: list[TraceError] = []
    found = {}
    for path in sorted(shared_traces.glob("*.jsonl.gz")):
        for key, counts in counted(path.name, read_traces(path, on_problem=problems.append)).items():
            found[key] = [counts[name] for name in ("sessions", "calls", "read", "write")]
    assert problems == []
    assert found == stated
    assert sum(counts[0] for counts in found.values()) == 1608
