"""Splitting sessions so that nothing is learned and measured on the same task.

Several sessions solve one task, and several tasks may be about one customer, whose records are then in all of them.
Sessions are therefore put together by task and by customer, directly or through each other. Domains that are versions
of each other (``airline-v1``, ``airline-v2``) number their tasks differently and share their customers.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.errors import UsageError
from waggle.values import read_result

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonValue

__all__ = ["Fold", "folds", "units"]

#: The argument and the field of records that name the customer.
_CUSTOMER: Final = "user_id"
_VERSION: Final = re.compile(r"-v\d+$")


def units(episodes: Iterable[Episode]) -> dict[str, str]:
    """The group each session belongs to, by session id; sessions of one group stand on one side of a split.

    Two sessions are together when they are of one task of one domain, or when a customer's id was passed to a call that
    succeeded, or returned by one, in both, in domains that are versions of each other. A group's name is the first of
    its sessions' tasks in sorted order, with the domain in front.
    """
    parents: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        parents.setdefault(node, node)
        while parents[node] != node:
            parents[node] = node = parents[parents[node]]
        return node

    tasks: dict[str, str] = {}
    for episode in episodes:
        task = tasks[episode.id] = f"{episode.domain}:{episode.task}"
        root(task)
        family = _VERSION.sub("", episode.domain)
        for customer in _customers(episode):
            parents[root((family, customer))] = root(task)
    names: dict[Hashable, str] = {}
    for task in sorted(set(tasks.values())):
        names.setdefault(root(task), task)
    return {session: names[root(task)] for session, task in tasks.items()}


def _customers(episode: Episode) -> set[str]:
    """The customers' ids in the calls that succeeded and in their results."""
    found: set[str] = set()
    results = episode.results()
    for turn in episode.turns():
        for call in turn.calls:
            result = results.get(call.id)
            if result is None or result.error:
                continue
            value = read_result(result.content) if _CUSTOMER in result.content or _CUSTOMER in call.name else None
            if isinstance(value, str) and _CUSTOMER in call.name:
                found.add(value)
            found.update(_named(value))
            found.update(_named(call.arguments))
    return found


def _named(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        named = value.get(_CUSTOMER)
        if isinstance(named, str):
            yield named
        for each in value.values():
            yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)


class Fold(NamedTuple):
    """One way to split sessions.

    Attributes:
        learn: to learn on, in the order given.
        replay: to measure on, in the order given.
    """

    learn: list[Episode]
    replay: list[Episode]


def folds(episodes: Sequence[Episode], k: int, seed: int = 0, *, groups: Mapping[str, str] | None = None) -> list[Fold]:
    """Split sessions k times, so that each is measured on once and never learned from then.

    Args:
        episodes: N sessions.
        k: folds, at least 2.
        seed: of the order in which groups are dealt; equal input gives equal output.
        groups: by session id, what stays together; left out, `units` of these sessions.

    Returns:
        k folds with about N / k sessions to measure on each: the largest groups are dealt first, each to the fold with
        the fewest sessions.

    Raises:
        UsageError: k is below 2, or there are fewer groups.
    """
    of = groups or units(episodes)
    members: defaultdict[str, list[int]] = defaultdict(list)
    for place, episode in enumerate(episodes):
        members[of[episode.id]].append(place)
    if not 2 <= k <= len(members):  # noqa: PLR2004 - one fold would leave nothing to learn on
        raise UsageError(f"{len(members)} tasks cannot be split into {k} folds: ask for 2 to {max(len(members), 2)}")
    names = sorted(members)
    random.Random(seed).shuffle(names)  # noqa: S311 - an order, not a secret; seeded to be repeated
    names.sort(key=lambda name: -len(members[name]))
    dealt: list[set[int]] = [set() for _ in range(k)]
    for name in names:
        min(dealt, key=len).update(members[name])
    return [
        Fold(
            [episode for place, episode in enumerate(episodes) if place not in held],
            [episode for place, episode in enumerate(episodes) if place in held],
        )
        for held in dealt
    ]
