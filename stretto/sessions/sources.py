"""The kinds of files that sessions are read from, each as a stream of sessions that can be had again.

Not responsible for the formats (a module each), nor for what is asked of all sources alike (`stretto.sessions.corpus`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from stretto._defaults import CORPUS_CACHE_BYTES
from stretto.errors import SessionLogError
from stretto.sessions.episode import ToolResult, User
from stretto.sessions.log import find_log, our_error
from stretto.sessions.log_source import log_sessions
from stretto.sessions.manifest import Manifest
from stretto.sessions.otel import CONVENTIONS, read_otel
from stretto.sessions.tau import read_tau
from stretto.sessions.tau_tools import named_manifest, tau_manifest
from stretto.sessions.traces import episode_of, manifest_of
from stretto.sessions.turns import infer
from waggle.errors import TraceError
from waggle.files import is_leftover
from waggle.traces import Coverage, read_traces, trace_files
from waggle.traces.read import UnknownFormat, is_anything

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from stretto.sessions.episode import Episode
    from stretto.sessions.log import LogFile, OnProblem
    from stretto.sessions.log_source import LoggedSession, Order
    from waggle.jsonvalue import JsonValue

__all__ = ["OnBytes", "Recorded", "Results", "Sessions", "Source", "Spans"]

#: Files beside the logs that are none: what a flow decided, and what a judge of confirmations said.
_OTHER_LOGS: Final = (".flow.jsonl", ".confirm.jsonl")

#: The reward of a session that nobody judged.
_UNJUDGED: Final = 1.0

#: What an event and a value take beside their texts, bytes.
_EVENT_BYTES: Final = 200
_VALUE_BYTES: Final = 50

#: Takes the number of bytes that were read since the last time.
OnBytes: TypeAlias = "Callable[[int], None]"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A session, and what its server listed: empty where it listed nothing."""

    episode: Episode
    manifest: Manifest


