"""The interpreter: one run of a program is served, simulated and scored by the same rules, and always ends."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.errors import FlowError
from stretto.flow.chances import Chances, ToolNumbers
from stretto.flow.interpreter import Choice, Draw, Inputs, Run, run, score, simulate
from stretto.flow.program import STANDARD, decode
from tests.stretto.flow.flow_support import published
from tests.stretto.flow.test_program import let, num, program, var

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stretto.flow.interpreter import Scalar
    from stretto.flow.program import Program

CALL = Inputs(3, call_failed=False, max_lookups=8)


class Coins:
    """Decides between handing back and tool 5, and succeeds three times out of four."""

    def distribution(self, name: str, args: Sequence[object]) -> Mapping[Scalar, float]:
        return {0: 0.5, 5: 0.5} if name == "Decide" else {True: 0.75, False: 0.25}


def serve(program: Program, inputs: Inputs, answer: Callable[[Draw], tuple[Scalar, float]]) -> tuple[list[Draw], Run]:
    running = run(program, inputs)
    draws = []
    sent: Any = None
    while True:
        try:
            draws.append(running.send(sent))
        except StopIteration as done:
            return draws, done.value
        sent = answer(draws[-1])


def test_a_served_run_asks_at_each_site_and_ends_when_it_is_handed_back() -> None:
    answers = iter([(5, 0.0), (True, -0.1), (7, 0.0), (False, -1.0), (0, 0.0)])
    draws, done = serve(STANDARD, CALL, lambda _: next(answers))
    assert draws == [
        Draw("decide#0", "Decide", (3, False)),
        Draw("outcome#0", "Outcome", (5,)),
        Draw("decide#1", "Decide", (5, False)),
        Draw("outcome#1", "Outcome", (7,)),
        Draw("decide#2", "Decide", (7, True)),
    ]
    assert done.value == 7
    assert done.choices[1] == Choice("outcome#0", True, -0.1)
    assert done.surprise == pytest.approx(1.1)


def test_a_served_run_ends_when_its_lookups_are_used_up() -> None:
    draws, _ = serve(STANDARD, CALL._replace(max_lookups=2), lambda draw: (5 if draw.dist == "Decide" else True, 0.0))
    assert [draw.address for draw in draws] == ["decide#0", "outcome#0", "decide#1", "outcome#1"]


def test_a_run_without_draws_has_no_surprise() -> None:
    _, done = serve(STANDARD, CALL._replace(max_lookups=0), lambda _: (0, 0.0))
    assert str(done.surprise) == "0.0"
    assert done.value == 3


def test_one_successful_order_lookup_contributes_the_published_surprise() -> None:
    """Section 10, on the published flow of five sessions: 10/11, 0.0953 nats."""
    flow = published("retail-5")
    order = ToolNumbers(flow).number("get_order_details")
    ok = Chances(flow).distribution("Outcome", (order,))[True]
    _, done = serve(
        STANDARD,
        CALL._replace(max_lookups=1),
        lambda draw: (order, 0.0) if draw.dist == "Decide" else (True, math.log(ok)),
    )
    assert done.surprise == pytest.approx(0.0953, abs=1e-4)


@given(st.integers(0, 10_000), st.integers(0, 6), st.booleans())
def test_a_simulated_run_scores_as_it_was_drawn(seed: int, most: int, failed: bool) -> None:  # noqa: FBT001 - drawn
    flow = published("retail-10")
    chances = Chances(flow)
    inputs = Inputs(ToolNumbers(flow).number("get_user_details"), failed, most)
    drawn = simulate(STANDARD, inputs, chances, Random(seed))  # noqa: S311 - seeded
    again = simulate(STANDARD, inputs, chances, Random(seed))  # noqa: S311 - seeded
    scored = score(STANDARD, inputs, chances, {one.address: one.value for one in drawn.choices})
    assert drawn == again == scored
    assert len(drawn.choices) <= 2 * most
    assert drawn.logp <= 0
    assert drawn.logp == pytest.approx(-drawn.surprise)


def test_the_probabilities_of_all_runs_sum_to_one() -> None:
    """Of one lookup at most: hand back, look up and succeed, look up and fail."""
    traces: list[dict[str, Scalar]] = [
        {"decide#0": 0},
        {"decide#0": 5, "outcome#0": True},
        {"decide#0": 5, "outcome#0": False},
    ]
    chances = [math.exp(score(STANDARD, CALL._replace(max_lookups=1), Coins(), trace).logp) for trace in traces]
    assert chances == pytest.approx([0.5, 0.375, 0.125])


def test_a_value_that_cannot_be_drawn_has_no_probability() -> None:
    assert score(STANDARD, CALL._replace(max_lookups=1), Coins(), {"decide#0": 4, "outcome#0": True}).logp == -math.inf


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({}, "no value for decide#0"),
        ({"decide#0": 5}, "no value for outcome#0"),
        ({"decide#0": 0, "outcome#0": True}, "never came to outcome#0"),
        ({"decide#0": [1]}, "a number or a truth value"),
        ({"decide#0": 5, "outcome#0": 1, "decide#1": 0}, "a truth value"),
    ],
)
def test_a_record_that_is_not_of_this_run_is_an_error(values: Any, match: str) -> None:
    with pytest.raises(FlowError, match=match):
        score(STANDARD, CALL, Coins(), values)


def both(op: str, lhs: object, rhs: object) -> dict[str, Any]:
    return {"op": op, "lhs": lhs, "rhs": rhs}


def value_of(*body: object, ret: object) -> object:
    _, done = serve(decode(program(*body, ret=ret)), CALL, lambda _: (0, 0.0))
    return done.value


ARRAY = {"op": "array", "items": [num(4), num(5)]}
YES, NO = {"op": "bool", "value": True}, {"op": "bool", "value": False}
HALF = {"op": "f64", "value": 0.5}


@pytest.mark.parametrize(
    ("ret", "expected"),
    [
        (both("add", num(1), num(2)), 3),
        (both("sub", num(1), HALF), 0.5),
        (both("mul", num(3), num(4)), 12),
        (both("div", num(3), num(4)), 0.75),
        (both("lt", num(1), num(2)), True),
        (both("ge", num(1), num(2)), False),
        (both("le", num(2), num(2)), True),
        (both("gt", HALF, num(0)), True),
        (both("eq", num(1), {"op": "f64", "value": 1.0}), True),
        (both("ne", YES, NO), True),
        (both("and", NO, both("eq", both("div", num(1), num(0)), num(1))), False),
        (both("or", YES, var("call")), True),
        ({"op": "neg", "arg": num(2)}, -2),
        ({"op": "index", "array": ARRAY, "index": num(1)}, 5),
        ({"op": "len", "array": ARRAY}, 2),
        (ARRAY, (4, 5)),
        (var("max_lookups"), 8),
    ],
)
def test_an_operation_has_its_usual_meaning(ret: object, expected: object) -> None:
    value = value_of(ret=ret)
    assert value == expected
    assert type(value) is type(expected)


SQUARE = {"stmt": "assign", "var": "x", "value": both("mul", var("x"), var("x"))}


@pytest.mark.parametrize(
    ("body", "ret", "match"),
    [
        ([], both("add", YES, num(1)), "expected a number"),
        ([], both("div", num(1), num(0)), "division by 0"),
        ([], both("eq", YES, num(1)), "two numbers or two truth values"),
        ([], both("eq", ARRAY, ARRAY), "two numbers or two truth values"),
        ([], both("and", num(1), YES), "expected a truth value"),
        ([], {"op": "index", "array": ARRAY, "index": num(2)}, "index 2 of a list of 2"),
        ([], {"op": "index", "array": ARRAY, "index": num(-1)}, "index -1 of a list of 2"),
        ([], {"op": "index", "array": num(1), "index": num(0)}, "expected a list"),
        ([], {"op": "array", "items": [ARRAY]}, "a number or a truth value"),
        ([], both("add", {"op": "int", "value": 2**62}, {"op": "int", "value": 2**62}), "too large"),
        ([], both("mul", {"op": "f64", "value": 1e200}, {"op": "f64", "value": 1e200}), "too large"),
        (
            [let(num(3)), {"stmt": "for", "var": "i", "start": num(0), "end": num(99), "body": [SQUARE]}],
            num(0),
            "too large",
        ),
        ([{"stmt": "for", "var": "i", "start": num(0), "end": num(10**9), "body": []}], num(0), "100,000 steps"),
        ([{"stmt": "for", "var": "i", "start": HALF, "end": num(1), "body": []}], num(0), "a whole number"),
        ([{"stmt": "if", "cond": num(1), "then": []}], num(0), "a truth value"),
    ],
)
def test_what_has_no_meaning_ends_the_run_with_an_error(body: list[object], ret: object, match: str) -> None:
    with pytest.raises(FlowError, match=match):
        value_of(*body, ret=ret)


def test_a_place_is_drawn_once() -> None:
    """Otherwise a record by address could not be scored."""
    dist = {"name": "Outcome", "args": [num(1)]}
    drawn = {"stmt": "sample", "var": "x", "addr": {"name": "a"}, "dist": dist}
    loop = {"stmt": "for", "var": "i", "start": num(0), "end": num(2), "body": [drawn]}
    with pytest.raises(FlowError, match="a is drawn twice"):
        value_of(loop, ret=num(0))


def test_what_is_observed_and_factored_weighs_without_being_a_choice() -> None:
    body = [
        {"stmt": "observe", "addr": {"name": "seen"}, "dist": {"name": "Outcome", "args": [num(1)]}, "value": NO},
        {"stmt": "factor", "logw": {"op": "f64", "value": -1.5}},
    ]
    done = simulate(decode(program(*body)), CALL, Coins(), Random(0))  # noqa: S311 - seeded
    assert done.choices == ()
    assert done.logp == pytest.approx(math.log(0.25) - 1.5)
