"""Checks that a call must pass: what a file may say, and which calls it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.bindings.session import SessionValues
from stretto.errors import GuardsError
from stretto.proxy import guards as guards_module
from stretto.proxy.guards import Guards, guards_from_data, read_guards
from tests.strategies import json_objects, json_values

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
stretto_guards = 1

[[checks]]
name = "a known order"
tools = ["cancel", "refund"]
say = "Look the order up first."

[checks.arguments.order]
matches = "#W[0-9]+"
seen_in = ["find", "get"]

[[checks]]
name = "a yes"
tools = ["refund"]
confirmed = '\\b(yes|go ahead)\\b'
"""


def guards(**check: Any) -> Guards:
    return guards_from_data({"stretto_guards": 1, "checks": [{"name": "c", "tools": ["cancel"], **check}]})


def session(*results: str, said: str = "") -> SessionValues:
    values = SessionValues()
    for text in results:
        values.result("find", None, text)
    if said:
        values.hear(said)
    return values


def problem(found: Guards, arguments: Any, seen: SessionValues | None = None) -> str:
    """What is wrong with a call of `cancel`; empty when it passes."""
    refusal = found.check("cancel", arguments, seen or session())
    if refusal is None:
        return ""
    assert refusal.check == "c"
    start, _, end = refusal.text.partition(' The check "c" did not pass: ')
    assert start == "Not done: cancel was not sent to the server, and nothing was changed."
    return end


# --- checks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("#W12", ""),
        (["#W1", "#W2"], ""),
        ("#W12x", '`order` is "#W12x", which does not match #W[0-9]+.'),
        (["#W1", {"b": "x"}], '`order` is "x", which does not match #W[0-9]+.'),
        (12, "`order` is 12, which does not match #W[0-9]+."),
        (None, "`order` is missing."),
        ("x" * 99, f'`order` is "{"x" * 80}…", which does not match #W[0-9]+.'),
        ("\x1b[2J\n", '`order` is "\\u001b[2J\\n", which does not match #W[0-9]+.'),
    ],
)
def test_a_pattern_is_of_the_whole_value_and_of_every_part(value: Any, expected: str) -> None:
    assert problem(guards(arguments={"order": {"matches": "#W[0-9]+"}}), {"order": value}) == expected


def test_an_argument_may_be_optional() -> None:
    found = guards(arguments={"note": {"matches": "a*", "optional": True}})
    assert problem(found, {}) == problem(found, {"note": None}) == problem(found, {"note": "aa"}) == ""
    assert problem(found, {"note": "b"}) != ""


@pytest.mark.parametrize(
    ("result", "value", "passes"),
    [
        ('{"id": "#W12", "n": 70, "name": "Zo\\u00eb"}', "#W12", True),
        ('{"id": "#W12"}', "#W1", False),
        ('{"id": "#W12"}', "#w12", False),
        ('{"n": 70}', 70, True),
        ('{"n": 70}', "70", True),
        ('{"n": 70}', 7, False),
        ('{"n": 1.50}', 1.5, True),
        ('{"name": "Zo\\u00eb"}', "Zoë", True),
        ("Order #W12, paid.", "#W12", True),
        ("Order #W123, paid.", "#W12", False),
        ("anything", "", False),
        ("anything", True, True),
        ('{"ids": ["a1", "b2"]}', ["b2", "a1"], True),
        ('{"ids": ["a1", "b2"]}', ["b2", "c3"], False),
    ],
)
def test_a_value_must_have_been_shown_by_a_result(result: str, value: Any, passes: bool) -> None:  # noqa: FBT001 - a column of the table
    said = problem(guards(arguments={"v": {"seen": True}}), {"v": value}, session(result))
    assert (said == "") is passes
    assert passes or said.endswith("which no result of this session has shown.")


def test_a_value_may_have_to_come_from_certain_tools() -> None:
    found = guards(arguments={"v": {"seen_in": ["get", "list"]}})
    values = session("a1")
    assert problem(found, {"v": "a1"}, values) == '`v` is "a1", which no result of get or list has shown.'
    values.result("list", None, "a1")
    assert problem(found, {"v": "a1"}, values) == ""


@pytest.mark.parametrize(
    ("said", "passes"), [("", False), ("No.", False), ("YES, do it", True), ("eyes", False), ("Yes.\nBoth.", True)]
)
def test_the_users_latest_message_must_confirm(said: str, passes: bool) -> None:  # noqa: FBT001 - as above
    found = guards(confirmed=r"\byes\b")
    assert (problem(found, {}, session(said=said)) == "") is passes
    values = session(said="yes")
    values.hear("wait, no")
    assert problem(found, {}, values) == "the user's latest message does not confirm it."


