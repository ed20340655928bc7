"""Learning: recorded sessions become a flow, by counting.

In two looks, so that sessions stream and counts add. The first (`Evidence`) counts what depends on nothing else; from
the evidence of all sessions a `Plan` is made: the actions there are, the features, the concentration, which sources
may be bound from. The second look counts under that plan. Both add: the counts of parts, merged, are those of the
whole, byte for byte, so sessions can be learned from in parts, in parallel, or one after the other as they are served.

Only successful sessions are learned from.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from stretto._defaults import REHEARSED_SESSIONS, SURPRISE_WINDOW
from stretto.bindings.binder import Binder
from stretto.bindings.rehearsal import Offers
from stretto.bindings.scope import Scope
from stretto.bindings.scoring import Scores
from stretto.bindings.survey import Survey
from stretto.bindings.uses import Uses
from stretto.errors import UsageError
from stretto.flow.model import Flow, Gate, Provenance, Sites
from stretto.flow.program import STANDARD
from stretto.model.alphabet import RESPOND, Vocabulary, steps_of, symbol
from stretto.model.concentration import fit
from stretto.model.counts import Successions, half_life_weights
from stretto.model.features import EMPTY
from stretto.model.sample import Sample
from stretto.model.selection import select
from stretto.model.surprise import gate_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stretto.bindings.model import Bindings
    from stretto.flow.model import Site
    from stretto.model.alphabet import Step
    from stretto.model.features import FeatureMap
    from stretto.sessions.corpus import Corpus, Recorded
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest

__all__ = ["Counts", "Evidence", "LearnOptions", "Plan", "learn", "learn_counts", "merge", "plan_of", "plan_of_flow"]


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """What is learned.

    Attributes:
        constants: bind arguments that always took one value.
        derive: bind derived values, and arguments that come from one record.
        speak: bind values from the user's own words.
        features: let tools' outputs make their symbols differ, where that sharpens the counts.
        alpha: the concentration; None fits it.
        half_life: sessions after which one counts half; None weighs all alike.
        every_read: every read is an option at every site.
        uses: count how often lookups that could have been made would have been used.
        surprise: share of learned sessions, 0 to 1, that stay below the gate's threshold; None makes no gate.
        surprise_window: steps whose mean surprise the gate looks at.
    """

    constants: bool = False
    derive: bool = True
    speak: bool = True
    features: bool = True
    alpha: float | None = None
    half_life: float | None = None
    every_read: bool = False
    uses: bool = True
    surprise: float | None = None
    surprise_window: int = SURPRISE_WINDOW


class Evidence:
    """The first look: what depends on nothing else.

    Attributes:
        episodes: successful ones.
        agents: their agents.
        tools: that they called.
        next: which tool was called right after which.
        survey: of arguments.
        sample: of sessions, for what cannot be summed.
        successions: what came after what, without features, with `numbers` for actions and as each session's own
            listing tells writes.
        numbers: of the tools, from 1, in the order in which they were first called.
        kinds: of each tool that was called, whether it was taken for a write.
    """

    def __init__(self) -> None:
        self.episodes = 0
        self.agents: set[str] = set()
        self.tools: set[str] = set()
        self.next: Counter[tuple[Site, str]] = Counter()
        self.survey = Survey()
        self.sample = Sample()
        self.successions = Successions()
        self.numbers: dict[str, int] = {}
        self.kinds: set[tuple[str, bool]] = set()

    def add(self, recorded: Recorded) -> None:
        """Count a session; one that did not succeed is passed over."""
        episode = recorded.episode
        if not episode.succeeded:
            return
        steps = steps_of(episode)
        self.episodes += 1
        self.agents.add(episode.agent_model)
        self._count_pairs(steps)
        self._count_successions(steps, recorded.manifest)
        # What a session says of its own tools is all it may depend on, or parts would not add.
        self.survey.add(episode, {tool for tool, kind in recorded.manifest.tools.items() if kind != "read"})
        self.sample.add(episode, steps)

    def _count_pairs(self, steps: Sequence[Step]) -> None:
        for step, following in pairwise(steps):
            if step.tool is not None and following.tool is not None:
                self.next[(step.tool, step.outcome != 0), following.tool] += 1

    def _count_successions(self, steps: Sequence[Step], manifest: Manifest) -> None:
        called = {step.tool for step in steps if step.tool is not None}
        self.tools |= called
        writes = {tool for tool in called if manifest.kind(tool) == "write"}
        self.kinds.update((tool, tool in writes) for tool in called)
        symbols = [symbol(self._number(step.tool), step.outcome) for step in steps]
        self.successions.add(symbols, {self.numbers[tool] for tool in writes})

    def _number(self, tool: str | None) -> int:
        return RESPOND if tool is None else self.numbers.setdefault(tool, len(self.numbers) + 1)

    def successions_of(self, plan: Plan) -> Successions | None:
        """What came after what, as the second look would count it; None where it would count something else."""
        agreed = {(tool, plan.manifest.kind(tool) == "write") for tool in self.tools}
        if plan.features.fields or self.kinds != agreed:
            return None
        return self.successions.renumbered([RESPOND, *map(plan.vocabulary.action, self.numbers)])

    def merge(self, other: Evidence) -> None:
        """Add the evidence of later sessions."""
        self.successions.merge(other.successions.renumbered([RESPOND, *map(self._number, other.numbers)]))
        self.kinds |= other.kinds
        self.episodes += other.episodes
        self.agents |= other.agents
        self.tools |= other.tools
        self.next.update(other.next)
        self.survey.merge(other.survey)
        self.sample.merge(other.sample)


@dataclass(slots=True)
class Plan:
    """What is decided from all sessions before the second look.

    Attributes:
        manifest: the tools.
        vocabulary: the actions.
        features: of tools' outputs.
        alpha: the concentration.
        scope: what of the arguments is kept.
        bindings: what the sources say, for scoring.
        every_read: every read is an option at every site.
        scored: ids of the sessions on whose calls bindings are scored: all of up to 512, of more a sample.
        offers: what can be looked up where, to count how often that would have been used; None counts that not.
    """

    manifest: Manifest
    vocabulary: Vocabulary
    features: FeatureMap
    alpha: float
    scope: Scope
    bindings: Bindings
    scored: frozenset[str]
    every_read: bool = False
    offers: Offers | None = None
    binder: Binder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.binder = Binder(self.bindings)

    def symbols(self, steps: Iterable[Step]) -> list[int]:
        """The symbols of an episode's steps."""
        action, number = self.vocabulary.action, self.features.id_of
        return [
            symbol(action(step.tool), step.outcome, number(step.tool, step.content) if step.tool else 0)
            for step in steps
        ]


