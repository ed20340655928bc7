"""Session logs as sessions: which belong together, in which order, read one session at a time.

Not responsible for what is in a log (`stretto.sessions.log`) nor for what merging does (`stretto.sessions.merge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from stretto.errors import SessionLogError
from stretto.sessions.log import find_log
from stretto.sessions.merge import Part, chains, merged, qualified, server_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stretto.sessions.log import Entry, Header, LogFile, OnProblem

__all__ = ["LoggedSession", "Order", "log_sessions"]

#: ``session``: by id, as texts. ``start``: by the time of the start, then by id.
Order: TypeAlias = Literal["session", "start"]


@dataclass(frozen=True, slots=True)
class LoggedSession:
    """One session, in one log or in those of several servers.

    Attributes:
        id: of the session.
        logs: its files, by start.
        servers: the servers their tools are named after; None where the tools keep their own names.
    """

    id: str
    logs: tuple[LogFile, ...]
    servers: tuple[str | None, ...] = (None,)

    @property
    def start_ms(self) -> int:
        """When it began, ms since the epoch."""
        return self.logs[0].header.started_unix_ms

    @property
    def size_bytes(self) -> int:
        """Of its files."""
        return sum(log.size_bytes for log in self.logs)

    def read(self, on_problem: OnProblem | None = None) -> tuple[Header, Iterable[Entry]]:
        """Its header and lines, as of one log; what a file still held is let go.

        Raises:
            SessionLogError: a file cannot be read or, without `on_problem`, a line is damaged.
        """
        parts: list[tuple[Header, str, Iterable[Entry]]] = []
        for log, server in zip(self.logs, self.servers, strict=True):
            entries: Iterable[Entry] = _again(log).entries(on_problem)
            log.data = None
            if server is None:
                return log.header, entries
            parts.append((log.header, server, entries))
        if len(parts) == 1:
            header, server, entries = parts[0]
            return header, qualified(entries, server)
        return merged(self.id, parts)


def _again(log: LogFile) -> LogFile:
    if log.data is not None:
        return log
    found = find_log(log.path)
    if found is None:
        raise SessionLogError(str(log.path), 1, "was a session log when it was first read, and is none any more")
    return found


def log_sessions(logs: Sequence[LogFile], order: Order, on_problem: OnProblem | None = None) -> list[LoggedSession]:
    """The sessions of some logs, in order.

    Logs of one host session that overlap in time are one session, unless two of them have the same server; that is
    reported, and they stay apart. Once any are merged, the tools of all others are named after their servers too. Of
    logs with the same id the first is kept.

    Args:
        logs: headers must be read, lines are read only where logs share a host session.
        order: of the result.
        on_problem: called for host sessions that are kept apart, and for every log whose id another has.

    Raises:
        SessionLogError: without `on_problem`: two logs have the same id, or a line is damaged.
    """
    hosts: dict[str, list[LogFile]] = {}
    sessions: dict[str, LoggedSession] = {}
    for log in _distinct(logs, on_problem):
        sessions[log.header.session] = LoggedSession(log.header.session, (log,))
        if log.header.host_session:
            hosts.setdefault(log.header.host_session, []).append(log)
    together = [
        session for host, group in hosts.items() if len(group) > 1 for session in _merges(host, group, on_problem)
    ]
    if together:
        alone = set(sessions) - {log.header.session for session in together for log in session.logs}
        sessions = {name: _named(sessions[name]) for name in alone} | {session.id: session for session in together}
    if order == "start":
        return sorted(sessions.values(), key=lambda session: (session.start_ms, session.id))
    return sorted(sessions.values(), key=lambda session: session.id)


def _distinct(logs: Sequence[LogFile], on_problem: OnProblem | None) -> Iterator[LogFile]:
    seen: dict[str, LogFile] = {}
    for log in logs:
        first = seen.setdefault(log.header.session, log)
        if first is log:
            yield log
            continue
        _report(log, f"holds the session {log.header.session[:80]!r}, which is in {first.path} already", on_problem)


def _report(log: LogFile, problem: str, on_problem: OnProblem | None) -> None:
    error = SessionLogError(str(log.path), None, problem)
    if on_problem is None:
        raise error
    on_problem(error)


def _merges(host: str, group: Sequence[LogFile], on_problem: OnProblem | None) -> list[LoggedSession]:
    """The sessions that several of these logs make together."""
    quiet = None if on_problem is None else _nothing  # what is wrong with a line is told when it is read for good
    named: list[tuple[LogFile, Part]] = []
    for log in group:
        entries = list(_again(log).entries(quiet))
        server = server_name(log.header, entries)
        if server is not None:
            start = log.header.started_unix_ms
            named.append((log, Part(server, start, start + (entries[-1].t_ms if entries else 0))))
    found = chains([part for _, part in named])
    for chain in found:
        if chain.clashes and on_problem is not None:
            problem = f"two logs of one server overlap in the host session {host[:80]!r}: its logs are kept apart"
            _report(named[chain.places[0]][0], problem, on_problem)
    merging = [chain.places for chain in found if chain.merges]
    return [
        LoggedSession(
            host if len(merging) == 1 else f"{host}#{number}",
            tuple(named[place][0] for place in places),
            tuple(named[place][1].server for place in places),
        )
        for number, places in enumerate(merging)
    ]


def _nothing(error: SessionLogError) -> None:
    del error


def _named(session: LoggedSession) -> LoggedSession:
    (log,) = session.logs
    server = server_name(log.header, ()) or server_name(log.header, _again(log).entries(_nothing))
    return LoggedSession(session.id, session.logs, (server,))
