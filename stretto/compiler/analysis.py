"""All that several traces of one intent show: steps, labels, bindings, edges, order. Pure.

Labels depend on bindings, bindings on which calls are steps, and steps on labels: the three are worked out in turn
until nothing changes. A call that was dropped once stays dropped, so this ends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from stretto.compiler.advising import NOTHING
from stretto.compiler.classify import Classifier
from stretto.compiler.depend import edge_of, evidence_of, judge
from stretto.compiler.evidence import Edge, Verdict
from stretto.compiler.guards import find_branching
from stretto.compiler.labels import Label, label_calls, needs_of
from stretto.compiler.model import Effect
from stretto.compiler.proposed_guards import with_proposed
from stretto.compiler.steps import Run, step_keys
from stretto.compiler.tracing import Tracing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.compiler.advising import Advised
    from stretto.compiler.binding import Binding
    from stretto.compiler.evidence import Evidence
    from stretto.compiler.guards import Branching, Fork
    from stretto.compiler.labels import Labelled, Labels
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings
    from stretto.compiler.steps import Step

__all__ = ["Analysis", "EffectOrder", "analyse", "decide", "survey"]


@dataclass(frozen=True, slots=True)
class EffectOrder:
    """The order of two steps that exchange no value, and that share what one of them changes.

    Attributes:
        first: key of the one that comes first.
        then: key of the other.
        arbitrary: whether traces disagree, so that the most frequent order was taken.
    """

    first: str
    then: str
    arbitrary: bool = False


@dataclass(frozen=True)
class Analysis:
    """What the traces of one intent show.

    Attributes:
        classifier: what concludes where arguments come from.
        rounds: in which it was found out which calls are steps.
        tools: what is known of the actions.
        settings: the compiler's.
    """

    classifier: Classifier
    rounds: tuple[_Round, ...]
    tools: Tools
    settings: CompilerSettings

    @property
    def advised(self) -> Advised:
        """What an adviser said."""
        return self.classifier.advised

    @property
    def runs(self) -> tuple[Run, ...]:
        """One a trace, sorted by the traces' ids."""
        return self.classifier.runs

    @cached_property
    def labels(self) -> dict[str, tuple[Labelled, ...]]:
        """Of all calls of each trace, by its id, in order: a call that was dropped has the label of that time."""
        known: dict[str, dict[int, Labelled]] = {run.trace.id: {} for run in self.runs}
        for each in self.rounds:
            for run, labels in zip(each.runs, each.labels, strict=True):
                known[run.trace.id] |= {
                    one.call.index: _shared(one, run.keys.get(one.call.index), each.used)
                    for one in labels.each
                    if one.call.index not in run.dropped
                }
        return {name: tuple(each[index] for index in sorted(each)) for name, each in known.items()}

    @property
    def bindings(self) -> dict[tuple[str, str], Binding]:
        """The bindings of all steps, by key and exact path."""
        return self.classifier.bindings

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all steps, in the order in which they mostly come."""
        return step_keys(self.runs)

    def occurrences(self, key: str) -> tuple[Run, ...]:
        """The runs in which a step occurs."""
        return tuple(run for run in self.runs if key in run.by_key)

    def steps(self, key: str) -> tuple[Step, ...]:
        """A step in each run in which it occurs."""
        return tuple(run.by_key[key] for run in self.occurrences(key))

    def effect(self, key: str) -> Effect:
        """What a step does; unknown where traces disagree."""
        found = {step.first.effect for step in self.steps(key)}
        return found.pop() if len(found) == 1 else Effect.UNKNOWN

    @cached_property
    def branching(self) -> Branching:
        """The ways that the traces go."""
        return with_proposed(find_branching(self), self)

    @property
    def forks(self) -> tuple[Fork, ...]:
        """Where traces go different ways, each after those that lead to it."""
        return self.branching.forks

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The dependencies between steps, sorted by producer and consumer, each with its evidence of all traces.

        Strong where an argument's producer is settled in every trace in which the argument is present; conditional
        where the consumer besides does not occur in all traces. One that is doubted is suspected.
        """
        found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]] = {}
        against: dict[tuple[str, str], list[Evidence]] = {}
        for key in self.keys:
            for path in self.classifier.paths(key):
                self._add_edges(key, path, found, against)
        doubts = self.advised.doubts
        return tuple(
            replace(
                edge_of(*pair, each),
                against=tuple(against.get(pair, ())),
                verdict=Verdict.SUSPECTED if pair in doubts else self._verdict(pair[1], each),
                doubt=doubts.get(pair, ""),
            )
            for pair, each in sorted(found.items())
        )

    def _verdict(self, consumer: str, found: Sequence[tuple[Verdict, Evidence]]) -> Verdict:
        if not any(verdict is Verdict.STRONG for verdict, _ in found):
            return Verdict.SUSPECTED
        return Verdict.STRONG if len(self.occurrences(consumer)) == len(self.runs) else Verdict.CONDITIONAL

    def _add_edges(
        self,
        key: str,
        path: str,
        found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]],
        against: dict[tuple[str, str], list[Evidence]],
    ) -> None:
        seen = self.classifier.seen(key, path)
        settled = {step for step, _, _ in self.classifier.producers(seen)}
        strong = settled if len(settled) == 1 else set()
        binding = self.bindings[(key, path)]
        secret = bool(binding.secret)
        anywhere = frozenset[str]().union(*(each.producer_steps for each in seen))
        for each in seen:
            here = each.producer_steps
            for candidate in each.judged.producers:
                producer = each.run.keys.get(candidate.call.index)
                if producer is None or producer == key:
                    continue
                evidence = evidence_of(each.judged, candidate, each.run.trace, secret=secret)
                if producer in strong:
                    found.setdefault((producer, key), []).append((Verdict.STRONG, evidence))
                elif strong & here:
                    continue  # refuted by other traces
                else:
                    found.setdefault((producer, key), []).append((Verdict.SUSPECTED, evidence))
            if not settled:
                for producer in anywhere - here - {key}:
                    for candidate in each.judged.producers[:1]:
                        evidence = evidence_of(each.judged, candidate, each.run.trace, secret=secret)
                        against.setdefault((producer, key), []).append(evidence)
        if not seen and path in self.classifier.varying(key):
            self._add_fan_out(key, path, found)

    def _add_fan_out(self, key: str, path: str, found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]]) -> None:
        """The edges of an argument that differs among a step's calls: to the list that it goes over, if that is known.

        Else to where the values come from, strong only if every value in every trace is proven to come from there.
        """
        sources = {source.step for source in self.bindings[(key, path)].sources}
        judged = [
            (run, judge(argument, run.tracing))
            for run in self.occurrences(key)
            for call in run.by_key[key].calls
            for argument in run.tracing.by_call[call.index]
            if argument.path == path
        ]
        each = [{run.keys.get(candidate.call.index) for candidate in one.producers} for run, one in judged]
        proven = all(one.is_strong for _, one in judged) and len(set().union(*each)) == 1
        for run, one in judged:
            for candidate in one.producers:
                producer = run.keys.get(candidate.call.index)
                if producer is None or producer == key or (sources and producer not in sources):
                    continue
                verdict = Verdict.STRONG if one.is_strong and (sources or proven) else Verdict.SUSPECTED
                found.setdefault((producer, key), []).append((verdict, evidence_of(one, candidate, run.trace)))

    @cached_property
    def effect_orders(self) -> tuple[EffectOrder, ...]:
        """The order of steps around those that change something, which share no value, sorted by key.

        A step with an effect keeps its order to every other step of its app, or of any app when its effect is unknown.
        """
        found = []
        for one, other in combinations(sorted(self.keys), 2):
            if not self._share(one, other):
                continue
            orders: Counter[tuple[str, str]] = Counter()
            earliest: dict[tuple[str, str], str] = {}
            for run in self.runs:
                if one in run.by_key and other in run.by_key:
                    before = run.by_key[one].first.index < run.by_key[other].first.index
                    pair = (one, other) if before else (other, one)
                    orders[pair] += 1
                    earliest.setdefault(pair, run.trace.id)
            if orders:
                first, then = min(orders, key=lambda pair: (-orders[pair], earliest[pair]))
                found.append(EffectOrder(first, then, arbitrary=len(orders) > 1))
        return tuple(found)

    def _share(self, one: str, other: str) -> bool:
        """Whether one of two steps changes something that the other may depend on."""
        same_app = one.partition(".")[0] == other.partition(".")[0]
        for key in (one, other):
            effect = self.effect(key)
            if effect is Effect.UNKNOWN or (effect.changes and same_app):
                return True
        return False