def plan_of(evidence: Evidence, manifest: Manifest, options: LearnOptions | None = None) -> Plan:
    """Decide, from the evidence of all sessions, what the second look counts.

    Raises:
        UsageError: no session succeeded.
    """
    options = options or LearnOptions()
    if not evidence.episodes:
        raise UsageError(
            "no successful session to learn from: give rewards that say which succeeded, or other sessions"
        )
    vocabulary = Vocabulary([*evidence.tools, *manifest.tools])
    features, alpha = _fitted(evidence.sample, vocabulary, options)
    scope = evidence.survey.scope(
        manifest.reads, constants=options.constants, derive=options.derive, speak=options.speak
    )
    bindings = evidence.survey.bindings(scope)
    offers = None
    if options.uses:
        sites = _sites(evidence, manifest, every_read=options.every_read)
        offers = _offers(sites, manifest, evidence.sample.first(REHEARSED_SESSIONS))
    scored = frozenset(episode.id for episode in evidence.sample.episodes)
    return Plan(manifest, vocabulary, features, alpha, scope, bindings, scored, options.every_read, offers)


def _sites(evidence: Evidence, manifest: Manifest, *, every_read: bool) -> Sites:
    """The lookups that followed each call."""
    following: dict[Site, dict[str, int]] = {}
    for (site, tool), count in sorted(evidence.next.items()):
        if manifest.kind(tool) == "read":
            following.setdefault(site, {})[tool] = count
    return Sites(manifest.reads, following, every_read=every_read)


