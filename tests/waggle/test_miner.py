"""Mining: the definition, what the original pins, what counts as noise, and that call by call gives the same answer."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import streams
from tests.conftest import ROOT
from waggle.calls import Effect, Outcome, Step
from waggle.incremental import IncrementalMiner
from waggle.miner import Candidate, MineConfig, Param, is_primitive, mine, mine_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

EFFECT = {True: Effect.READ, False: Effect.WRITE}
GOLDEN = ROOT / "tests" / "golden" / "original"


def step(tool: str, *, ok: bool = True, reads: bool = True, seq: int = 0, **args: str) -> Step:
    return Step(seq, tool, dict(args), outcome=Outcome.OK if ok else Outcome.TOOL_ERROR, effect=EFFECT[reads])


def names(candidate: Candidate) -> list[str]:
    return [s.tool for s in candidate.steps]


A = step("search", pattern="foo", path="src")
B = step("read", path="a.py")
C = step("ls", path=".")
WRITE = step("edit", path="a.py", reads=False)


# --- what the original's tests pin ----------------------------------------------------------------------------


def test_a_route_repeated_exactly_is_the_top_candidate_with_no_parameters() -> None:
    top = mine([A, B, A, B], MineConfig.original())[0]
    assert (names(top), top.count, top.params) == (["search", "read"], 2, ())


def test_an_argument_that_varies_becomes_a_parameter() -> None:
    top = mine([A, B, step("search", pattern="bar", path="src"), B], MineConfig.original())[0]
    assert top.params == (Param(0, "pattern"),)


def test_no_candidate_holds_a_write() -> None:
    assert all(s.reads for c in mine([A, WRITE, B, A, WRITE, B, A, B], MineConfig.original()) for s in c.steps)


def test_a_route_seen_once_is_no_candidate() -> None:
    assert mine([A, B], MineConfig.original()) == []


def test_the_same_call_three_times_is_no_candidate() -> None:
    assert mine([A, A, A], MineConfig.original()) == []


def test_parameters_come_from_overlapping_occurrences_too() -> None:
    def ls(path: str) -> Step:
        return step("ls", path=path)

    steps = [ls("a"), B, ls("b"), B, ls("c"), B, ls("d")]
    three = [c for c in mine(steps, MineConfig.original()) if names(c) == ["ls", "read", "ls"]]
    assert [(c.count, c.params) for c in three] == [(2, (Param(0, "path"), Param(2, "path")))] or three == []


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        pytest.param("a", True, id="one"),
        pytest.param("aa", False, id="twice the same"),
        pytest.param("abab", False, id="two repeats"),
        pytest.param("ababab", False, id="three repeats"),
        pytest.param("aba", True, id="period two does not divide three"),
        pytest.param("aaab", True, id="a run with an end"),
        pytest.param("aaaaa", False, id="prime length, all equal"),
    ],
)
def test_primitive_means_no_shorter_sequence_repeated(symbols: str, *, expected: bool) -> None:
    assert is_primitive(tuple(symbols)) is expected


def golden_windows(stream: str) -> list[list[dict[str, object]]]:
    with gzip.open(GOLDEN / f"mine_{stream}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["candidates"] for line in lines]


STREAMS = ["agent", "periodic", "distinct_values", "distinct_shapes"]


@pytest.mark.parametrize("stream", STREAMS)
def test_the_originals_candidates_on_seeded_streams_come_out_in_its_order(stream: str) -> None:
    """Windows of 200 calls, all candidates of each: steps, count, parameters and order."""
    calls = [
        Step(i, c["tool"], c["args"], effect=EFFECT[not c["mutates"]])
        for i, c in enumerate(getattr(streams, stream)(10_000))
    ]
    for number, expected in enumerate(golden_windows(stream)):
        found = mine(calls[number * 200 : (number + 1) * 200], MineConfig.original())
        got = [
            {
                "len": len(c.steps),
                "count": c.count,
                "steps": [{"tool": s.tool, "args": s.args} for s in c.steps],
                "params": [{"step": p.step, "key": p.key} for p in c.params],
            }
            for c in found
        ]
        assert got == [{key: e[key] for key in ("len", "count", "steps", "params")} for e in expected]


# --- beyond the original ---------------------------------------------------------------------------------------


def test_a_literal_habit_is_found_beside_the_shape_that_one_odd_value_widened() -> None:
    habit = [step("ls", path="h"), step("read", path="h1"), step("search", pattern="w")]
    odd = [step("ls", path="q"), step("read", path="q1"), step("search", pattern="z")]
    found = [c for c in mine(odd + habit * 5) if len(c.steps) == 3]
    assert any(not c.params and c.count == 5 and [s.args for s in c.steps] == [s.args for s in habit] for c in found)


def test_two_reads_of_different_files_are_a_route_although_their_shapes_are_equal() -> None:
    pair = [step("read", path="a"), step("read", path="b"), WRITE]
    assert [([s.args["path"] for s in c.steps], c.count) for c in mine(pair * 2)] == [(["a", "b"], 2)]


@pytest.mark.case("HC-12")
def test_forty_polls_are_no_route() -> None:
    assert mine([step("poll", id="1")] * 40) == []


@pytest.mark.case("HC-12")
def test_a_retry_folds_into_its_success_and_support_counts_sessions() -> None:
    """Five sessions of search then open, in three of which open fails once and is repeated."""
    search, opened, failed = step("search", q="x"), step("open", id="7"), step("open", id="7", ok=False)
    other = [step("note", n=str(i), reads=False) for i in range(5)]  # makes the five sessions different ones
    sessions = [[search, failed, opened, other[i]] if i < 3 else [search, opened, other[i]] for i in range(5)]
    (only,) = mine_sessions(sessions)
    assert (names(only), only.count, only.support) == (["search", "open"], 5, 5)
    assert all(s.ok for s in only.steps)


@pytest.mark.case("HC-12")
def test_nothing_is_learned_from_sessions_that_only_fail() -> None:
    login = step("login", user="u")
    timeout = step("fetch", ok=False)
    assert mine_sessions([[login, timeout] * 3, [login, timeout, *[login, timeout] * 2, WRITE]]) == []


@pytest.mark.case("HC-12")
def test_one_session_given_ten_times_is_one_session() -> None:
    assert mine_sessions([[A, B]] * 10) == []
    assert [c.support for c in mine_sessions([[A, B, A, B]] * 10)] == [1] * len(mine([A, B, A, B]))


def test_a_failed_read_that_is_not_retried_ends_the_run() -> None:
    failed = step("read", path="missing", ok=False)
    assert mine([C, failed, B] * 2) == []


def test_a_call_that_cannot_be_made_again_ends_the_run() -> None:
    opaque = Step(0, "read", {"f": {"$opaque": "io.TextIOWrapper"}}, replayable=False)
    assert mine([C, opaque, B] * 2) == []


def test_a_window_never_spans_two_sessions() -> None:
    assert mine_sessions([[A], [B], [A, WRITE], [B, WRITE]]) == []


@pytest.mark.parametrize("bad", [(0, 6, 2), (3, 2, 2), (2, 6, 1)])
def test_bounds_out_of_range_are_refused(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="min_len"):
        MineConfig(*bad)


# --- call by call ----------------------------------------------------------------------------------------------

steps_strategy = st.lists(
    st.builds(
        step,
        st.sampled_from(["ls", "read"]),
        ok=st.sampled_from([True, True, True, False]),
        reads=st.sampled_from([True, True, True, True, False]),
        path=st.sampled_from(["a", "b"]),
    ),
    max_size=60,
)
configs = st.builds(
    lambda low, more, k, literal: MineConfig(low, low + more, k, literal),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(2, 4),
    st.booleans(),
)


def check_sliding(steps: Sequence[Step], config: MineConfig, capacity: int) -> None:
    miner = IncrementalMiner(config)
    for i, one in enumerate(steps):
        if i >= capacity:
            miner.evict()
        miner.append(one)
        assert miner.candidates() == mine(steps[max(0, i + 1 - capacity) : i + 1], config)


@given(steps_strategy, configs, st.integers(1, 20))
def test_call_by_call_equals_the_definition_on_every_content_of_the_ring(
    steps: list[Step], config: MineConfig, capacity: int
) -> None:
    check_sliding(steps, config, capacity)


@pytest.mark.parametrize("stream", STREAMS)
def test_call_by_call_equals_the_definition_on_seeded_streams(stream: str) -> None:
    calls = [
        Step(i, c["tool"], c["args"], effect=EFFECT[not c["mutates"]])
        for i, c in enumerate(getattr(streams, stream)(1_000))
    ]
    miner = IncrementalMiner()
    for i, one in enumerate(calls):
        if i >= 200:
            miner.evict()
        miner.append(one)
        if i % 50 == 49:
            assert miner.candidates() == mine(calls[max(0, i - 199) : i + 1])


def test_a_candidate_is_fresh_once_and_again_when_seen_twice_as_often() -> None:
    miner = IncrementalMiner()
    shown = []
    for _ in range(8):
        for one in [C, B, WRITE]:
            miner.append(one)
        shown.append([c.count for c in miner.fresh()])
    assert shown == [[], [2], [], [4], [], [], [], [8]]


def test_a_candidate_that_varies_in_its_last_step_is_not_fresh() -> None:
    miner = IncrementalMiner()
    for path in "abcd":
        for one in [C, step("read", path=path), WRITE]:
            miner.append(one)
    assert (len(miner.candidates()), miner.fresh()) == (1, [])


def test_an_emptied_miner_holds_nothing() -> None:
    miner = IncrementalMiner()
    for one in [A, B, WRITE, A, B]:
        miner.append(one)
    for _ in range(5):
        miner.evict()
    assert (miner.candidates(), miner._by_shape._root.longer, miner._by_shape._ids, miner._by_call._ids) == (
        [],
        {},
        {},
        {},
    )
    with pytest.raises(IndexError):
        miner.evict()
