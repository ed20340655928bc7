"""Which sessions are learned from: the same on every machine, and never both sides."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stretto.cli.parts import chooser, chosen
from stretto.cli.session_options import Part
from tests.strategies import texts
from tests.stretto.episodes import called, episode

names = st.lists(texts(), unique=True, max_size=20)
shares = st.floats(0.01, 0.99)


@given(names, shares)
def test_a_share_of_the_names_is_chosen_whatever_their_order(found: list[str], share: float) -> None:
    taken = chosen(found, share)
    assert taken == chosen(reversed(found), share)
    assert taken <= set(found)
    assert len(found) * share - 1e-6 <= len(taken) < len(found) * share + 1


@given(names, shares, shares)
def test_a_larger_share_holds_the_smaller_one(found: list[str], one: float, other: float) -> None:
    assert chosen(found, min(one, other)) <= chosen(found, max(one, other))


def test_tasks_of_one_customer_stay_together() -> None:
    """Thirty tasks about two customers are two groups, of which half is one."""
    sessions = [
        episode(called("get_user_details", {"user_id": f"c{number % 2}"}, "{}"), name=f"s{number}", task=str(number))
        for number in range(30)
    ]
    learns = chooser(Part(fraction=0.5), sessions)
    sides = {number % 2: {learns(each) for each in sessions[number % 2 :: 2]} for number in range(2)}
    assert sorted(sides.values(), key=str) == [{False}, {True}]


def test_trials_are_counted_from_0() -> None:
    one = episode(name="s")
    learns = chooser(Part(trials=2), [])
    assert [learns(replace(one, trial=trial)) for trial in range(4)] == [True, True, False, False]