def _offers(sites: Sites, manifest: Manifest, sessions: Iterable[str]) -> Offers:
    writes = frozenset(tool for tool, kind in manifest.tools.items() if kind == "write")
    return Offers(sites.next, writes, frozenset(sessions))


def plan_of_flow(flow: Flow, sessions: Iterable[str] = ()) -> Plan:
    """The plan under which a flow was learned, to count further sessions for it.

    Args:
        flow: the flow.
        sessions: ids of the further sessions on whose calls bindings are scored; where the flow counts uses, the runs
            of the first 128 are rehearsed.
    """
    scope = Scope.of(flow.bindings, flow.manifest.reads)
    scored = list(sessions)
    offers = _offers(flow.sites, flow.manifest, scored[:REHEARSED_SESSIONS]) if flow.uses.counts else None
    return Plan(
        flow.manifest,
        flow.vocabulary,
        flow.features,
        flow.habit.base.alpha,
        scope,
        flow.bindings,
        frozenset(scored),
        flow.sites.every_read,
        offers,
    )


def _fitted(sample: Sample, vocabulary: Vocabulary, options: LearnOptions) -> tuple[FeatureMap, float]:
    """The features and the concentration: it is fitted without features, they are chosen with it, it is fitted anew."""
    alpha = options.alpha or fit(sample.symbols(vocabulary, EMPTY), vocabulary.size).median
    features = select(sample, vocabulary, alpha) if options.features else EMPTY
    if features.fields and options.alpha is None:
        alpha = fit(sample.symbols(vocabulary, features), vocabulary.size).median
    return features, alpha


