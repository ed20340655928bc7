"""Which of a command's sessions are learned from, so that others can be measured on.

The same options choose both sides: what one command learns from, another leaves out. A choice by share depends on the
names of the tasks alone, and tasks of one customer stay together (`stretto.review.split.units`). Not responsible for
reading sessions.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

from stretto.errors import UsageError
from stretto.review.split import units
from stretto.sessions.tau import read_split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stretto.cli.session_options import Part
    from stretto.sessions.episode import Episode

__all__ = ["chooser", "chosen"]


def chosen(names: Iterable[str], share: float) -> frozenset[str]:
    """The names to learn from: those with the smallest hashes, at least one where there is any.

    Args:
        names: of N tasks or groups of tasks, in any order.
        share: of them, 0 to 1; rounded up.
    """

    def key(name: str) -> tuple[bytes, str]:
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), name

    ordered = sorted(set(names), key=key)
    return frozenset(ordered[: math.ceil(round(share * len(ordered), 9))])


def chooser(part: Part, episodes: Iterable[Episode]) -> Callable[[Episode], bool]:
    """Whether a session is learned from.

    Args:
        part: what was asked for.
        episodes: all sessions; gone through once if a share was asked for.

    Raises:
        UsageError: a list of tasks and a share were asked for.
        SessionLogError: the list cannot be read.
    """
    if part.tasks is not None and part.fraction is not None:
        raise UsageError("--train-tasks and --train-fraction both choose tasks; give one of them")
    tasks = None if part.tasks is None else read_split(part.tasks).train
    trials = math.inf if part.trials is None else part.trials
    if part.fraction is None:
        return lambda episode: (tasks is None or episode.task in tasks) and episode.trial < trials
    group_of = units(episodes)
    groups = chosen(group_of.values(), part.fraction)
    return lambda episode: group_of.get(episode.id) in groups and episode.trial < trials
