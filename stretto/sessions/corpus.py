"""A corpus: recorded sessions of one source, one at a time and as often as they are asked for.

Sources are session logs and what `waggle.traces` reads (told apart by their content), results of τ-bench, and
OpenTelemetry spans, a session a trace. Not responsible for their formats, nor for finding them
(`stretto.sessions.sources`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto._defaults import CORPUS_CACHE_BYTES, REWARDS_BYTES
from stretto.errors import SessionLogError, UsageError
from stretto.sessions.manifest import Manifest, read_manifest
from stretto.sessions.sources import Recorded, Results, Sessions, Spans
from waggle import files, jsonvalue
from waggle.traces import FORMATS

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from stretto.sessions.episode import Episode
    from stretto.sessions.log import OnProblem
    from stretto.sessions.log_source import Order
    from stretto.sessions.sources import OnBytes, Source

__all__ = ["Corpus", "Recorded", "open_corpus", "read_rewards"]

_SHOWN: Final = 5  #: names in an error


class Corpus:
    """Recorded sessions in order. Each iteration gives all of them again.

    One session is held at a time; but a corpus of up to `CORPUS_CACHE_BYTES` is held after its first whole iteration,
    and not read again. Open one with `open_corpus`.

    Attributes:
        conventions: what spans were recorded by; empty for other sources.
    """

    def __init__(
        self,
        source: Source,
        *,
        manifest: Manifest | None = None,
        rewards: _Rewards | None = None,
        domain: str | None = None,
        on_bytes: OnBytes | None = None,
    ) -> None:
        self.conventions = source.conventions
        self._source = source
        self._manifest = manifest
        self._rewards = rewards
        self._domain = domain
        self._on_bytes = on_bytes
        self._held: list[Recorded] | None = None

    def __iter__(self) -> Iterator[Recorded]:
        return self._read() if self._held is None else iter(self._held)

    @property
    def manifest(self) -> Manifest:
        """The tools of all sessions: of the manifest file, else of all listings, later ones replacing earlier ones.

        Known after the first whole iteration; asked for before that, it costs one.
        """
        if self._manifest is None:
            for _ in self:
                pass
        return self._manifest or Manifest()

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(path.stat().st_size for path in self._source.files if path.is_file())

    def _read(self) -> Iterator[Recorded]:
        held: list[Recorded] = []
        size = 0
        listed = Manifest()
        last: Manifest | None = None
        for recorded, bytes_held in self._source.read(self._on_bytes):
            if recorded.manifest is not last:  # sessions with one listing share it
                last = recorded.manifest
                listed = listed.updated(last)
            given = self._adjusted(recorded)
            if size <= CORPUS_CACHE_BYTES:
                size += bytes_held
                held.append(given)
                if size > CORPUS_CACHE_BYTES:
                    held.clear()
            yield given
        if self._rewards is not None:
            self._rewards.check()
        if size <= CORPUS_CACHE_BYTES:
            self._held = held
        if self._manifest is None:
            self._manifest = replace(listed, domain=self._domain) if self._domain else listed
        self._on_bytes = None

    def _adjusted(self, recorded: Recorded) -> Recorded:
        episode = recorded.episode
        reward = episode.reward if self._rewards is None else self._rewards.of(episode)
        domain = self._domain or episode.domain
        if reward == episode.reward and domain == episode.domain:
            return recorded
        return Recorded(replace(episode, reward=reward, domain=domain), recorded.manifest)


class _Rewards:
    """The rewards of a file, and which of them no session has taken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of = read_rewards(path)
        self._left = set(self._of)

    def of(self, episode: Episode) -> float:
        self._left.discard(episode.id)
        return self._of.get(episode.id, episode.reward)

    def check(self) -> None:
        """Raises `SessionLogError` for rewards of sessions that there are not."""
        if self._left:
            names = sorted(self._left)
            shown = ", ".join(name[:80] for name in names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)
            raise SessionLogError(str(self._path), None, f"gives rewards to sessions without a log: {shown}")


