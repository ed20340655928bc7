"""Which parts of an output are fields, what their values are as texts, and what number an output gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from stretto.model.features import EMPTY, FeatureMap, Field, discover, numbered
from tests.strategies import json_values, texts
from waggle import jsonvalue

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

ORDER = FeatureMap(
    {"order": (Field("Len", "items"), Field("Scalar", "status"))},
    {("order", ("1", "open")): 1, ("order", ("2+", "open")): 2},
)


@pytest.mark.parametrize(
    ("field", "output", "text"),
    [
        pytest.param(Field("Scalar", "a"), {"a": "open"}, "open", id="text"),
        pytest.param(Field("Scalar", "a"), {"a": 1}, "1", id="whole-number"),
        pytest.param(Field("Scalar", "a"), {"a": 1.0}, "1.0", id="number"),
        pytest.param(Field("Scalar", "a"), {"a": False}, "false", id="truth-value"),
        pytest.param(Field("Scalar", "a"), {"a": None}, "∅", id="null"),
        pytest.param(Field("Scalar", "a"), {"a": [1]}, "∅", id="list"),
        pytest.param(Field("Scalar", "a"), {"b": 1}, "∅", id="missing"),
        pytest.param(Field("Scalar", "a"), [1], "∅", id="not-an-object"),
        pytest.param(Field("Scalar", "a.b"), {"a": {"b": "x"}}, "x", id="two-keys"),
        pytest.param(Field("Scalar", "a.b.c"), {"a": {"b.c": "x"}}, "x", id="the-second-key-has-a-dot"),
        pytest.param(Field("Scalar", "a.b"), {"a.b": "x"}, "∅", id="no-key-with-a-dot"),
        pytest.param(Field("Scalar", "a.b"), {"a": {"b": {}}}, "∅", id="an-object-in-an-object"),
        pytest.param(Field("Len", "a"), {"a": []}, "0", id="no-items"),
        pytest.param(Field("Len", "a"), {"a": [0]}, "1", id="one-item"),
        pytest.param(Field("Len", "a"), {"a": [0, 0, 0]}, "2+", id="several-items"),
        pytest.param(Field("Len", "a"), {"a": {}}, "∅", id="not-a-list"),
        pytest.param(Field("Len", ""), [0, 0], "2+", id="the-whole-is-a-list"),
        pytest.param(Field("Len", ""), {"a": [0]}, "∅", id="the-whole-is-no-list"),
        pytest.param(Field("Len", ""), {"": [0]}, "1", id="a-list-under-the-empty-key"),
        pytest.param(Field("Len", "a.b"), {"a.b": [0]}, "1", id="a-list-under-a-key-with-a-dot"),
    ],
)
def test_the_text_of_a_value(field: Field, output: JsonValue, text: str) -> None:
    assert field.text(output) == text


@pytest.mark.parametrize(
    ("tool", "content", "number"),
    [
        pytest.param("order", '{"items": [{}], "status": "open"}', 1, id="seen"),
        pytest.param("order", ' {"status": "open", "items": [1, 2, 3]}', 2, id="key-order-and-space"),
        pytest.param("order", '{"items": [], "status": "open"}', 0, id="not-seen-together"),
        pytest.param("order", "Order not found", 0, id="no-json"),
        pytest.param("order", '{"items": [', 0, id="torn-json"),
        pytest.param("order", "[" * 100_000, 0, id="nested-without-end"),
        pytest.param("order", "null", 0, id="null"),
        pytest.param("order", None, 0, id="no-result"),
        pytest.param("user", '{"items": [{}], "status": "open"}', 0, id="another-tool"),
    ],
)
def test_the_number_of_an_output(tool: str, content: str | None, number: int) -> None:
    assert ORDER.id_of(tool, content) == number


def test_without_features_no_output_is_looked_at() -> None:
    """A content that is no text at all would be noticed."""
    assert EMPTY.id_of("order", b"{}") == 0  # type: ignore[arg-type]  # what reading it would trip over


def test_numbers_follow_the_order_of_the_texts_and_stop_at_63() -> None:
    numbers = numbered((f"{value:03}",) for value in [*range(99, -1, -1), 7, 7])
    assert (numbers["000",], numbers["062",], len(numbers)) == (1, 63, 63)


def found(*outputs: JsonValue) -> list[Field]:
    """The fields of one tool with these outputs."""
    fields, _ = discover(("tool", jsonvalue.dumps(output).decode()) for output in outputs)
    return list(fields.get("tool", ()))


def test_scalars_of_an_object_and_of_its_objects_and_lengths_of_its_lists_are_fields() -> None:
    one: JsonValue = {"s": "a", "d.ot": "a", "n": 1, "o": {"s": "x", "deep": {"s": "x"}, "list": [1]}, "l": [1]}
    other: JsonValue = {"s": "b", "d.ot": "b", "n": 2, "o": {"s": "y", "deep": {"s": "y"}, "list": []}, "l": []}
    assert found(one, other) == [Field("Len", "l"), Field("Scalar", "n"), Field("Scalar", "o.s"), Field("Scalar", "s")]
    assert found([1], []) == [Field("Len", "")]


@pytest.mark.parametrize(
    ("outputs", "kept"),
    [
        pytest.param([{"a": n} for n in range(8)], True, id="eight-values"),
        pytest.param([{"a": n} for n in range(9)], False, id="nine-values"),
        pytest.param([*({"a": n} for n in range(8)), {}], False, id="missing-is-the-ninth"),
        pytest.param([*({"a": n} for n in range(7)), {}, {"a": None}], True, id="null-is-as-good-as-missing"),
        pytest.param([{"a": 1}], False, id="one-value"),
        pytest.param([{"a": 1}, 12], True, id="missing-in-an-output-that-is-a-number"),
        pytest.param([{"a": 1}] * 98 + [{"a": 2}] * 2, True, id="98-of-100"),
        pytest.param([{"a": 1}] * 99 + [{"a": 2}], False, id="99-of-100"),
        pytest.param([{"a": "x" * 256}, {"a": ""}], True, id="a-long-value"),
        pytest.param([{"a": "x" * 257}, {"a": ""}], False, id="too-long-a-value"),
        pytest.param([{"a": 1, **{f"k{n}": 0 for n in range(255)}}, {"a": 2}], True, id="256-fields"),
        pytest.param([{"a": 1, **{f"k{n}": 0 for n in range(256)}}, {"a": 2}], False, id="257-fields"),
    ],
)
def test_a_field_is_kept_when_its_values_differ_but_not_all_of_them(outputs: list[JsonValue], kept: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (Field("Scalar", "a") in found(*outputs)) == kept


@pytest.mark.case("HC-17")
def test_a_field_that_holds_a_secret_is_none_since_its_values_would_be_written_into_the_flow() -> None:
    """By its own name, by the name of the object it is in, or by a value's shape; a limit on tokens is no secret."""
    secrets: list[JsonValue] = [
        {
            "apiKey": f"k{n}",
            "credentials": {"user": f"u{n}"},
            "note": f"Bearer abcdefghijklmnop{n}qrstuv",
            "max_tokens": n,
        }
        for n in range(3)
    ]
    assert found(*secrets) == [Field("Scalar", "max_tokens")]


def test_outputs_that_are_no_json_are_not_counted() -> None:
    fields, values = discover([("a", '{"x": 1}'), ("a", "no"), ("a", '{"x": 2}'), ("b", "no"), ("c", "{}")])
    assert fields == {"a": (Field("Scalar", "x"),)}
    assert values == {("a", '{"x": 1}'): ("1",), ("a", '{"x": 2}'): ("2",)}


@given(json_values())
def test_any_json_has_a_text_for_any_field(output: JsonValue) -> None:
    for field in (Field("Scalar", "a"), Field("Scalar", "a.b"), Field("Len", ""), Field("Len", "a")):
        assert isinstance(field.text(output), str)


@given(texts())
def test_any_text_has_a_number(content: str) -> None:
    assert ORDER.id_of("order", content) == 0


@given(json_values(), json_values())
def test_what_is_discovered_is_what_is_read_when_serving(one: JsonValue, other: JsonValue) -> None:
    contents = [("tool", jsonvalue.dumps(value).decode()) for value in (one, other)]
    fields, values = discover(contents)
    for value, content in zip((one, other), contents, strict=True):
        if content in values:
            assert values[content] == tuple(field.text(value) for field in fields["tool"])
