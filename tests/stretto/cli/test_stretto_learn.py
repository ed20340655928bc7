"""Making flows: ``learn``, ``merge``, ``compile``."""

from __future__ import annotations

import gzip
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from stretto.flow.file import read_flow
from tests.conftest import ROOT
from tests.stretto.cli.stretto_cli_support import (
    RETAIL_5,
    SHOP,
    files_of,
    ran,
    ran_json,
    refused,
    run,
    sessions,
    shopping,
    timeless,
    written_logs,
)

if TYPE_CHECKING:
    from pathlib import Path


# --- learn ----------------------------------------------------------------------------------------------------


def test_learning_prints_domain_sessions_tools_and_file(logs: Path, here: Path) -> None:
    """Section 12.1: one line."""
    assert ran("learn", "--sessions", logs, "--out", "f.json") == "shop: 12 of 12 sessions, 5 tools, f.json\n"
    flow = read_flow(here / "f.json")
    assert flow.provenance.sources == ("agent-1",)
    assert flow.manifest.contracts == {"get_order": "order:string!"}
    assert list(files_of(here)) == ["f.json"]


def test_the_same_sessions_give_the_same_file_but_for_the_time(logs: Path, here: Path) -> None:
    for name in ("a", "b"):
        ran("learn", "--sessions", logs, "--out", name)
    a, b = ((here / name).read_bytes() for name in ("a", "b"))
    assert timeless(a) == timeless(b)
    assert len(a) == len(b)


def test_a_dry_run_learns_and_writes_nothing(logs: Path, here: Path) -> None:
    result = run("learn", "--sessions", logs, "--out", "f.json", "--dry-run")
    assert result.exit_code == 0
    assert result.stderr.startswith("would write f.json, ")
    assert ran_json("learn", "--sessions", logs, "--out", "f.json", "--dry-run")["dry_run"] is True
    assert not files_of(here)


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("strands", ""),
        ("agent-framework", ""),
        ("strands-redacted", "of 3 recorded calls 3 have no whole arguments"),
        ("agent-framework-without-content", "of 3 recorded calls 3 have no whole arguments"),
    ],
)
def test_spans_that_a_framework_emits_are_learned_from_and_what_they_lack_is_a_problem(
    here: Path, name: str, lacks: str
) -> None:
    spans = ROOT / "tests" / "waggle" / "traces" / "emitted" / f"{name}.console.jsonl"
    (here / "kinds.json").write_text(json.dumps({"domain": "shop", "tools": {"lookup": "read"}}), encoding="utf-8")
    learned = ran_json("learn", "--sessions", spans, "--manifest", "kinds.json", "--out", "f.json")
    assert (learned["sessions"], learned["tools"], learned["reads"]) == (1, 1, 1)
    assert [problem.split(": ", 1)[1].startswith(lacks) for problem in learned["problems"]] == ([True] if lacks else [])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        pytest.param(["--no-derived", "--no-user-words", "--no-uses"], "version", id="only-what-the-original-has"),
        pytest.param(["--alpha", "2.5"], "alpha", id="a-concentration"),
        pytest.param(["--alpha-samples", "0"], "alpha", id="none-fitted"),
        pytest.param(["--manifest-options"], "version", id="every-read"),
    ],
)
def test_what_is_learned_can_be_said(logs: Path, here: Path, options: list[str], field: str) -> None:
    expected = {"version": 2, "alpha": 2.5 if "2.5" in options else 1.0}
    if "--manifest-options" in options:
        options = [*options, "--no-uses", "--no-derived", "--no-user-words"]
    told = ran_json("learn", "--sessions", logs, "--out", "f.json", *options)
    assert told[field] == expected[field] or (field == "version" and told[field] == 1)
    assert read_flow(here / "f.json").sites.every_read is ("--manifest-options" in options)


def test_the_half_life_makes_older_sessions_count_less(logs: Path, here: Path) -> None:
    ran("learn", "--sessions", logs, "--out", "f.json", "--half-life", "4")
    flow = read_flow(here / "f.json")
    assert flow.habit.base.levels[0][()].total < 12 * 8
    assert flow.habit.base.levels[0][()].total % 1


def test_a_gate_is_learned_where_it_is_asked_for(logs: Path, here: Path) -> None:
    ran("learn", "--sessions", logs, "--out", "f.json", "--surprise", "0.9", "--surprise-window", "2")
    gate = read_flow(here / "f.json").surprise
    assert gate
    assert (gate.window, gate.quantile) == (2, 0.9)
    result = run("learn", "--sessions", logs, "--out", "f.json", "--surprise", "0.9", "--surprise-window", "50")
    assert "there is no surprise gate" in result.stderr


