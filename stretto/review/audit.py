"""How well a flow foresees the agent in sessions it was not learned from.

At every place where all answers of a turn are in, the flow is asked what comes next, and the agent's own next step is
the truth. Pure. Not responsible for what lookups would have saved (`stretto.review.replay`), nor for showing the result
(`stretto.review.audit_page`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.deciders.decide import decide
from stretto.deciders.model import HAND_BACK, HandBack
from stretto.flow.model import site_name
from stretto.review.walk import Walker, next_step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from stretto.deciders.model import Decider
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow, Site
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject

__all__ = ["Audit", "Auditor", "EpisodeFit", "Foreseen", "Measures", "audit", "measure"]

_LEAST: Final = 1e-6  # probability every option has at least: a surprise is at most 13.8 nats
_BINS: Final = 10
_LISTED: Final = 10  # episodes listed as least likely

_UNANSWERED: Final = frozenset({HandBack.ORACLE_FAILED, HandBack.ORACLE_INCOMPLETE})


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One decision: what was expected, and what the agent did.

    Attributes:
        probabilities: of the options, in a fixed order; they sum to 1.
        actual: place of the agent's step among them.
    """

    probabilities: tuple[float, ...]
    actual: int

    @property
    def surprise(self) -> float:
        """Minus the log of the probability of the agent's step, in nats."""
        return -math.log(self.probabilities[self.actual])

    @property
    def agrees(self) -> bool:
        """Whether the likeliest option, the first of equals, is the agent's step."""
        return self.probabilities.index(max(self.probabilities)) == self.actual


@dataclass(frozen=True, slots=True)
class Measures:
    """How good some decisions were.

    Attributes:
        decisions: how many.
        agreement: share whose likeliest option was the agent's step.
        expected_agreement: mean probability of the agent's step.
        log_probability: of all the agent's steps together, in nats, at most 0.
        ece: distance between the likeliest option's probability and how often it was right, over ten equal bins of that
            probability, each by its share of the decisions.
    """

    decisions: int
    agreement: float
    expected_agreement: float
    log_probability: float
    ece: float

    @property
    def surprise(self) -> float:
        """Mean surprise of a decision, in nats."""
        return abs(self.log_probability) / self.decisions

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        return {
            "decisions": self.decisions,
            "agreement": self.agreement,
            "expected_agreement": self.expected_agreement,
            "surprise": self.surprise,
            "log_probability": self.log_probability,
            "ece": self.ece,
        }


def measure(decisions: Sequence[Foreseen]) -> Measures:
    """Measure decisions.

    Raises:
        ValueError: there are none.
    """
    if not decisions:
        raise ValueError("there is no decision to measure")
    count = len(decisions)
    bins: defaultdict[int, list[tuple[float, bool]]] = defaultdict(list)
    for one in decisions:
        top = max(one.probabilities)
        bins[min(_BINS - 1, math.floor(_BINS * top))].append((top, one.agrees))
    return Measures(
        decisions=count,
        agreement=sum(one.agrees for one in decisions) / count,
        expected_agreement=math.fsum(one.probabilities[one.actual] for one in decisions) / count,
        log_probability=0.0 - math.fsum(one.surprise for one in decisions),
        ece=math.fsum(
            abs(math.fsum(top for top, _ in one) - sum(agrees for _, agrees in one)) / count for one in bins.values()
        ),
    )


