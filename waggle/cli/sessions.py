"""Commands that read recorded sessions: ``demo``, ``mine``, ``replay``."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from waggle import _render
from waggle._defaults import EXIT_OK
from waggle.cli import options
from waggle.cli.demo import demo_json, demo_text, run_demo, shipped_sessions
from waggle.cli.measuring import RULES, in_groups, measure_groups, report_table, results_json, verdicts
from waggle.cli.mining import mine_into
from waggle.cli.place import counted, open_place, texts
from waggle.errors import TraceError
from waggle.routes import Scope
from waggle.store import Store
from waggle.traces import Coverage, read_traces, trace_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from waggle.cli.mining import Mined
    from waggle.jsonvalue import JsonValue
    from waggle.traces import Trace

__all__ = ["demo", "mine", "replay"]

_NOTES: Final = 20  #: problems of recordings that are told one by one; the rest is counted


# --- reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """Sessions that are being read.

    Attributes:
        sessions: one after another.
        problems: what had to be left out so far.
        coverage: what was recorded of their calls so far.
    """

    sessions: Iterator[Trace]
    problems: list[TraceError]
    coverage: Coverage


@contextmanager
def reading(paths: Sequence[str], what: str, named: str | None = None) -> Iterator[Reading]:
    """Sessions of several files, with a progress bar over bytes; what they lack is told at the end.

    Args:
        paths: files and directories.
        what: is being done, for the bar.
        named: the format they are in, None to look.

    Raises:
        TraceError: a path does not exist or holds something else, or standard input is closed.
    """
    if "-" in paths and sys.stdin is None:
        raise TraceError("-", None, "standard input is closed")
    problems: list[TraceError] = []
    coverage = Coverage()
    with _render.progress(what, _size(paths)) as done:

        def sessions() -> Iterator[Trace]:
            for path in paths:
                yield from read_traces(path, named=named, on_bytes=done, on_problem=problems.append)

        yield Reading(coverage.counting(sessions()), problems, coverage)
    for problem in problems[:_NOTES]:
        _render.note(str(problem))
    if len(problems) > _NOTES:
        _render.note(f"... and {len(problems) - _NOTES} more such problems; --json lists them all")
    if coverage.summary:
        _render.note(coverage.summary)


def _size(paths: Sequence[str]) -> int | None:
    """Bytes in all files, or None when a pipe is among them."""
    found = [file for path in paths for file in trace_files(path)]
    return sum(file.stat().st_size for file in found) if all(file.is_file() for file in found) else None


# --- mine -----------------------------------------------------------------------------------------------------


@click.command()
@options.traces
@options.named
@options.project
@options.scope("Learn into the project's store, or into the user's. Default: project.")
@options.to_directory("Learn into this folder instead: DIR/NAME/SKILL.md, and DIR/ledger.jsonl.")
@options.dry_run
@options.as_json
def mine(
    *,
    traces: tuple[str, ...],
    named: str | None,
    directory: Path,
    scope: Scope | None,
    to: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Learn routes from recorded sessions.

    Learns as a manager does while the sessions run. Sessions are taken in the order given. What is stored already is
    left as it is, so mining the same sessions again changes nothing.
    """
    place = open_place(directory)
    store = Store(to, to / "ledger.jsonl", tools=place.tools) if to else place.store(scope or Scope.PROJECT)
    with reading(traces, "mining", named) as found:
        mined, count = mine_into(
            found.sessions,
            store,
            place.settings.manager_config(),
            tools=place.tools,
            root=place.spelled_root,
            dry_run=dry_run,
        )
    if mined and not (dry_run or to):
        place.remember()
    if as_json:
        skills: list[JsonValue] = [each.as_json() for each in mined]
        _render.document(
            {
                "dry_run": dry_run,
                "sessions": count,
                "store": str(store.directory),
                "skills": skills,
                "recorded": found.coverage.as_json(),
                "problems": texts(found.problems),
            }
        )
        return EXIT_OK
    if mined:
        columns = [_render.Column("status"), _render.Column("name"), *_numbers("steps", "seen", "sessions")]
        _render.out(_render.table(columns, [_mined_row(each) for each in mined]))
    _render.out(_mined_summary(mined, count, store, dry_run=dry_run))
    if not mined:
        often = place.settings.manager_config().mine.k
        _render.note(
            f"no run of reads came {often} times in one session with the same arguments; `mine.k` sets how often"
        )
    return EXIT_OK


