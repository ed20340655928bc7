"""A corpus gives its sessions in order, as often as it is asked, whatever files they are in."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import ManifestError, SessionLogError, UsageError
from stretto.sessions import corpus as corpus_module
from stretto.sessions import sources as sources_module
from stretto.sessions.corpus import open_corpus
from stretto.sessions.log_dump import dump_log
from stretto.sessions.manifest import Manifest
from stretto.sessions.otel import CONVENTIONS
from tests.conftest import ROOT
from tests.strategies import json_values
from tests.stretto.sessions.logs_support import answer, call, listing, save_log
from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.traces import TraceBuilder, dump_trace

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.corpus import Corpus
    from waggle.jsonvalue import JsonObject
    from waggle.traces import Trace

SPANS = ROOT / "tests" / "stretto" / "data" / "pydantic-ai-shop.excerpt.otlp.jsonl"

TOOL: JsonObject = {"name": "get", "annotations": {"readOnlyHint": True}}


def ids(corpus: Corpus) -> list[str]:
    return [recorded.episode.id for recorded in corpus]


def trace(session: str, *, success: bool | None = None) -> Trace:
    builder = TraceBuilder()
    builder.call(Call("get", {"id": "W1"}, "c1"), 0)
    builder.result("c1", Result("ok"))
    return builder.build(session, "agent", "", domain="shop", success=success, kinds={"get": "read"})


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three logs in a directory, with the files that proxies write beside them."""
    directory = tmp_path / "logs"
    directory.mkdir()
    for name, start in (("b", 30), ("a", 50), ("c", 10)):
        save_log(
            directory, name, *listing(0, 0, TOOL), call(1, 1, "get"), answer(2, 1, name), start=start, domain="shop"
        )
    for name in ("a.flow.jsonl", "a.confirm.jsonl", "a.jsonl.lock", ".waggle-tmp-0.jsonl", "notes.txt"):
        (directory / name).write_text("no log")
    return directory


# --- session logs ------------------------------------------------------------------------------------------


def test_logs_come_by_session_or_by_start(logs: Path) -> None:
    assert ids(open_corpus(logs)) == ["a", "b", "c"]
    assert ids(open_corpus(logs, order="start")) == ["c", "b", "a"]
    assert ids(open_corpus(logs / "b.jsonl")) == ["b"]


def test_a_session_has_its_own_listing_and_the_corpus_that_of_all(logs: Path) -> None:
    more: list[Any] = [{"name": "cancel", "annotations": {"readOnlyHint": False}}, {**TOOL, "annotations": {}}]
    save_log(logs, "d", *listing(0, 0, *more), domain="shop")
    save_log(logs, "e")
    corpus = open_corpus(logs)
    assert [dict(recorded.manifest.tools) for recorded in corpus] == [
        *[{"get": "read"}] * 3, {"cancel": "write", "get": "generic"}, {}
    ]  # fmt: skip
    assert corpus.manifest.tools == {"get": "generic", "cancel": "write"}
    assert open_corpus(logs).manifest == corpus.manifest  # asked for first


def test_rewards_are_1_unless_a_file_says_otherwise(logs: Path, tmp_path: Path) -> None:
    assert [recorded.episode.reward for recorded in open_corpus(logs)] == [1.0] * 3
    rewards = tmp_path / "rewards.json"
    rewards.write_text('{"b": 0.25, "c": 0}')
    corpus = open_corpus(logs, rewards=rewards)
    for _ in range(2):
        assert [recorded.episode.reward for recorded in corpus] == [1.0, 0.25, 0.0]


def test_rewards_of_sessions_without_a_log_are_rejected_by_name(logs: Path, tmp_path: Path) -> None:
    rewards = tmp_path / "rewards.json"
    rewards.write_text('{"b": 1, "x": 1, "w": 0}')
    with pytest.raises(SessionLogError, match="sessions without a log: w, x"):
        ids(open_corpus(logs, rewards=rewards))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[]", "expected an object"), ('{"a": true}', r'\$\["a"\]: expected a number'), ("{", "expected rewards in JSON")],
)
def test_rewards_that_are_not_valid_are_one_error(logs: Path, tmp_path: Path, text: str, problem: str) -> None:
    rewards = tmp_path / "rewards.json"
    rewards.write_text(text)
    with pytest.raises(SessionLogError, match=problem):
        open_corpus(logs, rewards=rewards)
    with pytest.raises(SessionLogError, match="cannot be read"):
        open_corpus(logs, rewards=tmp_path / "none.json")


