"""From which surprise on a session is unlike the learned ones: the threshold of the gate.

Sessions are scored by habits that did not learn from them; whatever an agent chose that was not on offer counts as
handing back. Not responsible for watching a session that is served; see `stretto.deciders.gate`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final

from stretto.model.alphabet import StepOutcome
from stretto.model.counts import Successions
from stretto.model.sample import FOLDS, fold_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stretto.model.alphabet import Vocabulary
    from stretto.model.counts import Habit
    from stretto.model.features import FeatureMap
    from stretto.model.sample import Sample

__all__ = ["gate_threshold", "largest_mean", "surprise"]

_LEAST: Final = 1e-6  #: chance below which a choice surprises no more


def surprise(habit: Habit, history: Sequence[int], offered: Sequence[int], took: int | None) -> float:
    """How much a choice surprises a habit, in nats, 0 to 13.8.

    Args:
        habit: counts of the next action.
        history: symbols of the last steps.
        offered: the lookups that were on offer, as actions.
        took: the action of the agent's next call; None for a reply.
    """
    chances = habit.probabilities(history, offered)
    chance = chances[offered.index(took)] if took is not None and took in offered else 1 - sum(chances)
    return -math.log(max(_LEAST, chance))


def largest_mean(values: Sequence[float], window: int) -> float | None:
    """The largest mean of so many consecutive values; None where there are fewer.

    Args:
        values: in order.
        window: how many, at least 1.
    """
    starts = range(len(values) - window + 1)
    return max((math.fsum(values[start : start + window]) / window for start in starts), default=None)


def gate_threshold(
    sample: Sample,
    vocabulary: Vocabulary,
    features: FeatureMap,
    alpha: float,
    options: Callable[[tuple[str, bool]], Sequence[str]],
    *,
    window: int,
    quantile: float,
) -> float | None:
    """The mean surprise, in nats, that this share of the sample's sessions stays at or below in every window.

    The sessions of each of five folds of tasks are scored by the habit of the others; those with fewer choices than a
    window are passed over.

    Args:
        sample: the sessions.
        vocabulary: the actions.
        features: of the symbols.
        alpha: concentration.
        options: the lookups on offer at a site, a tool and whether it failed.
        window: choices, at least 1.
        quantile: above 0, at most 1.

    Returns:
        None where no session has as many choices as a window.
    """
    sessions = list(zip(sample.episodes, sample.symbols(vocabulary, features), strict=True))
    folds = [Successions() for _ in range(FOLDS)]
    for episode, symbols in sessions:
        folds[fold_of(episode.task)].add(symbols, ())
    habits = [_merged(folds[:fold] + folds[fold + 1 :]).habit(alpha, vocabulary.size) for fold in range(FOLDS)]

    @cache  # sessions are alike, so most choices were seen before
    def scored(fold: int, history: tuple[int, ...], site: tuple[str, bool], took: str | None) -> float | None:
        offered = [vocabulary.action(tool) for tool in options(site)]
        action = None if took is None else vocabulary.action(took)
        return surprise(habits[fold], history, offered, action) if offered else None

    largest: list[float] = []
    for episode, symbols in sessions:
        values: list[float] = []
        for before, last, took in episode.choices:
            step = episode.steps[last]
            if step.tool is not None:
                history = (symbols[last],) if before < 0 else (symbols[before], symbols[last])
                value = scored(fold_of(episode.task), history, (step.tool, step.outcome is StepOutcome.ERROR), took)
                values += [] if value is None else [value]
        peak = largest_mean(values, window)
        largest += [] if peak is None else [peak]
    if not largest:
        return None
    rank = math.ceil(round(quantile * len(largest), 9))  # 0.07 of 100 is 7, though 0.07 * 100 is a little more
    return sorted(largest)[min(max(rank, 1), len(largest)) - 1]


def _merged(parts: Iterable[Successions]) -> Successions:
    whole = Successions()
    for part in parts:
        whole.merge(part)
    return whole
