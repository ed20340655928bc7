"""One member is set in a JSON text, and every other byte stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values, texts
from waggle import jsonvalue
from waggle.jsonedit import with_member

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

PRETTY = """\
{
  "theme": "dark", "n": 1.50,
  "mcpServers": {
    "files": { "command": "npx",  "args": [ "{,:}", "\\"" ] }
  },
  "last": null
}
"""
ADDED = PRETTY.replace(
    '"\\"" ] }\n',
    """"\\"" ] },
    "shop": {
      "args": [
        "a"
      ]
    }
""",
)


def test_a_member_is_added_behind_the_others_in_the_texts_own_manner() -> None:
    assert with_member(PRETTY, ("mcpServers", "shop"), {"args": ["a"]}) == ADDED


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("  ", "\t"), ("  ", "    ")], ids=["crlf", "tabs", "four"])
def test_line_ends_and_indentation_are_the_texts_own(change: tuple[str, str]) -> None:
    made = with_member(PRETTY.replace('"npx",  ', '"npx", ').replace(*change), ("mcpServers", "shop"), {"args": ["a"]})
    assert made == ADDED.replace('"npx",  ', '"npx", ').replace(*change)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        (' { "x" : 1 } ', ' { "x" : 1, "a": {"b":1} } '),
        ('{"a":{}}', '{"a":{\n  "b": 1\n}}'),
        ('{"a":{"b":0,"c":2}}', '{"a":{"b":1,"c":2}}'),
        ('{"a":{"c":[{"b":5}]}}', '{"a":{"c":[{"b":5}], "b": 1}}'),
        ('{"a":{"b":7},"a":{"b":0}}', '{"a":{"b":7},"a":{"b":1}}'),
        ('{"\\u0061":{"b":[]}}', '{"\\u0061":{"b":1}}'),
        ('{\n "a": {\n  "b": {"x": [2]},\n  "c": 3\n }\n}', '{\n "a": {\n  "b": 1,\n  "c": 3\n }\n}'),
    ],
)
def test_what_is_missing_is_made_and_what_is_there_is_replaced(text: str, expected: str) -> None:
    assert with_member(text, ("a", "b"), 1) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "."),
        ('{"a": 1,}', "."),
        ("// hosts\n{}", "."),
        ("[]", "expected an object @ \\$"),
        ('{"a": [1]}', "expected an object @ \\$.a"),
        ('{"a": {"b": "{"}}', "expected an object @ \\$.a.b"),
    ],
)
def test_what_cannot_hold_it_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        with_member(text, ("a", "b", "c"), 1)


@given(json_objects(), texts(), texts(), json_values(), st.sampled_from(["compact", "pretty"]))
def test_the_value_can_be_read_back_and_nothing_else_has_changed(
    content: JsonObject, table: str, key: str, value: JsonValue, form: str
) -> None:
    inner = content.get(table)
    if not isinstance(inner, dict):
        content.pop(table, None)
    text = jsonvalue.pretty(content) if form == "pretty" else jsonvalue.dumps(content).decode()
    made = with_member(text, (table, key), value)
    members: JsonObject = dict(inner) if isinstance(inner, dict) else {}
    expected: JsonObject = {**content, table: {**members, key: value}}
    assert jsonvalue.canonical(jsonvalue.loads(made)) == jsonvalue.canonical(expected)
    again = jsonvalue.loads(with_member(made, (table, key), None))
    assert again == {**expected, table: {**members, key: None}}
    assert list(jsonvalue.loads(made)) == list(expected)  # type: ignore[arg-type]  # an object