def test_a_manifest_file_takes_the_place_of_listings(logs: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "m.json"
    manifest.write_text('{"domain": "mine", "tools": {"get": "write"}}')
    corpus = open_corpus(logs, manifest=manifest)
    assert corpus.manifest == Manifest("mine", {"get": "write"})
    assert [recorded.manifest.tools for recorded in corpus] == [{"get": "read"}] * 3
    assert corpus.manifest == Manifest("mine", {"get": "write"})
    manifest.write_text("{")
    with pytest.raises(ManifestError):
        open_corpus(logs, manifest=manifest)


def test_a_domain_takes_the_place_of_the_recorded_one(logs: Path) -> None:
    corpus = open_corpus(logs, domain="mine")
    assert {recorded.episode.domain for recorded in corpus} == {"mine"}
    assert corpus.manifest.domain == "mine"


@pytest.mark.case("HC-12")
def test_a_session_that_is_there_twice_counts_once(logs: Path) -> None:
    shutil.copy(logs / "b.jsonl", logs / "copy.jsonl")
    with pytest.raises(SessionLogError, match=r"copy\.jsonl: holds the session 'b', which is in .*b\.jsonl already"):
        ids(open_corpus(logs))
    problems: list[SessionLogError] = []
    assert ids(open_corpus(logs, on_problem=problems.append)) == ["a", "b", "c"]
    assert len(problems) == 1


@pytest.mark.case("HC-04")
def test_problems_are_told_once_and_the_rest_is_read(logs: Path) -> None:
    (logs / "empty.jsonl").write_bytes(b"")
    (logs / "other.jsonl").write_text('{"x": 1}\n')
    (logs / "text.jsonl").write_text("hello\n")
    with (logs / "a.jsonl").open("ab") as file:
        file.write(b'{"t_ms": 5, "fr')
    with (logs / "b.jsonl").open("ab") as file:
        file.write(b"{}\n")
    problems: list[SessionLogError] = []
    corpus = open_corpus(logs, on_problem=problems.append)
    for _ in range(2):
        assert ids(corpus) == ["a", "b", "c"]
    assert sorted((problem.path.rsplit("/", 1)[1], problem.line) for problem in problems) == [
        ("a.jsonl", 6), ("b.jsonl", 6), ("empty.jsonl", None), ("other.jsonl", 1), ("text.jsonl", 1)
    ]  # fmt: skip
    with pytest.raises(SessionLogError, match=r"empty\.jsonl"):
        ids(open_corpus(logs))
    problems.clear()
    with pytest.raises(SessionLogError, match=r"other\.jsonl:1: .*session logs"):
        ids(open_corpus(logs / "other.jsonl", on_problem=problems.append))


def test_a_place_without_sessions_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SessionLogError, match="no recorded sessions"):
        open_corpus(tmp_path)
    with pytest.raises(SessionLogError, match="cannot be opened"):
        open_corpus(tmp_path / "none")


# --- other sources -----------------------------------------------------------------------------------------


def test_traces_and_logs_may_share_a_directory(logs: Path) -> None:
    (logs / "0.jsonl").write_bytes(dump_trace(trace("t1")) + dump_trace(trace("t2", success=False)))
    transcript = {"type": "user", "sessionId": "cc", "uuid": "1", "message": {"content": "hi"}}
    (logs / "1.jsonl").write_text(json.dumps(transcript) + "\n")
    (logs / "1" / "subagents").mkdir(parents=True)
    (logs / "1" / "subagents" / "2.jsonl").write_text(json.dumps({**transcript, "sessionId": "sub"}) + "\n")
    found = {recorded.episode.id: recorded for recorded in open_corpus(logs)}
    assert [*found] == ["a", "b", "c", "t1", "t2", "cc", "sub"]
    assert [found[name].episode.reward for name in ("t1", "t2", "cc")] == [1.0, 0.0, 1.0]
    assert found["t1"].manifest.tools == {"get": "read"}


def test_spans_are_one_source_whose_conventions_are_known() -> None:
    corpus = open_corpus(otel=SPANS)
    (recorded,) = corpus
    assert recorded.episode.reward == 1.0
    assert corpus.conventions == CONVENTIONS
    assert corpus.manifest.tools == {}


