"""What differs between two flows, as values; `stretto.review.diff` finds it, its page puts it into words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.review.shown import SiteVerdict
    from waggle.jsonvalue import JsonObject

__all__ = ["Change", "Fact", "FlowDiff", "Section", "diff_json", "is_moved"]

#: What floats may differ by and still be the tolerance.
_ROUNDING: Final = 1e-9

Fact: TypeAlias = "str | float | SiteVerdict | None"


class Section(StrEnum):
    """Where on the page a change stands; in the page's order."""

    TOOLS = "Tools"
    RUN = "Run"
    SITES = "Sites"
    VERDICTS = "Verdicts"
    SHARES = "What the agent did next"
    BINDINGS = "Bindings"
    ORDERS = "Sources by site"
    CONSTANTS = "Constants"
    CONTRACTS = "Pinned inputs"
    FEATURES = "Code features"
    ARBITER = "Arbiter"
    PROMOTION = "Promotion"
    PROVENANCE = "Provenance"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        section: where it belongs.
        kind: what changed, a word of `stretto.review.diff_page`.
        review: whether somebody must look at it.
        facts: names and numbers, by what they are.
    """

    section: Section
    kind: str
    review: bool
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class FlowDiff:
    """All differences, by section, those that need review first.

    Attributes:
        domain: of the new version.
        changes: in the order of the page.
    """

    domain: str
    changes: tuple[Change, ...]

    @property
    def needs_review(self) -> bool:
        """Whether the new version can do something that the old one could not; a command's exit code is then 1."""
        return any(change.review for change in self.changes)


def diff_json(compared: FlowDiff) -> JsonObject:
    """The same as JSON, and whether there is something to review."""
    return cast("JsonObject", {**asdict(compared), "needs_review": compared.needs_review})


def is_moved(before: float, after: float, tolerance: float) -> bool:
    """Whether a number changed by the tolerance or more."""
    return abs(after - before) >= tolerance - _ROUNDING