def test_the_first_check_that_does_not_pass_refuses_and_other_tools_are_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "guards.toml"
    path.write_text(TOML)
    found = read_guards(path)
    assert (sorted(found.tools), found.listens) == (["cancel", "refund"], True)
    assert not guards(confirmed="x", tools=["a"]).check("b", {}, session())
    refusal = found.check("refund", {"order": "#W1"}, session())
    assert refusal
    assert refusal.text == (
        "Not done: refund was not sent to the server, and nothing was changed. "
        'The check "a known order" did not pass: `order` is "#W1", which no result of find or get has shown. '
        "Look the order up first."
    )
    refusal = found.check("refund", {"order": "#W1"}, session("#W1", said="hm"))
    assert refusal
    assert refusal.check == "a yes"
    assert found.check("refund", {"order": "#W1"}, session("#W1", said="yes")) is None
    assert found.check("cancel", {"order": "#W1"}, session("#W1")) is None


@given(json_objects(), json_values())
def test_every_call_is_passed_or_refused_in_words(arguments: Any, shown: Any) -> None:
    found = guards(arguments={name: {"seen": True} for name in arguments} | {"x": {"matches": ".*", "optional": True}})
    refusal = found.check("cancel", arguments, session(json.dumps(shown)))
    assert refusal is None or refusal.text.startswith("Not done: cancel was not sent")


@given(st.recursive(st.text("ab", min_size=1), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_a_result_has_shown_may_be_passed(value: Any) -> None:
    found = guards(arguments={"v": {"seen": True}})
    assert problem(found, {"v": value}, session(json.dumps([value]))) == ""


# --- files ----------------------------------------------------------------------------------------------------


def test_the_example_in_the_text_is_valid(tmp_path: Path) -> None:
    example = (guards_module.__doc__ or "").partition("::\n")[2].partition("\nOf a list")[0]
    path = tmp_path / "guards.toml"
    path.write_text("\n".join(line.removeprefix("    ") for line in example.splitlines()))
    assert read_guards(path).tools == {"cancel_order", "refund_order"}


def test_json_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "guards.json"
    check = {"name": "c", "tools": ["cancel"], "arguments": {"v": {"seen": True}}}
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"stretto_guards": 1, "checks": [check]}).encode())
    assert problem(read_guards(path), {"v": "a"}).startswith('`v` is "a"')


@pytest.mark.parametrize(
    ("check", "at", "said"),
    [
        ({"name": 7}, "$.checks[0].name", "expected a text"),
        ({"tools": []}, "$.checks[0].tools", ""),
        ({"tools": "a"}, "$.checks[0].tools", ""),
        ({"tools": [1]}, "$.checks[0].tools[0]", "expected a text"),
        ({"wen": 1}, "$.checks[0].wen", "unknown field"),
        ({"arguments": {}}, "$.checks[0]", "expected arguments or confirmed: the check passes everything"),
        ({"arguments": {"a b": {}}}, '$.checks[0].arguments["a b"]', "expected one of matches, seen, seen_in"),
        ({"arguments": {"a": {"seen": "yes"}}}, "$.checks[0].arguments.a.seen", "expected true or false"),
        ({"arguments": {"a": {"matches": "["}}}, "$.checks[0].arguments.a.matches", "expected a regular expression"),
        ({"confirmed": 1}, "$.checks[0].confirmed", "expected a"),
    ],
)
def test_a_bad_field_is_named_by_its_path(check: Any, at: str, said: str) -> None:
    content = {
        "stretto_guards": 1,
        "checks": [{"name": "c", "tools": ["t"], "arguments": {"a": {"seen": True}}} | check],
    }
    with pytest.raises(GuardsError) as caught:
        guards_from_data(content, "g.toml")
    assert (caught.value.path, caught.value.at) == ("g.toml", at)
    assert caught.value.problem.startswith(said)


@pytest.mark.parametrize(
    ("content", "at"), [({}, "$.stretto_guards"), ({"stretto_guards": 2, "checks": []}, "$.stretto_guards"), ([], "$")]
)
def test_another_version_or_no_table_is_refused(content: Any, at: str) -> None:
    with pytest.raises(GuardsError) as caught:
        guards_from_data(content)
    assert caught.value.at == at


@pytest.mark.parametrize(("name", "data"), [("g.toml", b"a ="), ("g.json", b"{"), ("g.toml", b"\xff")])
def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    with pytest.raises(GuardsError, match="cannot be read: No such file"):
        read_guards(path)
    path.write_bytes(data)
    with pytest.raises(GuardsError, match=r"is no (TOML|JSON)"):
        read_guards(path)
    with pytest.raises(GuardsError, match="not a file"):
        read_guards(tmp_path)
