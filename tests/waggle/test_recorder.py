"""The ring: what the original pins of it, and the order of calls that overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waggle import Outcome, Recorder, Result, Step

DONE = Result("x")


def step(seq: int) -> Step:
    return Step(seq, "read", {"path": str(seq)})


def test_two_steps_come_back_in_order() -> None:
    recorder = Recorder()
    for seq in range(2):
        recorder.record(step(seq))
    assert [s.seq for s in recorder.steps()] == [0, 1]


def test_beyond_the_capacity_the_oldest_go() -> None:
    recorder = Recorder(3)
    assert [recorder.record(step(seq)) for seq in range(5)] == [False, False, False, True, True]
    assert [s.seq for s in recorder.steps()] == [2, 3, 4]


def test_changing_the_copy_changes_nothing() -> None:
    recorder = Recorder()
    recorder.record(step(0))
    recorder.steps().clear()
    assert len(recorder) == 1


def test_a_ring_keeps_at_least_one_step() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Recorder(0)


@given(st.permutations(range(6)))
def test_whatever_the_order_of_ending_steps_are_released_in_the_order_of_starting(order: list[int]) -> None:
    recorder = Recorder()
    for seq in range(6):
        assert recorder.start("read", {}).overlapped is (seq > 0)
    released: list[int] = []
    for seq in order:
        released += [s.seq for s, _ in recorder.end(step(seq), DONE)]
        assert released == sorted(released)
    assert released == list(range(6))


def test_a_call_that_never_ends_does_not_hold_the_others_for_ever() -> None:
    recorder = Recorder(pending=4)
    recorder.start("lost", {})
    released = []
    for _ in range(6):
        started = recorder.start("read", {})
        released += [s.seq for s, _ in recorder.end(step(started.seq), DONE)]
    assert released == []  # the lost one may still end
    for _ in range(5):
        recorder.start("read", {})
    started = recorder.start("read", {})
    released += [s.seq for s, _ in recorder.end(step(started.seq), DONE)]
    assert released[:6] == [1, 2, 3, 4, 5, 6]


def test_what_still_runs_at_the_end_is_aborted() -> None:
    recorder = Recorder()
    recorder.start("slow", {"a": 1})
    second = recorder.start("read", {})
    assert recorder.end(step(second.seq), DONE) == []
    ended = recorder.abort()
    assert [(s.seq, s.outcome, r.outcome) for s, r in ended] == [
        (0, Outcome.ABORTED, Outcome.ABORTED),
        (1, Outcome.OK, Outcome.OK),
    ]