def test_only_successful_sessions_are_learned_from(logs: Path, here: Path) -> None:
    (here / "rewards.json").write_text('{"s01": 0, "s02": 0.5}')
    line = ran("learn", "--sessions", logs, "--rewards", "rewards.json", "--out", "f.json")
    assert line == "shop: 10 of 12 sessions, 5 tools, f.json\n"


def test_a_manifest_says_what_servers_did_not(here: Path) -> None:
    """Without kinds nothing is ever looked up, and the user is told."""
    spans = here / "spans.jsonl"
    shutil.copy(RETAIL_5.parent / "pydantic-ai-shop.excerpt.otlp.jsonl", spans)
    result = run("learn", "--otel", spans, "--domain", "shop", "--out", "f.json")
    assert result.exit_code == 0
    assert "no tool is known to read" in result.stderr
    manifest = RETAIL_5.parent / "shop.manifest.json"
    told = ran_json("learn", "--otel", spans, "--domain", "shop", "--manifest", manifest, "--out", "f.json")
    assert told["reads"] > 0
    assert read_flow(here / "f.json").provenance.conventions


# --- parts ----------------------------------------------------------------------------------------------------


def test_what_one_command_learns_from_another_leaves_out(logs: Path, here: Path) -> None:
    """By share, and by a split: no session is on both sides, and none is lost."""
    told = ran_json("learn", "--sessions", logs, "--train-fraction", "0.5", "--out", "f.json")
    audited = ran_json("audit", "--flow", "f.json", "--sessions", logs, "--train-fraction", "0.5")
    assert 0 < told["learned"] < 12
    assert told["learned"] + audited["episodes"] == 12
    (here / "split.json").write_text(json.dumps({"train": ["s01", "s02"], "test": ["s03"]}))
    told = ran_json("learn", "--sessions", logs, "--train-tasks", "split.json", "--out", "f.json")
    audited = ran_json("audit", "--flow", "f.json", "--sessions", logs, "--train-tasks", "split.json")
    assert (told["learned"], audited["episodes"]) == (2, 10)
    assert {"s01", "s02"}.isdisjoint(audited["fits"])


def test_trials_leave_later_attempts_out(benchmark_results: Path, here: Path) -> None:
    given = ("--results", benchmark_results, "--out", "f.json")
    assert ran_json("learn", *given)["learned"] == 12
    assert ran_json("learn", *given, "--trials", "1")["learned"] == 6


