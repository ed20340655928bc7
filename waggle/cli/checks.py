"""One line of what ``waggle doctor`` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

__all__ = ["Check"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what.
        state: ``ok``, ``note`` when something is missing that is not needed, ``problem``.
        found: what was seen there.
        remedy: what to do; empty when all is well.
    """

    name: str
    state: Literal["ok", "note", "problem"]
    found: str
    remedy: str = ""

    def as_json(self) -> JsonObject:
        """What ``doctor --json`` says of it."""
        return {"check": self.name, "state": self.state, "found": self.found, "remedy": self.remedy}
