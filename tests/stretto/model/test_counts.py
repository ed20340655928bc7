"""Counts and the chances that follow: the published flow's, the worked examples', and that counts add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.model.alphabet import StepOutcome, action_of, symbol
from stretto.model.counts import PADDING, Backoff, Habit, Successions, context, half_life_weights
from tests.stretto.model.model_support import VOCAB_SIZE, WRITES, counted, episodes, published_habit

ANSWERED, EMAIL, USER, ORDER = 8192, 65536, 147456, 114688


def test_the_published_habit_gives_the_published_chances_layer_by_layer() -> None:
    habit = published_habit()
    history = (ANSWERED, EMAIL, USER)
    order = 7
    chances = [1 / habit.base.vocab_size]
    for length in range(3):
        shorter = Backoff(habit.base.alpha, habit.base.vocab_size, habit.base.levels[: length + 1])
        chances.append(shorter.probability(history, order))
    chances.append(habit.probability(history, order))
    assert chances == pytest.approx([0.055556, 0.181582, 0.313670, 0.450700, 0.560370], abs=5e-7)


def test_after_two_orders_the_published_habit_weighs_a_third_one_a_product_and_handing_back() -> None:
    order, product = published_habit().probabilities((EMAIL, ORDER, ORDER), (7, 8))
    assert (order, product, 1 - order - product) == pytest.approx((0.591905, 0.160800, 0.247295), abs=5e-7)


def test_after_the_email_lookup_alone_the_published_habit_expects_the_user() -> None:
    assert published_habit().probability((ANSWERED, EMAIL), 9) == pytest.approx(0.5213, abs=5e-5)


def test_the_worked_example_of_reach_beside_the_habit() -> None:
    """One session: find, user, order, order, a reply that is answered, a cancellation, a last reply."""
    reply, find, user, order, cancel = 0, 1, 2, 3, 4
    symbols = [symbol(action, StepOutcome.OK) for action in (find, user, order, order)]
    symbols += [symbol(reply, StepOutcome.REPLIED), symbol(cancel, StepOutcome.OK), symbol(reply, StepOutcome.ENDED)]
    successions = Successions()
    successions.add(symbols, {cancel})
    habit, reach = successions.habit(1, 6), successions.reach(1, 6)

    whole = reach.levels[0][()]
    assert whole.total == 7
    assert [whole.by_action.get(action, 0) for action in (find, user, order, reply, cancel)] == [1, 2, 4, 6, 0]
    levels = [Backoff(1, 6, reach.levels[: length + 1]).probability(symbols[:2], order) for length in range(3)]
    assert levels == pytest.approx([0.5208, 0.7604, 0.8802], abs=5e-5)
    levels = [Backoff(1, 6, habit.base.levels[: length + 1]).probability(symbols[:2], order) for length in range(3)]
    assert [*levels, habit.probability(symbols[:2], order)] == pytest.approx([0.2708, 0.6354, 0.8177, 0.9089], abs=5e-5)
    levels = [Backoff(1, 6, reach.levels[: length + 1]).probability(symbols[:2], reply) for length in range(3)]
    assert levels == pytest.approx([0.7708, 0.8854, 0.9427], abs=5e-5)


def test_a_context_is_padded_on_the_left() -> None:
    assert [context((5, 6, 7), length) for length in range(4)] == [(), (7,), (6, 7), (5, 6, 7)]
    assert context((7,), 2) == (PADDING, 7)
    assert context((), 2) == (PADDING, PADDING)


@given(episodes())
def test_episodes_counted_whole_give_what_steps_counted_one_by_one_give(sessions: list[list[int]]) -> None:
    habit, reach = Habit(Backoff(2.0, VOCAB_SIZE), 2.0), Backoff(2.0, VOCAB_SIZE)
    for symbols in sessions:
        actions = [action_of(each) for each in symbols]
        for place, action in enumerate(actions):
            habit.observe(symbols[:place], action)
            window = next((n for n in range(place, len(actions)) if actions[n] in WRITES), len(actions))
            reach.observe(symbols[:place], set(actions[place:window]))
    assert counted(sessions).habit(2.0, VOCAB_SIZE) == habit
    assert counted(sessions).reach(2.0, VOCAB_SIZE) == reach


@given(episodes(), st.integers(0, 6))
def test_counts_of_parts_are_the_counts_of_the_whole(sessions: list[list[int]], cut: int) -> None:
    """As successions, as habits and as reach; whole numbers, so exactly."""
    parts = counted(sessions[:cut]), counted(sessions[cut:])
    habit, reach = (parts[0].habit(1.5, VOCAB_SIZE), parts[0].reach(1.5, VOCAB_SIZE))
    habit.merge(parts[1].habit(1.5, VOCAB_SIZE))
    reach.merge(parts[1].reach(1.5, VOCAB_SIZE))
    parts[0].merge(parts[1])
    whole = counted(sessions)
    assert parts[0] == whole
    assert habit == whole.habit(1.5, VOCAB_SIZE)
    assert reach == whole.reach(1.5, VOCAB_SIZE)


HISTORIES = st.lists(st.builds(symbol, st.integers(0, VOCAB_SIZE - 1), st.sampled_from(StepOutcome)), max_size=4)


@given(episodes(), HISTORIES, st.floats(0.007, 150))
def test_the_habit_is_a_distribution_over_all_actions(
    sessions: list[list[int]], history: list[int], alpha: float
) -> None:
    chances = counted(sessions).habit(alpha, VOCAB_SIZE).probabilities(history, range(VOCAB_SIZE))
    assert sum(chances) == pytest.approx(1)
    assert min(chances) > 0


@given(episodes(), HISTORIES, st.floats(0.007, 150))
def test_reach_is_never_certain_and_never_ruled_out(
    sessions: list[list[int]], history: list[int], alpha: float
) -> None:
    chances = counted(sessions).reach(alpha, VOCAB_SIZE).probabilities(history, range(VOCAB_SIZE))
    assert 0 < min(chances) <= max(chances) < 1


def test_an_episode_of_weight_a_half_counts_half_as_much() -> None:
    whole, half = Successions(), Successions()
    symbols = [symbol(action, StepOutcome.OK) for action in (1, 2, 2, 4)]
    whole.add(symbols, WRITES)
    half.add(symbols, WRITES, 0.5)
    assert half.followed == {key: count / 2 for key, count in whole.followed.items()}
    assert half.reached == {key: count / 2 for key, count in whole.reached.items()}


def test_a_session_counts_half_as_much_as_one_that_is_a_half_life_newer() -> None:
    weights = half_life_weights(41, 20)
    assert (weights[-1], weights[20], weights[0]) == (1, 0.5, 0.25)
    assert half_life_weights(0, 20) == []


def test_counting_on_leaves_the_counts_it_was_made_from_alone() -> None:
    """A served flow may count on; its longest contexts are in two layers, each of which counts once."""
    successions = counted([[symbol(1, StepOutcome.OK)]])
    habit = successions.habit(1, VOCAB_SIZE)
    habit.observe((), 1)
    assert habit.top[1, (PADDING, PADDING)].total == 2
    assert habit.base.levels[2][PADDING, PADDING].total == 2
    assert sum(successions.followed.values()) == 1
