"""The form of a flow file, field by field: names, types and ranges.

Strict: what is not named here is an error, and no value is turned into another type. What may be absent may be null.
Maps whose keys are not texts are lists of pairs. Not responsible for how fields fit together (`stretto.flow.reader`),
nor for the program, which has a reader of its own.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field, Strict

from stretto.forms import Form

__all__ = [
    "BackoffForm",
    "BindingsForm",
    "FlowForm",
    "FoundForm",
    "PredicateForm",
    "SpokenForm",
    "TallyForm",
]

#: The largest whole number that every reader of JSON keeps exact.
_LARGEST: Final = 2**53
_YEAR_9999: Final = 253_402_300_799_999  #: its last millisecond since the epoch; no calendar here goes further
_LARGEST_SYMBOL: Final = 2**32 - 1

_Item = TypeVar("_Item")
_Other = TypeVar("_Other")

Pair = Annotated[tuple[_Item, _Other], Strict(strict=False)]  # lax in one thing: a JSON list is a pair
Triple = Annotated[tuple[_Item, _Item, _Item], Strict(strict=False)]
Count = Annotated[int, Field(ge=0, le=_LARGEST)]
Milliseconds = Annotated[int, Field(ge=0, le=_YEAR_9999)]
Symbol = Annotated[int, Field(ge=0, le=_LARGEST_SYMBOL)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=_LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=_LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Agreed = Pair[Pair[Count, Count], Pair[Count, Count]]


class ProvenanceForm(Form):
    """Where the flow comes from."""

    stretto: str
    sources: list[str] | None = None
    habit_episodes: Count | None = None
    arbiter_cases: Count | None = None
    compiled_unix_ms: Milliseconds | None = None
    conventions: str | None = None


class DocForm(Form):
    """What a server says of one tool."""

    summary: str | None = None
    args: dict[str, str] | None = None


class ManifestForm(Form):
    """The tools."""

    domain: str | None = None
    tools: dict[str, Literal["read", "write", "generic"]]
    docs: dict[str, DocForm] | None = None


class MapForm(Form):
    """Code features; the forms of the fields are read by hand."""

    fields: dict[str, list[Any]] | None = None
    ids: list[Pair[Pair[str, list[str]], Count]] | None = None


class TallyForm(Form):
    """What was counted in one context."""

    by_action: list[Pair[Count, Weight]]
    total: Weight


class BackoffForm(Form):
    """Counts by context."""

    order: Literal[2]
    alpha: Positive
    vocab_size: Count
    levels: Annotated[list[list[Pair[list[Symbol], TallyForm]]], Field(min_length=3, max_length=3)]


class HabitForm(Form):
    """The agent's next step."""

    base: BackoffForm
    beta: Positive
    top: list[Pair[Pair[Count, list[Symbol]], TallyForm]]


class SitesForm(Form):
    """Which lookups followed which call."""

    reads: list[str]
    next: list[Pair[Pair[str, bool], dict[str, Count]]]
    feeds: dict[str, list[Pair[Pair[str, str], Count]]] | None = None
    every_read: bool | None = None


class PredicateForm(Form):
    """A question of an arbiter; what it favors is read by hand."""

    id: str
    favors: Any
    question: str
    yes: str
    no: str


class RatesForm(Form):
    """How often an oracle agreed with the agent."""

    sites: list[Pair[str, Triple[Weight]]]
    agree: Share
    cover: Share


class FoldForm(Form):
    """One fit of an arbiter."""

    weights: list[Finite]
    rates: RatesForm


class FoundForm(Form):
    """Where the values of an argument were found."""

    values: Count
    found: list[Pair[Pair[str, str], Count]]


class SpokenForm(Form):
    """The shapes of an argument's values that the user wrote."""

    values: Count
    shapes: list[Pair[str, Count]]


class SiteSourceForm(Form):
    """Values of an argument from one source at one site."""

    tool: str
    arg: str
    site: str
    source: Pair[str, str]
    values: Count


class BindingsForm(Form):
    """Where arguments come from."""

    args: dict[str, Pair[Count, dict[str, Count]]]
    sources: list[Pair[Pair[str, str], FoundForm]]
    agreed: dict[str, Agreed] | None = None
    named_other: dict[str, Pair[Count, Count]] | None = None
    described_read: dict[str, Pair[Count, Count]] | None = None
    site_sources: list[SiteSourceForm] | None = None
    lists: list[Pair[Pair[str, str], FoundForm]] | None = None
    bare: dict[str, Count] | None = None
    constants: list[Pair[Pair[str, str], Any]] | None = None
    derived: list[Pair[Pair[str, str], FoundForm]] | None = None
    spoken: list[Pair[Pair[str, str], SpokenForm]] | None = None
    records: dict[str, FoundForm] | None = None
    agreed_derived: dict[str, Agreed] | None = None
    agreed_spoken: dict[str, Agreed] | None = None
    agreed_record: dict[str, Agreed] | None = None


class BarForm(Form):
    """What a site's record must show."""

    threshold: Finite
    min_used: Share
    min_lower: Share
    min_tasks: Count


class SiteRecordForm(Form):
    """A site's record."""

    decisions: Count
    lookups: Count
    used: Count
    tasks: Count
    lower: Share
    promoted: bool


class PromotedForm(Form):
    """The sites a flow is limited to."""

    bar: BarForm
    sites: dict[str, SiteRecordForm]


class GateForm(Form):
    """When a session is left alone."""

    window: Annotated[int, Field(ge=1, le=_LARGEST)]
    threshold: Weight
    quantile: Share | None = None


class UseForm(Form):
    """How often a lookup that could have been made at a site would have been used."""

    tool: str
    failed: bool
    lookup: str
    kind: str
    pick: Literal["none", "picked", "other", "described"]
    stage: Count
    used: Count
    weighed: Count
    companions: Count


class FlowForm(Form):
    """A flow file. `stretto_flow` has been looked at before."""

    stretto_flow: int
    provenance: ProvenanceForm
    vocab: list[Any]
    manifest: ManifestForm
    map: MapForm | None = None
    group: Count | None = None
    habit: HabitForm
    sites: SitesForm
    predicates: list[PredicateForm] | None = None
    weighed: list[PredicateForm] | None = None
    folds: list[FoldForm] | None = None
    bindings: BindingsForm
    model: str | None = None
    program: Any = None
    promoted: PromotedForm | None = None
    thresholds: dict[str, Weight] | None = None
    contracts: dict[str, str] | None = None
    reach: BackoffForm | None = None
    surprise: GateForm | None = None
    uses: list[UseForm] | None = None