def analyse(
    traces: Sequence[Trace],
    tools: Tools,
    settings: CompilerSettings,
    *,
    known: Mapping[str, Run] | None = None,
    advised: Advised = NOTHING,
) -> Analysis:
    """Find out what traces of one intent show.

    A read that nothing uses is dropped only where nothing uses it in any trace: a procedure makes it before it can know
    how it will go on. One that all traces make is kept until it is seen whether a guard reads it.

    Args:
        traces: with different ids, in any order.
        tools: what is known of the actions.
        settings: the compiler's.
        known: the traces' runs with no call dropped, by trace, where there are such already: what is found out of a
            trace by itself is found out once.
        advised: what an adviser said; each proposal is checked here again.
    """
    return decide(survey(traces, tools, settings, known=known, advised=advised))


def survey(
    traces: Sequence[Trace],
    tools: Tools,
    settings: CompilerSettings,
    *,
    known: Mapping[str, Run] | None = None,
    advised: Advised = NOTHING,
) -> Analysis:
    """The same with all reads kept that a guard may read; see `analyse`."""
    known = known or {}
    ordered = sorted(traces, key=lambda trace: trace.id)
    runs = tuple(known.get(trace.id) or Run(Tracing(trace, tools, settings)) for trace in ordered)
    return _labelled(Classifier(runs, tools, settings, advised), (), tools, settings, guards=None)


