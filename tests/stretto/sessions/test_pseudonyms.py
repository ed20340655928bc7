"""Which values stay in a copy and which are hashed, wherever and however they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.sessions.phrases import Phrases, pieces_of
from stretto.sessions.pseudonyms import Census, Pseudonyms, normalised, pseudonym
from tests.strategies import json_values, texts
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from waggle.jsonvalue import JsonValue

W1 = "h_21e81845360c"
POSSESSIVE = "mia's"


def h(value: str) -> str:
    """The hash of a value under the tests' salt."""
    return pseudonym("salt", normalised(value))


def after(
    *records: JsonValue,
    said: Iterable[str] = (),
    shared: Iterable[JsonValue] = (),
    shared_speech: Iterable[str] = (),
    hash_fields: Collection[str] = (),
    declared: Iterable[str] = (),
) -> Pseudonyms:
    """The second pass, after one session with these records and words, and three with the shared ones."""
    census = Census(hash_fields)
    census.declare(declared)
    census.begin("one")
    for record in records:
        census.record(record)
    for text in said:
        census.speech(text)
    for session in range(3):
        census.begin(session)
        for record in shared:
            census.record(record)
        for text in shared_speech:
            census.speech(text)
    return Pseudonyms(census, "salt", 3)


def test_the_published_example_is_hashed_alike_in_a_record_and_in_speech() -> None:
    second = after("#W1", said=["w1,"])
    assert second.record("#W1") == W1
    assert second.speech("w1,") == f"{W1},"
    assert second.hashed == {W1}


@pytest.mark.parametrize("text", ["W1", " w1 ", "#w1", "##W1\n"])
def test_values_are_compared_normalised(text: str) -> None:
    assert after("#W1").record(text) == W1


def test_what_three_sessions_hold_stays_and_what_two_hold_does_not() -> None:
    census = Census()
    for session, held in enumerate([["a", "b"], ["A", "#b", "b"], ["a "]]):
        census.begin(session)
        for text in held:
            census.record(text)
    second = Pseudonyms(census, "salt", 3)
    assert second.record(["a", "b"]) == ["a", h("b")]
    assert Pseudonyms(census, "salt", 2).record(["a", "b", "c"]) == ["a", "b", h("c")]


def test_the_census_counts_a_session_once_however_often_it_goes_on() -> None:
    census = Census()
    for _ in range(5):
        census.begin("same")
        census.record("a")
    assert census.sessions("a") == 1


def test_records_keep_their_form_and_numbers_become_texts_when_they_are_hashed() -> None:
    record: JsonValue = {"id": 7, "on": True, "off": None, "price": 12.5, "tags": ["x", 7], "": "", "many": 10**40}
    second = after(record, shared=["price", {"id": 3}])
    assert second.record(record) == {
        "id": h("7"),
        h("on"): True,
        h("off"): None,
        "price": h("12.5"),
        h("tags"): [h("x"), h("7")],
        "": "",
        h("many"): h(str(10**40)),
    }
    assert second.record(3) == 3
    assert second.speech("it costs 12.5!").endswith(f"{h('12.5')}!")


def test_keys_that_a_schema_states_stay_and_so_do_stated_values() -> None:
    second = after({"status": "pending", "W9": "w9"}, declared=["status", "Pending"])
    assert second.record({"status": "pending", "W9": "w9"}) == {"status": "pending", h("w9"): h("w9")}


def test_two_keys_that_are_one_when_normalised_both_stay() -> None:
    record: JsonValue = {"W1": 1, "#W1": 2}
    rewritten = after(record).record(record)
    assert isinstance(rewritten, dict)
    assert list(rewritten) == [W1, f"{W1}_"]


def test_a_string_that_holds_a_record_is_walked_inside() -> None:
    record: JsonValue = {"result": '{"email": "c7@x", "n": 1}'}
    second = after(record, declared=["result"], shared=["email"], hash_fields=["email"])
    rewritten = second.record(record)
    assert rewritten == {"result": jsonvalue.dumps({"email": h("c7@x"), h("n"): h("1")}).decode()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("user_7", h("user_7"), id="one-line"),
        pytest.param(" user_7 \r", f" {h('user_7')} \r", id="space-around-it-stays"),
        pytest.param("a b\n\n  c\n", f"{h('a b')}\n\n  {h('c')}\n", id="each-line"),
        pytest.param('{"a": "user_7"}', f'{{"{h("a")}":"{h("user_7")}"}}', id="record"),
        pytest.param('"user_7"', f'"{h("user_7")}"', id="json-text"),
        pytest.param("12345", f'"{h("12345")}"', id="number"),
        pytest.param('x\n{"email": "c7@x"}', f'{h("x")}\n{{"{h("email")}":"{h("c7@x")}"}}', id="a-record-on-a-line"),
        pytest.param("", "", id="empty"),
    ],
)
def test_an_answer_is_a_record_or_lines(text: str, wanted: str) -> None:
    second = after("nothing")
    assert second.answer(text) == wanted


