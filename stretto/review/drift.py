"""Whether the agent, its tools or its work have changed since a flow was learned, seen in how well the flow still fits.

Three series, one value a session: how much the agent's steps surprise the flow, how often they are not what it
expected, and how many came after a tool that training never saw called. Pure. Not responsible for finding the change in
them (`stretto.review.changepoint`), nor for showing it (`stretto.review.drift_page`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.flow.model import site_name
from stretto.review.audit import Auditor
from stretto.review.changepoint import Detector, prior_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject

__all__ = ["Alarm", "Drift", "Fit", "SiteChange", "drift", "drift_of", "fit_of", "known_tools"]

_SOUNDS: Final = 0.5  # chance of a change above which the alarm sounds


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a flow fits one session.

    Attributes:
        id: of the session.
        surprise: mean over its decisions, in nats; None without decisions.
        disagreement: share of them whose likeliest option was not the agent's step; None without decisions.
        unknown: share of the steps after a tool for which that tool was never called in training; None without any.
        reached: by site name: steps after it.
        surprises: by site name: the surprises of its decisions, in nats.
    """

    id: str
    surprise: float | None
    disagreement: float | None
    unknown: float | None
    reached: Mapping[str, int]
    surprises: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class SiteChange:
    """A site that was reached since a change.

    Attributes:
        site: its name.
        reached: how often since.
        new: it was never reached before.
        rise: mean surprise since, less that before, in nats; None where there are no decisions on one side.
    """

    site: str
    reached: int
    new: bool
    rise: float | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change that was noticed.

    Attributes:
        sounded: place of the session after which it was noticed, from 0.
        changed: place of the first session that is different.
        chance: that there was a change, 0 to 1.
        sites: reached since, new ones first, then by rise in surprise, then by name.
    """

    sounded: int
    changed: int
    chance: float
    sites: tuple[SiteChange, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """What was seen.

    Attributes:
        fits: one a session, in start order.
        chances: after each session, that there was a change of late, 0 to 1.
        alarms: in order.
    """

    fits: tuple[Fit, ...]
    chances: tuple[float, ...]
    alarms: tuple[Alarm, ...]

    @property
    def sounding(self) -> bool:
        """Whether the alarm sounds after the last session."""
        return bool(self.chances) and self.chances[-1] > _SOUNDS

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        return {
            "sounding": self.sounding,
            "sessions": [
                {
                    "id": fit.id,
                    "surprise": fit.surprise,
                    "disagreement": fit.disagreement,
                    "unknown": fit.unknown,
                    "change": chance,
                }
                for fit, chance in zip(self.fits, self.chances, strict=True)
            ],
            "alarms": [
                {
                    "sounded": self.fits[alarm.sounded].id,
                    "changed": self.fits[alarm.changed].id,
                    "chance": alarm.chance,
                    "sites": [
                        {"site": one.site, "reached": one.reached, "new": one.new, "rise": one.rise}
                        for one in alarm.sites
                    ],
                }
                for alarm in self.alarms
            ],
        }


def drift(
    flow: Flow, episodes: Iterable[Episode], decider: str | Decider = "habit", oracle: Oracle | None = None
) -> Drift:
    """Watch sessions for a change.

    Args:
        flow: what was learned.
        episodes: recorded sessions; put in order of their start, those of equal start as they are given.
        decider: whose expectations are compared with the agent.
        oracle: whom an arbiter asks.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider.
    """
    auditor = Auditor(flow, decider, oracle)
    known = known_tools(flow)
    dated = [(episode.started_ms, fit_of(auditor, known, episode)) for episode in episodes]
    return drift_of([fit for _, fit in sorted(dated, key=lambda pair: pair[0])])


def known_tools(flow: Flow) -> frozenset[str]:
    """The tools that training saw called."""
    tally = flow.habit.base.levels[0].get(())
    called = {action for action, count in tally.by_action.items() if count > 0} if tally else set()
    return frozenset(tool for tool in flow.vocabulary.tools if flow.vocabulary.action(tool) in called)


def fit_of(auditor: Auditor, known: frozenset[str], episode: Episode) -> Fit:
    """How well a flow fits a session.

    Args:
        auditor: of the flow.
        known: tools that training saw called.
        episode: the session.
    """
    reached: defaultdict[str, int] = defaultdict(int)
    surprises: defaultdict[str, list[float]] = defaultdict(list)
    agreed = unknown = 0
    for site, foreseen in auditor.foresee(episode):
        name = site_name(site)
        reached[name] += 1
        unknown += site[0] not in known
        if foreseen:
            surprises[name].append(foreseen.surprise)
            agreed += foreseen.agrees
    steps, decisions = sum(reached.values()), sum(map(len, surprises.values()))
    return Fit(
        id=episode.id,
        surprise=math.fsum(one for some in surprises.values() for one in some) / decisions if decisions else None,
        disagreement=1 - agreed / decisions if decisions else None,
        unknown=unknown / steps if steps else None,
        reached=dict(reached),
        surprises={name: tuple(some) for name, some in surprises.items()},
    )


def drift_of(fits: Sequence[Fit]) -> Drift:
    """Watch fits for a change.

    Args:
        fits: one a session, in start order.
    """
    series = [(fit.surprise, fit.disagreement, fit.unknown) for fit in fits]
    detector = Detector([prior_of(column) for column in zip(*series, strict=True)])
    chances: list[float] = []
    alarms: list[Alarm] = []
    for place, values in enumerate(series):
        chance, length = detector.observe(values)
        if chance > _SOUNDS and not (chances and chances[-1] > _SOUNDS):
            changed = place + 1 - length
            alarms.append(Alarm(place, changed, chance, _sites(fits[:changed], fits[changed : place + 1])))
        chances.append(chance)
    return Drift(tuple(fits), tuple(chances), tuple(alarms))


def _sites(before: Sequence[Fit], since: Sequence[Fit]) -> tuple[SiteChange, ...]:
    past = {name for fit in before for name in fit.reached}
    reached: defaultdict[str, int] = defaultdict(int)
    for fit in since:
        for name, count in fit.reached.items():
            reached[name] += count
    changes: list[SiteChange] = []
    for name, count in reached.items():
        then, now = _mean(before, name), _mean(since, name)
        rise = None if then is None or now is None else now - then
        changes.append(SiteChange(name, count, name not in past, rise))
    return tuple(sorted(changes, key=lambda one: (not one.new, math.inf if one.rise is None else -one.rise, one.site)))


def _mean(fits: Iterable[Fit], site: str) -> float | None:
    surprises = [one for fit in fits for one in fit.surprises.get(site, ())]
    return math.fsum(surprises) / len(surprises) if surprises else None
