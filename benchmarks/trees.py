"""What tree procedures do on tickets they have not seen: ``python -m benchmarks.trees [--traces DIR]``.

On recorded solo sessions, replayed on paper, and in a generated world, run for real. Learned from some tasks, measured
on others. Without the full collection of sessions only the generated world is measured.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.tree_world import MANIFEST, OPTIONS, demonstrations, practise, run_in
from stretto._defaults import TREE_FOLDS
from stretto.procedure.trees.demonstrations import is_solo
from stretto.procedure.trees.fitting import FitOptions, fit_trees, self_train
from stretto.procedure.trees.held_out import replay_held_out
from stretto.procedure.trees.paper import TreeResult
from stretto.sessions.corpus import open_corpus
from stretto.sessions.episode import User
from stretto.sessions.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.procedure.trees.fitting import Fitted
    from stretto.procedure.trees.held_out import HeldOut
    from stretto.sessions.episode import Episode

__all__ = ["TreesOf", "main", "recorded"]

_TRACES: Final = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "traces"
_TEST_TASKS: Final = range(10_000, 10_200)

#: Files of sessions in which one text is followed by calls, and those whose user texts were written beforehand.
_SOLO: Final = "tools-dojo.jsonl.gz"
_SCRIPTED: Final = "tools-bfcl.jsonl.gz"

_OPTIONS: Final = {
    "the original's": FitOptions(),
    "sure": FitOptions(sure=0.95),
    "sure to write": FitOptions(sure=0.95, sure_reads=False),
    "voted": FitOptions(bag=15),
}


def _one_ticket(episode: Episode) -> Episode:
    """A session whose user's texts were all written beforehand, with them as one ticket."""
    ticket = "\n".join(event.text for event in episode.events if isinstance(event, User))
    return replace(episode, events=(User(ticket), *(event for event in episode.events if not isinstance(event, User))))


def _domains(traces: Path) -> dict[str, tuple[list[Episode], Manifest]]:
    """The successful solo sessions of each domain, with what its tools do."""
    found: dict[str, tuple[list[Episode], Manifest]] = {}
    for name in (_SCRIPTED, _SOLO):
        for one in open_corpus(traces / name):
            episode = _one_ticket(one.episode) if name == _SCRIPTED else one.episode
            if episode.succeeded and is_solo(episode):
                episodes, manifest = found.get(episode.domain, ([], Manifest(episode.domain)))
                found[episode.domain] = ([*episodes, episode], manifest.updated(one.manifest))
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class TreesOf:
    """What trees of one domain do on tasks that they were not fitted on.

    Attributes:
        domain: of the sessions.
        fitted: how, a name of ours.
        held_out: what came of each session.
    """

    domain: str
    fitted: str
    held_out: HeldOut

    def cells(self) -> list[str]:
        """The row of a table: domain, sessions, tasks, how it was fitted, and the share of each result."""
        whole = self.held_out.sessions
        shares = [f"{self.held_out.results[result] / whole:.0%}" for result in TreeResult]
        return [self.domain, str(whole), str(self.held_out.tasks), self.fitted, *shares]


def recorded(traces: Path) -> Iterator[TreesOf]:
    """Trees of each domain's solo sessions, fitted in each way; nothing where the sessions are not there."""
    if not (traces / _SOLO).is_file():
        return
    for domain, (episodes, manifest) in _domains(traces).items():
        for name, options in _OPTIONS.items():
            yield TreesOf(domain, name, replay_held_out(episodes, manifest, options))


def _generated() -> Iterator[list[str]]:
    for tasks in (5, 10, 20, 40, 80):
        sessions = demonstrations(range(tasks), trials=4)
        for name, options in _OPTIONS.items():
            changed = replace(OPTIONS, sure=options.sure, sure_reads=options.sure_reads, bag=options.bag)
            yield _run_for_real(tasks, name, fit_trees(sessions, MANIFEST, changed))
        practised = self_train(
            sessions,
            MANIFEST,
            OPTIONS,
            practise=lambda procedure, tasks=tasks: practise(procedure, range(tasks), rollouts=8),  # type: ignore[misc]
            rounds=3,
        )
        yield _run_for_real(tasks, "practised", practised)


def _run_for_real(tasks: int, name: str, fitted: Fitted) -> list[str]:
    runs = [run_in(fitted.procedure, task) for task in _TEST_TASKS]
    verdicts = Counter(run.ending.verdict for run in runs)
    counts = [
        sum(run.passed for run in runs),
        sum(run.wrong for run in runs),
        verdicts["hand_back"],
        sum(run.ending.verdict != "hand_back" and not run.passed for run in runs),
    ]
    return [str(tasks), str(fitted.decisions), name, *(f"{count / len(runs):.0%}" for count in counts)]


def _print(title: str, head: Sequence[str], rows: Iterator[list[str]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> int:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__)
    parser.add_argument("--traces", type=Path, default=_TRACES, help="folder of the full collection of sessions")
    options = parser.parse_args()
    if (options.traces / _SOLO).is_file():
        _print(
            f"Recorded sessions, {TREE_FOLDS} parts by task, on paper (bfcl: all of the user's texts are the ticket)",
            ["domain", "sessions", "tasks", "fitted", *TreeResult],
            (each.cells() for each in recorded(options.traces)),
        )
    else:
        print(f"no recorded sessions in {options.traces}: only the generated world is measured", file=sys.stderr)
    _print(
        f"A generated world, {len(_TEST_TASKS)} new tickets, run for real",
        ["tasks learned", "decisions", "fitted", "as the expert", "a wrong write", "handed back", "falsely done"],
        _generated(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