def read_rewards(path: Path) -> dict[str, float]:
    """Read a file of rewards, ``{"20260930T101500.250Z-4711": 0.5}``.

    Raises:
        SessionLogError: it cannot be read or is no object of numbers.
    """
    name = str(path)
    try:
        value = jsonvalue.loads(files.read_bytes(path, limit=REWARDS_BYTES))
    except OSError as error:
        raise SessionLogError(name, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise SessionLogError(name, None, f"expected rewards in JSON: {error}") from None
    if not isinstance(value, dict):
        raise SessionLogError(name, None, "$: expected an object with a number for each session")
    rewards: dict[str, float] = {}
    for session, reward in value.items():
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            raise SessionLogError(name, None, f"$[{jsonvalue.dumps(session[:80]).decode()}]: expected a number")
        rewards[session] = float(reward)
    return rewards


def open_corpus(
    sessions: str | os.PathLike[str] | None = None,
    results: Sequence[str | os.PathLike[str]] = (),
    otel: str | os.PathLike[str] | None = None,
    *,
    tau2: str | os.PathLike[str] | None = None,
    manifest: str | os.PathLike[str] | None = None,
    rewards: str | os.PathLike[str] | None = None,
    domain: str | None = None,
    named: str | None = None,
    order: Order = "session",
    share: tuple[int, int] = (0, 1),
    on_bytes: OnBytes | None = None,
    on_problem: OnProblem | None = None,
) -> Corpus:
    """Open the sessions of one source; they are read when they are asked for.

    Args:
        sessions: session logs, or traces as `waggle.traces` reads them: a file or a directory; see
            `stretto.sessions.sources.Sessions`.
        results: results files of τ-bench.
        otel: an export of OpenTelemetry spans.
        tau2: a checkout of τ²-bench, whose annotations say what the tools of results do.
        manifest: a manifest file, in place of what servers listed.
        rewards: a file of rewards by session. Sessions it does not name keep theirs: the benchmark's verdict, and 1
            where there is none.
        domain: the field of work, in place of what the recordings say.
        named: the one of `waggle.traces.FORMATS` that sessions are in, instead of looking.
        order: of the sessions in logs: by id as texts, or by the time of their start, which forgetting by half-life
            needs. Other sources give their own order.
        share: number of a part, from 0, and of parts, to read a directory of session logs in parts: together, and in
            their order, the parts hold what the whole holds. Other files are in the last part.
        on_bytes: called with numbers of bytes read, in the first whole iteration only; they add up to `size_bytes`.
        on_problem: called once for everything that is left out: a damaged line, a file of another kind in a directory,
            logs that could not be merged. Without it, what every interrupted recording has (a torn last line) is left
            out quietly, and the rest is raised.

    Raises:
        UsageError: not exactly one source was given, or an option that another source has.
        SessionLogError: a file is not there, or the rewards cannot be read.
        ManifestError: the manifest file is not valid.
    """
    given = [name for name, value in (("sessions", sessions), ("results", results), ("otel", otel)) if value]
    if len(given) != 1:
        raise UsageError(f"give sessions, results or otel, one of them; given: {' and '.join(given) or 'nothing'}")
    if tau2 is not None and not results:
        raise UsageError("tau2 says what the tools of results do; it is of no use without results")
    if named is not None and (sessions is None or named not in FORMATS):
        known = ", ".join(FORMATS)
        raise UsageError(f"a format is that of sessions: {known}" if sessions else "a format goes with sessions")
    if share != (0, 1) and (sessions is None or rewards is not None):
        raise UsageError("only sessions without a file of rewards are read in parts")
    if results and (rewards is not None or manifest is not None):
        raise UsageError("results have rewards and kinds of their own; leave out rewards and manifest")
    report = None if on_problem is None else _once(on_problem)
    source: Source
    if sessions is not None:
        source = Sessions(Path(sessions), order, report, share, named)
    elif otel is not None:
        source = Spans(Path(otel), report)
    else:
        source = Results([Path(path) for path in results], None if tau2 is None else Path(tau2), domain)
    return Corpus(
        source,
        manifest=None if manifest is None else read_manifest(Path(manifest)),
        rewards=None if rewards is None else _Rewards(Path(rewards)),
        domain=None if results else domain,
        on_bytes=on_bytes,
    )


def _once(on_problem: OnProblem) -> OnProblem:
    """Reports nothing twice, however often a corpus is read."""
    told: set[str] = set()

    def report(error: SessionLogError) -> None:
        if str(error) not in told:
            told.add(str(error))
            on_problem(error)

    return report
