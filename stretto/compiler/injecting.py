"""Stable values that are fixed when a procedure is compiled, at the user's word: an account, a team, a setting. Pure.

A procedure that was compiled so never calls what finds such a value. It holds only within a scope and for a time; then
it is read anew, or the procedure is not run (`stretto.procedure.freshness`). Nothing is fixed that the user does not
name, that differed among traces, that could have come from anywhere else, or that a login yielded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.compiler.model import Effect
from stretto.compiler.tracing import EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.seen import Seen

__all__ = ["Injection"]


@dataclass(frozen=True, slots=True)
class Injection:
    """A value that may be fixed.

    Attributes:
        action: canonical name of the read that yields it.
        path: exact path in its output.
        scope: for whom it holds, as pairs of a kind (``user``, ``tenant``, ``project``) and a name, sorted.
        days: how long it may be used after it was last observed.
    """

    action: str
    path: str
    scope: tuple[tuple[str, str], ...]
    days: float = 30.0

    @property
    def name(self) -> str:
        """What it is called in a procedure."""
        return f"{self.action} {self.path}"

    def explains(self, seen: Sequence[Seen]) -> bool:
        """Whether an argument had this value, and the same one, in all of its traces, and it came from nowhere else."""
        return bool(seen) and len({each.key for each in seen}) == 1 and all(map(self._is_source, seen))

    def _is_source(self, seen: Seen) -> bool:
        return seen.judged.is_strong and all(
            candidate.call.name == self.action
            and candidate.call.effect is not Effect.AUTH
            and candidate.match == EXACT
            and self.path in candidate.paths
            for candidate in seen.judged.producers
        )
