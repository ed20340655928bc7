"""Learning in several processes: each looks at a part of the sessions, and the counts of the parts are added.

What comes out is what one process would write, byte for byte, since counts add (`stretto.learning`). Worth its while
for large directories of session logs: a process needs half a second to start.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stretto.errors import UsageError
from stretto.learning import Counts, Evidence, conclude
from stretto.sessions.corpus import open_corpus
from stretto.sessions.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stretto.errors import SessionLogError
    from stretto.flow.model import Flow, Provenance
    from stretto.learning import LearnOptions, Plan
    from stretto.sessions.corpus import Corpus

__all__ = ["learn_in_parts"]


def learn_in_parts(
    sessions: Path,
    jobs: int,
    options: LearnOptions,
    *,
    provenance: Provenance,
    manifest: Path | None = None,
    domain: str | None = None,
    on_part: Callable[[int], None] = lambda _: None,
    on_problem: Callable[[SessionLogError], None] | None = None,
) -> tuple[Flow, int]:
    """Learn a flow from a directory of session logs.

    Args:
        sessions: the directory.
        jobs: processes, at least 1; each looks at one part.
        options: what is learned; no half-life.
        provenance: as for `stretto.learning.learn`.
        manifest: a manifest file, in place of what servers listed.
        domain: in place of what the recordings say.
        on_part: called with the number of sessions of each part that was looked at.
        on_problem: as for `open_corpus`; problems are told when their part has been read.

    Returns:
        The flow, and how many sessions there were.

    Raises:
        UsageError: no session succeeded, or older sessions were to weigh less.
        SessionLogError: without `on_problem`: a session cannot be read.
    """
    if options.half_life:
        raise UsageError("what a session weighs depends on all later ones, so parts cannot be counted by themselves")
    parts = [_Part(sessions, (part, jobs), manifest, domain, on_problem is not None) for part in range(jobs)]
    # Spawned, not forked: what other threads of the host hold would stay locked for ever.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        evidence, listed, seen = Evidence(), Manifest(), 0
        for found, tools, count, problems in pool.map(_look, parts):
            evidence.merge(found)
            listed = listed.updated(tools)
            seen += count
            if on_problem:
                for problem in problems:
                    on_problem(problem)
            on_part(count)

        def look_again(plan: Plan) -> Counts:
            counts = Counts(plan)
            for part in pool.map(partial(_count, plan), parts):
                counts.merge(part)
            return counts

        return conclude(evidence, listed, options, look_again, provenance=provenance), seen


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of the sessions, as it is told to a process."""

    sessions: Path
    share: tuple[int, int]
    manifest: Path | None
    domain: str | None
    tolerant: bool

    def open(self, problems: list[SessionLogError]) -> Corpus:
        return open_corpus(
            self.sessions,
            manifest=self.manifest,
            domain=self.domain,
            share=self.share,
            on_problem=problems.append if self.tolerant else None,
        )


def _look(part: _Part) -> tuple[Evidence, Manifest, int, list[SessionLogError]]:
    problems: list[SessionLogError] = []
    corpus = part.open(problems)
    evidence, count = Evidence(), 0
    for recorded in corpus:
        evidence.add(recorded)
        count += 1
    return evidence, corpus.manifest, count, problems


def _count(plan: Plan, part: _Part) -> Counts:
    counts = Counts(plan)
    for recorded in part.open([]):
        counts.add(recorded.episode)
    return counts
