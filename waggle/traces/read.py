"""Recorded sessions from files, whichever of the known formats they are in."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle.errors import TraceError
from waggle.traces.canonical import is_canonical, read_canonical
from waggle.traces.claude_code import is_transcript, read_transcript
from waggle.traces.lines import EXPECTED, STDIN, Problems, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from waggle.jsonvalue import JsonObject
    from waggle.traces.model import Trace

__all__ = ["read_traces", "trace_files"]

#: Where the files of a directory are: the sessions, and below a Claude Code session's name its sub-agents.
_PATTERNS: Final = ("*.jsonl", "*.jsonl.gz", "*/subagents/*.jsonl")

#: Objects that are looked at before a file counts as one of another kind. Both formats show themselves in the first
#: line or the second; a transcript may begin with lines that a newer host has added.
_LOOK_OBJECTS: Final = 100


def trace_files(path: str | os.PathLike[str]) -> list[Path]:
    """List the files that `read_traces` reads for this path, in its order.

    Args:
        path: a file, a directory, or ``-``.

    Returns:
        The directory's ``*.jsonl`` and ``*.jsonl.gz`` and its sessions' ``subagents/*.jsonl``, sorted by path; for
        anything else the path itself.

    Raises:
        TraceError: a directory has no such file.
    """
    place = Path(path)
    if os.fspath(path) == STDIN or not place.is_dir():
        return [place]
    # By text, not by parts: "s.jsonl" comes before "s/subagents", a session before its sub-agents.
    found = sorted((file for pattern in _PATTERNS for file in place.glob(pattern) if file.is_file()), key=str)
    if not found:
        raise TraceError(str(place), None, "there are no recorded sessions (*.jsonl, *.jsonl.gz) in this directory")
    return found


def read_traces(
    path: str | os.PathLike[str],
    *,
    on_bytes: Callable[[int], None] | None = None,
    on_problem: Callable[[TraceError], None] | None = None,
) -> Iterator[Trace]:
    """Read recorded sessions, one at a time: memory grows with the longest session, not with the file.

    The format is found by looking: canonical traces (`waggle.traces.canonical`) or a Claude Code transcript
    (`waggle.traces.claude_code`), as text or gzipped, whatever the file is called. Everything in a session is data;
    nothing in it is followed.

    Args:
        path: a file, a directory (see `trace_files`), or ``-`` for standard input.
        on_bytes: called now and then with the number of bytes read since the last time, compressed as they are on the
            disk; they add up to the sizes of the files.
        on_problem: called for everything that had to be left out: a last line that is cut off, a result without a call,
            a line that is not what the format says, in a directory also a file of another kind. Reading goes on.
            Without it, what every interrupted recording has (the first two) is left out quietly; the rest is raised.

    Yields:
        Sessions in the order of the files and of their lines; a session without calls too.

    Raises:
        TraceError: a file cannot be read or is of neither format, or, without `on_problem`, a line is damaged.
    """
    files = trace_files(path)
    for file in files:
        try:
            yield from _read_file(str(file), on_bytes, on_problem)
        except TraceError as error:
            if on_problem is None or [file] == files:
                raise
            on_problem(error)


def _read_file(
    name: str, on_bytes: Callable[[int], None] | None, on_problem: Callable[[TraceError], None] | None
) -> Iterator[Trace]:
    problems = Problems(name, on_problem)
    records = read_records(problems, on_bytes)
    seen: list[tuple[int, JsonObject]] = []
    for number, record in records:
        seen.append((number, record))
        if is_canonical(record):
            yield from read_canonical(chain(seen, records), problems)
            return
        if is_transcript(record):
            yield from read_transcript(chain(seen, records), problems)
            return
        if len(seen) == _LOOK_OBJECTS:
            break
    if seen:
        raise TraceError(name, seen[0][0], f"{EXPECTED}: this line is of neither")
