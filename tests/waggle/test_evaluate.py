"""The measuring instrument: what counts as saved, as a detour, and that nothing is learned where it is measured."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from waggle import Call, ManagerConfig, MineConfig, Result, Route, ToolTable
from waggle.evaluate import (
    Score,
    bootstrap,
    group_of,
    learn,
    mean_result_tokens,
    measure,
    replay_trace,
    split,
)
from waggle.routes import RouteStep, named
from waggle.traces import Trace, TraceBuilder

TOOLS = ToolTable()
LS = ("ls", {"path": "src"})
A, B, C = (("read", {"path": p}) for p in ("a.py", "b.py", "c.py"))
WRITE = ("write", {"path": "a.py", "content": "x"})


def trace(*turns: list[tuple[str, dict[str, Any]]], session: str = "s", **facts: Any) -> Trace:
    """A session; each turn's calls start together and end in order."""
    builder, ids = TraceBuilder(), itertools.count()
    for number, calls in enumerate(turns):
        named_calls = [(f"c{next(ids)}", tool, args) for tool, args in calls]
        for one, tool, args in named_calls:
            builder.call(Call(tool, args, id=one), number)
        for one, _, args in named_calls:
            ok = args.get("fails") is None
            builder.result(one, Result(f"text of {args.get('path')}" * 4, ok=ok))
    return builder.build(session=session, agent="host/model", source="o/r:x@1", **facts)


def route(*steps: tuple[str, dict[str, Any]]) -> Route:
    return named(Route("", tuple(RouteStep(tool, args) for tool, args in steps)))


def score(one: Trace, *routes: Route) -> Score:
    return replay_trace(one, routes, ManagerConfig(), TOOLS, {"": 10.0})


def test_a_turn_whose_calls_were_all_answered_is_saved() -> None:
    got = score(trace([LS], [A], [B], [C]), route(LS, A, B, C))
    assert (got.turns, got.saved, got.lookups, got.used, got.detours) == (4, 2, 2, 2, 0)


def test_a_turn_with_one_call_unanswered_is_not_saved_though_the_lookup_is_used() -> None:
    got = score(trace([LS], [A], [B, C]), route(LS, A, B))
    assert (got.saved, got.lookups, got.used) == (0, 1, 1)


def test_a_lookup_the_agent_never_asks_for_is_a_detour() -> None:
    got = score(trace([LS], [A], [C], [C]), route(LS, A, B))
    assert (got.saved, got.lookups, got.used, got.detours) == (0, 1, 0, 1)
    assert got.tokens_spent == 10 * 2  # its mean length, in each of the two turns left


def test_a_lookup_asked_for_only_after_a_write_is_a_detour() -> None:
    got = score(trace([LS], [A], [WRITE], [B]), route(LS, A, B))
    assert (got.saved, got.used, got.detours) == (0, 0, 1)


def test_a_call_of_the_same_turn_cannot_be_answered_any_more() -> None:
    got = score(trace([LS], [A, B], [C]), route(LS, A, B))
    assert (got.saved, got.lookups) == (0, 0)  # b.py had been read by the time the strategies were asked


def test_a_recorded_failure_answers_nothing() -> None:
    failing = ("read", {"path": "b.py", "fails": "yes"})
    got = score(trace([LS], [A], [failing], [C]), route(LS, A, failing))
    assert (got.saved, got.used) == (0, 0)


def test_one_lookup_answers_at_most_one_call() -> None:
    got = score(trace([LS], [A], [B], [B]), route(LS, A, B))
    assert (got.saved, got.used) == (1, 1)


