"""What folds change: the calls that agents make with them and without, and whether the difference is more than chance.

`control_share` holds back a share of the lookups at random. What follows a result where one was held back is then the
measure for what follows a result to which one was folded. Pure; the windows are read by `waggle.ledger`. What must stay
true: an effect is claimed only where an interval shows it, and the same windows give the same figures in any order.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from waggle._defaults import BOOTSTRAP_ROUNDS, EFFECT_SESSIONS
from waggle.ledger import Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from waggle.ledger import Window

__all__ = ["Effect", "Side", "by_strategy", "effect", "sentence"]

_COUNTS: Final = ("used", "detours", "saved_tokens", "spent_tokens", "held_used", "held_detours")

#: The share named as an example: with a fifth held back, four fifths of the benefit stay while it is measured.
_EXAMPLE: Final = "to hold back a fifth, set control_share = 0.2 in .waggle/config.toml, or WAGGLE_CONTROL_SHARE=0.2."


@dataclass(frozen=True, slots=True)
class Side:
    """Windows of one kind: those with folds, or those without.

    Attributes:
        sessions: conversations that have such a window.
        windows: how many there are.
        calls: calls that agents made in all of them.
    """

    sessions: int = 0
    windows: int = 0
    calls: int = 0

    @property
    def mean(self) -> float | None:
        """Calls a window; None without windows."""
        return self.calls / self.windows if self.windows else None


@dataclass(frozen=True, slots=True)
class Effect:
    """Windows with folds beside windows without.

    Attributes:
        folded: the windows with folds.
        held: those in which they were held back.
        sessions: conversations that have a window of either kind.
        low: lower end of the 95 % interval of `saved`; None where there are too few sessions for one.
        high: its upper end, or None.
    """

    folded: Side
    held: Side
    sessions: int
    low: float | None = None
    high: float | None = None

    @property
    def saved(self) -> float | None:
        """Calls a window less with folds than without; below 0 where there are more. None where a side is empty."""
        if self.held.mean is None or self.folded.mean is None:
            return None
        return self.held.mean - self.folded.mean


def effect(windows: Iterable[Window], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS) -> Effect:
    """Compare windows with folds and without.

    The interval (percentile bootstrap, 95 %) comes from resampling whole sessions, since the windows of one session are
    alike. It is given where both sides have at least `EFFECT_SESSIONS` sessions. Costs rounds times sessions.

    Args:
        windows: in any order.
        seed: of the resampling.
        rounds: resamples, at least 1.
    """
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for window in windows:
        counts = found[window.session]
        counts[2 * window.held] += 1
        counts[2 * window.held + 1] += window.calls
    units = [tuple(counts) for _, counts in sorted(found.items())]
    folded, held = (
        Side(sum(unit[at] > 0 for unit in units), sum(unit[at] for unit in units), sum(unit[at + 1] for unit in units))
        for at in (0, 2)
    )
    if min(folded.sessions, held.sessions) < EFFECT_SESSIONS:
        return Effect(folded, held, len(units))
    draw = random.Random(seed)  # noqa: S311 - resampling, not a secret; seeded so that a figure can be repeated
    differences: list[float] = []
    while len(differences) < rounds:
        windows_with, calls_with, windows_without, calls_without = map(
            sum, zip(*draw.choices(units, k=len(units)), strict=True)
        )
        if windows_with and windows_without:  # by chance a resample may have all its sessions on one side
            differences.append(calls_without / windows_without - calls_with / windows_with)
    differences.sort()
    low, high = (differences[int(share * (rounds - 1))] for share in (0.025, 0.975))
    return Effect(folded, held, len(units), low, high)


def sentence(found: Effect) -> str:
    """What an effect comes to, in one or two plain sentences for people."""
    if found.saved is None:
        return f"Nothing to compare yet: {_missing(found)}"
    if found.low is None or found.high is None:
        return (
            f"Too few sessions for an interval: {found.folded.sessions:,} with folds and {found.held.sessions:,} "
            f"without, and both need {EFFECT_SESSIONS}."
        )
    if found.low > 0:
        return f"Folds save {_number(found.saved)} calls a time ({_number(found.low)} to {_number(found.high)})."
    if found.high < 0:
        return f"Folds cost {_number(-found.saved)} calls a time ({_number(-found.high)} to {_number(-found.low)})."
    span = f"{_number(found.low)} to {_number(found.high)}"
    return f"No effect shown: the difference is {_number(found.saved)} calls ({span})."


def _missing(found: Effect) -> str:
    if found.folded.windows:
        return f"no lookup was held back; {_EXAMPLE}"
    if found.held.windows:
        return "every lookup was held back; lower control_share, so that some are made."
    return f"no lookup was due; {_EXAMPLE}"


def _number(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # the sum turns a minus zero into zero


def by_strategy(settled: Mapping[tuple[str | None, str], Stat]) -> dict[str | None, Stat]:
    """The counts of all skills of each strategy added up, without times.

    Args:
        settled: from `waggle.ledger.read_settled`.

    Returns:
        A `Stat` a strategy, in the order met.
    """
    found: dict[str | None, list[Stat]] = defaultdict(list)
    for (strategy, _), stat in settled.items():
        found[strategy].append(stat)
    return {
        strategy: Stat(**{name: sum(getattr(stat, name) for stat in stats) for name in _COUNTS})
        for strategy, stats in found.items()
    }
