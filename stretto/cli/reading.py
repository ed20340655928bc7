"""What a command is given: sessions, with a progress bar and the faults that are told at the end, and flows.

Not responsible for which options there are (`stretto.cli.options`) nor for any format.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

import stretto
from stretto.cli.parts import chooser
from stretto.flow.model import Provenance
from stretto.sessions.corpus import Corpus, open_corpus
from waggle import _render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from stretto.cli.session_options import Part, Sources
    from stretto.errors import SessionLogError
    from stretto.flow.model import Flow
    from stretto.learning import LearnOptions
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.episode import Episode
    from stretto.sessions.log_source import Order
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonValue

__all__ = ["Reading", "provenance", "reading"]

_NOTES: Final = 20  #: problems of recordings that are told one by one; the rest is counted


class Reading(Corpus):
    """The sessions a command was given, or some of them; each time they are gone through is shown by a bar.

    Args:
        sources: where they are.
        order: of the sessions in logs.

    Attributes:
        conventions: see `Corpus`.
        problems: what was left out, ``path:line: problem``.
        seen: sessions gone through last, those left out included.
    """

    def __init__(self, sources: Sources, order: Order = "session") -> None:
        if not (sources.sessions or sources.results or sources.otel):
            raise click.UsageError("there are no sessions; give --sessions, --results or --otel")
        self.problems: list[JsonValue] = []
        self.seen = 0
        self._given = sources
        self._read_on: Callable[[int], None] = lambda _: None
        self._whole = open_corpus(
            sources.sessions,
            sources.results,
            sources.otel,
            tau2=sources.tau2,
            manifest=sources.manifest,
            rewards=sources.rewards,
            domain=sources.domain,
            named=sources.named,
            order=order,
            on_bytes=self._bytes_read,
            on_problem=self._note,
        )
        self.conventions = self._whole.conventions
        self._takes: Callable[[Episode], bool] = lambda _: True
        self._known = False

    def _bytes_read(self, count: int) -> None:
        self._read_on(count)

    def _note(self, problem: SessionLogError) -> None:
        self.problems.append(str(problem))

    def __iter__(self) -> Iterator[Recorded]:
        takes = self._takes
        total = self.seen if self._known else self.size_bytes or None
        seen = 0
        with _render.progress("sessions", total) as done:
            self._read_on = done
            for recorded in self._whole:
                if takes(recorded.episode):
                    yield recorded
                seen += 1
                if self._known:
                    done(1)
            self._read_on = lambda _: None
        self.seen, self._known = seen, True

    def told(self, *, trust: bool) -> tuple[list[Recorded], bool]:
        """The sessions, and whether what they say of tools may be believed: a ``--manifest`` is the user's word.

        Args:
            trust: whether what recordings say may be believed.
        """
        held = list(self)
        if self._given.manifest is None:
            return held, trust
        return [replace(each, manifest=self.manifest) for each in held], True

    @property
    def manifest(self) -> Manifest:
        """See `Corpus.manifest`; of all sessions, those left out included."""
        if not self._known:
            for _ in self:
                pass
        return self._whole.manifest

    @property
    def size_bytes(self) -> int:
        """See `Corpus.size_bytes`."""
        return self._whole.size_bytes

    def learned_in_parts(self, sessions: Path, jobs: int, options: LearnOptions) -> Flow:
        """Learn from all of a directory in several processes, shown by a bar."""
        from stretto.parallel import learn_in_parts  # noqa: PLC0415 - most directories are read by one

        with _render.progress("parts", jobs) as done:
            flow, self.seen = learn_in_parts(
                sessions,
                jobs,
                options,
                provenance=provenance(),
                manifest=self._given.manifest,
                domain=self._given.domain,
                on_part=lambda _: done(1),
                on_problem=self._note,
            )
        return flow

    def episodes(self) -> Iterator[Episode]:
        """The sessions without what their servers listed."""
        return (recorded.episode for recorded in self)

    def take(self, takes: Callable[[Episode], bool]) -> None:
        """Leave out all sessions but these from now on."""
        self._takes = takes


@contextmanager
def reading(
    sources: Sources, part: Part | None = None, *, rest: bool = False, order: Order = "session"
) -> Iterator[Reading]:
    """The sessions of a command; what of them had to be left out is told when it has done with them.

    Args:
        sources: where they are.
        part: which of them are learned from; None for all.
        rest: leave out what is learned from, where there is such a choice, instead of all else.
        order: of the sessions in logs.

    Raises:
        UsageError: the options do not go together, or the list of tasks cannot be read.
        SessionLogError: a file is not there, or holds something else.
    """
    sessions = Reading(sources, order)
    try:
        if part is not None and not part.is_whole:
            learns = chooser(part, sessions.episodes())
            sessions.take((lambda episode: not learns(episode)) if rest else learns)
        yield sessions
    finally:
        for problem in sessions.problems[:_NOTES]:
            _render.note(str(problem))
        if len(sessions.problems) > _NOTES:
            _render.note(f"... and {len(sessions.problems) - _NOTES} more such problems; --json lists them all")


def provenance(conventions: str = "") -> Provenance:
    """Who makes a flow, and when: now."""
    return Provenance(stretto.__version__, compiled_unix_ms=time.time_ns() // 1_000_000, conventions=conventions)
