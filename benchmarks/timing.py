"""How time is measured: in rounds, beside a yardstick of known work, since times on a shared machine are noise."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["YARDSTICK_S", "Row", "best", "side_by_side", "yardstick"]

#: Seconds the yardstick takes where the bars were set, when the machine is quiet.
YARDSTICK_S: Final = 0.033


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure.

    Attributes:
        topic: what was measured.
        value: the figure, in `unit`.
        unit: of the figure.
        bar: what it must not pass, in the same unit; None where there is none.
        beside: what it is compared with, in words.
        ratio: the figure divided by that; None where there is nothing to compare with.
    """

    topic: str
    value: float
    unit: str
    bar: float | None = None
    beside: str = ""
    ratio: float | None = None


def yardstick() -> None:
    """Do the work that times are put beside: a million additions in a plain loop."""
    total = 0
    for number in range(1_000_000):
        total += number


def best(work: Callable[[], object], *, rounds: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the least seconds that `work` took of several rounds; what was there before is not collected meanwhile."""
    times: list[float] = []
    for _ in range(rounds):
        gc.collect()
        gc.freeze()
        start = clock()
        work()
        times.append(clock() - start)
        gc.unfreeze()
    return min(times)


def side_by_side(
    one: Callable[[], object],
    other: Callable[[], object],
    *,
    rounds: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float, float]:
    """Time two pieces of work in turn, A B A B ….

    Args:
        one: the first.
        other: the second.
        rounds: how often each is done.
        clock: seconds; `time.thread_time` leaves out what other threads do meanwhile.

    Returns:
        Least seconds of the first, of the second, and the median of the rounds' ratios, first over second.
    """
    pairs = [(best(one, rounds=1, clock=clock), best(other, rounds=1, clock=clock)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs), statistics.median(a / b for a, b in pairs)
