"""Counting sessions as they are served: what they add to a flow, kept in a file until it is merged.

The file is a flow itself, of the served sessions alone and under the plan of the flow they were served with, so that
``stretto merge`` puts it back. Not responsible for keeping a session (`stretto.replayer`) nor for what is counted
(`stretto.learning`). The disk is touched on one background thread, never while a session is served or closed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stretto.flow.file import dump_flow, read_flow
from stretto.flow.model import Provenance
from stretto.learning import learn_counts, merge, plan_of_flow
from stretto.sessions.corpus import Recorded
from waggle import files
from waggle.background import Background, Faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.sessions.episode import Episode

__all__ = ["LiveCounts"]


class LiveCounts:
    """Counts each session it is given; hand it to `stretto.replayer.flow_strategy` as ``on_episode``.

    Several processes may count into one file. A session counts as successful, since nobody has judged it; where that is
    known, call this with the good ones only. Nothing here raises into the host: what fails is counted and logged once.

    Args:
        flow: the flow that is served.
        path: of the file, created with the first session.
        now_ms: the clock, ms since the epoch.
    """

    def __init__(
        self, flow: Flow, path: Path, *, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    ) -> None:
        self._flow = flow
        self._path = path
        self._now_ms = now_ms
        self._faults = Faults()
        self._background = Background(self._faults)

    def __call__(self, episode: Episode) -> None:
        """Count a session; returns at once."""
        self._background.submit(f"sessions cannot be counted in {self._path}", lambda: self._count(episode))

    def _count(self, episode: Episode) -> None:
        plan = plan_of_flow(self._flow, [episode.id])
        made = Provenance(self._flow.provenance.stretto, compiled_unix_ms=self._now_ms())
        counted = learn_counts([Recorded(episode, self._flow.manifest)], plan, made)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with files.lock(self._path):
            if self._path.exists():
                counted = merge(read_flow(self._path), counted)
            files.replace(self._path, dump_flow(counted))

    def faults(self) -> dict[str, int]:
        """What went wrong so far, by kind; empty when all is well."""
        return self._faults.counts()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until every session given is counted on disk; False when the time ran out."""
        return self._background.flush(timeout_s)
