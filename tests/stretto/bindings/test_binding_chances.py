"""The chance that bound arguments are the agent's own: the formulas and the worked examples of sections 6.6 to 6.8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.chances import bare_chance, chance, pooled_chance, share
from stretto.bindings.model import Bindings, Pick, Source, SourceCounts, SpokenCounts

WALK = Bindings(agreed={"line": ((8, 8), (0, 0))}, described_read={"line": (0, 4)})
NAMED = Bindings(agreed={"order": ((0, 0), (4, 4))}, named_other={"order": (0, 4)})


@pytest.mark.parametrize(
    ("bindings", "tool", "pick", "expected"),
    [
        pytest.param(WALK, "line", Pick.NONE, 9 / 10, id="not-mentioned"),
        pytest.param(WALK, "line", Pick.DESCRIBED, 0.30, id="described-read"),
        pytest.param(WALK, "line", Pick.OTHER, 9 / 10, id="other-never-counted"),
        pytest.param(NAMED, "order", Pick.PICKED, 5 / 6, id="mentioned"),
        pytest.param(NAMED, "order", Pick.OTHER, 1 / 6, id="another-was-named"),
        pytest.param(NAMED, "order", Pick.DESCRIBED, 0.5, id="described-never-counted"),
        pytest.param(Bindings(agreed={"order": ((6, 6), (0, 0))}), "order", Pick.NONE, 7 / 8, id="walked-in-order"),
        pytest.param(Bindings(), "order", Pick.NONE, 0.5, id="nothing-counted"),
        pytest.param(Bindings(), "order", Pick.PICKED, 0.5, id="nothing-counted-mentioned"),
    ],
)
def test_the_worked_examples(bindings: Bindings, tool: str, pick: Pick, expected: float) -> None:
    assert chance(bindings, tool, pick) == pytest.approx(expected)


def test_arguments_of_a_kind_the_original_has_not_are_counted_apart_and_the_smallest_chance_holds() -> None:
    bindings = Bindings(
        agreed={"get": ((9, 9), (9, 9))},
        agreed_derived={"get": ((1, 4), (0, 0))},
        agreed_spoken={"get": ((3, 4), (0, 0))},
        agreed_record={"get": ((0, 4), (0, 0))},
    )
    assert chance(bindings, "get", Pick.NONE, {"source", "constant"}) == pytest.approx(10 / 11)
    assert chance(bindings, "get", Pick.NONE, {"source", "derived"}) == pytest.approx(2 / 6)
    assert chance(bindings, "get", Pick.NONE, {"spoken"}) == pytest.approx(4 / 6)
    assert chance(bindings, "get", Pick.NONE, {"spoken", "derived"}) == pytest.approx(2 / 6)
    assert chance(bindings, "get", Pick.NONE, {"record"}) == pytest.approx(1 / 6)
    assert chance(bindings, "other", Pick.NONE, {"derived"}) == 0.5


def test_a_bare_call_has_its_own_share_and_one_that_was_always_bare_is_certain() -> None:
    bindings = Bindings(args={"list": (5, {"all": 1}), "clock": (9, {})}, bare={"list": 4})
    assert bare_chance(bindings, "list") == pytest.approx(5 / 7)
    assert bare_chance(bindings, "clock") == 1.0


def test_picks_are_pooled_for_a_reviewer() -> None:
    assert pooled_chance(Bindings(agreed={"get": ((8, 8), (2, 3))}), "get") == pytest.approx(11 / 13)
    assert pooled_chance(Bindings(), "get") == 0.5


@given(st.integers(0, 1000).flatmap(lambda tries: st.tuples(st.integers(0, tries), st.just(tries))), st.floats(0, 1))
def test_a_share_lies_between_what_was_counted_and_what_was_expected(counts: tuple[int, int], prior: float) -> None:
    hits, tries = counts
    ends = [prior, hits / tries] if tries else [prior]
    assert min(ends) - 1e-9 <= share(hits, tries, prior) <= max(ends) + 1e-9


@pytest.mark.parametrize(
    ("count", "values", "usable"), [(1, 1, False), (2, 2, True), (2, 20, True), (2, 21, False), (3, 30, True)]
)
def test_a_source_is_usable_when_found_twice_and_for_a_tenth_of_the_values(
    count: int,
    values: int,
    usable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    source = Source("find", "$")
    assert SourceCounts(values, {source: count}).usable() == ([source] if usable else [])
    assert SpokenCounts(values, {"email": count}).usable() == (["email"] if usable else [])


def test_an_argument_is_required_when_nine_of_ten_calls_passed_it() -> None:
    bindings = Bindings(args={"get": (10, {"b": 9, "a": 10, "c": 8})})
    assert bindings.required("get") == ["a", "b"]
    assert bindings.required("nobody") == []
