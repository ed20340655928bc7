"""Fan-out: the first element of a list that is passed, and the later ones."""

from __future__ import annotations

import pytest

from stretto.bindings.results import Output
from stretto.review.fanout import Element, Lists, elements
from stretto.review.record import Record
from tests.stretto.episodes import called, episode, together
from tests.stretto.review.replay_support import SHOP, cancel, find, order, user

NONE, FIRST, LATER = Element.NONE, Element.FIRST, Element.LATER


def lists_of(*contents: str) -> Lists:
    lists = Lists()
    for number, content in enumerate(contents):
        lists.show(Output(number, "t", content))
    return lists


def test_turns_that_read_start_a_list_or_continue_one() -> None:
    session = episode(find(), user("#A1", "#B1", "#C1"), order("#B1"), cancel("#C1"), order("#A1", "#C1"))
    assert elements(Record(session, SHOP)) == [NONE, NONE, FIRST, NONE, LATER]


def test_a_turn_that_starts_a_list_and_goes_on_with_it_starts_it() -> None:
    assert elements(Record(episode(user("#A1", "#B1"), order("#A1", "#B1")), SHOP)) == [NONE, FIRST]


def test_a_turns_own_results_are_not_known_to_it() -> None:
    own = together(("get_user", {"user": "u"}, {"orders": ["#A1", "#B1"]}), ("get_order", {"order": "#A1"}, {}))
    assert elements(Record(episode(own, order("#B1")), SHOP)) == [NONE, LATER]


@pytest.mark.parametrize(
    ("content", "first", "later"),
    [
        pytest.param('{"orders": ["#A1", "#B1"]}', "#A1", "#B1", id="a list of texts"),
        pytest.param('[{"id": "a"}, {"id": "b"}]', "b", "a", id="a field of records"),
        pytest.param("a.py\nb.py", "a.py", "b.py", id="lines"),
        pytest.param("- general\n- random", "general", "random", id="YAML"),
        pytest.param("- sender: Bob\n  to: x\n- sender: 'Eve'\n  to: y", "Bob", "Eve", id="YAML records"),
    ],
)
def test_values_at_one_place_are_a_list(content: str, first: str, later: str) -> None:
    lists = lists_of(content)
    assert lists.take("read", {"id": first}) is FIRST
    assert lists.take("read", {"id": later}) is LATER


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"orders": ["#A1"]}', id="one value"),
        pytest.param('{"orders": ["#A1", "#A1"]}', id="one value twice"),
        pytest.param('{"order": "#A1", "other": "#B1"}', id="fields of one record"),
        pytest.param("sender: Bob\nto: #A1", id="lines of other kinds"),
        pytest.param("#A1", id="the whole result"),
    ],
)
def test_a_single_value_is_no_list(content: str) -> None:
    assert lists_of(content).take("read", {"id": "#A1"}) is NONE


def test_a_list_is_continued_by_the_same_argument_of_the_same_tool_only() -> None:
    lists = lists_of('["a", "b"]')
    assert lists.take("read", {"id": "a"}) is FIRST
    assert lists.take("write", {"id": "b"}) is FIRST
    assert lists.take("read", {"other": "b"}) is FIRST
    assert lists.take("read", {"id": "a"}) is FIRST  # again, and no other yet
    assert lists.take("read", {"id": "b"}) is LATER


def test_the_latest_result_that_holds_a_value_says_whether_it_is_in_a_list() -> None:
    assert lists_of('["a", "b"]', '{"id": "a"}').take("read", {"id": "a"}) is NONE
    assert lists_of('{"id": "a"}', '["a", "b"]').take("read", {"id": "a"}) is FIRST


def test_calls_without_texts_pass_no_element() -> None:
    lists = lists_of("[1, 2]")
    assert lists.take("read", {"id": 1}) is NONE
    assert lists.take("read", None) is NONE
    assert elements(Record(episode(called("clock", {}, "9")), SHOP)) == [NONE]
