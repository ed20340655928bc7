"""The genetic search: its sorting by the definitions, and that it finds what is there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from stretto.review.nsga import crowding, dominates, evolve, fronts

if TYPE_CHECKING:
    from stretto.review.nsga import Genome, Objectives

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20).map(
    lambda points: {(n,): point for n, point in enumerate(points)}
)


@given(POINTS)
def test_a_front_is_beaten_only_by_earlier_ones(scores: dict[Genome, Objectives]) -> None:
    sorted_fronts = fronts(scores)
    assert sorted(one for front in sorted_fronts for one in front) == sorted(scores)
    for number, front in enumerate(sorted_fronts):
        later = [one for rest in sorted_fronts[number:] for one in rest]
        assert not any(dominates(scores[other], scores[one]) for one in front for other in later)
        if number:
            before = sorted_fronts[number - 1]
            assert all(any(dominates(scores[other], scores[one]) for other in before) for one in front)


def test_room_is_the_box_between_the_neighbours() -> None:
    scores: dict[Genome, Objectives] = {(0,): (0.0, 10.0), (1,): (1.0, 4.0), (2,): (4.0, 0.0)}
    room = crowding(list(scores), scores)
    assert room == {(0,): math.inf, (1,): 4 / 4 + 10 / 10, (2,): math.inf}


def test_points_on_top_of_each_other_have_no_room_but_the_ends() -> None:
    scores: dict[Genome, Objectives] = {(n,): (1.0, 1.0) for n in range(4)}
    assert sorted(crowding(list(scores), scores).values()) == [0, 0, math.inf, math.inf]


def made_of(genome: Genome) -> Objectives:
    """A trade-off: gene 0 moves along the front, the others only away from it."""
    waste = sum(genome[1:])
    return genome[0] + waste, 9 - genome[0] + waste


def test_it_finds_the_front_of_a_small_problem() -> None:
    scored = evolve([10, 5, 5], made_of, population=16, generations=30, seed=25)
    best = {scored[one] for one in fronts(scored)[0]}
    assert best == {(n, 9 - n) for n in range(10)}


def test_the_same_seed_asks_for_the_same_settings_in_the_same_order() -> None:
    asked: list[list[Genome]] = []

    def score(genome: Genome) -> Objectives:
        asked[-1].append(genome)
        return made_of(genome)

    for seed in (1, 1, 2):
        asked.append([])
        evolve([10, 5], score, population=6, generations=4, seed=seed)
    assert asked[0] == asked[1] != asked[2]
    assert len(set(asked[0])) == len(asked[0]) <= 6 * 5


def test_seeds_are_scored_first() -> None:
    scored = evolve([10, 5], made_of, seeds=[(3, 3), (4, 4)], population=4, generations=1, seed=1)
    assert list(scored)[:2] == [(3, 3), (4, 4)]
