"""Recorded sessions from files, whichever of the known formats they are in (`waggle.traces.formats`)."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle.errors import TraceError
from waggle.traces.formats import FORMATS, format_of
from waggle.traces.lines import EXPECTED, STDIN, Problems, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from waggle.jsonvalue import JsonObject
    from waggle.traces.model import Trace

__all__ = ["UnknownFormat", "is_anything", "read_traces", "trace_files"]

#: Where the files of a directory are: the sessions; below a Claude Code session's name its sub-agents; below an
#: instance's name its trajectory; below a day Codex's sessions.
_PATTERNS: Final = (
    *("*.jsonl", "*.jsonl.gz", "*/subagents/*.jsonl"),
    *("*.traj", "*.traj.json", "*/*.traj", "*/*.traj.json"),
    *("*.json", "*.json.gz", "[0-9]*/[0-9]*/[0-9]*/rollout-*.jsonl"),
)

#: Objects that are looked at before a file counts as one of another kind. All formats show themselves in the first
#: line or the second; a transcript may begin with lines that a newer host has added.
_LOOK_OBJECTS: Final = 100


class UnknownFormat(TraceError):
    """A file is JSON, and none of the formats that are read."""


def trace_files(path: str | os.PathLike[str]) -> list[Path]:
    """List the files that `read_traces` reads for this path, in its order.

    Args:
        path: a file, a directory, or ``-``.

    Returns:
        The directory's ``*.jsonl``, ``*.json`` (both also as ``.gz``) and ``*.traj``; of the directories below it the
        trajectories, and where Claude Code and Codex keep sessions theirs; sorted by path. For anything else the path
        itself.

    Raises:
        TraceError: a directory has no such file.
    """
    place = Path(path)
    if os.fspath(path) == STDIN or not place.is_dir():
        return [place]
    # By text, not by parts: "s.jsonl" comes before "s/subagents", a session before its sub-agents.
    found = {file for pattern in _PATTERNS for file in place.glob(pattern) if file.is_file()}
    if not found:
        raise _without_sessions(place)
    return sorted(found, key=str)


def is_anything(path: Path) -> bool:
    """Whether a file's name says nothing of its content: it is sessions only if it looks like them."""
    return path.name.endswith((".json", ".json.gz")) and not path.name.endswith(".traj.json")


def _without_sessions(place: Path) -> TraceError:
    looked = "*.jsonl, *.jsonl.gz, *.json, *.traj"
    return TraceError(str(place), None, f"there are no recorded sessions ({looked}) in this directory")


def read_traces(
    path: str | os.PathLike[str],
    *,
    named: str | None = None,
    on_bytes: Callable[[int], None] | None = None,
    on_problem: Callable[[TraceError], None] | None = None,
) -> Iterator[Trace]:
    """Read recorded sessions, one at a time: memory grows with the longest session, not with the file.

    Spans are the exception: those of a session may stand anywhere, so what is looked at of one file is held. The format
    is found by looking, as text or gzipped, whatever the file is called. Everything in a session is data; nothing in it
    is followed. A directory's ``*.json`` that is no recording is passed over.

    Args:
        path: a file, a directory (see `trace_files`), or ``-`` for standard input.
        named: read everything as this one of `waggle.traces.formats.FORMATS`, whatever it looks like.
        on_bytes: called now and then with the number of bytes read since the last time, compressed as they are on the
            disk; they add up to the sizes of the files.
        on_problem: called for everything that had to be left out: a last line that is cut off, a result without a call,
            a line that is not what the format says, in a directory also a file of another kind. Reading goes on.
            Without it, what every interrupted recording has (the first two) is left out quietly; the rest is raised.

    Yields:
        Sessions in the order of the files and of their lines; a session without calls too.

    Raises:
        TraceError: a file cannot be read or is of no format that is known, or, without `on_problem`, a line is damaged.
        ValueError: there is no format of this name.
    """
    if named is not None and named not in FORMATS:
        raise ValueError(f"there is no format {named!r}; there are {', '.join(FORMATS)}")
    files = trace_files(path)
    passed_over = 0
    for file in files:
        try:
            yield from _read_file(str(file), named, on_bytes, on_problem)
        except UnknownFormat as error:
            if [file] == files and file == Path(path):
                raise
            if is_anything(file):
                passed_over += 1
            elif on_problem is None:
                raise
            else:
                on_problem(error)
        except TraceError as error:
            if on_problem is None or [file] == files:
                raise
            on_problem(error)
    if passed_over == len(files):
        raise _without_sessions(Path(path))


def _read_file(
    name: str,
    named: str | None,
    on_bytes: Callable[[int], None] | None,
    on_problem: Callable[[TraceError], None] | None,
) -> Iterator[Trace]:
    problems = Problems(name, on_problem)
    records = read_records(problems, on_bytes)
    if named is not None:
        yield from FORMATS[named].read(records, problems)
        return
    seen: list[tuple[int, JsonObject]] = []
    for number, record in records:
        seen.append((number, record))
        found = format_of(record)
        if found is not None:
            yield from found.read(chain(seen, records), problems)
            return
        if len(seen) == _LOOK_OBJECTS:
            break
    if seen:
        looked = "; ".join(f"{each.title} ({each.sign})" for each in FORMATS.values())
        raise UnknownFormat(
            name, seen[0][0], f"{EXPECTED}: none was found in its first {len(seen)} objects, looked for: {looked}"
        )