def test_what_stays_whole_keeps_its_spelling() -> None:
    text = '{ "a" :  [1.50, "B"] }'
    assert after(shared=[["a", "b", 1.5]]).answer(text) == text
    assert after(shared=["a line"]).answer("  A line\nA line ") == "  A line\nA line "


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("W1", "{W1}", id="bare"),
        pytest.param("(#W1).", "({W1}).", id="punctuation"),
        pytest.param('"`[w1]`"!?', '"`[{W1}]`"!?', id="all-of-it"),
        pytest.param("my  order\n\tW1 please", "my  order\n\t{W1} please", id="space-stays"),
        pytest.param("my order: W1, my W1", "my order: {W1}, my {W1}", id="twice"),
        pytest.param("# ... '", "# ... '", id="nothing-but-signs"),
    ],
)
def test_words_of_speech_are_hashed_without_the_signs_around_them(text: str, wanted: str) -> None:
    second = after("#W1", shared_speech=["my order please"])
    assert second.speech(text) == wanted.replace("{W1}", W1)


ADDRESS = "975 Sunset Drive"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("to 975 sunset drive.", "to {h}.", id="whole"),
        pytest.param("to (975 Sunset Drive), now", "to ({h}), now", id="in-brackets"),
        pytest.param("to 975 Sunset Drive East", "to {long}", id="the-longest-first"),
        pytest.param("to 975 Sunset Drive East!", "to {long}!", id="the-longest-first-at-the-end"),
        pytest.param("to 975 Sunset", "to {a} {b}", id="a-part-is-words"),
        pytest.param("to 975  Sunset Drive", "to {a}  {two}", id="other-spaces-are-another-value"),
        pytest.param("to 975, Sunset Drive", "to {a}, {two}", id="signs-inside-are-another-value"),
        pytest.param("to New York now", "to New York now", id="what-many-hold-stays-whole"),
        pytest.param("to Sunset Drive", "to {two}", id="of-two-words"),
        pytest.param("#Sunset Drive?", "{two}?", id="the-sign-of-a-number"),
        pytest.param("to the", "to {the}", id="nothing-behind-it"),
    ],
)
def test_values_of_several_words_are_found_whole(text: str, wanted: str) -> None:
    second = after(
        {"address": ADDRESS, "longer": f"{ADDRESS} East", "street": "sunset drive", "odd": "the  end"},
        shared=["New York"],
        shared_speech=["to now"],
    )
    names = {"h": h(ADDRESS), "long": h(f"{ADDRESS} East"), "two": h("sunset drive")}
    assert second.speech(text) == wanted.format(**names, a=h("975"), b=h("sunset"), the=h("the"))


def test_a_value_is_found_though_its_letters_change_their_number() -> None:
    """The small form of a dotted capital I has two characters."""
    second = after("İzmir Caddesi 5", said=["x"])
    assert second.speech("(İzmir Caddesi 5),") == f"({h('İzmir Caddesi 5')}),"


def test_values_of_hidden_fields_and_their_words_are_hashed_everywhere_however_many_hold_them() -> None:
    second = after(
        shared=[
            {"name": {"first": "Mia", "last": "Li"}, "full": "Mia Li", "age": 30, "NAME": ["O'Hara, Scarlett", 30]}
        ],
        shared_speech=["I am Mia, hi mia's Scarlett x-mia_li-y said"],
        hash_fields=["name"],
        declared=["mia"],
    )
    assert second.record({"name": {"first": "Mia", "last": "Li"}, "age": 30, "x": "said"}) == {
        "name": {"first": h("mia"), "last": h("li")},
        "age": h("30"),
        h("x"): "said",
    }
    assert second.record("Mia Li") == h("mia li"), "a value that holds one is one"
    said = second.speech("I am Mia, said Scarlett; hi mia's")
    assert said == f"I am {h('mia')}, said {h('scarlett')}; hi {h(POSSESSIVE)}"
    assert second.record({"Mia": 1}) == {"Mia": h("1")}, "a key that a schema states is none of anybody's"


