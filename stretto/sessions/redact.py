"""Copies of session logs that may be shown to others.

A value that few sessions hold is hashed, everywhere alike, so that a flow learned from the copies is the one learned
from the logs, apart from hashed keys. Not responsible for where a log holds values (`stretto.sessions.rewriting`) nor
for which of them stay (`stretto.sessions.pseudonyms`).

What must stay true: the source is never written to, nothing is written before all logs were read without a fault, and
each copy is written whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto._defaults import KEEP_SHARED
from stretto.errors import SessionLogError, UsageError
from stretto.sessions.log import read_log
from stretto.sessions.merge import Part, chains, server_name
from stretto.sessions.pseudonyms import Census, Pseudonyms
from stretto.sessions.rewriting import PROTOCOL, LogRewriter
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

__all__ = ["Redaction", "redact"]

#: Files of a directory of logs that are none.
_OTHER_LOGS: Final = (".flow.jsonl", ".confirm.jsonl")


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was done.

    Attributes:
        copies: the files written, in the order of their sources' names; in a dry run those that would be.
        hashed: distinct values that were hashed.
    """

    copies: tuple[Path, ...]
    hashed: int


def redact(
    sessions: Path,
    out: Path,
    *,
    salt: str,
    keep_shared: int = KEEP_SHARED,
    hash_fields: Collection[str] = (),
    dry_run: bool = False,
    on_bytes: Callable[[int], None] | None = None,
) -> Redaction:
    """Copy the session logs of a directory with hashes in the place of the values that are somebody's.

    Logs with one session id count once, and so do those of an agent with several servers: logs of one host session that
    overlap in time. Every log is read twice.

    Args:
        sessions: the directory with the logs.
        out: where the copies go, under the same names; made when missing. Copies that are there are replaced.
        salt: a secret of the user; who has it can test whether a guessed value is in the copy.
        keep_shared: sessions that must hold a value for it to stay, at least 1.
        hash_fields: JSON keys under which no value and no word of one stays, however many sessions hold it.
        dry_run: do everything but write.
        on_bytes: called with the size of each file, once a pass.

    Raises:
        UsageError: `out` is the source or inside of it, the salt is empty, or `keep_shared` is below 1.
        SessionLogError: there are no logs, or one cannot be read; nothing was written.
        StoreUnavailable: `out` cannot be written; copies before the one it failed at are whole.
    """
    if out.resolve().is_relative_to(sessions.resolve()):
        raise UsageError(f"{out} is inside of {sessions}; name a directory outside of it, so that no log is mistaken")
    if not salt:
        raise UsageError("the salt is empty, so that anybody could test a guessed value; set one and keep it secret")
    if keep_shared < 1:
        raise UsageError(f"values must be held by at least 1 session to stay, not {keep_shared}")
    logs = _logs(sessions)
    census = Census(hash_fields)
    census.declare(PROTOCOL)
    for agent, path in sorted((agent, path) for path, agent in _agents(logs).items()):
        _count(path, agent, census)
        if on_bytes is not None:
            on_bytes(path.stat().st_size)
    pseudonyms = Pseudonyms(census, salt, keep_shared)
    copies = []
    for path in logs:
        copy = files.safe_join(out, path.name)
        data = b"".join(_copied(path, pseudonyms))
        if not dry_run:
            files.replace(copy, data, keep_mode=False)
        copies.append(copy)
        if on_bytes is not None:
            on_bytes(path.stat().st_size)
    return Redaction(tuple(copies), len(pseudonyms.hashed))


def _logs(sessions: Path) -> list[Path]:
    if not sessions.is_dir():
        raise SessionLogError(str(sessions), None, "expected a directory with session logs (*.jsonl)")
    found = sorted(path for path in sessions.glob("*.jsonl") if not path.name.endswith(_OTHER_LOGS))
    if not found:
        raise SessionLogError(str(sessions), None, "there are no session logs (*.jsonl) in this directory")
    return found


def _agents(logs: list[Path]) -> dict[Path, tuple[str, int]]:
    """Whose session each log is: equal for those that count once.

    Those are logs with one id, and logs of one host session that overlap in time and have several servers: a value of
    one agent may be in the logs of all of its servers.
    """
    agents: dict[Path, tuple[str, int]] = {}
    hosts: dict[str, list[Path]] = {}
    for path in logs:
        header, _ = read_log(path)
        agents[path] = (header.session, -1)
        if header.host_session:
            hosts.setdefault(header.host_session, []).append(path)
    for host, paths in hosts.items():
        parts = [_part(path) for path in paths] if len(paths) > 1 else []
        for number, chain in enumerate(chains(parts)):
            if len({parts[place].server for place in chain.places}) > 1:
                agents |= {paths[place]: (host, number) for place in chain.places}
    return agents


def _part(path: Path) -> Part:
    header, entries = read_log(path)
    end = header.started_unix_ms + max((entry.t_ms for entry in entries), default=0)
    return Part(server_name(header, read_log(path)[1]) or "", header.started_unix_ms, end)


def _count(path: Path, agent: tuple[str, int], census: Census) -> None:
    census.begin(agent)
    rewriter = LogRewriter(census, census.declare)
    for entry in read_log(path)[1]:
        rewriter.entry(entry)


def _copied(path: Path, pseudonyms: Pseudonyms) -> Iterator[bytes]:
    header, entries = read_log(path)
    yield jsonvalue.dumps(header.to_json()) + b"\n"
    rewriter = LogRewriter(pseudonyms)
    for entry in entries:
        yield jsonvalue.dumps(rewriter.entry(entry).to_json()) + b"\n"
