from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.procedure.trees.actions import read_action, say_action
from stretto.procedure.trees.binding import bind, symbolise
from stretto.procedure.trees.symbols import FromResult, FromTicket, read_symbol, say_place, say_shape
from tests.stretto.procedure.trees.tree_runs import state

if TYPE_CHECKING:
    from stretto.procedure.trees.state import State

CUSTOMER, DETAILS, BILLS = "get_customer_by_phone", "get_details_by_id", "get_bills_for_customer"


def worked(ticket: str = "") -> State:
    """The results of the original's worked example."""
    return state(
        ticket,
        (CUSTOMER, {"line_ids": ["L7", "L8"]}),
        (DETAILS, {"line_id": "L7", "phone": "555-0107"}),
        (DETAILS, {"line_id": "L8", "phone": "555-0108"}),
        (BILLS, [{"bill_id": "B1", "status": "Paid"}, {"bill_id": "B2", "status": "Overdue"}]),
    )


def found(symbol: str, made: State, tool: str = "use") -> Any:
    """What a symbol finds as the argument `id` of a tool; None when it does not bind."""
    bound = bind(read_action(say_action(tool, {"id": symbol}), symbolic=True), made)
    return bound and bound["id"]


def test_the_next_value_of_a_list_that_was_not_passed() -> None:
    made = worked()
    symbol = f"@{CUSTOMER}$.line_ids[*]"
    assert found(symbol, made) == "L7"
    made.took("", "use", {"id": "L7"}, {}, ok=True)
    assert found(symbol, made) == "L8"
    assert found(symbol, made, "another") == "L7"
    made.took("", "use", {"id": "L8"}, {}, ok=True)
    assert found(symbol, made) is None


@pytest.mark.parametrize(
    ("symbol", "ticket", "value"),
    [
        pytest.param(f"@{DETAILS}$.line_id", "", "L8", id="the-most-recent"),
        pytest.param(f"@{DETAILS}$.line_id", "my number is 555-0107", "L7", id="the-one-the-ticket-gives"),
        pytest.param(f'@{BILLS}$[*].bill_id?{{"status": "Overdue"}}', "", "B2", id="the-one-described"),
        pytest.param(f'@{BILLS}$[*].bill_id?{{"status": "Lost"}}', "", "B1", id="described-none"),
        pytest.param(f"@{BILLS}$[*].bill_id", "", "B1", id="the-first"),
        pytest.param(r"@ticket\d{3}\-\d{4}", "call me at 555-0199", "555-0199", id="the-ticket"),
        pytest.param(r"@ticket\d{3}\-\d{4}", "call me", None, id="not-in-the-ticket"),
        pytest.param("@get_nothing$.id", "", None, id="a-tool-without-results"),
        pytest.param(f"@{DETAILS}$.plan", "", None, id="a-field-that-is-not-there"),
        pytest.param("@somebody", "", "@somebody", id="itself"),
        pytest.param("@ticketing", "", "@ticketing", id="itself-without-digits"),
    ],
)
def test_what_a_symbol_finds(symbol: str, ticket: str, value: str | None) -> None:
    assert found(symbol, worked(ticket)) == value


def test_two_symbols_of_one_call_take_two_values_of_a_list() -> None:
    action = read_action(say_action("use", {"ids": [f"@{CUSTOMER}$.line_ids[*]"] * 2}), symbolic=True)
    assert bind(action, worked()) == {"ids": ["L7", "L8"]}


def test_a_value_that_is_no_text_does_not_bind() -> None:
    assert found("@look$.id", state("", ("look", {"id": 1234}))) is None


def test_results_of_calls_that_failed_give_nothing() -> None:
    made = state()
    made.took("look", "look", {}, {"id": "A1234"}, ok=False)
    assert found("@look$.id", made) is None


# --- values to symbols ------------------------------------------------------------------------------------------------


def said(value: Any, *returned: tuple[str, Any], ticket: str = "") -> Any:
    """How a call's argument stands in an action."""
    return symbolise({"id": value}, state(ticket, *returned))["id"]


@pytest.mark.parametrize(
    ("value", "returned", "ticket", "symbol"),
    [
        pytest.param("A1234", [("look", {"id": "A1234"})], "", "@look$.id", id="a-result"),
        pytest.param("A1234", [("look", {"id": "A1234"})], "of A1234", "@look$.id", id="a-result-before-the-ticket"),
        pytest.param(
            "A1234",
            [("look", {"z": "A1234"}), ("list", {"b": "A1234", "a": "A1234"})],
            "",
            "@list$.a",
            id="latest-first",
        ),
        pytest.param("A1234", [("look", {"z": {"b": ["x", "A1234"]}})], "", "@look$.z.b[*]", id="in-a-list"),
        pytest.param("A1234", [("look", "A1234")], "", "@look$", id="the-whole-result"),
        pytest.param(
            "A1234", [("look", {"a.b": "A1234"})], "A1234", r"@ticketA\d{4}", id="a-field-that-cannot-be-said"
        ),
        pytest.param("A1234", [("lo$k", {"a": "A1234"})], "", "A1234", id="a-tool-that-cannot-be-said"),
        pytest.param("555-0199", [], "at 555-0199", r"@ticket\d{3}\-\d{4}", id="the-ticket"),
        pytest.param("A1234", [], "", "A1234", id="itself"),
        pytest.param("A12", [("look", {"id": "A12"})], "", "A12", id="too-short"),
        pytest.param("abcd", [("look", {"id": "abcd"})], "", "abcd", id="no-digit"),
        pytest.param(1234, [("look", {"id": "1234"})], "", 1234, id="no-text"),
    ],
)
def test_an_identifier_is_said_as_where_it_came_from(
    value: Any, returned: list[tuple[str, Any]], ticket: str, symbol: Any
) -> None:
    assert said(value, *returned, ticket=ticket) == symbol


