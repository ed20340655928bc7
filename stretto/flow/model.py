"""A flow as a value: everything that was learned from the sessions of one domain.

Not responsible for its file (`stretto.flow.file`) nor for how it is learned (`stretto.learning`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.bindings.uses import Uses
from stretto.model.alphabet import StepOutcome, Vocabulary, symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.bindings.model import Bindings
    from stretto.flow.program import Program
    from stretto.model.counts import Backoff, Habit
    from stretto.model.features import FeatureMap
    from stretto.sessions.manifest import Manifest

__all__ = [
    "Arbiter",
    "Bar",
    "Favors",
    "Flow",
    "Fold",
    "Gate",
    "Predicate",
    "Promotion",
    "Provenance",
    "Site",
    "SiteRecord",
    "Sites",
    "site_name",
]

#: The tool that just returned, and whether it failed.
Site: TypeAlias = tuple[str, bool]

#: A per-site threshold above this switches the site off.
CERTAIN: Final = 1.0


def site_name(site: Site) -> str:
    """How files and people name a site: ``name`` or ``name (error)``."""
    tool, failed = site
    return f"{tool} (error)" if failed else tool


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a flow comes from.

    Attributes:
        stretto: version that wrote it.
        sources: agent models learned from, sorted.
        habit_episodes: successful episodes counted.
        arbiter_cases: decisions its arbiter was fitted on.
        compiled_unix_ms: when, ms since the epoch.
        conventions: of the spans it was learned from; empty for other sources.
    """

    stretto: str
    sources: tuple[str, ...] = ()
    habit_episodes: int = 0
    arbiter_cases: int = 0
    compiled_unix_ms: int = 0
    conventions: str = ""


@dataclass(slots=True)
class Sites:
    """Which lookups followed which call.

    Attributes:
        reads: every tool that reads, sorted.
        next: by site: how often each read came next.
        feeds: by lookup: in how many episodes its results fed which argument of which write.
        every_read: every read is an option at every site.
    """

    reads: tuple[str, ...] = ()
    next: dict[Site, dict[str, int]] = field(default_factory=dict)
    feeds: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)
    every_read: bool = False

    def options(self, site: Site) -> tuple[str, ...]:
        """The lookups that may be made at a site, by name; empty for one where none followed."""
        return self.reads if self.every_read else tuple(sorted(self.next.get(site, ())))


@dataclass(frozen=True, slots=True)
class Bar:
    """What a site's record must show for its promotion; see `stretto.review.promote`."""

    threshold: float
    min_used: float
    min_lower: float
    min_tasks: int


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What a site did on sessions it was scored on.

    Attributes:
        decisions: made there.
        lookups: made.
        used: of these, by the agent.
        tasks: distinct ones with a lookup.
        lower: lower end of the interval of the share used, 0 to 1.
        promoted: whether the record meets the bar.
    """

    decisions: int
    lookups: int
    used: int
    tasks: int
    lower: float
    promoted: bool


@dataclass(frozen=True, slots=True)
class Promotion:
    """The sites a flow is limited to."""

    bar: Bar
    sites: Mapping[str, SiteRecord]


@dataclass(frozen=True, slots=True)
class Gate:
    """When a session is so unlike the learned ones that the flow leaves it alone.

    Attributes:
        window: steps whose mean surprise is looked at, at least 1.
        threshold: mean surprise in nats above which the flow hands back for the rest of the session.
        quantile: the share of learned sessions that stay below it, or None when it was set by hand.
    """

    window: int
    threshold: float
    quantile: float | None = None


#: ``same_lookup``, ``any_lookup``, ``hand_back``, or ``{"lookup": tool}``.
Favors: TypeAlias = "str | Mapping[str, str]"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A yes/no question an arbiter asks, and which options a yes speaks for."""

    id: str
    favors: Favors
    question: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class Fold:
    """An arbiter's weights, and how often its oracle agreed with the agent.

    Attributes:
        weights: of the features, in their order.
        sites: by site: decisions, of these agreed, of these with the agent's step among the options.
        agree: overall share that agreed, 0 to 1.
        cover: overall share covered, 0 to 1.
    """

    weights: tuple[float, ...]
    sites: Mapping[str, tuple[float, float, float]]
    agree: float
    cover: float


@dataclass(frozen=True, slots=True)
class Arbiter:
    """What a flow asks a model, and how it weighs the answers."""

    predicates: tuple[Predicate, ...]
    weighed: tuple[Predicate, ...]
    folds: tuple[Fold, ...]
    model: str


@dataclass(slots=True)
class Flow:
    """What was learned.

    Attributes:
        provenance: from what.
        vocabulary: its actions.
        manifest: its tools; `Manifest.contracts` are those the flow was learned under.
        features: what of a tool's output makes its symbols differ.
        habit: the agent's next step.
        reach: what happens before the next write; None in flows that cannot serve the decider ``reach``.
        sites: which lookups may follow which call.
        bindings: where arguments come from.
        program: what runs after each call.
        arbiter: None in most flows.
        group: the habit's group that is served.
        promoted: None when all sites are served.
        thresholds: by site name, in place of the served one.
        surprise: None when no gate was asked for.
        uses: how often lookups that could have been made would have been used. Not in the original; empty in its flows.
    """

    provenance: Provenance
    vocabulary: Vocabulary
    manifest: Manifest
    features: FeatureMap
    habit: Habit
    reach: Backoff | None
    sites: Sites
    bindings: Bindings
    program: Program
    arbiter: Arbiter | None = None
    group: int = 1
    promoted: Promotion | None = None
    thresholds: dict[str, float] = field(default_factory=dict)
    surprise: Gate | None = None
    uses: Uses = field(default_factory=Uses)

    @property
    def default_decider(self) -> str:
        """``arbiter`` where there is one, else ``reach`` where it was counted, else ``habit``."""
        return "arbiter" if self.arbiter else "reach" if self.reach else "habit"

    def symbol(self, tool: str | None, outcome: StepOutcome, content: str | None = None) -> int:
        """The symbol of a step."""
        return symbol(self.vocabulary.action(tool), outcome, self.features.id_of(tool, content) if tool else 0)
