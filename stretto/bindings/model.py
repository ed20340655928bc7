"""What is counted of arguments and where their values came from, and how a lookup's arguments were found.

Values only; `stretto.bindings.learner` counts, `stretto.bindings.bind` binds. All counts are integers that add.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from stretto._defaults import REQUIRED_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "Argument",
    "Bindings",
    "Bound",
    "Pick",
    "Reason",
    "Slot",
    "Source",
    "SourceCounts",
    "Unbound",
    "added",
]


#: Values that must have been found at a source, and of how many values one must have been: less may be coincidence.
_USABLE_COUNT: Final = 2
_USABLE_ONE_IN: Final = 10


_Key = TypeVar("_Key", bound="str | tuple[object, ...]")


def added(ours: Mapping[_Key, int], theirs: Mapping[_Key, int]) -> dict[_Key, int]:
    """The sum of two tables of counts."""
    summed = dict(ours)
    for key, count in theirs.items():
        summed[key] = summed.get(key, 0) + count
    return summed


class Slot(NamedTuple):
    """An argument of a lookup."""

    tool: str
    argument: str


class Source(NamedTuple):
    """A place in the results of a tool: ``$`` the whole, ``.key`` a field, ``[*]`` any element; ``$[*].id``."""

    tool: str
    path: str


@dataclass(slots=True)
class SourceCounts:
    """Where the values of one argument were found.

    Attributes:
        values: values seen, found or not.
        found: how many were found first at each source.
    """

    values: int = 0
    found: dict[Source, int] = field(default_factory=dict)

    def merge(self, other: SourceCounts) -> None:
        """Add the counts of other values."""
        self.values += other.values
        self.found = added(self.found, other.found)

    def usable(self) -> list[Source]:
        """The sources that may be bound from, sorted: found at least twice, and for a tenth of the values or more."""
        return sorted(
            source
            for source, count in self.found.items()
            if count >= _USABLE_COUNT and count * _USABLE_ONE_IN >= self.values
        )


@dataclass(slots=True)
class Bindings:
    """What the sessions show of arguments.

    Attributes:
        args: by tool: calls whose arguments were an object, and how many of them passed each argument.
        sources: of arguments that took strings.
        agreed: by tool: how often a bound call was the agent's own and how often one was bound, for picks that the user
            had not mentioned and for those that they had.
        named_other: by tool: picks beside a record the user named, how many the agent made and how many there were.
        described_read: the same for picks after the record the user described had been read.
        site_sources: values by slot, site and source, for slots with several sources.
        lists: of arguments that took lists of strings.
        bare: by tool without required arguments that was called with some: calls without any.
        constants: arguments that always took one value.
        derived: of arguments whose values are a transform of earlier ones; the source's path is followed by the
            transform (`stretto.bindings.derive`). Not in the original.
        spoken: by slot: the shapes of values that the user wrote, and how many had each
            (`stretto.bindings.spoken`). Not in the original.
        agreed_derived: as `agreed`, for calls in which at least one argument was derived.
        records: by tool: where several arguments were fields of one record (`stretto.bindings.records`). Not in the
            original.
        agreed_spoken: as `agreed`, for calls in which at least one argument was taken from the user's words.
        agreed_record: as `agreed`, for calls whose arguments were taken from one record.
    """

    args: dict[str, tuple[int, dict[str, int]]] = field(default_factory=dict)
    sources: dict[Slot, SourceCounts] = field(default_factory=dict)
    agreed: dict[str, Agreed] = field(default_factory=dict)
    named_other: dict[str, tuple[int, int]] = field(default_factory=dict)
    described_read: dict[str, tuple[int, int]] = field(default_factory=dict)
    site_sources: dict[tuple[Slot, str, Source], int] = field(default_factory=dict)
    lists: dict[Slot, SourceCounts] = field(default_factory=dict)
    bare: dict[str, int] = field(default_factory=dict)
    constants: dict[Slot, JsonValue] = field(default_factory=dict)
    derived: dict[Slot, SourceCounts] = field(default_factory=dict)
    spoken: dict[Slot, SpokenCounts] = field(default_factory=dict)
    agreed_derived: dict[str, Agreed] = field(default_factory=dict)
    agreed_spoken: dict[str, Agreed] = field(default_factory=dict)
    records: dict[str, SourceCounts] = field(default_factory=dict)
    agreed_record: dict[str, Agreed] = field(default_factory=dict)

    def required(self, tool: str) -> list[str]:
        """The arguments a lookup passes, by name: those that nearly all of the agent's calls passed."""
        calls, args = self.args.get(tool, (0, {}))
        return sorted(name for name, count in args.items() if count >= REQUIRED_SHARE * calls)

    def merge(self, other: Bindings) -> None:
        """Add the counts of other sessions, counted in the same scope; constants are not counts and stay."""
        for tool, (calls, passed) in other.args.items():
            mine, names = self.args.get(tool, (0, {}))
            self.args[tool] = (mine + calls, added(names, passed))
        for ours, theirs in ((self.sources, other.sources), (self.lists, other.lists), (self.derived, other.derived)):
            for slot, counts in theirs.items():
                ours.setdefault(slot, SourceCounts()).merge(counts)
        for tool, together in other.records.items():
            self.records.setdefault(tool, SourceCounts()).merge(together)
        for slot, spoken in other.spoken.items():
            self.spoken.setdefault(slot, SpokenCounts()).merge(spoken)
        self.site_sources = added(self.site_sources, other.site_sources)
        self.bare = added(self.bare, other.bare)
        for kept, more in (
            (self.agreed, other.agreed),
            (self.agreed_derived, other.agreed_derived),
            (self.agreed_spoken, other.agreed_spoken),
            (self.agreed_record, other.agreed_record),
        ):
            for tool, ((a, b), (c, d)) in more.items():
                (e, f), (g, h) = kept.get(tool, ((0, 0), (0, 0)))
                kept[tool] = ((a + e, b + f), (c + g, d + h))
        for single, pairs in ((self.named_other, other.named_other), (self.described_read, other.described_read)):
            for tool, (used, picks) in pairs.items():
                known = single.get(tool, (0, 0))
                single[tool] = (known[0] + used, known[1] + picks)


