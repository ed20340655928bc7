"""The effect of folds: counted right, claimed only where the windows show it, and told in plain words."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waggle._defaults import EFFECT_SESSIONS
from waggle.effect import Effect, Side, by_strategy, effect, sentence
from waggle.ledger import Stat, Window

relaxed = settings(deadline=None)


def windows(sessions: int, folded: int, held: int) -> list[Window]:
    """Sessions of one window of either kind, with about so many calls."""
    draw = random.Random(7)  # noqa: S311 - data, not secrets
    return [
        Window(f"{number:08x}", kind, calls + draw.randint(0, 1))
        for number in range(sessions)
        for kind, calls in ((False, folded), (True, held))
    ]


def some_windows() -> st.SearchStrategy[list[Window]]:
    names = st.sampled_from([f"{number:08x}" for number in range(2 * EFFECT_SESSIONS)])
    return st.lists(st.builds(Window, names, st.booleans(), st.integers(0, 20)), max_size=60)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_each_side_counts_its_own_windows_sessions_and_calls() -> None:
    found = effect([Window("a", False, 2), Window("a", False, 3), Window("a", True, 7), Window("b", True, 4)])
    assert found == Effect(Side(1, 2, 5), Side(2, 2, 11), 2)
    assert (found.folded.mean, found.held.mean, found.saved) == (2.5, 5.5, 3.0)


def test_without_a_side_there_is_no_difference() -> None:
    assert effect([]).saved is None
    assert effect([Window("a", False, 2)]).saved is None
    assert effect([Window("a", True, 2)]).saved is None


@pytest.mark.parametrize("sessions", [EFFECT_SESSIONS - 1, EFFECT_SESSIONS])
def test_an_interval_needs_enough_sessions_on_both_sides(sessions: int) -> None:
    both = effect(windows(sessions, 1, 3))
    enough = sessions >= EFFECT_SESSIONS
    assert ((both.low is not None), (both.high is not None)) == (enough, enough)
    many = [Window(f"more-{number}", False, 1) for number in range(50)]
    assert (effect([*windows(sessions, 1, 3), *many]).low is not None) is enough


def test_a_session_is_one_however_many_windows_it_has() -> None:
    one = [Window("a", kind, calls) for kind in (False, True) for calls in range(100)]
    assert effect(one).low is None


def test_an_interval_is_wider_where_the_windows_of_a_session_are_alike() -> None:
    """A hundred windows of eight sessions tell little more than eight; taken as a hundred they prove anything."""
    levels = [1, 9, 2, 8, 3, 7, 4, 6]
    alike = [Window(f"s{number}", number % 2 > 0, level) for number, level in enumerate(levels * 2) for _ in range(12)]
    apart = [Window(f"s{number}", window.held, window.calls) for number, window in enumerate(alike)]
    wide, narrow = effect(alike), effect(apart)
    assert None not in (wide.low, wide.high, narrow.low, narrow.high)
    assert (wide.high or 0) - (wide.low or 0) > 2 * ((narrow.high or 0) - (narrow.low or 0))


@relaxed
@given(some_windows(), st.randoms(use_true_random=False))
def test_the_same_windows_give_the_same_figures_in_any_order(found: list[Window], draw: random.Random) -> None:
    shuffled = list(found)
    draw.shuffle(shuffled)
    assert effect(found, rounds=20) == effect(shuffled, rounds=20)


@relaxed
@given(some_windows())
def test_whatever_the_windows_something_is_said_and_the_interval_is_in_order(found: list[Window]) -> None:
    told = effect(found, rounds=20)
    assert sentence(told).endswith((".", ")."))
    assert told.folded.windows + told.held.windows == len(found)
    assert (told.low is None) == (told.high is None)
    if told.low is not None and told.high is not None:
        assert told.low <= told.high


def test_another_seed_draws_other_resamples() -> None:
    found = windows(20, 1, 2)
    assert effect(found, seed=1) == effect(found, seed=1) != effect(found, seed=2)


def test_a_resample_with_all_its_sessions_on_one_side_is_drawn_again() -> None:
    lone = [Window(f"{number:08x}", number < EFFECT_SESSIONS, 2) for number in range(40 * EFFECT_SESSIONS)]
    found = effect(lone, rounds=200)
    assert (found.low, found.high) == (0, 0)


# --- words ------------------------------------------------------------------------------------------------------------

FOLDED, HELD = Side(10, 20, 60), Side(10, 20, 86)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        pytest.param(Effect(FOLDED, HELD, 12, 0.6, 2.14), "Folds save 1.3 calls a time (0.6 to 2.1).", id="save"),
        pytest.param(Effect(HELD, FOLDED, 12, -2.1, -0.6), "Folds cost 1.3 calls a time (0.6 to 2.1).", id="cost"),
        pytest.param(
            Effect(FOLDED, Side(10, 20, 62), 12, -0.7, 0.9),
            "No effect shown: the difference is 0.1 calls (-0.7 to 0.9).",
            id="nothing shown",
        ),
        pytest.param(
            Effect(FOLDED, HELD, 12, 0.0, 2.1),
            "No effect shown: the difference is 1.3 calls (0.0 to 2.1).",
            id="an end at nothing",
        ),
        pytest.param(
            Effect(FOLDED, FOLDED, 12, -0.04, 0.04),
            "No effect shown: the difference is 0.0 calls (0.0 to 0.0).",
            id="no minus zero",
        ),
        pytest.param(
            Effect(FOLDED, Side(1, 3, 9), 11),
            f"Too few sessions for an interval: 10 with folds and 1 without, and both need {EFFECT_SESSIONS}.",
            id="too few",
        ),
        pytest.param(
            Effect(FOLDED, Side(), 10),
            "Nothing to compare yet: no lookup was held back; to hold back a fifth, set control_share = 0.2 in "
            ".waggle/config.toml, or WAGGLE_CONTROL_SHARE=0.2.",
            id="nothing held back",
        ),
        pytest.param(
            Effect(Side(), HELD, 10),
            "Nothing to compare yet: every lookup was held back; lower control_share, so that some are made.",
            id="all held back",
        ),
        pytest.param(
            Effect(Side(), Side(), 0),
            "Nothing to compare yet: no lookup was due; to hold back a fifth, set control_share = 0.2 in "
            ".waggle/config.toml, or WAGGLE_CONTROL_SHARE=0.2.",
            id="nothing",
        ),
    ],
)
def test_an_effect_is_told_in_plain_words(found: Effect, text: str) -> None:
    assert sentence(found) == text


# --- totals -----------------------------------------------------------------------------------------------------------


def test_a_strategys_totals_are_the_sums_of_its_skills() -> None:
    a, b = Stat(used=1, saved_tokens=5, held_used=2), Stat(used=2, detours=3, spent_tokens=7, held_detours=1)
    total = Stat(used=3, detours=3, saved_tokens=5, spent_tokens=7, held_used=2, held_detours=1)
    assert by_strategy({("routes", "a"): a, (None, "c"): a, ("routes", "b"): b}) == {"routes": total, None: a}