def test_a_saved_turn_spares_its_context_and_its_calls_in_every_turn_after_it() -> None:
    one = trace([LS], [A], [B], [C])
    got = score(one, route(LS, A, B))
    call = [len(f'{{"path":"{p}"}}') // 4 for p in ("src", "a.py", "b.py")]
    result = [len(f"text of {p}" * 4) // 4 for p in ("src", "a.py")]
    assert got.tokens_saved == call[0] + call[1] + sum(result) + call[2] * 1
    assert got.tokens_spent == 0


def test_the_ceiling_counts_reads_whose_arguments_stood_in_earlier_results() -> None:
    builder = TraceBuilder()
    builder.call(Call("ls", {"path": "src"}, id="1"), 0)
    builder.result("1", Result("a.py\nline 12\n"))
    builder.call(Call("read", {"path": "a.py", "limit": 12}, id="2"), 1)
    builder.result("2", Result("text"))
    builder.call(Call("read", {"path": "a.py", "limit": 1}, id="3"), 2)
    builder.result("3", Result("text"))
    builder.call(Call("write", {"path": "a.py"}, id="4"), 3)
    builder.result("4", Result("ok"))
    got = score(builder.build(session="s", agent="a", source="x"), route(LS, A, B))
    assert (got.turns, got.ceiling) == (4, 1)


# --- splitting and grouping ------------------------------------------------------------------------------------


def test_no_task_is_on_both_sides_of_a_split() -> None:
    traces = [trace([LS], session=f"s{n}", task=f"t{n % 5}") for n in range(20)]
    learn_on, replay_on = split(traces, 0.4)
    assert {t.task for t in learn_on} == {"t0", "t1"}
    assert {t.task for t in replay_on} == {"t2", "t3", "t4"}
    with pytest.raises(ValueError, match="same task"):
        measure("g", "r", traces[:6], traces[5:], ManagerConfig())


def test_a_sessions_memory_is_its_hosts_in_its_repository() -> None:
    assert group_of(trace([LS])) == "host (o/r)"
    local = TraceBuilder().build(session="s", agent="claude-code/x", source="/home/a/file.jsonl")
    assert group_of(local) == "claude-code"


# --- learning and the whole ------------------------------------------------------------------------------------


def test_what_repeats_in_a_session_is_learned_and_saves_turns_in_another() -> None:
    loop = [[LS], [A], [B], [WRITE]]
    learn_on = [trace(*loop * 4, session="one")]
    replay_on = [trace(*loop, session="two"), trace([C], [WRITE], session="three")]
    report, routes = measure("host (o/r)", "exact calls", learn_on, replay_on, ManagerConfig(sweep_calls=1))
    assert [[s.args["path"] for s in r.steps] for r in routes] == [["src", "a.py", "b.py"]]
    assert (report.total("saved"), report.total("turns"), report.precision) == (1, 6, 1.0)
    assert report.saved.value == pytest.approx(1 / 6)
    assert report.saved.low <= report.saved.value <= report.saved.high


def test_the_originals_rule_learns_the_same_habit() -> None:
    loop = [[LS], [A], [B], [WRITE]]
    routes = learn([trace(*loop * 4)], ManagerConfig.original(sweep_calls=1))
    assert any([s.args["path"] for s in r.steps] == ["src", "a.py", "b.py"] for r in routes)


def test_mean_lengths_come_from_successful_reads_alone() -> None:
    one = trace([LS], [("read", {"path": "x", "fails": "y"})], [WRITE])
    assert mean_result_tokens([one], TOOLS) == {"ls": 11.0, "": 11.0}


def test_an_interval_comes_from_resampling_tasks_and_is_the_same_every_time() -> None:
    scores = [Score(f"s{n}", f"t{n // 2}", turns=10, saved=n % 3) for n in range(20)]
    assert bootstrap(scores) == bootstrap(scores)
    assert bootstrap([]).value == 0.0
    assert bootstrap([Score("s", "t", turns=4, saved=1)]) == bootstrap([Score("s", "t", turns=4, saved=1)] * 1)
    one_task = bootstrap([Score("s", "t", turns=4, saved=1), Score("z", "t", turns=4, saved=3)])
    assert (one_task.low, one_task.value, one_task.high) == (0.5, 0.5, 0.5)


def test_arguments_that_were_cut_in_the_recording_are_never_called_again() -> None:
    from dataclasses import replace

    one = trace([LS], [A], [B], [C])
    cut = replace(one, steps=tuple(replace(s, args_cut=s.call.args == B[1]) for s in one.steps))
    got = score(cut, route(LS, A, B))
    assert (got.saved, got.used, got.detours) == (0, 0, 1)


def test_configurations_of_the_two_rules_are_what_their_names_say() -> None:
    assert ManagerConfig.original().mine == MineConfig.original()
    assert ManagerConfig().mine == MineConfig(k=3)
