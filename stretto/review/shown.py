"""What a review of a flow says, as values; `stretto.review.show` computes them, the pages render them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.bindings.model import Agreed
    from stretto.flow.model import Arbiter, Gate, Promotion, Provenance
    from stretto.model.features import FeatureMap
    from waggle.jsonvalue import JsonValue

__all__ = [
    "ArgumentShown",
    "BindingShown",
    "ConstantShown",
    "FlowShown",
    "SiteShown",
    "SiteVerdict",
    "SourceOrder",
    "SourceShown",
    "StepShown",
    "UseShown",
    "Verdict",
]


class Verdict(StrEnum):
    """What a flow does at a site."""

    LOOKS_UP = "looks up"
    HANDS_BACK = "hands back"
    NOT_PROMOTED = "not promoted"
    SWITCHED_OFF = "switched off"


@dataclass(frozen=True, slots=True)
class SiteVerdict:
    """What one decider makes of a site, histories pooled.

    Attributes:
        verdict: what it does.
        lookup: the one it weighs; None when it has none that binds.
        share: how often that followed (habit) or came before the next write (reach), 0 to 1.
        chance: that its arguments are the agent's own, 0 to 1; None when an argument has no source.
        score: share times chance, leaning towards what was counted of uses where the flow has that; 0 without a
            chance.
        threshold: the site's.
    """

    verdict: Verdict
    lookup: str | None
    share: float
    chance: float | None
    score: float
    threshold: float


@dataclass(frozen=True, slots=True)
class StepShown:
    """A tool, or ``respond``; how often it was the agent's next step, and its share of all next steps."""

    step: str
    count: float
    share: float


@dataclass(frozen=True, slots=True)
class SiteShown:
    """A site.

    Attributes:
        site: its name.
        lookups: what may be looked up there, by name, and how often each followed there.
        next: the four commonest next steps of the agent, most first, then by name.
        total: next steps seen.
        habit: verdict of the decider ``habit``.
        reach: of ``reach``; None in flows that cannot serve it.
    """

    site: str
    lookups: dict[str, int]
    next: tuple[StepShown, ...]
    total: float
    habit: SiteVerdict
    reach: SiteVerdict | None


@dataclass(frozen=True, slots=True)
class SourceShown:
    """A place an argument is bound from.

    Attributes:
        kind: ``source``, ``list``, ``derived``, ``spoken`` or ``record``.
        tool: whose result it is in; None for the user's words.
        path: where in the result; for derived values with the transform, for a record with its fields, for the user's
            words the shape.
        count: values found there.
        values: values there were.
    """

    kind: str
    tool: str | None
    path: str
    count: int
    values: int


@dataclass(frozen=True, slots=True)
class ArgumentShown:
    """An argument that is passed.

    Attributes:
        argument: its name.
        required: nearly all of the agent's calls passed it; any other is passed because it is a constant.
        constant: it always has one value.
        sources: where else it is bound from, in the order of kinds a value is looked for, then most first.
    """

    argument: str
    required: bool
    constant: bool
    sources: tuple[SourceShown, ...]


@dataclass(frozen=True, slots=True)
class BindingShown:
    """How a lookup's arguments are bound.

    Attributes:
        lookup: its name.
        calls: of it in training.
        arguments: those that are passed, by name.
        agreed: agreed and tried, for picks not mentioned and mentioned.
        chances: of picks not mentioned and mentioned, 0 to 1.
        named_other: used, picks and chance of picks beside a record the user named; None where none was counted.
        described_read: the same for picks after the described record had been read.
        bare: chance of the call without arguments; None for a lookup that passes some.
        records: where all required arguments are fields of one record, most first.
        apart: as `agreed`, for calls with arguments of a kind the original has not, by kind: ``derived``, ``spoken``,
            ``record``; only kinds that were counted.
    """

    lookup: str
    calls: int
    arguments: tuple[ArgumentShown, ...]
    agreed: Agreed
    chances: tuple[float, float]
    named_other: tuple[int, int, float] | None
    described_read: tuple[int, int, float] | None
    bare: float | None
    records: tuple[SourceShown, ...]
    apart: Mapping[str, Agreed]


@dataclass(frozen=True, slots=True)
class ConstantShown:
    """An argument that always has one value."""

    lookup: str
    argument: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The order in which an argument's sources are tried at a site, with the values each had there."""

    lookup: str
    argument: str
    site: str
    sources: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class UseShown:
    """How often a lookup that could have been made would have been used.

    Attributes:
        site: after which.
        lookup: the lookup.
        kind: of its arguments' origins.
        pick: what they say about the user.
        stage: lookups made before it in the same run; 3 for 3 or more.
        used: of those that could have been made, how many the agent made itself before its next write.
        weighed: how many could have been made.
        calls: in a turn in which it was made, on average; 0 where it never was.
    """

    site: str
    lookup: str
    kind: str
    pick: str
    stage: int
    used: int
    weighed: int
    calls: float


@dataclass(frozen=True, slots=True)
class FlowShown:
    """A flow as a reviewer sees it. Everything is in a fixed order, by name unless said otherwise."""

    domain: str
    version: int
    provenance: Provenance
    threshold: float
    default_decider: str
    alpha: float
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    neither: tuple[str, ...]
    program: str
    standard_program: bool
    every_read: bool
    sites: tuple[SiteShown, ...]
    promotion: Promotion | None
    bindings: tuple[BindingShown, ...]
    constants: tuple[ConstantShown, ...]
    orders: tuple[SourceOrder, ...]
    contracts: Mapping[str, str]
    features: FeatureMap
    arbiter: Arbiter | None
    thresholds: Mapping[str, float]
    gate: Gate | None
    uses: tuple[UseShown, ...]
