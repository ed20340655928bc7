"""Which features are chosen: those that predict held-out tasks better, as plain counting by folds would find."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from stretto.model.alphabet import Vocabulary, action_of, steps_of
from stretto.model.counts import Backoff
from stretto.model.features import EMPTY, FeatureMap, Field, discover, numbered
from stretto.model.sample import FOLDS, Sample, fold_of
from stretto.model.selection import select
from stretto.sessions.traces import episode_of
from tests.stretto.episodes import called, episode, replied
from waggle import jsonvalue
from waggle.traces import read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.model.features import Values
    from waggle.jsonvalue import JsonValue

TOOLS = Vocabulary(["cancel", "order", "ship", "user"])


def sessions(count: int, *, telling: bool = True, seed: int = 3) -> Sample:
    """A user, then an order, whose status (and no other field) says what the agent does with it.

    The user's tier says it, too, but only together with the status.
    """
    draws = random.Random(seed)  # noqa: S311 - made data
    sample = Sample()
    for number in range(count):
        status, tier = draws.choice(["open", "sent", "lost"]), draws.choice(["gold", "plain"])
        color = draws.choice(["red", "blue", "green"])
        order: JsonValue = {"id": number, "status": status, "color": color, "items": [1] * draws.randrange(3)}
        last = {"open": "cancel", "sent": "user", "lost": "ship" if tier == "gold" else "cancel"}[status]
        if not telling:
            last = draws.choice(["cancel", "user", "ship"])
        made = episode(
            called("user", {}, {"tier": tier, "name": f"n{number}"}),
            called("order", {}, order),
            called(last, {}, "done"),
            replied(),
            name=f"s{number}",
            task=f"t{number % 40}",
        )
        sample.add(made, steps_of(made))
    return sample


def held_out(sample: Sample, features: FeatureMap, alpha: float) -> float:
    """Log-likelihood of each fold's sessions under the counts of the others', in nats."""
    total = 0.0
    symbols = list(zip(sample.episodes, sample.symbols(TOOLS, features), strict=True))
    for fold in range(FOLDS):
        counts = Backoff(alpha, TOOLS.size)
        for learning in (True, False):
            for each, steps in symbols:
                if (fold_of(each.task) == fold) is learning:
                    continue
                for place, step in enumerate(steps):
                    if learning:
                        counts.observe(steps[:place], (action_of(step),))
                    else:
                        total += math.log(counts.probability(steps[:place], action_of(step)))
    return total


def mapped(sample: Sample, fields: list[tuple[str, Field]]) -> FeatureMap:
    """These fields, and numbers for the values that the sample shows."""
    by_tool: dict[str, tuple[Field, ...]] = {}
    for tool, field in sorted(fields):
        by_tool[tool] = (*by_tool.get(tool, ()), field)
    ids: dict[tuple[str, Values], int] = {}
    for tool, kept in by_tool.items():
        texts = [step.content for each in sample.episodes for step in each.steps if step.tool == tool and step.content]
        seen = numbered(tuple(field.text(jsonvalue.loads(text)) for field in kept) for text in texts)
        ids.update({(tool, values): number for values, number in seen.items()})
    return FeatureMap(by_tool, ids)


def candidates(sample: Sample) -> list[tuple[str, Field]]:
    steps = [step for each in sample.episodes for step in each.steps if step.tool and step.content is not None]
    found, _ = discover((step.tool or "", step.content or "") for step in steps)
    return [(tool, field) for tool, fields in found.items() for field in fields]


def chosen_by_counting(sample: Sample, alpha: float) -> FeatureMap:
    """What the rule says, without any short cut."""
    chosen: list[tuple[str, Field]] = []
    best = held_out(sample, EMPTY, alpha)
    for _ in range(8):
        left = [each for each in candidates(sample) if each not in chosen]
        scores = [held_out(sample, mapped(sample, [*chosen, each]), alpha) for each in left]
        if not left or max(scores) - best < 5:
            break
        best = max(scores)
        chosen.append(left[scores.index(best)])
    return mapped(sample, chosen)


@pytest.mark.parametrize("alpha", [0.5, 8.0])
def test_the_fields_that_say_what_comes_next_are_chosen_as_plain_counting_would(alpha: float) -> None:
    sample = sessions(80)
    assert len(candidates(sample)) == 4
    features = select(sample, TOOLS, alpha)
    assert features.fields["order"] == (Field("Scalar", "status"),)
    assert features == chosen_by_counting(sample, alpha)


def test_fields_that_say_nothing_are_not_chosen() -> None:
    assert select(sessions(80, telling=False), TOOLS, 2.0) == EMPTY


def test_a_field_must_bring_five_nats() -> None:
    """What is right but rare is not worth a feature: with few sessions, nothing is chosen."""
    assert select(sessions(5), TOOLS, 2.0) == EMPTY


def test_without_sessions_there_are_no_features() -> None:
    assert select(Sample(), TOOLS, 1.0) == EMPTY


def test_numbers_are_those_of_the_sorted_values() -> None:
    features = select(sessions(80), TOOLS, 2.0)
    statuses = {values[0]: number for (tool, values), number in features.ids.items() if tool == "order"}
    assert statuses == {"lost": 1, "open": 2, "sent": 3}


def test_of_recorded_retail_sessions_the_length_of_the_list_of_orders_is_chosen(shared_traces: Path) -> None:
    """It says whether there is an order to look up."""
    sample, tools = Sample(), set[str]()
    for made in map(episode_of, read_traces(shared_traces / "tools-retail.jsonl.gz")):
        sample.add(made, steps_of(made))
        tools |= {call.name for each in made.turns() for call in each.calls}
    assert Field("Len", "orders") in select(sample, Vocabulary(tools), 9.0).fields["get_user_details"]