# --- what cannot be done --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(["--sessions", "nowhere"], "nowhere: cannot be opened: No such file or directory", id="no-place"),
        pytest.param(["--results", "nowhere"], "nowhere: there is no such file", id="no-results"),
        pytest.param(
            ["--sessions", "LOGS", "--results", "x"], "give sessions, results or otel, one of them", id="two-sources"
        ),
        pytest.param(["--sessions", "LOGS", "--tau2", "x"], "tau2 says what the tools of results do", id="idle-tau2"),
        pytest.param(
            ["--sessions", "LOGS", "--train-tasks", "x", "--train-fraction", "0.5"],
            "--train-tasks and --train-fraction both choose tasks",
            id="two-choices",
        ),
        pytest.param(["--sessions", "LOGS", "--train-tasks", "nowhere"], "nowhere: there is no such file", id="split"),
        pytest.param(["--sessions", "LOGS", "--manifest", "nowhere"], "nowhere: cannot be read", id="no-manifest"),
        pytest.param(["--sessions", "LOGS", "--rewards", "bad.json"], "bad.json: expected rewards", id="rewards"),
        pytest.param(["--sessions", "LOGS", "--rewards", "none.json"], "no successful session", id="none"),
    ],
)
def test_what_is_given_and_cannot_be_used_is_one_line(logs: Path, here: Path, args: list[str], said: str) -> None:
    (here / "bad.json").write_text("{")
    (here / "none.json").write_text(json.dumps({each.id: 0 for each in sessions()}))
    assert said in refused("learn", *[str(logs) if arg == "LOGS" else arg for arg in args], "--out", "f.json")
    assert not (here / "f.json").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param([], "there are no sessions", id="no-sessions"),
        pytest.param(["--sessions", "x", "y"], "y is given without an option", id="stray"),
        pytest.param(["--sessions", "x", "--alpha", "1", "--alpha-samples", "600"], "takes the place", id="alpha"),
        pytest.param(["--sessions", "x", "--surprise-window", "3"], "does nothing without", id="window"),
        pytest.param(["--sessions", "x", "--half-life", "0"], "--half-life", id="half-life"),
        pytest.param(["--sessions", "x", "--train-fraction", "1"], "--train-fraction", id="all-of-them"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(here: Path, args: list[str], said: str) -> None:
    result = run("learn", *args, "--out", "f.json")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


@pytest.mark.case("HC-04")
def test_a_damaged_line_is_left_out_and_told_with_its_place(here: Path) -> None:
    place = written_logs(here / "logs", [shopping("s1", "#W1"), shopping("s2", "#W2")])
    with (place / "s1.jsonl").open("ab") as log:
        log.write(b'{"torn": \n{"t_ms": 99')
    lines = (place / "s1.jsonl").read_bytes().count(b"\n")
    result = run("learn", "--sessions", place, "--out", "f.json")
    assert result.exit_code == 0
    assert f"{place}/s1.jsonl:{lines}: " in result.stderr
    told = ran_json("learn", "--sessions", place, "--out", "f.json")
    assert told["learned"] == 2
    assert any(f"s1.jsonl:{lines}: " in each for each in told["problems"])


def test_many_problems_are_counted(here: Path) -> None:
    place = written_logs(here / "logs", [shopping("s1", "#W1")])
    with (place / "s1.jsonl").open("ab") as log:
        log.write(b"broken\n" * 30)
    result = run("learn", "--sessions", place, "--out", "f.json")
    assert result.stderr.count("\n") == 21
    assert "... and 10 more such problems" in result.stderr


def test_a_gzipped_file_of_traces_is_read_by_its_content(here: Path) -> None:
    trace = {
        "session": "t1",
        "source": "made",
        "agent": "agent",
        "domain": "shop",
        "task": "1",
        "success": True,
        "tools": {"find_user": {"kind": "read"}, "get_user": {"kind": "read"}},
        "events": [
            {"type": "call", "id": "c1", "turn": 0, "tool": "find_user", "args": {"email": "a"}},
            {"type": "result", "id": "c1", "ok": True, "content": "u1"},
            {"type": "call", "id": "c2", "turn": 1, "tool": "get_user", "args": {"user": "u1"}},
            {"type": "result", "id": "c2", "ok": True, "content": "{}"},
        ],
    }
    (here / "traces.jsonl.gz").write_bytes(gzip.compress(json.dumps(trace).encode() + b"\n"))
    assert ran("learn", "--sessions", "traces.jsonl.gz", "--out", "f.json").startswith("shop: 1 of 1 session, 2 tools")


# --- where it is written --------------------------------------------------------------------------------------


def test_a_flow_is_replaced_and_anything_else_only_by_force(logs: Path, here: Path) -> None:
    out = here / "f.json"
    shutil.copy(RETAIL_5, out)
    ran("learn", "--sessions", logs, "--out", out)
    assert read_flow(out).manifest.domain == "shop"
    out.write_text("my notes")
    assert "is there and no flow that can be read; --force replaces it" in refused(
        "learn", "--sessions", logs, "--out", out
    )
    assert out.read_text() == "my notes"
    ran("learn", "--sessions", logs, "--out", out, "--force")
    assert read_flow(out).manifest.domain == "shop"


def test_a_place_that_cannot_be_written_is_said_with_what_to_do(logs: Path, here: Path) -> None:
    (here / "file").write_text("")
    said = refused("learn", "--sessions", logs, "--out", "file/f.json", code=4)
    assert said.endswith("name another place")
    assert said.startswith("file/f.json: ")


# --- merge ----------------------------------------------------------------------------------------------------


def test_further_sessions_add_up_to_what_all_together_give(here: Path) -> None:
    """Under one plan: what a flow counts of sessions in two goes is what it counts in one."""
    everything = sessions()
    whole, parts = (
        written_logs(here / "all", everything),
        [written_logs(here / name, some) for name, some in (("a", everything[:8]), ("b", everything[8:]))],
    )
    given = ("--alpha", "1", "--no-features", "--no-derived", "--no-user-words")
    ran("learn", "--sessions", parts[0], "--out", "a.json", *given)
    assert ran("merge", "a.json", "--sessions", parts[1], "--out", "ab.json") == "shop: 8 + 4 sessions, ab.json\n"
    ran("learn", "--sessions", whole, "--out", "all.json", *given)
    merged, learned = read_flow(here / "ab.json"), read_flow(here / "all.json")
    assert merged.habit == learned.habit
    assert merged.reach == learned.reach
    assert merged.sites == learned.sites
    assert merged.bindings.args == learned.bindings.args
    assert merged.provenance.habit_episodes == 12


def test_flows_of_one_plan_add_and_others_do_not(logs: Path, shop_flow: Path, here: Path) -> None:
    told = ran_json("merge", shop_flow, shop_flow, shop_flow, "--out", "m.json")
    assert (told["before"], told["after"]) == (12, 36)
    assert "the flows have different actions" in refused("merge", shop_flow, RETAIL_5, "--out", "m.json")
    assert "there is nothing to add" in refused("merge", shop_flow, "--out", "m.json")
    result = run("merge", shop_flow, shop_flow, "--out", "n.json", "--dry-run")
    assert result.stderr.startswith("would write n.json")
    assert list(files_of(here)) == ["m.json"]


def test_a_tool_that_changed_its_kind_is_told_and_stays_what_the_flow_has(shop_flow: Path, here: Path) -> None:
    """Merging cannot make a write a read: that needs learning anew, and a review."""
    turned = {**SHOP.tools, "cancel": "read"}
    place = written_logs(here / "logs", [shopping("n1", "#W1")], type(SHOP)("shop", turned))
    result = run("merge", shop_flow, "--sessions", place, "--out", "m.json")
    assert "cancel: read in these sessions, write in the flow, which stays so" in result.stderr
    assert read_flow(here / "m.json").manifest.kind("cancel") == "write"


# --- compile --------------------------------------------------------------------------------------------------


def predicates(place: Path, **changes: Any) -> Path:
    one = {"id": "left", "favors": "same_lookup", "question": "Are some left?", "yes": "some", "no": "none", **changes}
    place.write_text(json.dumps([one]), encoding="utf-8")
    return place


def test_an_arbiter_is_fitted_and_serves_from_the_same_answers(benchmark_results: Path, here: Path) -> None:
    """What was asked while fitting is asked again while serving: the cache has every answer."""
    told = ran_json(
        *("compile", "--results", benchmark_results, "--out", "f.json", "--dataflow-hints"),
        *("--oracle", "mock", "--oracle-cache", "cache.jsonl", "--predicates", predicates(here / "p.json")),
    )
    assert told["arbiter_cases"] > 0
    assert told["unanswered"] == 0
    assert told["decider"] == "arbiter"
    flow = read_flow(here / "f.json")
    assert flow.arbiter
    assert [len(fold.weights) for fold in flow.arbiter.folds] == [6] * 5
    assert flow.provenance.arbiter_cases == told["arbiter_cases"]
    assert flow.sites.feeds["get_order"] == {("cancel", "order"): 6 * 2}
    given = ("--flow", "f.json", "--results", benchmark_results, "--oracle", "replay", "--oracle-cache", "cache.jsonl")
    audited = ran_json("audit", *given)
    assert (audited["decider"], audited["unanswered"]) == ("arbiter", 0)
    replayed = ran_json("replay", *given, "--threshold", "0")
    assert replayed["results"]["arbiter"]["lookups"] > 0


def test_compiling_from_a_cache_without_answers_says_so(benchmark_results: Path, here: Path) -> None:
    given = ("compile", "--results", benchmark_results, "--out", "f.json", "--oracle", "replay")
    assert "there is no decision to fit an arbiter on: cache.jsonl has no answer to " in refused(
        *given, "--oracle-cache", "cache.jsonl"
    )
    assert "give --oracle-cache" in refused(*given)


def test_a_dry_run_keeps_no_answers(benchmark_results: Path, here: Path) -> None:
    ran("compile", "--results", benchmark_results, "--out", "f", "--oracle", "mock", "--oracle-cache", "c", "--dry-run")
    assert not files_of(here)


@pytest.mark.parametrize("option", [["--oracle-cache", "c"], ["--oracle-model", "m"], ["--predicates", "p.json"]])
def test_options_that_would_do_nothing_are_refused(benchmark_results: Path, here: Path, option: list[str]) -> None:
    assert "give --oracle" in refused("compile", "--results", benchmark_results, "--out", "f.json", *option)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"favors": "nobody"}, "expected same_lookup, any_lookup, hand_back", id="favors"),
        pytest.param({"favors": {"lookup": "a", "b": 1}}, '{"lookup": TOOL} @ $[0].favors', id="lookup"),
        pytest.param({"yes": 1}, "expected a text @ $[0].yes", id="text"),
        pytest.param({"why": ""}, "expected an object of favors, id, question, yes, no @ $[0]", id="field"),
    ],
)
def test_questions_are_read_strictly(benchmark_results: Path, here: Path, changes: dict[str, Any], said: str) -> None:
    file = predicates(here / "p.json", **changes)
    given = ("compile", "--results", benchmark_results, "--out", "f.json", "--oracle", "mock", "--predicates", file)
    assert said in refused(*given)
    file.write_text("{}")
    assert "expected a list of questions @ $" in refused(*given)
    file.write_text("[")
    assert "is no JSON" in refused(*given)


def test_several_results_files_follow_one_option(benchmark_results: Path, here: Path) -> None:
    """As a shell's pattern gives them."""
    again = here / "again.json"
    again.write_text(benchmark_results.read_text().replace('-0"', '-2"').replace('-1"', '-3"'))
    told = ran_json("compile", "--results", benchmark_results, again, "--out", "f.json")
    assert told["sessions"] == 24
