"""The ceiling: turns that any read-only flow binding from results could save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.review.ceiling import Reach, ceiling, reaches
from stretto.review.presence import Heard, values_in
from stretto.review.record import Record
from stretto.sessions.traces import episode_of, manifest_of
from tests.stretto.episodes import called, episode, replied, said, together
from tests.stretto.review.replay_support import SHOP, cancel, find, order, user, worked_example
from waggle.traces import read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.sessions.episode import Event
    from waggle.jsonvalue import JsonObject

NONE, WORDS, RESULTS = Reach.NONE, Reach.WORDS, Reach.RESULTS


def reached(*events: Event | list[Event]) -> list[Reach]:
    return reaches(Record(episode(*events), SHOP))


def test_the_worked_example_has_two_turns_in_the_ceiling() -> None:
    score = next(ceiling([worked_example()], SHOP))
    assert (score.turns, score.replies, score.reads, score.writes) == (6, 2, 3, 1)
    assert (score.ceiling, score.with_words) == (2, 2)


def test_the_first_turn_is_never_in_it_since_no_flow_has_acted() -> None:
    assert reached(called("clock", {}, "9:00")) == [NONE]
    assert reached(find(), called("clock", {}, "9:00")) == [NONE, RESULTS]


def test_every_call_of_a_turn_must_read_and_have_its_values() -> None:
    mixed = together(("get_order", {"order": "#A1"}, {}), ("think", {}, ""))
    half = together(("get_order", {"order": "#A1"}, {}), ("get_order", {"order": "#B1"}, {}))
    assert reached(find(), user("#A1"), mixed) == [NONE, RESULTS, NONE]
    assert reached(find(), user("#A1"), half) == [NONE, RESULTS, NONE]


def test_a_turn_right_after_a_write_can_be_saved_by_a_lookup_after_the_write() -> None:
    assert reached(find(), user("#A1"), cancel("#A1"), order("#A1")) == [NONE, RESULTS, NONE, RESULTS]


def test_results_of_the_turns_own_calls_and_of_failed_ones_hold_no_values() -> None:
    own = together(("get_user", {"user": "u-7"}, {"orders": ["#A1"]}), ("get_order", {"order": "#A1"}, {}))
    assert reached(find(), own) == [NONE, NONE]
    failed = called("find_user", {"email": "a@b.c"}, "no such user u-7", error=True)
    assert reached(failed, user()) == [NONE, NONE]


def test_words_of_the_user_count_once_a_result_has_come_after_them() -> None:
    """A flow acts after a result; what the agent calls right after the user spoke, no flow has seen."""
    assert reached(said("It is #Q9"), order("#Q9")) == [NONE]
    assert reached(find(), said("It is #Q9"), order("#Q9")) == [NONE, NONE]
    assert reached(said("It is q9, please"), find(), order("#Q9")) == [NONE, WORDS]
    assert reached(said("It is #Q9"), find(), replied(), said("Well?"), order("#Q9")) == [NONE, NONE, WORDS]


# --- what counts as present --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text", "present"),
    [
        pytest.param("u-7", '{"user_id": "u-7"}', True, id="a field of JSON"),
        pytest.param("u-7", '{"user_id": "u-71"}', False, id="the beginning of a longer word"),
        pytest.param("#W1", "orders: #W12", False, id="the beginning of a longer number"),
        pytest.param("#W1", "order#W1", True, id="a sign separates"),
        pytest.param("general", "- general\n- random", True, id="a line of YAML"),
        pytest.param("src/a.py", "./src/a.py:7:import x", True, id="a path in a line"),
        pytest.param('say "hi"', '{"text": "say \\"hi\\""}', True, id="escaped in JSON"),
        pytest.param("Zürich", '{"city": "Z\\u00fcrich"}', True, id="escaped as ASCII"),
        pytest.param("A@B.C", "a@b.c", False, id="case matters in results"),
        pytest.param(12, '{"n": 12}', True, id="a number"),
        pytest.param(12, "in 2012", False, id="digits of another number"),
        pytest.param(12, "12.5", False, id="the whole part of another number"),
        pytest.param(12.0, "12", True, id="a whole float"),
        pytest.param(12, "12.00", True, id="an empty fraction"),
        pytest.param(0.5, "0.5", True, id="a fraction"),
        pytest.param(0.5, "10.5", False, id="the end of another number"),
    ],
)
def test_a_value_is_present_where_its_text_is_a_whole_word(value: str | float, text: str, *, present: bool) -> None:
    heard = Heard()
    heard.add(text)
    assert heard.holds(value) is present


def test_people_write_values_in_their_own_case_and_without_the_sign() -> None:
    heard = Heard(loosely=True)
    heard.add("My order w1, and mail to ME@X.ORG")
    assert heard.holds("#W1")
    assert heard.holds("me@x.org")
    assert not heard.holds("W2")


def test_what_is_missing_is_looked_for_in_later_texts() -> None:
    heard = Heard()
    heard.add("a")
    assert not heard.holds("b")
    heard.add("b")
    assert heard.holds("b")
    assert not heard.holds("c")


def test_flags_and_empty_values_need_no_source() -> None:
    arguments: JsonObject = {"a": None, "b": True, "c": "", "d": [], "e": {"f": ["x", 1, False]}, "g": 0.5}
    assert list(values_in(arguments)) == ["x", 1, 0.5]


@given(st.lists(st.text(max_size=5)), st.text(min_size=1, max_size=5))
def test_a_text_always_holds_itself_between_spaces(others: list[str], value: str) -> None:
    heard = Heard()
    for text in [*others, f" {value} "]:
        heard.add(text)
    assert heard.holds(value)


def test_the_ceiling_of_recorded_retail_sessions(shared_traces: Path) -> None:
    traces = list(read_traces(shared_traces / "tools-retail.jsonl.gz"))
    manifest = manifest_of(traces[0])
    for trace in traces:
        manifest = manifest.updated(manifest_of(trace))
    scores = list(ceiling(map(episode_of, traces), manifest))
    assert sum(score.turns for score in scores) == 1395
    assert sum(score.ceiling for score in scores) == 388
    assert sum(score.with_words for score in scores) == 400
