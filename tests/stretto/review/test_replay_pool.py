"""Which lookup answers a call: unused, exact, and not stale unless it still says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stretto.review.fanout import Element
from stretto.review.pool import Lookup, Pool
from stretto.review.record import Answer, Record, RecordedCall, key_of
from tests.stretto.episodes import called, episode
from tests.stretto.review.replay_support import SHOP, cancel, find, order, user

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

A1: JsonObject = {"order": "#A1"}


def call_of(content: str, arguments: JsonObject = A1, *, error: bool = False) -> RecordedCall:
    """The agent's call of an order, which returned this."""
    return Record(episode(called("get_order", arguments, content, error=error)), SHOP).calls[0]


def lookup_of(content: str, arguments: JsonObject = A1, *, exact: bool = True) -> Lookup:
    """A lookup of an order, which returned this."""
    own = call_of(content, arguments) if exact else None
    answer = Answer(error=False, content=content, tokens=1, own=own)
    return Lookup(key_of("get_order", arguments), arguments, answer, "flow", Element.NONE, 0, 1)


def pool_of(*lookups: Lookup, same_result: bool = False) -> Pool:
    pool = Pool(same_result=same_result)
    for lookup in lookups:
        pool.add(lookup)
    return pool


def test_the_first_lookup_that_fits_answers_and_only_once() -> None:
    first, second = lookup_of("1"), lookup_of("1")
    pool = pool_of(first, second)
    assert pool.answer(call_of("1")) is first
    assert pool.answer(call_of("1")) is second
    assert pool.answer(call_of("1")) is None
    assert first.used
    assert second.used


def test_arguments_are_equal_as_json_whatever_their_order() -> None:
    pool = pool_of(lookup_of("1", {"a": 1, "b": "2"}))
    assert pool.answer(call_of("1", {"a": 1, "b": 2})) is None
    assert pool.answer(call_of("1", {"b": "2", "a": 1})) is not None


@pytest.mark.parametrize(
    ("returned", "answers"),
    [
        pytest.param('{"id": 1, "open": true}', True, id="the same text"),
        pytest.param('{"open":true,"id":1}', True, id="the same JSON"),
        pytest.param('  {"id": 1, "open": true}\n', True, id="space around it"),
        pytest.param('{"id": 1, "open": false}', False, id="another value"),
        pytest.param("not JSON", False, id="no JSON"),
    ],
)
def test_what_was_written_since_makes_a_lookup_stale_unless_it_still_says_the_same(
    returned: str, *, answers: bool
) -> None:
    pool = pool_of(lookup_of('{"id": 1, "open": true}'))
    pool.wrote()
    assert (pool.answer(call_of(returned)) is not None) is answers


def test_a_stale_lookup_never_answers_a_call_that_failed() -> None:
    pool = pool_of(lookup_of("gone"))
    pool.wrote()
    assert pool.answer(call_of("gone", error=True)) is None


def test_texts_that_are_no_json_are_not_alike_for_that() -> None:
    pool = pool_of(lookup_of("one"))
    pool.wrote()
    assert pool.answer(call_of("two")) is None


def test_a_stand_in_answers_nothing() -> None:
    pool = pool_of(lookup_of("1", exact=False))
    assert pool.answer(call_of("1")) is None
    assert pool.lookups
    assert not pool.covered


def test_what_the_agent_was_not_shown_answers_nothing() -> None:
    hidden = lookup_of("1")
    pool = pool_of(hidden)
    pool.hide(hidden)
    assert pool.answer(call_of("1")) is None


def test_results_alone_decide_where_that_was_asked_for() -> None:
    wide: JsonObject = {"order": "#A1", "full": True}
    assert pool_of(lookup_of("1")).answer(call_of("1", wide)) is None
    assert pool_of(lookup_of("1"), same_result=True).answer(call_of("1", wide)) is not None
    assert pool_of(lookup_of("1"), same_result=True).answer(call_of("2", wide)) is None
    assert pool_of(lookup_of("1"), same_result=True).answer(call_of("1", {"order": "#B1"})) is None


# --- what a lookup returns ----------------------------------------------------------------------------------------


def test_a_lookup_gets_the_result_of_the_agents_own_next_call_before_its_next_write() -> None:
    record = Record(episode(find(), order("#A1"), order("#B1"), cancel("#A1"), order("#A1")), SHOP)
    own = record.answer(key_of("get_order", {"order": "#B1"}), 0)
    assert own.own is record.calls[2]
    assert '"#B1"' in own.content
    after_the_call_itself = record.answer(key_of("get_order", {"order": "#A1"}), 1)
    assert after_the_call_itself.own is None
    after_the_write = record.answer(key_of("get_order", {"order": "#A1"}), 3)
    assert after_the_write.own is record.calls[4]


def test_a_stand_in_is_the_nearest_result_of_the_tool_the_earlier_of_two() -> None:
    record = Record(episode(order("#A1"), find(), order("#B1"), find(), find(), find(), order("#C1")), SHOP)
    stranger = key_of("get_order", {"order": "#X9"})
    assert '"#A1"' in record.answer(stranger, 0).content
    assert '"#A1"' in record.answer(stranger, 1).content
    assert '"#B1"' in record.answer(stranger, 3).content
    assert '"#C1"' in record.answer(stranger, 5).content


def test_a_tool_that_the_record_never_shows_returns_nothing_of_the_usual_length() -> None:
    record = Record(episode(called("find_user", {}, "x" * 40), called("get_user", {}, "x" * 80)), SHOP)
    answer = record.answer(key_of("clock", {}), 0)
    assert (answer.error, answer.content, answer.tokens, answer.own) == (False, "null", 15, None)


def test_writes_of_others_and_tools_of_unknown_kind_do_not_end_the_reach() -> None:
    record = Record(episode(find(), called("think", {}, "hm"), user("#A1")), SHOP)
    assert record.answer(key_of("get_user", {"user": "u-7"}), 0).own is record.calls[2]