def test_an_element_is_described_by_what_sets_it_apart() -> None:
    bills = [
        {"id": "B0001", "status": "paid", "note": "x" * 25, "due": True, "date": "2026-01-01", "to": "C0001"},
        {"id": "B0002", "status": "due", "note": "y" * 25, "due": True, "date": "2026-02-01", "to": "C0001"},
    ]
    assert said("B0002", ("list", bills)) == '@list$[*].id?{"status": "due"}'
    assert said("C0001", ("list", bills)) == "@list$[*].to"
    assert said("B0001", ("list", bills[:1])) == "@list$[*].id"


def test_a_truth_value_and_a_number_do_not_describe_the_same() -> None:
    assert (
        said("B0001", ("list", [{"id": "B0001", "on": True}, {"id": "B0002", "on": 1}])) == '@list$[*].id?{"on": true}'
    )


@pytest.mark.parametrize("value", ["@look$.id", r"@ticket\d{3}", r"@ticket\d{3}("])
def test_a_value_that_would_be_read_as_a_symbol_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"would be read|literal characters"):
        said(value)


identifiers = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=4, max_size=20).filter(
    lambda text: any(char.isdecimal() for char in text)
)


@given(identifiers, st.text(max_size=20), st.text(max_size=20))
def test_a_shape_finds_what_it_was_made_of(value: str, before: str, after: str) -> None:
    symbol = read_symbol(say_shape(value))
    assert isinstance(symbol, FromTicket)
    got = symbol.find(value)
    assert got == value
    anywhere = symbol.find(before + value + after)
    assert anywhere is not None
    assert read_symbol(say_shape(anywhere)) == symbol


@given(
    st.text(string.ascii_letters + "._-", min_size=1, max_size=8),
    st.lists(st.none() | st.text(min_size=1, max_size=5), max_size=4).map(tuple),
    st.dictionaries(st.text(max_size=5), st.booleans() | st.text(max_size=5), max_size=2),
)
def test_a_place_is_read_as_it_was_said(tool: str, path: tuple[str | None, ...], where: dict[str, Any]) -> None:
    text = say_place(tool, path, where)
    if text is None:
        assert any(key and set(key) & set(".[]?") for key in path)
    else:
        assert read_symbol(text) == FromResult(tool, path, tuple(sorted(where.items())))


@pytest.mark.parametrize(
    "pattern",
    [r".*\d{3}", r"(\d{3})+", r"\d{3}$", r"\w\d{3}", r"\d{3}\d*", r"\d{0}\d{3}", r"1\d{3}", r"\d{3}\1", r"\d{999}"],
)
def test_a_pattern_has_literal_characters_and_counted_digits_only(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"a pattern"):
        read_symbol(f"@ticket{pattern}")


def test_a_shape_is_found_in_a_long_ticket_in_time_that_grows_with_it() -> None:
    """What would take a backtracking search hours: nothing of a file is ever a regular expression."""
    symbol = read_symbol("@ticket" + r"\d{99}" * 2 + "x")
    assert isinstance(symbol, FromTicket)
    assert symbol.find("1" * 1_000_000) is None
    assert symbol.find("1" * 1_000_000 + "x") == "1" * 198 + "x"


values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=6) | identifiers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=3), st.lists(values, max_size=3), st.text(max_size=30))
def test_what_is_said_of_a_call_can_be_read_and_binds_or_not(arguments: Any, outputs: list[Any], ticket: str) -> None:
    made = state(ticket, *(("look", output) for output in outputs))
    try:
        text = say_action("use", symbolise(arguments, made))
    except ValueError:
        return
    action = read_action(text, symbolic=True)
    assert action.tool == "use"
    bound = bind(action, made)
    assert bound is None or bound.keys() == arguments.keys()


@given(values)
def test_a_value_of_a_single_result_binds_again(output: Any) -> None:
    """With one result, and no element of a list taken yet, each first place leads back to a value of the same place."""
    made = state("", ("look", output))
    for result in made.results:
        for text in sorted(result.texts):
            try:
                symbol = symbolise({"id": text}, made)["id"]
            except ValueError:
                continue
            assert isinstance(symbol, str)
            again = found(symbol, made)
            assert isinstance(again, str)
            assert again == text or "[*]" in symbol
