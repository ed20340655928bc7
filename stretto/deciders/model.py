"""What a decision is: the lookup that is made after a call, or why none is.

Not responsible for deciding: `stretto.deciders.decide` asks in the order that is fixed, a `Decider` weighs the lookups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from stretto.bindings.model import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.bindings.model import Bound
    from stretto.flow.model import Flow, Site
    from stretto.live import Situation

__all__ = ["HAND_BACK", "Decider", "Decision", "HandBack"]

#: The option of handing back, beside the names of lookups.
HAND_BACK: Final = "respond"

_NOTHING: Final[Mapping[str, float]] = MappingProxyType({})


class HandBack(StrEnum):
    """Why no lookup is made. The text is a template for `Decision.said`; what a lookup's arguments lack stands last."""

    NO_STEP = "the last step is not a tool call"
    NOT_PROMOTED = "the site is not promoted"
    SWITCHED_OFF = "the site is switched off"
    SURPRISED = "the session surprised the flow: {detail}"
    NO_LOOKUPS = "no lookups followed here in training"
    NONE_LIKELY = "no lookup to make"
    UNLIKELY = "{tool} at {p}, below {threshold}"
    UNSURE = "{tool} at {p}, times {chance} for its arguments, below {threshold}"
    SELDOM_USED = "{tool} at {p} by its uses, below {threshold}"
    ORACLE_FAILED = "the System-One model failed: {detail}"
    ORACLE_INCOMPLETE = "the System-One answer was incomplete"
    NEVER_CALLED = Reason.NEVER_CALLED.value
    UNKNOWN_ARGUMENTS = Reason.UNKNOWN_ARGUMENTS.value
    LOOKED_UP = Reason.LOOKED_UP.value
    NO_STRING = Reason.NO_STRING.value
    NO_SOURCE = Reason.NO_SOURCE.value
    NO_LIST_SOURCE = Reason.NO_LIST_SOURCE.value
    NOTHING_LEFT = Reason.NOTHING_LEFT.value
    NO_LIST_LEFT = Reason.NO_LIST_LEFT.value
    NO_NAMED = Reason.NO_NAMED.value

    def say(self, **facts: str) -> str:
        """The sentence with its facts. What stands in a fact is not read as a template."""
        return self.value.format(**facts)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done after a call.

    Attributes:
        site: where; None when the last step is no call.
        tool: the lookup weighed last: the one to make, or the one that was not good enough. None when none was weighed.
        bound: its arguments; None when they were not asked for, or not found.
        reason: why nothing is looked up; None for a lookup.
        said: the reason in words; empty for a lookup.
        probs: probability by option, `HAND_BACK` included, lookups by name; empty when handed back before weighing.
        prob: of `tool`, 0 to 1.
        binding: chance that its arguments are the agent's own, 0 to 1; None when they were not found or not asked for.
        oracle: the oracle's own choice, by option; empty without one.
        predicates: its probability of yes, by predicate.
        key: of the request it was asked; None without one.
        by_uses: score by what was counted of uses; None where that is not the score.
    """

    site: Site | None
    tool: str | None = None
    bound: Bound | None = None
    reason: HandBack | None = None
    said: str = ""
    probs: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    prob: float | None = None
    binding: float | None = None
    oracle: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    predicates: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    key: str | None = None
    by_uses: float | None = None

    @property
    def looks_up(self) -> bool:
        """Whether a lookup is made."""
        return self.reason is None

    @property
    def score(self) -> float | None:
        """What is compared with the threshold: by uses, else probability times chance; None unless it is known."""
        if self.by_uses is not None:
            return self.by_uses
        return None if self.prob is None or self.binding is None else self.prob * self.binding


class Decider(Protocol):
    """Weighs the lookups of a site."""

    name: str

    def decide(
        self, flow: Flow, situation: Situation, site: Site, options: Sequence[str], threshold: float
    ) -> Decision:
        """Choose one of the lookups, or none.

        Args:
            flow: what was learned.
            situation: the session after the call.
            site: of that call.
            options: the lookups that may be made here, by name, at least one.
            threshold: score from which on a lookup is made; infinite to have the options weighed and no more.

        Raises:
            BadFlow: the flow lacks what this decider needs.
        """
        ...
