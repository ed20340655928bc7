from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.procedure.trees.state import State, value_of, words
from tests.stretto.procedure.trees.tree_runs import state


def said(output: Any) -> set[str]:
    """What one result of `look` adds to a state."""
    return {each for each in state("", ("look", output)).features() if each.startswith("look:")}


def test_words_are_runs_of_letters_and_pairs_are_neighbours() -> None:
    assert words("No 4G data—at ALL!") == ["no", "g", "data", "at", "all", "no g", "g data", "data at", "at all"]


def test_of_the_ticket_only_words_of_the_vocabulary_are_features() -> None:
    assert state("Mobile data is off", vocab=("data", "mobile data", "roaming")).features() == {
        "ticket: data",
        "ticket: mobile data",
    }


@pytest.mark.parametrize(
    ("output", "features"),
    [
        pytest.param({"status": " Overdue "}, {"look:status=overdue"}, id="a-short-text"),
        pytest.param({"note": "x" * 25}, set(), id="a-long-text"),
        pytest.param({"id": "B123"}, set(), id="three-digits"),
        pytest.param({"plan": "4G 50"}, {"look:plan=4g 50"}, id="two-digits"),
        pytest.param({"roaming": False, "gb": 2}, {"look:roaming=False", "look:gb=2"}, id="truth-and-number"),
        pytest.param({"cost": 1.5, "end": None}, set(), id="neither"),
        pytest.param({"lines": [], "bills": [1]}, {"look:len(lines)=0", "look:len(bills)=1"}, id="lists"),
        pytest.param({"plans": {"a": 1, "b": 2}}, {"look:len(plans)=2+"}, id="a-map"),
        pytest.param(
            {"apps": {"a": {"status": "On"}, "b": {"status": "off"}}},
            {"look:len(apps)=2+", "look:apps.*.status=on", "look:apps.*.status=off"},
            id="a-map-of-records",
        ),
        pytest.param([1, 2, 3], {"look:len($)=2+"}, id="a-list"),
        pytest.param(
            "Status Bar: 📶¹ Poor | Data on | 5G\n", {"look:status bar=📶¹ poor", "look:status bar=data on"}, id="parts"
        ),
        pytest.param("No SIM card.\n\nTry 2 times\n", {"look:says no sim card."}, id="lines"),
        pytest.param("y" * 61, set(), id="a-long-line"),
        pytest.param('"{\\"a\\": true}"', {"look:a=True"}, id="json-in-a-text"),
        pytest.param('"plain"', {"look:says plain"}, id="a-text-in-json"),
        pytest.param("17", set(), id="a-number"),
    ],
)
def test_a_result_is_seen_as_features(output: Any, features: set[str]) -> None:
    assert said(output) == features | {"look:error=False"}


def test_a_failure_is_all_that_is_seen_of_a_call_that_failed() -> None:
    made = state("", ("look", {"status": "on"}))
    made.took("look", "look", {}, "Error: none", ok=False)
    assert made.features() == {"called look", "look:error"}
    assert made.site == "look!"


def test_the_last_result_of_a_tool_counts() -> None:
    made = state("", ("look", {"status": "on"}), ("list", []), ("look", {"status": "off"}))
    assert made.features() == {
        "called look",
        "called list",
        "look:error=False",
        "look:status=off",
        "list:error=False",
        "list:len($)=0",
    }


def test_only_what_changes_something_is_made() -> None:
    made = state()
    made.took('pay{"id": "@look$.id"}', "pay", {"id": "B1"}, "ok", ok=True)
    made.took("look", "look", {}, "ok", ok=True)
    assert {each for each in made.features() if each.startswith("made")} == {'made pay{"id": "@look$.id"}'}


def test_a_read_is_a_repeat_until_something_is_written_and_a_write_for_ever() -> None:
    made = state()
    made.took("look", "look", {"a": 1}, "x", ok=True)
    assert made.is_repeat("look", {"a": 1})
    assert not made.is_repeat("look", {"a": True})
    made.took("pay", "pay", {"b": 1, "a": 2}, "x", ok=False)
    assert not made.is_repeat("look", {"a": 1})
    made.took("look", "look", {}, "x", ok=True)
    assert made.is_repeat("pay", {"a": 2, "b": 1})


def test_a_record_that_the_ticket_names_stays_when_another_of_its_kind_comes() -> None:
    """Of two lines of a customer, the one that the ticket names is the one that is looked at."""
    named, other = {"phone": "555-0107", "on": True}, {"phone": "555-0108", "on": False}
    ticket = "My number is 555-0107."
    assert "look:on=True" in state(ticket, ("look", named), ("look", other)).features()
    assert "look:on=False" in state(ticket, ("look", other)).features()
    assert "look:on=False" in state(ticket, ("look", named), ("look", {**other, "more": 1})).features()
    assert "look:on=False" in state(ticket, ("look", named), ("look", other), symbolic=False).features()
    assert "look:on=False" in state("My number is 555-01078.", ("look", named), ("look", other)).features()


def test_the_named_record_comes_back_after_a_failure() -> None:
    made = state("555-0107", ("look", {"phone": "555-0107", "on": True}))
    made.took("look", "look", {}, "Error", ok=False)
    assert "look:on=True" not in made.features()
    made.took("look", "look", {}, {"phone": "555-0108", "on": False}, ok=True)
    assert "look:on=True" in made.features()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
)


@given(st.text(), st.lists(st.tuples(json_values, st.booleans()), max_size=4))
def test_no_result_and_no_ticket_is_too_odd_to_be_looked_at(ticket: str, outputs: list[tuple[Any, bool]]) -> None:
    made = State(ticket, words(ticket), {"look"}, symbolic=True)
    for output, ok in outputs:
        made.took("look", "look", {}, output, ok=ok)
    assert all(isinstance(feature, str) for feature in made.features())
    assert len(made.results) == sum(ok for _, ok in outputs)


@given(json_values)
def test_a_result_is_read_until_it_is_no_json_in_a_text(value: Any) -> None:
    assert value_of(value_of(value)) == value_of(value)