#: (agreed, tried) for picks not mentioned, and for mentioned ones.
Agreed: TypeAlias = "tuple[tuple[int, int], tuple[int, int]]"


@dataclass(slots=True)
class SpokenCounts:
    """The values of one argument that the user wrote.

    Attributes:
        values: values seen, written by the user or not.
        shapes: how many that the user wrote had each shape.
    """

    values: int = 0
    shapes: dict[str, int] = field(default_factory=dict)

    def merge(self, other: SpokenCounts) -> None:
        """Add the counts of other values."""
        self.values += other.values
        self.shapes = added(self.shapes, other.shapes)

    def usable(self) -> list[str]:
        """The shapes with enough evidence, by the rule for sources, sorted."""
        return sorted(
            shape
            for shape, count in self.shapes.items()
            if count >= _USABLE_COUNT and count * _USABLE_ONE_IN >= self.values
        )


class Pick(StrEnum):
    """What a pick says about the user."""

    NONE = "none"  #: they mentioned no record
    PICKED = "picked"  #: they mentioned this one
    OTHER = "other"  #: they mentioned another one
    DESCRIBED = "described"  #: the one they described has been read


class Argument(NamedTuple):
    """Where one bound argument came from.

    Its kind is ``source``, ``list``, ``constant``, ``name``, ``derived``, ``spoken`` or ``record``.
    """

    name: str
    kind: str
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A lookup whose arguments were found.

    Attributes:
        arguments: by name.
        pick: what the pick says about the user.
        chance: that these arguments are the agent's own, 0 to 1.
        origins: where each came from, in the order of their names.
    """

    arguments: JsonObject
    pick: Pick
    chance: float
    origins: tuple[Argument, ...] = ()


class Reason(StrEnum):
    """Why a lookup does not bind. The text is a template for `Unbound.said`."""

    NEVER_CALLED = "{tool}: never called in training"
    UNKNOWN_ARGUMENTS = "{tool}: never called in training, and its arguments are unknown"
    LOOKED_UP = "{tool}: already looked up"
    NO_STRING = "{tool}: `{arg}` never took a string in training"
    NO_SOURCE = "{tool}: no source for `{arg}` (the LLM supplies it)"
    NO_LIST_SOURCE = "{tool}: no source for the list `{arg}` (the LLM supplies it)"
    NOTHING_LEFT = "{tool}: nothing left to pass as `{arg}`"
    NO_LIST_LEFT = "{tool}: no list left to pass as `{arg}`"
    NO_NAMED = "{tool}: no `{arg}` in earlier results to pass"


@dataclass(frozen=True, slots=True)
class Unbound:
    """A lookup whose arguments were not found."""

    reason: Reason
    tool: str
    argument: str = ""

    @property
    def said(self) -> str:
        """The reason as a sentence."""
        return self.reason.value.replace("{tool}", self.tool).replace("{arg}", self.argument)