def _numbers(*titles: str) -> list[_render.Column]:
    return [_render.Column(title, number=True) for title in titles]


def _mined_row(mined: Mined) -> list[str]:
    route = mined.route
    return [mined.status, route.name, str(len(route.steps)), f"{route.count:,}", f"{route.support:,}"]


def _mined_summary(mined: Sequence[Mined], count: int, store: Store, *, dry_run: bool) -> str:
    by_status = {status: sum(each.status == status for each in mined) for status in ("new", "known", "edited")}
    told = ", ".join(f"{number:,} {status}" for status, number in by_status.items())
    where = f"; the new skills {'would be' if dry_run else 'are'} in {store.directory}" if by_status["new"] else ""
    return f"{counted(count, 'session')}: {told}{where}"


# --- replay ---------------------------------------------------------------------------------------------------


@click.command()
@options.traces
@click.option(
    "--learn",
    "learn_from",
    type=click.Path(allow_dash=True),
    multiple=True,
    metavar="TRACE",
    help="Learn on these sessions and replay all of TRACE...; may be given several times. "
    "Default: learn on a share of TRACE... itself.",
)
@options.learn_share
@options.named
@options.project
@options.as_json
def replay(
    *,
    traces: tuple[str, ...],
    learn_from: tuple[str, ...],
    learn_share: float,
    named: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Measure what routes would have saved.

    Replays recorded sessions: agents act as recorded, and routes make lookups ahead of them. Sessions are put into
    groups by agent and repository. In each, routes are learned on the first tasks and replayed on the others; no task
    (no session, where there are no tasks) is on both sides. A lookup is answered only by the call that the agent itself
    made later, before its next write; every other lookup is a detour. A turn is an answer of the model that calls
    tools; it is saved when all its calls had been answered. The ceiling counts the turns whose calls all read and whose
    arguments all stand in earlier results. The interval comes from resampling tasks.

    "tokens saved" is the context a saved turn need not read again, and its calls in every turn after it; "tokens spent"
    is what detours add to every turn after them; both at four bytes a token.
    """
    place = open_place(directory)
    with reading(traces, "reading", named) as found:
        replayed = list(found.sessions)
    problems = found.problems
    learned: list[Trace] | None = None
    if learn_from:
        with reading(learn_from, "reading", named) as known:
            learned = list(known.sessions)
        problems += known.problems
    sides = in_groups(replayed, learn_share=learn_share, learn_from=learned)
    work = sum(len(side.learn) + len(side.replay) for side in sides) * len(RULES)
    with _render.progress("replaying", work) as done:
        groups = measure_groups(sides, tools=place.tools, on_trace=_one(done))
    left_out = sum(side.left_out for side in sides)
    if as_json:
        share = None if learn_from else learn_share
        told = {"learn_share": share, "left_out": left_out, **results_json(groups)}
        _render.document({**told, "recorded": found.coverage.as_json(), "problems": texts(problems)})
        return EXIT_OK
    if left_out:
        _render.note(f"left out of the learning: {counted(left_out, 'session')} of a task that is replayed")
    if groups:
        _render.out("\n".join([report_table(groups), "", *verdicts(groups[-1])]))
    else:
        _render.note("There is no session to replay; give more sessions, or a smaller --learn-share.")
    return EXIT_OK


def _one(done: Callable[[int], None]) -> Callable[[Trace], None]:
    return lambda _: done(1)


# --- demo -----------------------------------------------------------------------------------------------------


@click.command()
@options.to_directory("Where the skill files are written. Default: ./demo-skills.", default=Path("demo-skills"))
@options.as_json
def demo(*, to: Path, as_json: bool) -> int:
    """Learn from real sessions, replay others.

    Shows what was mined, what fired, what it saved, and one of the skill files. Uses the sessions in examples/sessions
    and no network; takes a few seconds. In each group the first half of the tasks is learned from and the rest
    replayed. The skills of every rule are written as files; doing it again changes nothing.
    """
    sessions = shipped_sessions()
    with reading([str(sessions)], "reading") as found:
        traces = list(found.sessions)
    with _render.progress("learning and replaying", len(traces) * len(RULES)) as done:
        result = run_demo(traces, to, on_trace=_one(done))
    if as_json:
        _render.document(demo_json(result))
    else:
        _render.out(demo_text(result))
    return EXIT_OK
