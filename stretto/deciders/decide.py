"""Deciding after a call: the checks in their fixed order, then the decider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto._defaults import THRESHOLD
from stretto.deciders.habit import Habit
from stretto.deciders.model import Decision, HandBack
from stretto.deciders.reach import Reach
from stretto.errors import UsageError
from stretto.flow.model import CERTAIN, site_name

if TYPE_CHECKING:
    from stretto.deciders.gate import SurpriseGate
    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow, Site
    from stretto.live import Situation

__all__ = ["DECIDERS", "decide", "decider_named"]

#: Names of the deciders there are.
DECIDERS: Final = ("reach", "habit", "arbiter")

_COUNTED: Final[dict[str, Decider]] = {"reach": Reach(), "habit": Habit()}


def decider_named(name: str, oracle: Oracle | None = None, *, task: str = "") -> Decider:
    """The decider of this name.

    Args:
        name: one of `DECIDERS`.
        oracle: whom ``arbiter`` asks.
        task: of the session, by which ``arbiter`` chooses its weights.

    Raises:
        UsageError: there is no such decider, or it needs an oracle.
    """
    if name == "arbiter":
        if oracle is None:
            raise UsageError("the decider arbiter needs an oracle to ask: give one, or use reach or habit")
        from stretto.deciders.arbiter import ArbiterDecider  # noqa: PLC0415 - most flows have none

        return ArbiterDecider(oracle, task=task)
    if name not in _COUNTED:
        raise UsageError(f"there is no decider {name!r}: choose from {', '.join(DECIDERS)}")
    return _COUNTED[name]


def decide(
    flow: Flow,
    situation: Situation,
    decider: str | Decider = "reach",
    threshold: float = THRESHOLD,
    *,
    gate: SurpriseGate | None = None,
) -> Decision:
    """Decide which lookup to make after a call, if any.

    Args:
        flow: what was learned.
        situation: the session after the call.
        decider: who weighs the lookups, or the name of one that asks nobody.
        threshold: score from which on a lookup is made, 0 to 1; infinite to have the lookups weighed and none made.
            The flow's own threshold of the site goes before it.
        gate: of this session; None when it has none.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    site = situation.site
    if site is None:
        return _hands_back(None, HandBack.NO_STEP)
    name = site_name(site)
    if flow.promoted is not None:
        record = flow.promoted.sites.get(name)
        if record is None or not record.promoted:
            return _hands_back(site, HandBack.NOT_PROMOTED)
    own = flow.thresholds.get(name)
    if own is not None and own > CERTAIN:
        return _hands_back(site, HandBack.SWITCHED_OFF)
    if gate is not None and gate.said:
        return Decision(site, reason=HandBack.SURPRISED, said=gate.said)
    options = flow.sites.options(site)
    if not options:
        return _hands_back(site, HandBack.NO_LOOKUPS)
    chosen = decider_named(decider) if isinstance(decider, str) else decider
    return chosen.decide(flow, situation, site, options, threshold if own is None else own)


def _hands_back(site: Site | None, reason: HandBack) -> Decision:
    return Decision(site, reason=reason, said=reason.value)
