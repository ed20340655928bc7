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

from stretto.compiler.classify import Classifier
from stretto.compiler.depend import edge_of, evidence_of, judge
from stretto.compiler.evidence import Edge, Verdict
from stretto.compiler.guards import find_branching
from stretto.compiler.labels import Label, label_calls, needs_of
from stretto.compiler.model import Effect
from stretto.compiler.steps import Run, step_keys
from stretto.compiler.tracing import Tracing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.compiler.binding import Binding
    from stretto.compiler.evidence import Evidence
    from stretto.compiler.guards import Branching, Fork
    from stretto.compiler.labels import Labelled
    from stretto.compiler.model import Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings
    from stretto.compiler.steps import Step

__all__ = ["Analysis", "EffectOrder", "analyse"]


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
        labels: of all calls of each trace, by its id, in order.
        classifier: what concludes where arguments come from.
        tools: what is known of the actions.
        settings: the compiler's.
    """

    labels: Mapping[str, tuple[Labelled, ...]]
    classifier: Classifier
    tools: Tools
    settings: CompilerSettings

    @property
    def runs(self) -> tuple[Run, ...]:
        """One a trace, sorted by the traces' ids."""
        return self.classifier.runs

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
        return find_branching(self)

    @property
    def forks(self) -> tuple[Fork, ...]:
        """Where traces go different ways, each after those that lead to it."""
        return self.branching.forks

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The dependencies between steps, sorted by producer and consumer, each with its evidence of all traces.

        Strong where an argument's producer is settled in every trace in which the argument is present; conditional
        where the consumer besides does not occur in all traces.
        """
        found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]] = {}
        against: dict[tuple[str, str], list[Evidence]] = {}
        for key in self.keys:
            for path in self.classifier.paths(key):
                self._add_edges(key, path, found, against)
        return tuple(
            replace(edge_of(*pair, each), against=tuple(against.get(pair, ())), verdict=self._verdict(pair[1], each))
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
                others = {step for other in seen for step in other.producer_steps} - here - {key}
                for producer in others:
                    for candidate in each.judged.producers[:1]:
                        evidence = evidence_of(each.judged, candidate, each.run.trace, secret=secret)
                        against.setdefault((producer, key), []).append(evidence)
        if not seen and path in self.classifier.varying(key):
            self._add_fan_out(key, path, found)

    def _add_fan_out(self, key: str, path: str, found: dict[tuple[str, str], list[tuple[Verdict, Evidence]]]) -> None:
        binding = self.bindings[(key, path)]
        sources = {source.step for source in binding.sources}
        for run in self.occurrences(key):
            for argument in run.tracing.by_call[run.by_key[key].first.index]:
                judged = judge(argument, run.tracing)
                for candidate in judged.producers if argument.path == path else ():
                    producer = run.keys.get(candidate.call.index)
                    if producer in sources:
                        verdict = judged.verdict or Verdict.SUSPECTED
                        pair = (str(producer), key)
                        found.setdefault(pair, []).append((verdict, evidence_of(judged, candidate, run.trace)))

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
    traces: Sequence[Trace], tools: Tools, settings: CompilerSettings, *, known: Mapping[str, Run] | None = None
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
    """
    known = known or {}
    ordered = sorted(traces, key=lambda trace: trace.id)
    runs = tuple(known.get(trace.id) or Run(Tracing(trace, tools, settings)) for trace in ordered)
    undecided = _labelled(Classifier(runs, tools, settings), {}, tools, settings, guards=None)
    guards = frozenset(
        guard.step for fork in undecided.forks for guard in (*fork.rivals, fork.guard) if guard is not None
    )
    return _labelled(undecided.classifier, undecided.labels, tools, settings, guards=guards)


def _labelled(
    classifier: Classifier,
    labels: Mapping[str, tuple[Labelled, ...]],
    tools: Tools,
    settings: CompilerSettings,
    *,
    guards: frozenset[str] | None,
) -> Analysis:
    """Label and drop until nothing changes.

    Args:
        classifier: of the traces' runs.
        labels: of calls that are dropped already.
        tools: what is known of the actions.
        settings: the compiler's.
        guards: keys of the steps that guards read; None while they are not known, and every trace's reads are kept.
    """
    runs = classifier.runs
    known = {run.trace.id: {each.call.index: each for each in labels.get(run.trace.id, ())} for run in runs}
    while True:
        needs = needs_of(classifier.bindings)
        for run in runs:
            for labelled in label_calls(run, needs, guards=guards or frozenset()):
                if labelled.call.index not in run.dropped:
                    known[run.trace.id][labelled.call.index] = labelled
        used = _used(runs, known)
        if guards is None:
            used |= set.intersection(*(set(run.by_key) for run in runs)) if runs else set()
        gone = {run.trace.id: _gone(run, known[run.trace.id], used) for run in runs}
        if all(gone[run.trace.id] <= run.dropped for run in runs):
            ordered = {name: tuple(each[index] for index in sorted(each)) for name, each in known.items()}
            return Analysis(ordered, classifier, tools, settings)
        runs = tuple(run.without(run.dropped | gone[run.trace.id]) for run in runs)
        classifier = Classifier(runs, tools, settings)


def _used(runs: Sequence[Run], labels: Mapping[str, Mapping[int, Labelled]]) -> set[str]:
    """The keys of the steps that some trace needs."""
    return {
        step.key
        for run in runs
        for step in run.steps
        if any(labels[run.trace.id][call.index].label.is_kept for call in step.calls)
    }


def _gone(run: Run, labels: dict[int, Labelled], used: set[str]) -> set[int]:
    """The calls of a trace that are no steps; those that other traces need are labelled so."""
    gone = set()
    for index, each in list(labels.items()):
        if each.label.is_unused and run.keys.get(index) in used:
            labels[index] = replace(each, label=Label.ESSENTIAL, reason="other traces need it")
        elif not each.label.is_kept:
            gone.add(index)
    return gone
