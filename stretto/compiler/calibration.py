"""From which similarity on a request is a procedure's: as far from the requests of all others as it takes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.compiler.embed import dot, unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stretto.compiler.embed import Embedder
    from stretto.compiler.requests import Requests

__all__ = ["Calibration", "Group", "Unit", "apart", "at_least", "calibrate", "foreign", "grouped", "nearest"]

_DIGITS: Final = 12  # two similarities that agree in so many decimals are equal

#: A vector of length 1, and the distinct requests of an intent as such, with how often each was made.
Unit: TypeAlias = "Mapping[str | int, float]"
Group: TypeAlias = "tuple[tuple[Unit, int], ...]"


@dataclass(frozen=True, slots=True)
class Calibration:
    """From which similarity on requests are a procedure's.

    Attributes:
        threshold: that similarity.
        lowest: of its members to the member next to each, the lowest; 0 with one member.
        foreign: the highest similarity of any other intent's request to one of its members; 0 without others.
    """

    threshold: float
    lowest: float
    foreign: float

    @property
    def separable(self) -> bool:
        """Whether its own requests are at the threshold; else it is never routed to by itself."""
        return at_least(self.lowest, self.threshold)


def calibrate(members: Sequence[float], foreign: Sequence[float], *, floor: float, margin: float) -> Calibration:
    """The threshold of a procedure: the floor, or the margin above the nearest request of any other intent.

    Args:
        members: for each of its requests, the similarity to the nearest other of its requests.
        foreign: similarities of other intents' requests to its own.
        floor: smallest threshold.
        margin: how much nearer its own requests have to be.
    """
    nearest = max(foreign, default=0.0)
    return Calibration(max(floor, nearest + margin), min(members, default=0.0), nearest)


def at_least(one: float, other: float) -> bool:
    """Whether one similarity is not below another, as far as either is exact."""
    return round(one, _DIGITS) >= round(other, _DIGITS)


def grouped(requests: Requests, embedder: Embedder) -> Group:
    """The distinct requests of an intent, without their values."""
    counts: dict[str, int] = {}
    for member in requests.members:
        counts[member.text] = counts.get(member.text, 0) + member.traces
    return tuple(zip(map(unit, embedder.embed([*counts])), counts.values(), strict=True))


def apart(group: Group) -> list[float]:
    """For each distinct request, the similarity to the nearest other request of the intent."""
    vectors = [vector for vector, _ in group]
    return [
        float(bool(vector)) if many > 1 else nearest(vector, [*vectors[:at], *vectors[at + 1 :]])
        for at, (vector, many) in enumerate(group)
    ]


def nearest(vector: Unit, others: Iterable[Unit]) -> float:
    """The highest similarity to any of others; 0 without any."""
    return max((dot(vector, each) for each in others), default=0.0)


def foreign(groups: Sequence[Group], number: int) -> list[list[float]]:
    """For each of the first groups, the highest similarity to each other one."""
    found: list[list[float]] = [[] for _ in groups]
    for (at, one), (to, other) in combinations(enumerate(groups), 2):
        if at < number:
            vectors = [vector for vector, _ in other]
            highest = max((nearest(vector, vectors) for vector, _ in one), default=0.0)
            found[at].append(highest)
            found[to].append(highest)
    return found[:number]