def decide(surveyed: Analysis) -> Analysis:
    """The same without the reads that no guard reads, and that are of no other use."""
    guards = frozenset(
        guard.step for fork in surveyed.forks for guard in (*fork.rivals, fork.guard) if guard is not None
    )
    return _labelled(surveyed.classifier, surveyed.rounds, surveyed.tools, surveyed.settings, guards=guards)


def _shared(labelled: Labelled, key: str | None, used: frozenset[str]) -> Labelled:
    """A label, which is another for a call of a step that other traces need."""
    if labelled.label.is_unused and key in used:
        return replace(labelled, label=Label.ESSENTIAL, reason="other traces need it")
    return labelled


@dataclass(frozen=True, slots=True)
class _Round:
    """One time that calls were labelled, and those that are no steps dropped."""

    runs: tuple[Run, ...]
    labels: tuple[Labels, ...]
    used: frozenset[str]


def _labelled(
    classifier: Classifier,
    before: tuple[_Round, ...],
    tools: Tools,
    settings: CompilerSettings,
    *,
    guards: frozenset[str] | None,
) -> Analysis:
    """Label and drop until nothing changes.

    Args:
        classifier: of the traces' runs.
        before: the rounds in which calls were dropped already.
        tools: what is known of the actions.
        settings: the compiler's.
        guards: keys of the steps that guards read; None while they are not known, and every trace's reads are kept.
    """
    rounds = list(before)
    while True:
        runs, needs = classifier.runs, needs_of(classifier.bindings)
        labels = tuple(label_calls(run, needs, guards=guards or frozenset()) for run in runs)
        used = frozenset[str]().union(*(each.needed for each in labels))
        if guards is None and runs:
            used |= frozenset.intersection(*(frozenset(run.by_key) for run in runs))
        rounds.append(_Round(runs, labels, used))
        kept = tuple(run.without(run.dropped | _gone(each, used)) for run, each in zip(runs, labels, strict=True))
        if kept == runs:
            return Analysis(classifier, tuple(rounds), tools, settings)
        classifier = Classifier(kept, tools, settings, classifier.advised)


def _gone(labels: Labels, used: frozenset[str]) -> set[int]:
    """The calls of a trace that are no steps, unless other traces need what is of no use in this one."""
    return {index for index, key, unused in labels.loose if not (unused and key in used)}