class Source(Protocol):
    """Where the sessions of a corpus are."""

    @property
    def conventions(self) -> str:
        """What spans were recorded by, for a flow's provenance; empty for other sources."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The files they are in."""
        ...

    def read(self, on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """The sessions in order, read anew each time, and about what each takes as text, bytes.

        Args:
            on_bytes: called with numbers that add up to the sizes of the files.

        Raises:
            SessionLogError: a file cannot be read.
        """
        ...


class Sessions:
    """Session logs, and what `waggle.traces` reads: one file, or those of a directory.

    Sessions in logs come first, in their order; then the other files by path, each in its own order. A session that
    nobody judged has the reward 1: those of logs, and interactive work in traces.

    Args:
        path: a file; or a directory, of which the files are read that `waggle.traces.trace_files` lists.
        order: of the sessions in logs.
        on_problem: called for what is left out, in a directory also for files that cannot be read.
        share: number of a part, from 0, and of parts: only that part of the sessions in logs is read, in its place in
            the order; files that are no logs are in the last part.
        named: read every file as this one of `waggle.traces.FORMATS`; then none is taken for a log.

    Raises:
        SessionLogError: there is no such file, or a directory has none to read.
    """

    conventions: Final = ""

    def __init__(
        self,
        path: Path,
        order: Order,
        on_problem: OnProblem | None,
        share: tuple[int, int] = (0, 1),
        named: str | None = None,
    ) -> None:
        self.files: Final = _session_files(path)
        self._place = path
        self._named = named
        self._share = share
        self._order: Order = order
        self._on_problem = on_problem
        self._found: tuple[list[LoggedSession], list[Path]] | None = None

    def read(self, on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """See `Source.read`."""
        if self._found is None:
            self._found = self._look()
        logged, others = self._found
        for session in logged:
            try:
                header, entries = session.read(self._on_problem)
                recorded = Recorded(*infer(header, entries, reward=_UNJUDGED))
            except SessionLogError as error:
                self._pass_over(error)
            else:
                yield recorded, session.size_bytes
            if on_bytes is not None:
                on_bytes(session.size_bytes)
        yield from self._foreign(others, on_bytes)

    def _foreign(self, paths: Sequence[Path], on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """The sessions in files that are no logs."""
        copies, coverage = _Copies(self._on_problem), Coverage()
        for path in paths:
            try:
                yield from self._traces(path, on_bytes, copies, coverage)
            except UnknownFormat as error:
                if path == self._place or not is_anything(path):
                    self._pass_over(our_error(error))
            except TraceError as error:
                self._pass_over(our_error(error))
        if coverage.summary and self._on_problem is not None:
            self._on_problem(SessionLogError(str(self._place), None, coverage.summary))

    def _pass_over(self, error: SessionLogError) -> None:
        if self._on_problem is None or len(self.files) == 1:
            raise error from None
        self._on_problem(error)

    def _look(self) -> tuple[list[LoggedSession], list[Path]]:
        """The sessions in logs, and the files that are no logs."""
        logs: list[LogFile] = []
        others: list[Path] = []
        held = 0
        for path in self.files:
            try:
                log = None if self._named else find_log(path)
            except SessionLogError as error:
                self._pass_over(error)
                continue
            if log is None:
                others.append(path)
                continue
            held += log.size_bytes
            if held > CORPUS_CACHE_BYTES:
                log.data = None
            logs.append(log)
        part, parts = self._share
        found = log_sessions(logs, self._order, self._on_problem)
        mine = found[len(found) * part // parts : len(found) * (part + 1) // parts]
        return mine, others if part == parts - 1 else []

    def _traces(
        self, path: Path, on_bytes: OnBytes | None, copies: _Copies, coverage: Coverage
    ) -> Iterator[tuple[Recorded, int]]:
        report = self._on_problem
        take = None if report is None else lambda error: report(our_error(error))
        for trace in read_traces(path, named=self._named, on_bytes=on_bytes, on_problem=take):
            episode = episode_of(trace)
            if copies.is_new(episode, path):
                coverage.add(trace)
                yield Recorded(episode, manifest_of(trace)), _size(episode)


class _Copies:
    """Which sessions of one reading were there before: one that is there twice counts once.

    Args:
        on_problem: called for each copy.
    """

    def __init__(self, on_problem: OnProblem | None) -> None:
        self._on_problem = on_problem
        self._first: dict[tuple[str, int], Path] = {}

    def is_new(self, episode: Episode, path: Path) -> bool:
        """Whether no session of this name had the same messages and results; costs a pass over them."""
        said = (event.content if isinstance(event, ToolResult) else event.text for event in episode.events)
        key = (episode.id, hash((episode.agent_model, *said)))
        first = self._first.get(key)
        if first is None:
            self._first[key] = path
            return True
        if self._on_problem is not None:
            problem = f"holds the session {episode.id[:80]!r} once more, which is in {first} already"
            self._on_problem(SessionLogError(str(path), None, problem))
        return False


def _session_files(path: Path) -> tuple[Path, ...]:
    if not path.exists():
        raise SessionLogError(str(path), None, "cannot be opened: No such file or directory")
    try:
        found = trace_files(path)
    except TraceError as error:
        raise our_error(error) from None
    except OSError as error:
        raise SessionLogError(str(path), None, f"cannot be opened: {error.strerror or error}") from None
    if path.is_dir():
        found = [file for file in found if not (is_leftover(file.name) or file.name.endswith(_OTHER_LOGS))]
        if not found:
            raise SessionLogError(str(path), None, "there are no recorded sessions in this directory")
    return tuple(found)


class Results:
    """Results files of τ-bench and τ²-bench, with the benchmark's own rewards. A run that is there twice counts once.

    What the tools do is read from a checkout of τ²-bench, else told from their names as its annotations would.

    Args:
        files: to read, in order.
        tau2: a checkout of τ²-bench, or None.
        domain: of the sessions, in place of what the files say.
    """

    conventions: Final = ""

    def __init__(self, files: Sequence[Path], tau2: Path | None, domain: str | None) -> None:
        self.files: Final = tuple(files)
        self._tau2 = tau2
        self._domain = domain
        self._manifests: dict[tuple[str, bool], Manifest] = {}

    def read(self, on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """See `Source.read`."""
        copies = _Copies(None)
        for path in self.files:
            for episode in read_tau(path, domain=self._domain):
                if not copies.is_new(episode, path):
                    continue
                yield Recorded(episode, self._manifest(episode)), _size(episode)
            if on_bytes is not None:
                on_bytes(path.stat().st_size)

    def _manifest(self, episode: Episode) -> Manifest:
        called = {call.name for turn in episode.turns() for call in turn.calls}
        if self._tau2 is None:
            return named_manifest(called, episode.domain)
        manifest = self._annotated(self._tau2, episode.domain, solo=False)
        # In a solo run the agent has the customer's tools as well; that it calls one is all that tells.
        return manifest if called <= manifest.tools.keys() else self._annotated(self._tau2, episode.domain, solo=True)

    def _annotated(self, tau2: Path, domain: str, *, solo: bool) -> Manifest:
        manifest = self._manifests.get((domain, solo))
        if manifest is None:
            manifest = self._manifests[domain, solo] = tau_manifest(tau2, domain, solo=solo)
        return manifest


class Spans:
    """An export of OpenTelemetry spans. Nobody judged its sessions, so their reward is 1; kinds are not in it.

    Args:
        path: the file.
        on_problem: called for what is left out.
    """

    conventions: Final = CONVENTIONS

    def __init__(self, path: Path, on_problem: OnProblem | None) -> None:
        self.files: Final = (path,)
        self._on_problem = on_problem

    def read(self, on_bytes: OnBytes | None) -> Iterator[tuple[Recorded, int]]:
        """See `Source.read`."""
        (path,) = self.files
        for episode in read_otel(path, on_problem=self._on_problem):
            yield Recorded(replace(episode, reward=_UNJUDGED), Manifest(episode.domain)), _size(episode)
        if on_bytes is not None:
            on_bytes(path.stat().st_size)


def _size(episode: Episode) -> int:
    """About what an episode takes as text, bytes."""
    size = 0
    for event in episode.events:
        size += _EVENT_BYTES
        if isinstance(event, ToolResult):
            size += len(event.content)
        elif isinstance(event, User):
            size += len(event.text)
        else:
            size += len(event.text or "")
            for call in event.calls:
                size += _text_size(call.arguments)
    return size


def _text_size(value: JsonValue) -> int:
    size = 0
    left = [value]
    for item in left:  # grows while it is walked
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            left += item.values()
        elif isinstance(item, list):
            left += item
    return size + _VALUE_BYTES * len(left)