class Counts:
    """The second look: what is counted under a plan.

    Args:
        plan: decided from all sessions.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.successions = Successions()
        self.scores = Scores()
        self._writes = {plan.vocabulary.action(tool) for tool, kind in plan.manifest.tools.items() if kind == "write"}

    def add(self, episode: Episode, weight: float = 1) -> None:
        """Count a session; one that did not succeed is passed over.

        Args:
            episode: the session.
            weight: of its steps, above 0; arguments are not weighted.
        """
        if episode.succeeded:
            self.successions.add(self.plan.symbols(steps_of(episode)), self._writes, weight)
            if episode.id in self.plan.scored:
                self.scores.add(episode, self.plan.binder, self.plan.offers)

    def merge(self, other: Counts) -> None:
        """Add the counts of other sessions under the same plan."""
        self.successions.merge(other.successions)
        self.scores.merge(other.scores)

    def take(self, evidence: Evidence) -> bool:
        """Take what the first look has counted and kept, in place of a second look at all its sessions.

        Returns:
            False where that is not all; then nothing is taken.
        """
        successions = evidence.successions_of(self.plan)
        scored = [episode.whole for episode in evidence.sample.episodes if episode.whole is not None]
        if successions is None or len(scored) < len(evidence.sample.episodes):
            return False
        self.successions = successions
        for episode in scored:
            self.scores.add(episode, self.plan.binder, self.plan.offers)
        return True


def _flow(evidence: Evidence, counts: Counts, provenance: Provenance) -> Flow:
    """The flow of one look and the other."""
    plan = counts.plan
    bindings = evidence.survey.bindings(plan.scope)
    counts.scores.into(bindings)
    size = plan.vocabulary.size
    return Flow(
        provenance=replace(provenance, sources=tuple(sorted(evidence.agents)), habit_episodes=evidence.episodes),
        vocabulary=plan.vocabulary,
        manifest=plan.manifest,
        features=plan.features,
        habit=counts.successions.habit(plan.alpha, size),
        reach=counts.successions.reach(plan.alpha, size),
        sites=_sites(evidence, plan.manifest, every_read=plan.every_read),
        bindings=bindings,
        program=STANDARD,
        uses=Uses(dict(sorted(counts.scores.uses.counts.items()))),
    )


def learn_counts(sessions: Iterable[Recorded], plan: Plan, provenance: Provenance) -> Flow:
    """Count sessions under a plan made before: a flow of just these, to be merged with others of the same plan."""
    evidence, counts = Evidence(), Counts(plan)
    for recorded in sessions:
        evidence.add(recorded)
        counts.add(recorded.episode)
    return _flow(evidence, counts, provenance)


def learn(
    corpus: Corpus,
    options: LearnOptions | None = None,
    *,
    provenance: Provenance,
    on_session: Callable[[], None] = lambda: None,
) -> Flow:
    """Learn a flow from recorded sessions.

    They are read once where the first look has counted all that the second would, else twice.

    Args:
        corpus: the sessions, in the order in which they were recorded.
        options: what is learned.
        provenance: version, time and conventions; agents and sessions are filled in.
        on_session: called after each session of a look.

    Raises:
        UsageError: no session succeeded.
        SessionLogError: a session cannot be read.
    """
    options = options or LearnOptions()
    evidence = Evidence()
    for recorded in corpus:
        evidence.add(recorded)
        on_session()

    def look_again(plan: Plan) -> Counts:
        counts = Counts(plan)
        weights = iter(half_life_weights(evidence.episodes, options.half_life) if options.half_life else ())
        for recorded in corpus:
            if recorded.episode.succeeded:
                counts.add(recorded.episode, next(weights, 1))
            on_session()
        return counts

    return conclude(evidence, corpus.manifest, options, look_again, provenance=provenance)


def conclude(
    evidence: Evidence,
    manifest: Manifest,
    options: LearnOptions,
    look_again: Callable[[Plan], Counts],
    *,
    provenance: Provenance,
) -> Flow:
    """Learn a flow from what the first look found.

    Args:
        evidence: of all sessions.
        manifest: their tools.
        options: what is learned.
        look_again: counts all sessions under a plan; called where the first look has not counted enough.
        provenance: version, time and conventions; agents and sessions are filled in.

    Raises:
        UsageError: no session succeeded.
    """
    plan = plan_of(evidence, manifest, options)
    counts = Counts(plan)
    if options.half_life or not counts.take(evidence):
        counts = look_again(plan)
    flow = _flow(evidence, counts, provenance)
    if options.surprise is not None:
        flow.surprise = _gate(evidence.sample, flow, options.surprise, options.surprise_window)
    return flow


def _gate(sample: Sample, flow: Flow, quantile: float, window: int) -> Gate | None:
    """The surprise gate, or none where no session is as long as its window."""
    threshold = gate_threshold(
        sample,
        flow.vocabulary,
        flow.features,
        flow.habit.base.alpha,
        flow.sites.options,
        window=window,
        quantile=quantile,
    )
    return None if threshold is None else Gate(window, threshold, quantile)


def merge(flow: Flow, *others: Flow) -> Flow:
    """Add the counts of flows that were learned under one plan; the first one's other content is kept.

    Raises:
        UsageError: the flows were not learned under one plan, so their counts mean different things.
    """
    merged = copy.deepcopy(flow)
    for other in others:
        _check_alike(flow, other)
        merged.habit.merge(other.habit)
        if merged.reach and other.reach:
            merged.reach.merge(other.reach)
        for site, lookups in other.sites.next.items():
            merged.sites.next[site] = _sum(merged.sites.next.get(site, {}), lookups)
        merged.bindings.merge(other.bindings)
        merged.uses.merge(other.uses)
        mine, theirs = merged.provenance, other.provenance
        merged.provenance = replace(
            mine,
            sources=tuple(sorted({*mine.sources, *theirs.sources})),
            habit_episodes=mine.habit_episodes + theirs.habit_episodes,
        )
    merged.sites.next = dict(sorted(merged.sites.next.items()))
    return merged


def _sum(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    return {name: ours.get(name, 0) + theirs.get(name, 0) for name in sorted({*ours, *theirs})}


def _check_alike(flow: Flow, other: Flow) -> None:
    for what, mine, theirs in (
        ("actions", flow.vocabulary.tools, other.vocabulary.tools),
        ("kinds of tools", flow.manifest.tools, other.manifest.tools),
        ("features", flow.features, other.features),
        ("constants", flow.bindings.constants, other.bindings.constants),
        ("reach counts", flow.reach is None, other.reach is None),
    ):
        if mine != theirs:
            raise UsageError(f"the flows have different {what}, so their counts do not add: learn from all sessions")