def test_results_have_their_own_rewards_and_kinds(tmp_path: Path) -> None:
    path = tmp_path / "gpt-airline.json"
    made = {"id": "1", "function": {"name": "get_user", "arguments": "{}"}}
    path.write_text(json.dumps([
        {"task_id": 7, "trial": 0, "reward": 0.0, "traj": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": "1", "name": "get_user", "content": "Ada"},
        ]},
    ]))  # fmt: skip
    corpus = open_corpus(results=[path], domain="airline")
    (recorded,) = corpus
    assert (recorded.episode.reward, recorded.episode.domain, recorded.episode.task_id) == (0.0, "airline", "7")
    assert corpus.manifest == Manifest("airline", {"get_user": "read"})
    tools = tmp_path / "tau2" / "src" / "tau2" / "domains" / "airline"
    tools.mkdir(parents=True)
    (tools / "tools.py").write_text("class T:\n    @is_tool(ToolType.WRITE)\n    def get_user(self): ...\n")
    (tools / "user_tools.py").write_text("class U:\n    @is_tool(ToolType.READ)\n    def look(self): ...\n")
    annotated = open_corpus(results=[path], domain="airline", tau2=tmp_path / "tau2")
    assert annotated.manifest == Manifest("airline", {"get_user": "write"})
    path.write_text(path.read_text().replace("get_user", "look"))  # a run in which the agent has the user's tools
    solo = open_corpus(results=[path], domain="airline", tau2=tmp_path / "tau2")
    assert solo.manifest == Manifest("airline", {"get_user": "write", "look": "read"})


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"sessions": "a", "otel": "b"}, id="two"),
        pytest.param({"sessions": "a", "results": ["b"]}, id="sessions-and-results"),
        pytest.param({"sessions": "a", "tau2": "b"}, id="tau2-without-results"),
        pytest.param({"results": ["a"], "manifest": "b"}, id="results-with-kinds"),
        pytest.param({"results": ["a"], "rewards": "b"}, id="results-with-rewards"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        open_corpus(**options)


# --- again and again ---------------------------------------------------------------------------------------


def test_a_small_corpus_is_read_once(logs: Path) -> None:
    corpus = open_corpus(logs)
    first = list(corpus)
    shutil.rmtree(logs)
    assert list(corpus) == first
    assert next(iter(corpus)) is first[0]


def test_a_large_corpus_is_read_again_and_gives_the_same(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (corpus_module, sources_module):
        monkeypatch.setattr(module, "CORPUS_CACHE_BYTES", 500)
    corpus = open_corpus(logs)
    first = list(corpus)
    assert [recorded.episode.id for recorded in first] == ["a", "b", "c"]
    again = list(corpus)
    assert again == first
    assert again[0] is not first[0]
    (logs / "b.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(SessionLogError, match=r"b\.jsonl:1: was a session log"):
        list(corpus)
    (logs / "b.jsonl").unlink()
    with pytest.raises(SessionLogError, match=r"b\.jsonl"):
        list(corpus)


def test_an_iteration_that_was_left_early_spoils_nothing(logs: Path) -> None:
    corpus = open_corpus(logs)
    next(iter(corpus))
    assert ids(corpus) == ["a", "b", "c"]
    assert corpus.manifest.tools == {"get": "read"}


def test_progress_adds_up_to_the_size_of_the_files(logs: Path) -> None:
    (logs / "t.jsonl").write_bytes(dump_trace(trace("t")))
    counted: list[int] = []
    corpus = open_corpus(logs, on_bytes=counted.append)
    for _ in range(2):
        list(corpus)
    assert sum(counted) == corpus.size_bytes == sum(path.stat().st_size for path in logs.glob("?.jsonl"))
    (_,) = open_corpus(otel=SPANS, on_bytes=counted.append)
    assert sum(counted) == corpus.size_bytes + SPANS.stat().st_size


@pytest.mark.case("HC-09")
def test_one_session_is_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (corpus_module, sources_module):
        monkeypatch.setattr(module, "CORPUS_CACHE_BYTES", 0)
    for number in range(100):
        save_log(tmp_path, f"{number:03}", call(0, 1, "get"), answer(1, 1, "x" * 300_000))
    corpus = open_corpus(tmp_path)
    tracemalloc.start()
    count = sum(1 for _ in corpus) + sum(1 for _ in corpus)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 200
    assert peak < 8_000_000  # of 30 MB


@pytest.mark.parametrize("name", ["tools-retail", "tools-class"])
def test_logs_made_of_the_shared_sessions_are_the_same_corpus(shared_traces: Path, tmp_path: Path, name: str) -> None:
    traces = open_corpus(shared_traces / f"{name}.jsonl.gz")
    for recorded in traces:
        data = dump_log(recorded.episode, recorded.manifest)
        (tmp_path / f"{recorded.episode.id}.jsonl").write_bytes(data)
    logs = open_corpus(tmp_path)
    assert sorted(ids(traces)) == ids(logs)
    assert logs.manifest.tools == traces.manifest.tools
    calls = {one.episode.id: [turn.calls for turn in one.episode.turns() if turn.calls] for one in traces}
    assert {one.episode.id: [turn.calls for turn in one.episode.turns() if turn.calls] for one in logs} == calls


@given(
    st.lists(
        st.binary(max_size=20)
        | st.sampled_from([dump_trace(trace("t")), b'{"stretto_mcp_log":2,"session":"s","started_unix_ms":0}\n'])
        | json_values().map(lambda value: jsonvalue.dumps(value) + b"\n"),
        max_size=4,
    )
)
def test_any_file_is_a_corpus_or_one_error(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "s.jsonl"
    path.write_bytes(b"".join(lines))
    problems: list[SessionLogError] = []
    for report in (None, problems.append):
        try:
            assert len(ids(open_corpus(path, on_problem=report))) < 5
        except SessionLogError as error:
            assert error.path == str(path)  # noqa: PT017 - it may as well be a corpus
