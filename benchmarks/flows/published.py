"""What the original published of itself on the same benchmarks: marks to aim at, not the same experiment.

Its flows were learned from other agents than they were replayed on, and from more sessions. Shares are of all turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["PUBLISHED", "TEN_SESSIONS", "Published"]


@dataclass(frozen=True, slots=True)
class Published:
    """The original's figures in one domain; None where it gives none.

    Attributes:
        saved: share of turns, 0 to 1.
        detours: detours a session.
        of_ceiling: turns saved over turns in the ceiling. Of airline and retail it is known for its replay of nine
            agents of τ²-bench only; of the others it is the share of turns saved over that in the ceiling.
        ece: calibration error of ``reach``, 0 to 1.
        habit_ece: that of ``habit``.
    """

    saved: float
    detours: float | None = None
    of_ceiling: float | None = None
    ece: float | None = None
    habit_ece: float | None = None


_AIRLINE: Final = Published(0.171, 0.41, 0.466, 0.068, 0.106)

#: By family of domains.
PUBLISHED: Final = {
    "airline-v1": _AIRLINE,
    "airline-v2": _AIRLINE,
    "retail": Published(0.229, 0.92, 0.864, 0.083, 0.164),
    "AgentDojo": Published(0.072, 0.10, 0.072 / 0.221),
    "BFCL": Published(0.016, None, 0.016 / 0.132),
}

#: Share of the final saving that was there after ten of an agent's own sessions, in retail and airline.
TEN_SESSIONS: Final = (0.93, 0.96)