@dataclass(frozen=True, slots=True)
class EpisodeFit:
    """One session's measures."""

    id: str
    measures: Measures


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes:
        decider: that was asked.
        episodes: sessions looked at.
        unanswered: decisions left out because a model did not answer.
        overall: of all decisions, None without any.
        sites: by site name, those with most decisions first, then by name.
        fits: of each session with decisions, in the order given.
    """

    decider: str
    episodes: int
    unanswered: int
    overall: Measures | None
    sites: Mapping[str, Measures]
    fits: tuple[EpisodeFit, ...]

    @property
    def least_likely(self) -> tuple[EpisodeFit, ...]:
        """The ten sessions whose steps are least likely together, the least likely first."""
        return tuple(sorted(self.fits, key=lambda fit: (fit.measures.log_probability, fit.id))[:_LISTED])

    def as_json(self) -> JsonObject:
        """All of it, unrounded."""
        return {
            "decider": self.decider,
            "episodes": self.episodes,
            "unanswered": self.unanswered,
            "overall": self.overall.as_json() if self.overall else None,
            "sites": {site: measures.as_json() for site, measures in self.sites.items()},
            "fits": {fit.id: fit.measures.as_json() for fit in self.fits},
            "least_likely": [fit.id for fit in self.least_likely],
        }


class Auditor:
    """Asks one flow about sessions.

    Args:
        flow: the flow. Sites that it does not serve, switched off or not promoted, are not asked about.
        decider: who weighs the options; None for the flow's arbiter where it has one, else ``habit``.
        oracle: whom an arbiter asks.

    Attributes:
        decider: its name.
        unanswered: decisions so far that a model did not answer.
    """

    def __init__(self, flow: Flow, decider: str | Decider | None = None, oracle: Oracle | None = None) -> None:
        asked = decider or ("arbiter" if flow.arbiter else "habit")
        self._flow = flow
        self._walker = Walker(flow, asked, oracle)
        self.decider = asked if isinstance(asked, str) else asked.name
        self.unanswered = 0

    def foresee(self, episode: Episode) -> Iterator[tuple[Site, Foreseen | None]]:
        """Every place of a session where all answers of a turn are in and the agent's next step is known, in order.

        Yields:
            The site, and the decision there; None where the flow weighs nothing or a model did not answer.

        Raises:
            BadFlow: the flow lacks what the decider needs.
            UsageError: there is no such decider, or it needs an oracle.
        """
        decider = self._walker.decider(episode)
        for point in self._walker.points(episode):
            step = next_step(episode.events, point.index)
            if step is None or step.own:
                continue
            situation = point.situation()
            if situation.site is None:
                continue
            decision = decide(self._flow, situation, decider, math.inf)
            self.unanswered += decision.reason in _UNANSWERED
            weighed = decision.probs and decision.reason not in _UNANSWERED
            yield situation.site, self._foreseen(decision.probs, step.tool) if weighed else None

    def _foreseen(self, probs: Mapping[str, float], tool: str | None) -> Foreseen:
        """Set the agent's step beside what was expected.

        The options are those that were weighed, by name, and last any other read: what is left of the probability.
        """
        options = sorted(probs)
        raw = [probs[option] for option in options]
        raw = [max(_LEAST, chance) for chance in (*raw, 1 - math.fsum(raw))]
        total = math.fsum(raw)
        if tool is not None and tool != HAND_BACK and tool in probs:
            actual = options.index(tool)
        elif tool is not None and self._flow.manifest.kind(tool) == "read":
            actual = len(options)
        else:
            actual = options.index(HAND_BACK)
        return Foreseen(tuple(chance / total for chance in raw), actual)


def audit(
    flow: Flow, episodes: Iterable[Episode], decider: str | Decider | None = None, oracle: Oracle | None = None
) -> Audit:
    """Measure how well a flow foresees the agent.

    Args:
        flow: what was learned; a measure of its worth only on sessions it was not learned from.
        episodes: recorded sessions, successful or not; streamed.
        decider: see `Auditor`.
        oracle: see `Auditor`.

    Raises:
        BadFlow: the flow lacks what the decider needs.
        UsageError: there is no such decider, or it needs an oracle.
    """
    auditor = Auditor(flow, decider, oracle)
    everything: list[Foreseen] = []
    by_site: defaultdict[str, list[Foreseen]] = defaultdict(list)
    fits: list[EpisodeFit] = []
    episodes_seen = 0
    for episode in episodes:
        episodes_seen += 1
        own: list[Foreseen] = []
        for site, foreseen in auditor.foresee(episode):
            if foreseen:
                by_site[site_name(site)].append(foreseen)
                own.append(foreseen)
        everything += own
        if own:
            fits.append(EpisodeFit(episode.id, measure(own)))
    return Audit(
        decider=auditor.decider,
        episodes=episodes_seen,
        unanswered=auditor.unanswered,
        overall=measure(everything) if everything else None,
        sites={site: measure(by_site[site]) for site in sorted(by_site, key=lambda site: (-len(by_site[site]), site))},
        fits=tuple(fits),
    )
