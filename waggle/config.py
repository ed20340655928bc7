"""The knobs of a manager: one frozen record, every knob with its unit and default."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from waggle import _defaults
from waggle.miner import MineConfig

__all__ = ["ManagerConfig"]


@dataclass(frozen=True, slots=True)
class ManagerConfig:
    """How a manager records, learns and replays.

    Attributes:
        mine: what counts as a route; three occurrences by default, since two are often chance.
        rules: ``waggle`` promotes every new route that can fire; ``original`` promotes the best candidate of a look, or
            nothing when it is stored already, and uses what it learned from the next start on.
        learn: mine and promote; off, a manager only replays.
        replay: make lookups; off, a manager only learns.
        shell_forms: read a shell command that is understood as its form and the values in it; off, it is one text.
        sweep_calls: calls between two looks at what was mined.
        ring_steps: steps a session remembers.
        min_prefix: leading steps of a route that must match before the rest is run, at least 2.
        lookups_per_result: lookups after one result.
        lookups_per_session: lookups in one session.
        fold_bytes: longest text added to one result, bytes of UTF-8.
        known_bytes: text of earlier answers a session holds, characters.
        reach: count what is read after which calls, and follow what pays; off, only runs of calls are learned.
        containment: one answer stands for every read that it covers; off, only for the very same call.
        across_sessions: count over sessions; off, a habit must come as often as `mine.k` asks for in one session.
        threshold: chance from which on a reach route's lookup is made, 0 to 1; None for θ*, by tokens: it is made when
            what a saved turn is worth outweighs what a detour costs at this point of the session.
        min_sessions: sessions in which a reach habit must occur before it is promoted. If all its values are bound, it
            may also come from a single session, if it occurs as often as `mine.k` asks for.
        control_share: share of eligible results after which lookups are held back, at random, to measure what they
            bring, 0 to 1.
        seed: of that choice.
        follow_seconds: longest time one follow may take, seconds. `Session.afollow` cancels what outlasts it;
            `Session.follow` starts nothing new after it.
        telemetry: tell the host of folds and of what became of lookups, see `waggle.telemetry`.
        sessions: conversations held at once before the one unused for longest is closed.

    Raises:
        ValueError: a count is negative, or zero where at least one is needed.
    """

    mine: MineConfig = field(default_factory=lambda: MineConfig(k=_defaults.PROMOTE_OCCURRENCES))
    rules: Literal["waggle", "original"] = "waggle"
    learn: bool = True
    replay: bool = True
    shell_forms: bool = True
    sweep_calls: int = _defaults.SWEEP_CALLS
    ring_steps: int = _defaults.RING_STEPS
    min_prefix: int = _defaults.MIN_PREFIX_STEPS
    lookups_per_result: int = _defaults.LOOKUPS_PER_RESULT
    lookups_per_session: int = _defaults.LOOKUPS_PER_SESSION
    fold_bytes: int = _defaults.FOLD_BYTES
    known_bytes: int = _defaults.KNOWN_RESULT_BYTES
    follow_seconds: float = _defaults.FOLLOW_SECONDS
    telemetry: bool = True
    sessions: int = _defaults.SESSIONS
    reach: bool = True
    containment: bool = True
    across_sessions: bool = True
    threshold: float | None = _defaults.REACH_THRESHOLD
    min_sessions: int = _defaults.MIN_SESSIONS
    control_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        may_be_zero = {"lookups_per_result", "lookups_per_session", "fold_bytes", "known_bytes", "follow_seconds"}
        may_be_zero |= {"control_share", "seed", "threshold"}
        for name in ("threshold", "control_share"):
            if (getattr(self, name) or 0) > 1:
                raise ValueError(f"{name} must be between 0 and 1, not {getattr(self, name)}")
        for knob in fields(self):
            value = getattr(self, knob.name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                least = 0 if knob.name in may_be_zero else 1
                if value < least:
                    raise ValueError(f"{knob.name} must be at least {least}, not {value}")

    @classmethod
    def original(cls, *, sweep_calls: int = _defaults.SWEEP_CALLS) -> ManagerConfig:
        """Return the rules of the original: grouping by shape, one promotion a look, no use before the next start."""
        return cls(
            mine=MineConfig.original(),
            rules="original",
            shell_forms=False,
            reach=False,
            containment=False,
            sweep_calls=sweep_calls,
        )
