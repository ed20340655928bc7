"""What is measured, cut into jobs that two processes can share, and kept so that a run that stopped can go on."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.kept import path_of
from benchmarks.results.memory import Part, counted_threshold, learn_alone, put_together
from benchmarks.results.rows import MODES, ROWS
from waggle import files
from waggle.evaluate import Library, Score, group_of, replay_trace, split
from waggle.playback import means_of
from waggle.tools import ToolTable
from waggle.traces import read_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.results.rows import Mode
    from waggle.config import ManagerConfig
    from waggle.playback import Means
    from waggle.traces import Trace

__all__ = ["CODING", "Job", "Lesson", "Measured", "Workplace", "grouped"]

#: Files of recorded sessions that are measured.
CODING: Final = "coding-*.jsonl*"

FOLDS: Final = 5
#: Sessions that one job plays to learn from.
_LESSON: Final = 25


class Lesson(NamedTuple):
    """Playing some sessions of a group, so that they can be learned from.

    Attributes:
        group: whose sessions.
        mode: how their calls are read.
        start: index of the first one in the group.
    """

    group: str
    mode: Mode
    start: int


class Job(NamedTuple):
    """Learning some sessions of a group, and replaying others.

    Attributes:
        group: whose sessions.
        kind: how they are split. ``half``: the first half of the tasks is learned; ``fold``: all but one fifth, in a
            seeded order; ``curve``: so many sessions, in a seeded order, and the next ones are replayed.
        number: which fold, or which order.
        size: sessions learned on for a curve.
        row: name of the row.
        route: with this one route alone; empty for the whole library.
    """

    group: str
    kind: str
    number: int
    row: str
    size: int = 0
    route: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one job gave.

    Attributes:
        learned_on: sessions.
        routes: in the library.
        threshold: θ; None for θ* by tokens.
        scores: one a replayed session.
    """

    learned_on: int
    routes: int
    threshold: float | None
    scores: tuple[Score, ...]


def grouped(folder: Path, files: str = CODING) -> dict[str, list[Trace]]:
    """The sessions of a folder's files by agent and repository, groups in the order of their names."""
    groups: dict[str, list[Trace]] = {}
    for file in sorted(folder.glob(files)):
        for trace in read_traces(file):
            groups.setdefault(group_of(trace), []).append(trace)
    return dict(sorted(groups.items()))


def sides(traces: Sequence[Trace], job: Job) -> tuple[list[int], list[int]]:
    """Indexes of the sessions that a job learns on, and of those it replays; no task is on both sides."""
    if job.kind == "half":
        known = {trace.session for trace in split(traces)[0]}
        return _parted(traces, lambda trace: trace.session in known)
    keys = sorted({trace.split_key for trace in traces})
    random.Random(job.number if job.kind == "curve" else 0).shuffle(keys)
    if job.kind == "fold":
        held_out = set(keys[job.number :: FOLDS])
        return _parted(traces, lambda trace: trace.split_key not in held_out)
    by_task: dict[str, list[int]] = {}
    for index, trace in enumerate(traces):
        by_task.setdefault(trace.split_key, []).append(index)
    ordered = [index for key in keys for index in by_task[key]]
    learned = ordered[: job.size]
    tasks = {traces[index].split_key for index in learned}
    rest = [index for index in ordered[job.size :] if traces[index].split_key not in tasks]
    return sorted(learned), rest[:CURVE_BLOCK]


#: Sessions replayed at each point of a learning curve.
CURVE_BLOCK: Final = 24


def _parted(traces: Sequence[Trace], is_known: Callable[[Trace], bool]) -> tuple[list[int], list[int]]:
    known = [index for index, trace in enumerate(traces) if is_known(trace)]
    rest = set(range(len(traces))).difference(known)
    return known, sorted(rest)


class Workplace:
    """What one process works with: the sessions, and a folder with what was learned and measured so far.

    Args:
        traces: folder of recorded sessions.
        kept: folder for results; another process may use it at the same time.
        files: of recorded sessions in that folder, as a pattern.
    """

    def __init__(self, traces: Path, kept: Path, files: str = CODING) -> None:
        self.groups = grouped(traces, files)
        self.tools = ToolTable()
        self._kept = kept
        self._parts = lru_cache(maxsize=2)(self._read_parts)
        self._means = lru_cache(maxsize=8)(self._means_of)  # rows share them

    def lessons(self, modes: Sequence[Mode], groups: Sequence[str]) -> list[Lesson]:
        """All sessions of some groups, cut into jobs."""
        return [
            Lesson(group, mode, start)
            for group in groups
            for mode in modes
            for start in range(0, len(self.groups[group]), _LESSON)
        ]

    def path(self, job: Job | Lesson) -> Path:
        """Where a job's result is kept."""
        return path_of(self._kept, job)

    def done(self, job: Job) -> Measured:
        """The result of a job that was run."""
        measured = pickle.loads(self.path(job).read_bytes())  # noqa: S301 - we wrote it
        assert isinstance(measured, Measured)  # noqa: S101 - tells the type checker
        return measured

    def work(self, job: Job | Lesson) -> None:
        """Run a job and keep its result."""
        if isinstance(job, Lesson):
            traces = self.groups[job.group][job.start : job.start + _LESSON]
            files.replace(
                self.path(job), pickle.dumps([learn_alone(one, MODES[job.mode], self.tools) for one in traces])
            )
        else:
            learn_on, replay_on = sides(self.groups[job.group], job)
            files.replace(self.path(job), pickle.dumps(self._measure(job, learn_on, replay_on)))

    def library(self, job: Job, learn_on: Sequence[int] | None = None) -> Library:
        """What a job's row learns; from all sessions of the group when none are named."""
        row = ROWS[job.row]
        parts = self._parts(job.group, row.mode)
        chosen = parts if learn_on is None else [parts[index] for index in learn_on]
        config = row.config
        if row.counted:
            traces = self.groups[job.group]
            learned = traces if learn_on is None else [traces[index] for index in learn_on]
            config = replace(config, threshold=counted_threshold(learned, self.tools))
        library = put_together(chosen, config, self.tools, mined=row.mined, change=row.change)
        if job.route:
            return Library(tuple(route for route in library.routes if route.name == job.route), library.counts)
        return library

    def _measure(self, job: Job, learn_on: Sequence[int], replay_on: Sequence[int]) -> Measured:
        traces, row = self.groups[job.group], ROWS[job.row]
        learned = [traces[index] for index in learn_on]
        config = row.config
        if row.counted:
            config = replace(config, threshold=counted_threshold(learned, self.tools))
        library, means = self.library(job, learn_on), self._means(job.group, tuple(learn_on))
        scores = tuple(self.replayed(traces[index], library, config, means) for index in replay_on)
        return Measured(len(learn_on), len(library.routes), config.threshold, scores)

    def replayed(self, trace: Trace, library: Library, config: ManagerConfig, means: Means) -> Score:
        """Replay one session."""
        return replay_trace(trace, library, config, self.tools, means)

    def _means_of(self, group: str, learn_on: Sequence[int]) -> Means:
        return means_of([self.groups[group][index] for index in learn_on], self.tools)

    def _read_parts(self, group: str, mode: Mode) -> list[Part]:
        lessons = self.lessons([mode], [group])
        return [part for lesson in lessons for part in pickle.loads(self.path(lesson).read_bytes())]  # noqa: S301 - ours
