"""What the dependency rule is compared with: rules that look at order alone, or guess among candidates. Pure.

None of them is ever used to compile. Each gives dependencies as `stretto.compiler.measure` counts them. The argument
rules choose among the calls that are left when carriers, repeats and other origins are excluded; the paper (S. El
Yadouni and G. Li, arXiv:2608.02680) shows that there recency, not exclusion, does the work.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from stretto.compiler.evidence import Other

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from stretto.compiler.measure import Dependency
    from stretto.compiler.model import Call, Trace
    from stretto.compiler.tracing import Tracing

__all__ = ["BASELINES", "adjacency", "all_ordered", "argument_level", "recurring", "recurring_adjacent"]

#: Traces in which a pair of actions has to come in this order to be recurring.
_RECURS = 2


def adjacency(tracings: Iterable[Tracing]) -> set[Dependency]:
    """Each call on the one before it."""
    return {(each.trace.id, first.index, then.index) for each in tracings for first, then in _adjacent(each.trace)}


def all_ordered(tracings: Iterable[Tracing]) -> set[Dependency]:
    """Each call on all before it."""
    return {(each.trace.id, first.index, then.index) for each in tracings for first, then in _ordered(each.trace)}


def recurring(tracings: Iterable[Tracing]) -> set[Dependency]:
    """Each call on all before it, where two actions come in this order in `_RECURS` traces or more."""
    return _recurring(tracings, _ordered)


def recurring_adjacent(tracings: Iterable[Tracing]) -> set[Dependency]:
    """Each call on the one before it, where two actions follow each other in `_RECURS` traces or more."""
    return _recurring(tracings, _adjacent)


def _adjacent(trace: Trace) -> Iterable[tuple[Call, Call]]:
    return pairwise(trace.calls)


def _ordered(trace: Trace) -> Iterable[tuple[Call, Call]]:
    return combinations(trace.calls, 2)


def _recurring(tracings: Iterable[Tracing], pairs: Callable[[Trace], Iterable[tuple[Call, Call]]]) -> set[Dependency]:
    held = [each.trace for each in tracings]
    counts = Counter(names for trace in held for names in {(first.name, then.name) for first, then in pairs(trace)})
    return {
        (trace.id, first.index, then.index)
        for trace in held
        for first, then in pairs(trace)
        if counts[first.name, then.name] >= _RECURS
    }


def argument_level(
    tracings: Iterable[Tracing], choose: Callable[[Sequence[int], random.Random], Iterable[int]], *, seed: int = 0
) -> set[Dependency]:
    """Each call on those among the candidates of each of its arguments that are chosen.

    Args:
        tracings: of the traces.
        choose: takes the indices of the candidates, in order of the calls and at least one, and gives some of them.
        seed: of what is drawn; what is drawn for an argument does not depend on the others.
    """
    return {
        (trace, producer, consumer)
        for trace, consumer, path, candidates in _candidates(tracings)
        for producer in choose(candidates, random.Random(f"{seed} {trace} {consumer} {path}"))  # noqa: S311 - a baseline draws
    }


def _candidates(tracings: Iterable[Tracing]) -> Iterator[tuple[str, int, str, list[int]]]:
    """The arguments that have candidates and no other origin: trace, consumer, path, producers."""
    elsewhere = (Other.USER, Other.STATIC, Other.DEFAULT, Other.ENUM)
    for each in tracings:
        for argument in each.arguments:
            if argument.candidates and argument.distinctive and not any(map(argument.found, elsewhere)):
                producers = [candidate.call.index for candidate in argument.candidates]
                yield each.trace.id, argument.call.index, argument.path, producers


#: All of them by the names they have in tables.
BASELINES: dict[str, Callable[[Sequence[Tracing]], set[Dependency]]] = {
    "adjacency": adjacency,
    "all ordered pairs": all_ordered,
    "recurring, all pairs": recurring,
    "recurring, adjacent": recurring_adjacent,
    "most recent candidate": lambda held: argument_level(held, lambda found, _: found[-1:]),
    "only one candidate": lambda held: argument_level(held, lambda found, _: found if len(found) == 1 else ()),
    "random candidate": lambda held: argument_level(held, lambda found, draw: [draw.choice(found)]),
    "second most recent candidate": lambda held: argument_level(held, lambda found, _: found[-2:-1] or found),
    "earliest candidate": lambda held: argument_level(held, lambda found, _: found[:1]),
    "all candidates": lambda held: argument_level(held, lambda found, _: found),
}
