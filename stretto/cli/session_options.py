"""The options that say which recorded sessions a command is given, and which of them are learned from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.cli.options import gathered
from waggle.traces import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.cli.options import Option

__all__ = ["KNOWN", "Part", "Sources", "given", "part", "rest", "sources", "traces"]

_FILE: Final = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a command's sessions are; see `stretto.sessions.corpus.open_corpus`."""

    sessions: Path | None = None
    results: tuple[Path, ...] = ()
    otel: Path | None = None
    tau2: Path | None = None
    manifest: Path | None = None
    rewards: Path | None = None
    domain: str | None = None
    named: str | None = None


def _sources(*, results: tuple[Path, ...], more: tuple[Path, ...] = (), **others: Any) -> Sources:
    if more and not results:
        raise click.UsageError(f"{more[0]} is given without an option; files without one belong to --results")
    return Sources(results=(*results, *more), **others)


_RESULTS: Final[Mapping[str, Option]] = {
    "results": click.option(
        "--results",
        type=_FILE,
        multiple=True,
        metavar="FILE [FILE...]",
        help="Results of tau-bench or tau2-bench, one or several files.",
    ),
    "more": click.argument("more", type=_FILE, nargs=-1, metavar="[FILE...]"),
    "tau2": click.option(
        "--tau2",
        type=_FILE,
        metavar="DIR",
        help="A checkout of tau2-bench, whose annotations say what the tools do. Default: their names tell.",
    ),
    "domain": click.option(
        "--domain", metavar="NAME", help="The field of work. Default: what the recordings say of theirs."
    ),
}

_SESSIONS: Final[Mapping[str, Option]] = {
    "sessions": click.option(
        "--sessions",
        type=_FILE,
        metavar="DIR",
        help="Session logs, or the recordings of other programs (see --format): a directory or a file.",
    ),
    "named": click.option(
        "--format",
        "named",
        type=click.Choice(list(FORMATS)),
        metavar="NAME",
        help=f"Read --sessions as this format: {', '.join(FORMATS)}. Default: each file is what it looks like.",
    ),
    **_RESULTS,
    "otel": click.option("--otel", type=_FILE, metavar="FILE", help="An export of OpenTelemetry spans."),
    "manifest": click.option(
        "--manifest",
        type=_FILE,
        metavar="FILE",
        help="Which tools read and which write. Default: what the servers listed. Not with --results.",
    ),
    "rewards": click.option(
        "--rewards",
        type=_FILE,
        metavar="FILE",
        help='Rewards of sessions, {"SESSION": 0.5}. Default: 1 where nobody judged. Not with --results.',
    ),
}


def sources(*, files: bool = True, results_only: bool = False) -> Option:
    """``--sessions``, ``--results`` or ``--otel`` and what goes with them, as one parameter ``sources``.

    Args:
        files: further files after ``--results FILE`` belong to it; off where the command has arguments of its own.
        results_only: leave out all that has nothing to do with results.
    """
    chosen = _RESULTS if results_only else _SESSIONS
    return gathered("sources", _sources, {name: each for name, each in chosen.items() if files or name != "more"})


#: TRACES, sessions without an option before them; `given` puts them where ``--sessions`` are.
traces = click.argument("traces", type=_FILE, required=False)


def given(sources: Sources, traces: Path | None) -> Sources:
    """The sources with what stands in the place of TRACES.

    Raises:
        UsageError: there are sessions after ``--sessions``, too.
    """
    if traces is None:
        return sources
    if sources.sessions is not None:
        raise click.UsageError(f"{traces} and --sessions {sources.sessions}: give one of them")
    return replace(sources, sessions=traces)


#: What is known of the tools of sessions that are compiled.
KNOWN: Final[Mapping[str, Option]] = {
    "tools": click.option(
        "--tools",
        type=_FILE,
        metavar="FILE",
        help="What you say of the tools, in TOML: effects, names, secrets. Default: nothing is known.",
    ),
    "trust": click.option(
        "--trust-servers",
        "trust",
        is_flag=True,
        help="Believe the servers where --tools says nothing: what they call a read, reads. Default: it is unknown.",
    ),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Which sessions are learned from.

    Attributes:
        tasks: a split, tau2-bench's ``split_tasks.json``; None for no such choice.
        fraction: share of the tasks, 0 to 1; None for all.
        trials: of each task, the first so many; None for all.
    """

    tasks: Path | None = None
    fraction: float | None = None
    trials: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Part()


def _train_tasks(about: str) -> Option:
    return click.option("--train-tasks", "tasks", type=_FILE, metavar="FILE", help=about)


def _train_fraction(about: str) -> Option:
    return click.option(
        "--train-fraction",
        "fraction",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        help=about,
    )


#: Which sessions to learn from, as one parameter ``part``.
part = gathered(
    "part",
    Part,
    {
        "tasks": _train_tasks('Learn from the tasks in this split: {"train": [ids], "test": [ids]}.'),
        "fraction": _train_fraction(
            "Learn from this share of the tasks, 0 to 1; which they are depends on their names alone. Tasks of one "
            "customer stay together."
        ),
        "trials": click.option(
            "--trials", type=click.IntRange(min=1), metavar="N", help="Learn from the first N trials of each task."
        ),
    },
)

#: Which sessions to leave out because they were learned from, as one parameter ``part``.
rest = gathered(
    "part",
    Part,
    {
        "tasks": _train_tasks("Leave out the tasks that learn takes with the same option."),
        "fraction": _train_fraction("Leave out the tasks that learn takes with the same option."),
    },
)
