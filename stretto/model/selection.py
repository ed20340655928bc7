"""Which code features sharpen the counts: chosen one after another by how well held-out sessions are predicted.

The score of a set of fields is the log-likelihood of each fifth of the tasks under the counts of the others, by the
plain back-off model. With another field, only what comes after an output of its tool is predicted differently, so only
that is looked at. Not responsible for which fields there are; see `stretto.model.features`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from stretto.model.alphabet import symbol
from stretto.model.counts import PADDING
from stretto.model.features import EMPTY, FeatureMap, discover, numbered
from stretto.model.sample import FOLDS, fold_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from stretto.model.alphabet import Vocabulary
    from stretto.model.counts import Context
    from stretto.model.features import Field, Values
    from stretto.model.sample import Sample

__all__ = ["select"]

_GAIN: Final = 5.0  #: nats of held-out log-likelihood that a field must bring
_MOST: Final = 8  #: fields, of all tools together


class _Kind(NamedTuple):
    """What may differ between steps: the symbol without features, and the values of all candidates of its tool."""

    symbol: int
    tool: str | None = None
    values: Values | None = None


#: How often each event followed, or its chance. An **event** is an action and the fold of the task, as one number.
_Events: TypeAlias = dict[int, int]
_Chances: TypeAlias = dict[int, float]

#: The kinds of two consecutive steps, the later one last, and what followed them.
_Pair: TypeAlias = tuple[int, int, _Events]

#: By tool, which of its candidates are used: their places, in order.
_Chosen: TypeAlias = dict[str, tuple[int, ...]]


def select(sample: Sample, vocabulary: Vocabulary, alpha: float) -> FeatureMap:
    """Choose the features: of the candidates always the one that helps most, as long as it brings 5 nats; at most 8.

    Cost: for each of up to nine rounds and each candidate, one look at every step after an output of its tool.

    Args:
        sample: the sessions.
        vocabulary: the actions.
        alpha: concentration of the counts without features.

    Returns:
        Fields in order of kind and path, and a number for each combination of their values in the sample.
    """
    candidates, values = discover(
        (step.tool, step.content)
        for episode in sample.episodes
        for step in episode.steps
        if step.tool is not None and step.content is not None
    )
    if not candidates:
        return EMPTY
    held_out = _HeldOut(sample, vocabulary, alpha, values)
    chosen: _Chosen = {}
    for _ in range(_MOST):
        gains = held_out.gains(_left(candidates, chosen), chosen)
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or gains[best] < _GAIN:
            break
        chosen = _with(chosen, *best)
    fields = {tool: tuple(candidates[tool][place] for place in places) for tool, places in sorted(chosen.items())}
    ids = {(tool, values): number for tool in fields for values, number in held_out.numbers(tool, chosen[tool]).items()}
    return FeatureMap(fields, ids)


def _left(candidates: Mapping[str, Sequence[Field]], chosen: _Chosen) -> Iterator[tuple[str, int]]:
    for tool, fields in candidates.items():
        for place in range(len(fields)):
            if place not in chosen.get(tool, ()):
                yield tool, place


def _with(chosen: _Chosen, tool: str, place: int) -> _Chosen:
    return {**chosen, tool: tuple(sorted((*chosen.get(tool, ()), place)))}


class _HeldOut:
    """A sample's steps, counted by all that features may tell apart."""

    def __init__(
        self, sample: Sample, vocabulary: Vocabulary, alpha: float, values: Mapping[tuple[str, str], Values]
    ) -> None:
        self._alpha = alpha
        numbers: dict[_Kind, int] = {_Kind(PADDING): 0}
        followed: dict[tuple[int, int], _Events] = {}
        for episode in sample.episodes:
            fold = fold_of(episode.task)
            before = last = 0
            for step in episode.steps:
                action = vocabulary.action(step.tool)
                event, events = action * FOLDS + fold, followed.setdefault((before, last), {})
                events[event] = events.get(event, 0) + 1
                seen = values.get((step.tool or "", step.content or ""))
                kind = _Kind(symbol(action, step.outcome), step.tool, seen)
                before, last = last, numbers.setdefault(kind, len(numbers))
        self._kinds = list(numbers)
        self._pairs = [(before, last, events) for (before, last), events in followed.items()]
        #: By tool, its kinds, and the pairs with one of them: as the later step, and as the earlier one only.
        self._of: dict[str | None, list[int]] = {}
        self._after: dict[str | None, list[_Pair]] = {}
        self._later: dict[str | None, list[_Pair]] = {}
        for number, kind in enumerate(self._kinds):
            self._of.setdefault(kind.tool, []).append(number)
        for pair in self._pairs:
            earlier, latest = self._kinds[pair[0]].tool, self._kinds[pair[1]].tool
            self._after.setdefault(latest, []).append(pair)
            if earlier != latest:
                self._later.setdefault(earlier, []).append(pair)
        whole = _grouped(self._pairs, 0, [])
        self._shortest = self._predicted(whole, {(): dict.fromkeys(whole.get((), ()), 1 / vocabulary.size)})

    def gains(self, left: Iterable[tuple[str, int]], chosen: _Chosen) -> dict[tuple[str, int], float]:
        """What each candidate that is left would bring beside those chosen, in nats; 0 where it cannot be enough."""
        symbols = [kind.symbol for kind in self._kinds]
        for tool, places in chosen.items():
            self._refine(symbols, tool, places)
        shorter = self._predicted(_grouped(self._pairs, 1, symbols), self._shortest)
        scores: dict[tuple[str, Context], float] = {}  # fields that tell the same outputs apart are equally good

        def score(tool: str, symbols: Sequence[int]) -> float:
            alike: dict[int, int] = {}
            key = tool, tuple(alike.setdefault(symbols[number], len(alike)) for number in self._of[tool])
            if key not in scores:
                scores[key] = self._score(tool, symbols, shorter)
            return scores[key]

        gains: dict[tuple[str, int], float] = {}
        for tool, place in left:
            now = score(tool, symbols)
            gains[tool, place] = 0.0
            if now <= -_GAIN:  # else there is not so much to gain: no likelihood is above 1
                refined = symbols.copy()
                self._refine(refined, tool, _with(chosen, tool, place)[tool])
                gains[tool, place] = score(tool, refined) - now
        return gains

    def numbers(self, tool: str, places: Sequence[int]) -> dict[Values, int]:
        """Numbers for the combinations of values that some of a tool's candidates have."""
        kinds = (self._kinds[number].values for number in self._of[tool])
        return numbered(_at(values, places) for values in kinds if values is not None)

    def _refine(self, symbols: list[int], tool: str, places: Sequence[int]) -> None:
        """Make the symbols of a tool's kinds those with these features."""
        numbers = self.numbers(tool, places)
        for number in self._of[tool]:
            kind = self._kinds[number]
            if kind.values is not None:
                symbols[number] = kind.symbol + numbers.get(_at(kind.values, places), 0)

    def _score(self, tool: str, symbols: Sequence[int], shorter: Mapping[Context, _Chances]) -> float:
        """Held-out log-likelihood, in nats, of the steps that come one or two steps after an output of a tool.

        Args:
            tool: the tool.
            symbols: of all kinds.
            shorter: predictions from one symbol, right for all steps that do not come directly after the tool.
        """
        after = self._after.get(tool, [])
        near = self._predicted(_grouped(after, 1, symbols), self._shortest)
        groups = _grouped((*after, *self._later.get(tool, [])), 2, symbols)
        predicted = self._predicted(groups, {**shorter, **near})
        return sum(
            count * math.log(predicted[context][event])
            for context, events in groups.items()
            for event, count in events.items()
        )

    def _predicted(
        self, groups: Mapping[Context, _Events], shorter: Mapping[Context, _Chances]
    ) -> dict[Context, _Chances]:
        """The chance of each event's action after its context, under the counts of the other folds.

        Args:
            groups: counts of all that followed some contexts.
            shorter: the chances after these without their first symbol.
        """
        alpha = self._alpha
        predicted: dict[Context, _Chances] = {}
        for context, events in groups.items():
            actions: dict[int, int] = {}
            elsewhere = [sum(events.values()) + alpha] * FOLDS
            for event, count in events.items():
                action = event // FOLDS
                actions[action] = actions.get(action, 0) + count
                elsewhere[event % FOLDS] -= count
            chances = shorter[context[1:]]
            predicted[context] = {
                event: (actions[event // FOLDS] - count + alpha * chances[event]) / elsewhere[event % FOLDS]
                for event, count in events.items()
            }
        return predicted


def _grouped(pairs: Iterable[_Pair], length: int, symbols: Sequence[int]) -> dict[Context, _Events]:
    """What followed each context of this length, by the symbols of all kinds."""
    groups: dict[Context, _Events] = {}
    for before, last, events in pairs:
        context = (symbols[before], symbols[last]) if length > 1 else (symbols[last],) if length else ()
        group = groups.get(context)
        if group is None:
            groups[context] = events.copy()
        else:
            for event, count in events.items():
                group[event] = group.get(event, 0) + count
    return groups


def _at(values: Values, places: Sequence[int]) -> Values:
    return tuple(values[place] for place in places)
