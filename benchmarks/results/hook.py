"""What the Claude Code hook would have saved on recorded transcripts: ``python -m benchmarks.results.hook``.

The hook reads for itself, so it makes less than a host that has all its tools: only reads of files, searches and
commands that provably read, inside the project. It writes one section of the page of all results.
"""

from __future__ import annotations

import argparse
import posixpath
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.flows.headline import FLOWS, with_section
from benchmarks.flows.headline import HEADING as SHORT
from benchmarks.kept import keeping, work_through
from benchmarks.results.jobs import FOLDS, Job, Workplace
from benchmarks.results.rows import COUNTED, DEFAULT, TOKENS
from benchmarks.results.tables import HEAD, cells, table
from waggle.evaluate import Report, bootstrap, replay_trace
from waggle.playback import arguments_of, directory_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.results.rows import Row
    from waggle.calls import Call
    from waggle.config import ManagerConfig
    from waggle.evaluate import Library, Score
    from waggle.playback import Means
    from waggle.tools import ToolTable
    from waggle.traces import Trace

__all__ = ["HEADING", "HookPlace", "makes"]

HEADING: Final = "## The Claude Code hook"
_FILES: Final = "coding-claude-code-*.jsonl*"
_ROWS: Final = (DEFAULT, TOKENS, COUNTED)
_ALL_TOOLS: Final = "all reads, for comparison: "

#: The tools whose reads the hook makes itself; of a shell's commands those that provably read.
_MADE: Final = frozenset({"Read", "Glob", "Bash"})

_ABOUT: Final = f"""\
What `waggle-hook` would have saved in the sessions of Claude Code, by `python -m benchmarks.results.hook`. It is
measured as everything below, with one difference: the hook makes its lookups itself, so only `Read`, `Glob` and
shell commands that provably read are made, and only where every path in them is inside the session's directory.
Any other lookup is not made and costs nothing. No session is learned and measured: these sessions have no tasks, so
they are dealt into {FOLDS} parts by session, and intervals come from resampling sessions."""


def makes(call: Call, directory: str, tools: ToolTable) -> bool:
    """Whether the hook makes this lookup: with its own tools, and inside the project.

    Args:
        call: the lookup.
        directory: the session's; without one nothing is known to be inside it.
        tools: what is known of the host's tools.
    """
    if call.tool not in _MADE or not directory:
        return False
    _, values = tools.spoken(call.tool, arguments_of(call, tools))
    return all(_is_inside(value, directory) for value in values.values() if isinstance(value, str))


def _is_inside(value: str, directory: str) -> bool:
    """Whether a value cannot lead out of a directory: it is inside it, or no path at all."""
    if value.startswith("~"):
        return False
    if not value.startswith("/") and ".." not in value.split("/"):
        return True
    root = posixpath.normpath(directory)
    place = posixpath.normpath(posixpath.join(root, value))
    return place == root or place.startswith(f"{root}/")


class HookPlace(Workplace):
    """Replays with what the hook makes, or with everything.

    Args:
        traces: folder of recorded sessions.
        kept: folder for results.
        only_made: leave out what the hook does not make.
    """

    def __init__(self, traces: Path, kept: Path, *, only_made: bool = True) -> None:
        super().__init__(traces, kept, _FILES)
        self._only_made = only_made

    def replayed(self, trace: Trace, library: Library, config: ManagerConfig, means: Means) -> Score:
        """Replay one session."""
        if not self._only_made:
            return super().replayed(trace, library, config, means)
        directory = directory_of(trace)
        return replay_trace(
            trace, library, config, self.tools, means, makes=lambda call: makes(call, directory, self.tools)
        )


def _report(place: Workplace, row: Row, groups: Sequence[str]) -> Report:
    found = [place.done(Job(group, "fold", fold, row.name)) for group in groups for fold in range(FOLDS)]
    scores = tuple(score for measured in found for score in measured.scores)
    return Report("", row.title, 0, 0, scores, bootstrap(scores))


def _section(made: Workplace, everything: Workplace) -> str:
    parts = [f"{HEADING}\n", f"{_ABOUT}\n"]
    for name, groups in [("All", list(made.groups)), *((group, [group]) for group in made.groups)]:
        first = _report(made, DEFAULT, groups)
        counts = f"{len(first.scores):,} sessions, {first.total('turns'):,} turns"
        rows = [[row.title.removeprefix("+ "), *cells(_report(made, row, groups))] for row in _ROWS]
        rows.append([f"{_ALL_TOOLS}{DEFAULT.title.removeprefix('+ ')}", *cells(_report(everything, DEFAULT, groups))])
        parts.append(f"{name}: {counts}; the ceiling is {first.total('ceiling'):,}.\n")
        parts.append(table(["rule", *HEAD], rows) + "\n")
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the section into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results.hook", description=__doc__)
    root = Path(__file__).resolve().parent.parent.parent
    full = root.parent / "shared" / "data" / "traces"
    parser.add_argument("--traces", type=Path, default=full if full.is_dir() else root / "examples" / "sessions")
    parser.add_argument("--markdown", type=Path, help="the page to write the section into; default: print it")
    parser.add_argument("--workers", type=int, default=2, help="processes; default: 2")
    parser.add_argument("--keep", type=Path, help="keep what is measured in this folder and go on from there")
    options = parser.parse_args(arguments)
    with keeping(options.keep) as kept:
        places: list[Workplace] = []
        for only_made in (True, False):
            folder = kept / ("made" if only_made else "everything")
            folder.mkdir(exist_ok=True)
            opened = partial(HookPlace, options.traces, folder, only_made=only_made)
            place = opened()
            rows = _ROWS if only_made else (DEFAULT,)
            work_through("learning", place.lessons(["forms"], list(place.groups)), place, opened, options.workers)
            jobs = [
                Job(group, "fold", fold, row.name) for group in place.groups for fold in range(FOLDS) for row in rows
            ]
            work_through("replaying", jobs, place, opened, options.workers)
            places.append(place)
        section = _section(*places)
    if options.markdown:
        page = options.markdown.read_text(encoding="utf-8")
        options.markdown.write_text(with_section(page, section, after=(SHORT, FLOWS)), encoding="utf-8", newline="\n")
    else:
        print(section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
