"""A small multi-objective genetic search over grids: every gene is the index of one value of its own list.

All objectives are made as small as possible. Seeded: the same arguments ask for the same scores in the same order. Not
responsible for what genes mean (`stretto.review.search`).

Source: Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II" (2002), with the simplest operators:
uniform crossover, and mutation that draws a gene anew.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Genome", "Objectives", "crowding", "dominates", "evolve", "fronts"]

Genome: TypeAlias = tuple[int, ...]
Objectives: TypeAlias = tuple[float, ...]


def dominates(one: Objectives, other: Objectives) -> bool:
    """Whether one is nowhere worse and somewhere better than another."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def fronts(scores: Mapping[Genome, Objectives]) -> list[list[Genome]]:
    """Sort by who dominates whom: the first front is dominated by nobody, each next one only by those before it.

    Returns:
        Genomes in the order given, by front. Costs the square of their number.
    """
    beaten = {one: sum(dominates(other, scores[one]) for other in scores.values()) for one in scores}
    found: list[list[Genome]] = []
    while beaten:
        front = [one for one, times in beaten.items() if times == 0]
        found.append(front)
        for one in front:
            del beaten[one]
        for other in beaten:
            beaten[other] -= sum(dominates(scores[one], scores[other]) for one in front)
    return found


def crowding(front: Sequence[Genome], scores: Mapping[Genome, Objectives]) -> dict[Genome, float]:
    """How much room each member of a front has: the box between its neighbours.

    It is the sum of the box's sides, each as a share of its axis. The ends of an axis have infinite room.
    """
    room = dict.fromkeys(front, 0.0)
    for axis in range(len(scores[front[0]])):
        ordered = sorted(front, key=lambda one, axis=axis: (scores[one][axis], one))  # type: ignore[misc]  # mypy cannot type a default in a lambda
        width = scores[ordered[-1]][axis] - scores[ordered[0]][axis]
        room[ordered[0]] = room[ordered[-1]] = math.inf
        for before, one, after in zip(ordered, ordered[1:], ordered[2:], strict=False):
            room[one] += (scores[after][axis] - scores[before][axis]) / width if width else 0.0
    return room


def evolve(
    sizes: Sequence[int],
    score: Callable[[Genome], Objectives],
    *,
    seeds: Iterable[Genome] = (),
    population: int,
    generations: int,
    seed: int,
) -> dict[Genome, Objectives]:
    """Search for genomes that are hard to beat.

    Args:
        sizes: number of values of each gene, at least 1 each.
        score: the objectives of a genome; asked once for each.
        seeds: genomes to begin with; the rest of the first population is drawn.
        population: genomes kept from one generation to the next, at least 2.
        generations: rounds of as many children.
        seed: of all draws.

    Returns:
        Every genome that was scored, in order; at most ``population * (generations + 1)``.
    """
    draw = random.Random(seed)  # noqa: S311 - a search, not a secret; seeded so that it can be repeated

    def pick(count: int) -> int:
        return int(draw.random() * count)  # `random` alone draws the same in every version of Python

    def drawn() -> Genome:
        return tuple(map(pick, sizes))

    scored: dict[Genome, Objectives] = {}

    def scores_of(genomes: Iterable[Genome]) -> dict[Genome, Objectives]:
        for one in genomes:
            if one not in scored:
                scored[one] = score(one)
        return {one: scored[one] for one in genomes}

    def child(parents: Sequence[Genome]) -> Genome:
        # Parents come best first, so the one with the lower index wins a tournament.
        mother, father = (parents[min(pick(len(parents)), pick(len(parents)))] for _ in range(2))
        mixed = (mine if pick(2) else theirs for mine, theirs in zip(mother, father, strict=True))
        return tuple(
            pick(size) if draw.random() < 1 / len(sizes) else gene for gene, size in zip(mixed, sizes, strict=True)
        )

    first = list(dict.fromkeys(seeds))
    first += [drawn() for _ in range(population - len(first))]
    parents = _best(scores_of(dict.fromkeys(first)), population)
    for _ in range(generations):
        children = [child(parents) for _ in range(population)]
        parents = _best(scores_of(dict.fromkeys([*parents, *children])), population)
    return scored


def _best(scores: Mapping[Genome, Objectives], count: int) -> list[Genome]:
    """The genomes that go on, best first: by front, and within a front those with more room."""
    ordered: list[Genome] = []
    for front in fronts(scores):
        room = crowding(front, scores)
        ordered += sorted(front, key=lambda one: -room[one])
    return ordered[:count]
