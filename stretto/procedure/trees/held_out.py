"""What tree procedures do on tasks that they have not seen, as recordings can say it. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto._defaults import TREE_FOLDS
from stretto.errors import UsageError
from stretto.procedure.trees.fitting import fit_trees
from stretto.procedure.trees.paper import TreeResult, replay_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stretto.procedure.trees.fitting import FitOptions
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest

__all__ = ["HeldOut", "replay_held_out"]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Sessions, each replayed by a procedure that was fitted without its task.

    Attributes:
        tasks: there are.
        parts: they were put in, of which one was left out at a time.
        results: sessions by what came of them, every result named.
    """

    tasks: int
    parts: int
    results: Mapping[TreeResult, int]

    @property
    def sessions(self) -> int:
        """Sessions that were replayed."""
        return sum(self.results.values())


def replay_held_out(
    sessions: Sequence[Episode],
    manifest: Manifest,
    options: FitOptions | None = None,
    *,
    parts: int = TREE_FOLDS,
    on_part: Callable[[], None] = lambda: None,
) -> HeldOut:
    """Fit without a part of the tasks, replay the sessions of that part, and so on for each part.

    Tasks are put in parts in turn, by name. Where nothing can be fitted without a part, as where there is one task
    alone, its sessions are short: without a procedure all is handed back. Cost: that of so many fits as there are
    parts.

    Args:
        sessions: that serve (`stretto.procedure.trees.fitting.Fitted`).
        manifest: as `fit_trees`.
        options: as `fit_trees`.
        parts: 1 or more; no more are made than there are tasks.
        on_part: called when a part is done.

    Raises:
        UsageError: an option is out of its range.
        ValueError: a session does not serve.
    """
    tasks = sorted({episode.task for episode in sessions})
    if parts < 1:
        raise UsageError("tasks are put in 1 part or more")
    part = {task: number % parts for number, task in enumerate(tasks)}
    results = Counter(dict.fromkeys(TreeResult, 0))
    for number in sorted(set(part.values())):
        learned = [episode for episode in sessions if part[episode.task] != number]
        left_out = [episode for episode in sessions if part[episode.task] == number]
        if learned:
            procedure = fit_trees(learned, manifest, options).procedure
            results.update(replay_trees(procedure, episode).result for episode in left_out)
        else:
            results[TreeResult.SHORT] += len(left_out)
        on_part()
    return HeldOut(len(tasks), len(set(part.values())), dict(results))