def test_an_empty_hidden_value_hides_nothing() -> None:
    second = after(shared=[{"name": ["", "#", "..."]}, "a b", ""], hash_fields=["name"])
    assert second.record(["a b", "", "#"]) == ["a b", "", "#"]


def test_keys_under_a_hidden_field_stay_as_other_keys_do() -> None:
    second = after(
        shared=[{"payment": {"credit_card_1": {"id": "credit_card_1"}, "kind": "card"}}], hash_fields=["Payment"]
    )
    assert second.record({"payment": {"credit_card_1": 1, "kind": "x"}}) == {
        "payment": {h("credit_card_1"): h("1"), "kind": h("x")}
    }


def test_a_word_that_a_schema_states_is_hashed_when_it_is_a_hidden_value() -> None:
    second = after(shared=[{"status": "Pending"}], hash_fields=["status"], declared=["pending"])
    assert second.record("pending") == h("pending")


@pytest.mark.case("HC-02")
def test_lone_surrogates_are_hashed_and_kept_like_any_text() -> None:
    """Of HC-02 this pins the copy: nothing raises, and equal values stay equal."""
    second = after("caf\udce9", said=["\udc9d!"], shared=["\ud83d x"])
    assert second.record(["caf\udce9", "\ud83d x"]) == [second.record("CAF\udce9"), "\ud83d x"]
    assert second.speech("caf\udce9 \udc9d!") == " ".join([h("caf\udce9"), h("\udc9d") + "!"])


def test_what_is_nested_without_end_is_not_kept() -> None:
    value: JsonValue = "secret"
    for _ in range(900):
        value = [value]
    second = after("x")
    Census().record(value)
    assert b"secret" not in jsonvalue.dumps(second.record(value))
    assert "secret" not in second.answer("[" * 300 + '"secret"' + "]" * 300)


def test_a_long_value_costs_no_more_memory_than_its_digest() -> None:
    text = "x y " * 100_000
    second = after(text, said=[text])
    assert second.record(text) == h(text)
    assert second.speech(f"({text.strip()}).") == f"({h(text)})."


@given(json_values(), json_values(), st.lists(texts(), max_size=2))
def test_equal_values_stay_equal_and_different_ones_different(
    one: JsonValue, other: JsonValue, said: list[str]
) -> None:
    """The leaves of two records, pair by pair; hashes of 48 bits do not meet by chance in so few."""
    second = after(one, other, said=said)
    old, new = [*leaves(one), *leaves(other)], [*leaves(second.record(one)), *leaves(second.record(other))]
    assert len(old) == len(new)
    for a, x in zip(old, new, strict=True):
        for b, y in zip(old, new, strict=True):
            assert (x == y) == (a == b)


def leaves(value: JsonValue) -> list[str]:
    """The strings and numbers in a value, normalised; those that hold records are walked inside."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, str):
        return [normalised(value)]
    return [] if value is None or isinstance(value, bool) else [jsonvalue.canonical(value).decode()]


@given(texts(), st.lists(texts(), max_size=3))
def test_no_rare_word_is_left_in_speech(text: str, records: list[str]) -> None:
    second = after(*records, said=[text])
    left = {normalised(word.strip(".,;:!?()[]\"'`")) for word in second.speech(text).split()}
    assert all(word == "" or word.startswith("h_") for word in left)


@given(st.lists(st.text("ab .,#", max_size=8), max_size=5), st.text("ab .,#", max_size=30))
def test_a_phrase_that_is_found_stands_there(values: list[str], text: str) -> None:
    phrases = Phrases()
    known = {normalised(value) for value in values}
    for value in known:
        phrases.add(value)
    pieces = pieces_of(text)
    for at in range(0, len(pieces), 2):
        found = phrases.find(pieces, at, known.__contains__)
        if found is not None:
            whole = "".join(pieces[at : found.end])
            assert found.value in known
            assert whole.replace("#", "") == f"{found.before}{found.value}{found.after}".replace("#", "")
            assert len(found.value.split()) > 1
