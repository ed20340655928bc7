"""How everything here is timed: in rounds, one thing after the other, never alone.

On a shared machine the same work takes half as long again a second later. So what is to be compared is measured in
turns, the best and the median of the rounds are kept, and a loop of known work runs along: where it took longer than
usual, so did all the rest.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["REFERENCE", "Figure", "Sample", "Work", "in_turns", "reference_loop", "seconds"]

#: One round of something: prepares what it needs, does it, and returns the seconds that the part to be measured took.
Work: TypeAlias = "Callable[[], float]"

#: Name under which `in_turns` reports the loop of known work.
REFERENCE: Final = "reference loop"

_REFERENCE_TURNS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Sample:
    """What the rounds of one thing took, in seconds."""

    best: float
    median: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report.

    Attributes:
        topic: name of the module that measured it.
        what: what was measured.
        unit: of `best`, `median`, `beside` and `bar`.
        best: best round.
        median: median of the rounds.
        yardstick: what was measured in turns with it.
        beside: the yardstick's best round.
        bar: most that is wanted, or None.
        original: what the original in Go took for the same, on another day, or "".
    """

    topic: str
    what: str
    unit: str
    best: float
    median: float
    yardstick: str
    beside: float
    bar: float | None = None
    original: str = ""

    @property
    def ratio(self) -> float | None:
        """How many yardsticks long it is; None where the yardstick is nothing."""
        return self.best / self.beside if self.beside else None


def seconds(work: Callable[[], object]) -> float:
    """Time one call, in seconds, with the garbage of what was before it out of the way."""
    gc.collect()
    gc.freeze()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.unfreeze()


def reference_loop() -> object:
    """Do the work that everything is put beside: 20,000 turns of a loop that makes tuples and fills a dictionary."""
    kept: dict[int, tuple[int, int]] = {}
    for turn in range(_REFERENCE_TURNS):
        kept[turn & 1023] = (turn, turn + 1)
    return kept


def in_turns(works: Mapping[str, Work], rounds: int) -> dict[str, Sample]:
    """Measure several things in turns: A B C A B C …

    Args:
        works: what to measure, by name.
        rounds: how often each has its turn, at least 1.

    Returns:
        For each name its best and median round; under `REFERENCE` those of the reference loop, which ran between.
    """
    taken: dict[str, list[float]] = {name: [] for name in (*works, REFERENCE)}
    for _ in range(rounds):
        for name, work in works.items():
            taken[REFERENCE].append(seconds(reference_loop))
            taken[name].append(work())
    return {name: Sample(min(values), statistics.median(values)) for name, values in taken.items()}
