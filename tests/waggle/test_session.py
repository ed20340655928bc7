"""A conversation: what a host reports, in which order it is kept, what is offered, and that the host comes first."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from tests.waggle.session_support import LONG, LS, READ_A, READ_B, ROUTE, call, host, manager
from waggle import Call, Outcome, Result, Route, _defaults
from waggle.reach.learner import _WINDOW_CHARS
from waggle.reach.replayer import _UNREAD_CHARS
from waggle.routes import RouteStep

# --- replay, as the original's tests pin it --------------------------------------------------------------------


def test_a_literal_tail_is_followed_once_its_prefix_has_matched() -> None:
    run, asked = host()
    m = manager()
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    fold = m.follow(run)
    assert fold is not None
    assert asked == [("read", {"path": "b.go"})]
    assert "text of b.go" in fold.text
    assert [(one.tool, one.args, one.strategy, one.source) for one in fold.lookups] == [
        ("read", {"path": "b.go"}, "routes", "look-around")
    ]


def test_a_route_fires_once_between_two_writes() -> None:
    run, asked = host()
    m = manager()
    for _ in range(2):
        for step in (LS, READ_A):
            m.observe(call(step), "x")
        m.follow(run)
    assert len(asked) == 1
    m.observe(Call("write", {"path": "b.go"}), "ok")
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(run) is not None
    assert len(asked) == 2


def test_nothing_fires_below_the_shortest_prefix() -> None:
    run, asked = host()
    m = manager()
    m.observe(call(LS), "x")
    assert (m.follow(run), asked) == (None, [])


def test_a_parameter_in_the_tail_blocks() -> None:
    from waggle import Param

    run, _ = host()
    m = manager(Route("open-tail", (LS, READ_A, RouteStep("read", {"path": None})), (Param(2, "path"),)))
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(run) is None
    assert m.routes() == 0


def test_a_parameter_in_the_prefix_accepts_any_value() -> None:
    from waggle import Param

    run, asked = host()
    m = manager(Route("open-middle", (LS, RouteStep("read", {"path": None}), READ_A, READ_B), (Param(1, "path"),)))
    m.observe(call(LS), "x")
    m.observe(Call("read", {"path": "anything"}), "x")
    m.observe(call(READ_A), "x")
    assert m.follow(run) is not None
    assert asked == [("read", {"path": "b.go"})]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([Call("search", {"pattern": "x"}), Call("read", {"path": "a.go"})], id="other calls"),
        pytest.param([Call("ls", {"path": "internal"}), Call("read", {"path": "z.go"})], id="another literal"),
        pytest.param([Call("ls", {}), Call("read", {"path": "a.go"})], id="another shape"),
        pytest.param([Call("ls", {"path": "internal"}), Call("read", {"path": ["a.go"]})], id="another type"),
    ],
)
def test_calls_that_do_not_equal_the_prefix_do_not_fire(steps: list[Call]) -> None:
    run, asked = host()
    m = manager()
    for one in steps:
        m.observe(one, "x")
    assert (m.follow(run), asked) == (None, [])


def test_of_two_routes_with_one_prefix_the_second_has_its_turn_when_the_prefix_comes_again() -> None:
    run, asked = host()
    m = manager(ROUTE, Route("other", (LS, READ_A, RouteStep("read", {"path": "c.go"}))))
    for expected in (["b.go"], ["b.go", "c.go"]):
        for step in (LS, READ_A):
            m.observe(call(step), "x")
        assert m.follow(run) is not None
        assert [args["path"] for _, args in asked] == expected


def test_of_routes_that_match_the_one_with_the_longest_prefix_is_followed() -> None:
    longer = Route("longer", (READ_B, LS, READ_A, RouteStep("read", {"path": "z.go"})))
    run, asked = host()
    m = manager(ROUTE, longer)
    for step in (READ_B, LS, READ_A):
        m.observe(call(step), "x")
    m.follow(run)
    assert [args["path"] for _, args in asked] == ["z.go"]


def test_a_wildcard_is_no_evidence_that_the_agent_is_on_a_route() -> None:
    from waggle import Param

    run, asked = host()
    m = manager(Route("junk", (RouteStep("ls", {"path": None}), READ_A, READ_B), (Param(0, "path"),)))
    m.observe(Call("ls", {"path": "anything"}), "x")
    m.observe(call(READ_A), "x")
    assert (m.follow(run), asked) == (None, [])


# --- what next to each other means -----------------------------------------------------------------------------


def test_a_write_between_the_steps_of_a_prefix_ends_it() -> None:
    run, _ = host()
    m = manager()
    m.observe(call(LS), "x")
    m.observe(Call("edit", {"path": "a.go"}), "ok")
    m.observe(call(READ_A), "x")
    assert m.follow(run) is None


def test_a_retry_folds_into_its_success() -> None:
    run, _ = host()
    m = manager()
    m.observe(call(LS), "x")
    m.observe(call(READ_A), Result("no", ok=False))
    m.observe(call(READ_A), "x")
    assert m.follow(run) is not None


def test_a_failed_call_that_is_not_retried_ends_the_prefix() -> None:
    run, _ = host()
    m = manager()
    m.observe(call(LS), "x")
    m.observe(Call("read", {"path": "missing"}), Result("no", ok=False))
    m.observe(call(READ_A), "x")
    assert m.follow(run) is None


@pytest.mark.case("HC-11")
def test_calls_that_overlap_are_kept_in_the_order_of_starting() -> None:
    """a(1), b(2), a(3) start in this order and end as a(3), a(1), b(2); a fourth never ends."""
    calls = [Call("read", {"path": str(n)}, id=f"c{n}") for n in range(1, 5)]
    session = manager().session("parallel")
    for one in calls:
        session.start(one)
    for n in (3, 1, 2):
        session.observe(calls[n - 1], f"result {n}")
    session.close()
    steps = session.steps()
    assert [(s.args["path"], s.outcome) for s in steps] == [
        ("1", Outcome.OK),
        ("2", Outcome.OK),
        ("3", Outcome.OK),
        ("4", Outcome.ABORTED),
    ]
    assert [s.overlapped for s in steps] == [False, True, True, True]


def test_a_step_behind_a_running_call_waits_for_it() -> None:
    run, _ = host()
    m = manager()
    first, second = call(LS), call(READ_A)
    m.start(first)
    m.start(second)
    m.observe(second, "x")
    assert m.follow(run) is None
    m.observe(first, "x")
    assert m.follow(run) is not None


# --- no lookup twice, stale after a write ----------------------------------------------------------------------


def test_what_the_agent_has_just_read_is_not_read_again() -> None:
    run, asked = host()
    m = manager()
    for step in (READ_B, LS, READ_A):
        m.observe(call(step), "x")
    assert (m.follow(run), asked) == (None, [])


def test_a_read_of_more_lines_answers_a_read_of_fewer() -> None:
    narrow = RouteStep("read", {"path": "b.go", "offset": 60, "limit": 30})
    run, asked = host()
    m = manager(Route("range", (LS, READ_A, narrow)))
    m.observe(Call("read", {"path": "b.go", "offset": 40, "limit": 80}), "x")
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert (m.follow(run), asked) == (None, [])


def test_after_a_write_what_was_read_before_is_read_again() -> None:
    run, asked = host()
    m = manager()
    m.observe(call(READ_B), "x")
    m.observe(Call("bash", {"command": "make build"}), "ok")
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(run) is not None
    assert len(asked) == 1


def test_a_note_makes_nothing_stale() -> None:
    run, asked = host()
    m = manager()
    m.observe(call(READ_B), "x")
    m.observe(Call("TodoWrite", {"todos": []}), "ok")
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert (m.follow(run), asked) == (None, [])


# --- caps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("knobs", "expected"), [({"lookups_per_result": 4}, 4), ({"lookups_per_session": 3}, 3)])
def test_a_cap_ends_the_lookups(knobs: dict[str, int], expected: int) -> None:
    run, asked = host()
    m = manager(LONG, **knobs)
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    m.follow(run)
    assert len(asked) == expected


def test_a_fold_stays_within_its_bytes_and_says_what_was_cut() -> None:
    run, asked = host({f"f{n}.go": "é" * 3000 for n in range(6)})
    m = manager(LONG, fold_bytes=8_000)
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    fold = m.follow(run)
    assert fold is not None
    assert len(fold.text.encode()) <= 8_000
    assert "more characters]" in fold.text
    assert len(asked) < 6


def test_with_no_time_left_nothing_is_asked() -> None:
    run, asked = host()
    m = manager(follow_seconds=0)
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert (m.follow(run), asked) == (None, [])


# --- the host comes first --------------------------------------------------------------------------------------


def test_what_run_raises_is_a_failed_lookup_and_no_more() -> None:
    def run(tool: str, args: dict[str, Any]) -> str:
        raise RuntimeError("secret detail")

    m = manager()
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(run) is None
    assert m.faults() == {}


def test_ctrl_c_in_a_lookup_reaches_the_host_and_the_session_goes_on() -> None:
    def interrupted(tool: str, args: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    run, _ = host()
    m = manager(ROUTE, Route("other", (READ_A, LS, READ_B)))
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    with pytest.raises(KeyboardInterrupt):
        m.follow(interrupted)
    m.observe(call(LS), "x")
    assert m.follow(run) is not None


def test_a_lookup_reported_back_by_the_hosts_hook_is_neither_recorded_nor_followed() -> None:
    m = manager()

    def run(tool: str, args: dict[str, Any]) -> str:
        m.observe(Call(tool, args), "inner")
        assert m.follow(run) is None
        return "inner"

    for step in (LS, READ_A):
        m.observe(call(step), "x")
    assert m.follow(run) is not None
    assert len(m.session().steps()) == 2


def test_a_second_follow_beside_a_running_one_returns_at_once() -> None:
    inside, finish = threading.Event(), threading.Event()

    def slow(tool: str, args: dict[str, Any]) -> str:
        inside.set()
        assert finish.wait(5)
        return "late"

    m = manager()
    for step in (LS, READ_A):
        m.observe(call(step), "x")
    folds: list[Any] = []
    thread = threading.Thread(target=lambda: folds.append(m.follow(slow)))
    thread.start()
    assert inside.wait(5)
    assert m.follow(slow) is None
    m.observe(Call("read", {"path": "elsewhere"}), "not held up")
    finish.set()
    thread.join(5)
    assert folds[0] is not None


@pytest.mark.parametrize("method", ["observe", "start"])
def test_hostile_arguments_never_raise_into_the_host(method: str, caplog: pytest.LogCaptureFixture) -> None:
    class Hostile(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise RuntimeError("no")

        def __iter__(self) -> Any:
            raise RuntimeError("no")

        def __len__(self) -> int:
            return 1

    m = manager()
    for _ in range(3):
        getattr(m, method)(Call("read", Hostile()))
    assert m.faults() == {method: 3}
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


def test_fifty_threads_lose_no_call() -> None:
    session = manager(ring_steps=500).session("threads")
    barrier = threading.Barrier(50)

    def work(n: int) -> None:
        barrier.wait(5)
        session.observe(Call("read", {"path": str(n)}), "x")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sorted(int(str(s.args["path"])) for s in session.steps()) == list(range(50))


# --- Python functions as tools ---------------------------------------------------------------------------------


@pytest.mark.case("HC-08")
def test_two_spellings_of_one_python_call_are_one_step() -> None:
    def read(path: str, limit: int = 5, **more: int) -> str:
        return path * limit

    session = manager().session("python")
    wrapped = session.wrap(read, reads=True)
    assert wrapped("a") == wrapped(path="a") == wrapped("a", 5) == wrapped(limit=5, path="a") == "aaaaa"
    assert {s.key for s in session.steps()} == {session.steps()[0].key}
    wrapped("a", extra=1)
    assert session.steps()[-1].args == {"path": "a", "limit": 5, "extra": 1}


@pytest.mark.case("HC-08")
def test_a_wrapped_function_returns_and_raises_what_it_did_before() -> None:
    def fails(x: int) -> None:
        raise LookupError(x)

    async def later(x: int) -> dict[str, int]:
        return {"x": x}

    session = manager().session("python")
    with pytest.raises(LookupError):
        session.wrap(fails)(1)
    with pytest.raises(TypeError):
        session.wrap(fails)()  # type: ignore[call-arg] # the function itself says what is missing
    assert asyncio.run(session.wrap(later)(2)) == {"x": 2}
    assert [(s.tool, s.outcome) for s in session.steps()] == [("fails", Outcome.TOOL_ERROR), ("later", Outcome.OK)]


@pytest.mark.case("HC-08")
def test_arguments_of_every_kind_are_recorded_and_never_change_the_call() -> None:
    from datetime import UTC, datetime
    from decimal import Decimal
    from pathlib import Path

    class NoRepr:
        def __repr__(self) -> str:
            raise RuntimeError

    loop: list[Any] = []
    loop.append(loop)
    exact: list[Any] = [
        None,
        [],
        {},
        "",
        0,
        False,
        [{"a": [1]}],
        {1: "x"},
        Path("a b"),
        {1, 2},
        b"\x00\xff",
        Decimal("0.1"),
    ]
    exact.append(datetime(2026, 1, 2, tzinfo=UTC))
    opaque: list[Any] = [lambda: None, NoRepr(), loop, [NoRepr()]]

    def tool(value: object) -> object:
        return value

    session = manager(ring_steps=500).session("kinds")
    wrapped = session.wrap(tool, reads=True)
    for value in [*exact, *opaque]:
        assert wrapped(value) is value
    assert [s.replayable for s in session.steps()] == [True] * len(exact) + [False] * len(opaque)
    assert len({s.key for s in session.steps()[: len(exact)]}) == len(exact)


#: Characters of results that a session may hold beside `ManagerConfig.known_bytes`: those that have not been counted
#: since the latest look, and those that later reads are traced to.
HELD_CHARS = _defaults.SWEEP_CALLS * _defaults.CONTENT_CHARS + _WINDOW_CHARS


@pytest.mark.case("HC-09")
def test_very_large_results_leave_no_trace_in_memory_and_are_never_changed() -> None:
    """Hundreds of results of 20 kB, one of 50 MB: what a session holds is bounded by its ring and its byte budgets."""
    import tracemalloc

    owner = manager(known_bytes=100_000)
    session = owner.session("large")
    text = "x" * 20_000
    big = Result("y" * 50_000_000)

    def work(calls: int) -> int:
        for n in range(calls):
            session.observe(Call("read", {"path": f"f{n % 150}"}), text + str(n))
            if n % _defaults.SWEEP_CALLS == 0:
                assert owner.flush(30)  # as between the calls of a real agent
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        empty, _ = tracemalloc.get_traced_memory()
        before = work(200)
        after = work(400)
    finally:
        tracemalloc.stop()
    assert after - before < HELD_CHARS
    assert after - empty < HELD_CHARS + 100_000 + 600 * 3_000  # of each call, its step, its counts and its name
    session.observe(Call("read", {"path": "big"}), big)
    assert len(big.text) == 50_000_000
    assert big.est_tokens == 12_500_000


@pytest.mark.case("HC-09")
def test_results_that_wait_to_be_counted_are_bounded() -> None:
    """The disk may be slow, and an agent fast: what nobody has counted yet must not fill the memory."""
    import tracemalloc

    owner = manager(known_bytes=100_000)
    session = owner.session("large")
    text, free = "x" * 120_000, threading.Event()
    owner._background.submit("a slow disk", lambda: free.wait(30))
    tracemalloc.start()
    try:
        empty, _ = tracemalloc.get_traced_memory()
        for n in range(200):
            session.observe(Call("read", {"path": f"f{n % 150}"}), text + str(n))
        held = tracemalloc.get_traced_memory()[0] - empty
    finally:
        tracemalloc.stop()
        free.set()
    assert owner.flush(30)
    assert held < _UNREAD_CHARS + len(text) + _WINDOW_CHARS + 100_000 + 200 * 3_000 < 200 * len(text)


@pytest.mark.case("HC-09")
def test_a_binary_answer_without_text_is_a_result_like_any_other() -> None:
    session = manager().session("image")
    session.observe(Call("read", {"path": "a.png"}), Result(value={"type": "image", "data": "AAAA" * 1_000_000}))
    assert [(s.tool, s.ok) for s in session.steps()] == [("read", True)]
