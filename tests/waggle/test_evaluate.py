"""Measuring: nothing is learned where it is measured, and a share comes with an interval."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.waggle.recorded import trace
from waggle import ManagerConfig, MineConfig
from waggle.evaluate import Library, Score, bootstrap, group_of, learn, measure, split
from waggle.traces import TraceBuilder

LS = ("ls", {"path": "src"})
A, B, C = (("read", {"path": p}) for p in ("a.py", "b.py", "c.py"))
WRITE = ("write", {"path": "a.py", "content": "x"})


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


LOOP = [[LS], [A], [B], [WRITE]]


def test_what_repeats_in_a_session_is_learned_and_saves_turns_in_another() -> None:
    learn_on = [trace(*LOOP * 4, session="one")]
    replay_on = [trace(*LOOP, session="two"), trace([C], [WRITE], session="three")]
    config = ManagerConfig(sweep_calls=1, reach=False)
    report, library = measure("host (o/r)", "exact calls", learn_on, replay_on, config)
    assert [[s.args["path"] for s in r.steps] for r in library.routes] == [["src", "a.py", "b.py"]]
    assert (report.total("saved"), report.total("turns"), report.precision) == (1, 6, 1.0)
    assert report.saved.value == pytest.approx(1 / 6)
    assert report.saved.low <= report.saved.value <= report.saved.high
    assert (report.learned_on, report.routes, len(report.scores)) == (1, 1, 2)


def test_what_is_read_after_a_kind_of_call_is_learned_by_sessions_and_saves_turns_in_another() -> None:
    """No two sessions make the same calls, so no run repeats; the file that a search names is read each time."""
    sessions = [
        trace(
            [("grep", {"pattern": f"p{n}"}, f"src/f{n}.py:{n + 40}:def p{n}")],
            [("read", {"path": f"src/f{n}.py", "offset": n + 30, "limit": 40})],
            [WRITE],
            session=f"s{n}",
        )
        for n in range(8)
    ]
    report, library = measure("g", "r", sessions[:6], sessions[6:], ManagerConfig())
    followed = [(route.after.site, route.steps[0].tool) for route in library.routes if route.after]
    assert set(followed) == {("search | lines of one file", "read")}
    assert len(followed) == len(library.routes)
    assert library.counts.sessions.most_common(1)[0][1] == 6
    assert (report.total("saved"), report.total("used"), report.precision) == (2, 2, 1.0)
    exact, _ = measure("g", "r", sessions[:6], sessions[6:], ManagerConfig(reach=False))
    assert exact.total("lookups") == 0


def test_one_session_given_many_times_is_one_session() -> None:
    once = learn([trace(*LOOP)], ManagerConfig())
    again = learn([trace(*LOOP)] * 9, ManagerConfig())
    assert (again.counts, again.routes) == (once.counts, once.routes)


def test_replaying_teaches_the_library_nothing() -> None:
    library = learn([trace(*LOOP * 4)], ManagerConfig(sweep_calls=1))
    before = replace(library.counts, digests=dict(library.counts.digests))
    measured, same = measure("g", "r", [trace(*LOOP * 4)], [trace(*LOOP, session="two")], ManagerConfig(sweep_calls=1))
    assert measured.total("turns") == 4
    assert same.counts == library.counts == before
    assert len(library.counts.digests) == 1


def test_the_originals_rule_learns_the_same_habit() -> None:
    library = learn([trace(*LOOP * 4)], ManagerConfig.original(sweep_calls=1))
    assert any([s.args["path"] for s in r.steps] == ["src", "a.py", "b.py"] for r in library.routes)
    assert library.counts == Library().counts


def test_an_interval_comes_from_resampling_tasks_and_is_the_same_every_time() -> None:
    scores = [Score(f"s{n}", f"t{n // 2}", turns=10, saved=n % 3) for n in range(20)]
    assert bootstrap(scores) == bootstrap(scores)
    assert bootstrap([]).value == 0.0
    assert bootstrap([Score("s", "t", turns=4, saved=1)]) == bootstrap([Score("s", "t", turns=4, saved=1)] * 1)
    one_task = bootstrap([Score("s", "t", turns=4, saved=1), Score("z", "t", turns=4, saved=3)])
    assert (one_task.low, one_task.value, one_task.high) == (0.5, 0.5, 0.5)


def test_configurations_of_the_two_rules_are_what_their_names_say() -> None:
    assert ManagerConfig.original().mine == MineConfig.original()
    assert ManagerConfig().mine == MineConfig(k=3)
