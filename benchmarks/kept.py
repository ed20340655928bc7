"""Jobs of a study: done by several processes, shown as they get done, and kept so that a run that stopped can go on."""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Place", "keeping", "path_of", "work_through"]

_Job = TypeVar("_Job")
_Job_contra = TypeVar("_Job_contra", contravariant=True)


class Place(Protocol[_Job_contra]):
    """What one process works with."""

    def path(self, job: _Job_contra, /) -> Path:
        """Where a job's result is kept."""

    def work(self, job: _Job_contra, /) -> None:
        """Run a job and keep its result."""


def path_of(kept: Path, job: object) -> Path:
    """Where a job's result is kept: by what the job says of itself."""
    return kept / f"{hashlib.sha256(repr(job).encode()).hexdigest()[:24]}.pickle"


@contextmanager
def keeping(folder: Path | None) -> Iterator[Path]:
    """A folder for results: the one that is named, which stays, or one that goes at the end."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="results-") as name:
        yield Path(name)


def work_through(
    what: str, jobs: Sequence[_Job], place: Place[_Job], opened: Callable[[], Place[_Job]], workers: int
) -> None:
    """Run the jobs whose results are not kept yet, with a progress bar.

    Args:
        what: is done, for the bar.
        jobs: in the order in which they are begun.
        place: of this process.
        opened: makes the place of another one; it must survive pickling.
        workers: processes; with 1, this one does the work.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        open_jobs = [job for job in jobs if not place.path(job).exists()]
        task = progress.add_task(what, total=len(jobs), completed=len(jobs) - len(open_jobs))
        for _ in _run(open_jobs, place, opened, workers):
            progress.advance(task)


_here: list[Place[Any]] = []  # of this process


def _open(opened: Callable[[], Place[Any]]) -> None:
    _here[:] = [opened()]


def _work(job: object) -> None:
    _here[0].work(job)


def _run(jobs: Sequence[_Job], place: Place[_Job], opened: Callable[[], Place[_Job]], workers: int) -> Iterator[None]:
    if workers == 1:
        yield from map(place.work, jobs)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_open, initargs=(opened,)) as pool:
        for future in as_completed([pool.submit(_work, job) for job in jobs]):
            yield future.result()
