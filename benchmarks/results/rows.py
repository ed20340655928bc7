"""The rows of the tables: rules, thresholds, the floor, and the library with each of its parts left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from benchmarks.results import memory
from waggle.cli.measuring import RULES
from waggle.config import ManagerConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.reach.counts import ReachCounts
    from waggle.reach.targets import Target

__all__ = ["ABLATION", "COUNTED", "DEFAULT", "FLOOR", "MAIN", "MODES", "ROWS", "SWEEP", "TOKENS", "Row"]

#: How calls are read when a session is played.
Mode = Literal["original", "texts", "forms"]

MODES: Final[dict[Mode, ManagerConfig]] = {
    "original": ManagerConfig.original(),
    "texts": ManagerConfig(shell_forms=False),
    "forms": ManagerConfig(),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One way of learning and replaying.

    Attributes:
        name: its key.
        title: how tables call it.
        config: the rules.
        counted: `config.threshold` is `memory.counted_threshold` of the sessions learned on.
        mined: with the mined routes.
        change: leaves out part of what was counted.
    """

    name: str
    title: str
    config: ManagerConfig
    counted: bool = False
    mined: bool = True
    change: Callable[[ReachCounts], ReachCounts] | None = None

    @property
    def mode(self) -> Mode:
        """How sessions are played for it."""
        if self.config.rules == "original":
            return "original"
        return "forms" if self.config.shell_forms else "texts"


_ALL: Final = ManagerConfig()
_TITLES: Final = {"original": "the original's rule", "bound": "bound values, learned in one session"}


def _at(threshold: float | None) -> ManagerConfig:
    return replace(_ALL, threshold=threshold)


DEFAULT: Final = Row("default", f"+ counts across sessions: the default, θ = {_ALL.threshold}", _ALL)
LOWER: Final = Row("lower", "θ = 0.2", _at(0.2))
TOKENS: Final = Row("tokens", "θ* by tokens, at each point of a session", _at(None))
COUNTED: Final = Row("counted", "θ* counted, one number an agent", _ALL, counted=True)

#: Each of the first rows adds one part to the one before; the last ones are the whole at other thresholds.
MAIN: Final = (
    *(
        Row(rule.name, _TITLES.get(rule.name, rule.title), rule.config)
        for rule in RULES
        if not rule.config.across_sessions or rule.name == "original"
    ),
    DEFAULT,
    LOWER,
    TOKENS,
    COUNTED,
)

#: The library at falling thresholds, beside the floor.
SWEEP: Final = (
    *(Row(f"at {share}", f"θ = {share}", _at(share)) for share in (0.6, 0.5, 0.4)),
    DEFAULT,
    LOWER,
    *(Row(f"at {share}", f"θ = {share}", _at(share)) for share in (0.1, 0.05)),
)

FLOOR: Final = tuple(
    Row(
        f"floor {lines} at {share}",
        f"± {lines} lines, θ = {share}",
        _at(share),
        mined=False,
        change=partial(memory.around, lines=lines),
    )
    for lines in (80, 40)
    for share in (0.3, 0.2, 0.1, 0.0)
)


def _targets(keep: Callable[[Target], bool]) -> Callable[[ReachCounts], ReachCounts]:
    return partial(memory.kept_targets, keep=keep)


#: The default with one part left out.
ABLATION: Final = (
    Row("no mined", "mined routes (reach alone)", _ALL, mined=False),
    Row("no reach", "reach (mined routes alone)", replace(_ALL, reach=False)),
    Row("no containment", "containment", replace(_ALL, containment=False)),
    Row("no forms", "shell commands as reads", replace(_ALL, shell_forms=False)),
    Row("no fixed", "calls with a fixed value", _ALL, change=_targets(memory.all_bound)),
    Row("no bound", "calls with a bound value", _ALL, change=_targets(memory.all_fixed)),
    Row("no size", "the size of a site", _ALL, change=partial(memory.kept_levels, levels=1)),
    Row("no sessions", "promotion across sessions", replace(_ALL, across_sessions=False)),
)

ROWS: Final = {row.name: row for row in (*MAIN, *SWEEP, *FLOOR, *ABLATION)}
