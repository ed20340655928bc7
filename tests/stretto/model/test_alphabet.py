"""Steps, actions and symbols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.alphabet import FEATURES, RESPOND, Step, StepOutcome, Vocabulary, action_of, steps_of, symbol
from stretto.sessions.episode import Assistant, ToolCall
from tests.stretto.episodes import called, episode, replied, said, together


def test_a_turn_of_several_calls_is_as_many_steps_in_the_order_of_the_calls() -> None:
    steps = steps_of(episode(said("hi"), together(("b", {}, "x"), ("a", {}, "y")), called("c", {}, "no", error=True)))
    assert steps == [
        Step("b", StepOutcome.OK, "x"),
        Step("a", StepOutcome.OK, "y"),
        Step("c", StepOutcome.ERROR, "no"),
    ]


def test_a_call_without_a_result_failed() -> None:
    assert steps_of(episode(Assistant(calls=(ToolCall("", "a", {}),)))) == [Step("a", StepOutcome.ERROR)]


@pytest.mark.parametrize(
    ("events", "outcomes"),
    [
        pytest.param([replied(), said("so?")], "R", id="answered"),
        pytest.param([replied()], "E", id="the-last-word"),
        pytest.param([replied(), called("a", {}, "x"), said("so?")], "E.", id="a-call-comes-first"),
        pytest.param([replied(), replied(), said("so?")], "ER", id="of-two-replies-the-later-is-answered"),
        pytest.param([said("a"), replied(), said("b"), said("c")], "R", id="answered-twice"),
    ],
)
def test_a_reply_is_answered_when_the_user_speaks_before_the_agent_calls(events: list[object], outcomes: str) -> None:
    letters = {StepOutcome.REPLIED: "R", StepOutcome.ENDED: "E", StepOutcome.OK: "."}
    steps = steps_of(episode(*events))  # type: ignore[arg-type]  # events and turns of events, as the helper takes them
    assert "".join(letters[step.outcome] for step in steps) == outcomes


def test_actions_are_numbered_by_name_after_the_reply_and_the_unseen_one_is_last() -> None:
    vocabulary = Vocabulary(["b", "a", "b"])
    assert [vocabulary.action(name) for name in (None, "a", "b", "zzz")] == [RESPOND, 1, 2, 3]
    assert vocabulary.size == 4


def test_symbols_are_those_of_the_published_flows() -> None:
    assert symbol(RESPOND, StepOutcome.REPLIED) == 8192
    assert symbol(9, StepOutcome.OK) == 147456


@given(st.integers(0, 10_000), st.sampled_from(StepOutcome), st.integers(-5, 3 * FEATURES))
def test_a_symbol_gives_its_action_back_and_features_out_of_range_are_clipped(
    action: int, outcome: StepOutcome, feature: int
) -> None:
    made = symbol(action, outcome, feature)
    assert action_of(made) == action
    assert made // FEATURES % 4 == outcome
    assert made % FEATURES == min(max(feature, 0), FEATURES - 1)
