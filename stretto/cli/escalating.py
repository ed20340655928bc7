"""The command ``procedure escalations``: where the runs of procedures stopped, and what they met there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto._defaults import EXIT_OK
from stretto.cli import options
from stretto.errors import RunError, UsageError
from stretto.procedure.escalations import count_runs
from stretto.procedure.journal import read_events
from waggle import _render
from waggle.cli.place import counted

if TYPE_CHECKING:
    from stretto.procedure.escalations import Escalated, Runs
    from waggle.jsonvalue import JsonObject

__all__ = ["escalations"]

_SUFFIX: Final = ".jsonl"
_SHOWN: Final = 3  # of what was met
_DIGEST: Final = 8  # characters of a digest that are shown


@click.command("escalations")
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="JOURNAL...")
@options.as_json
def escalations(*, paths: tuple[Path, ...], as_json: bool) -> int:
    """Say where runs stopped: by step, with what they met there.

    A JOURNAL is what `stretto-procedure --journal` wrote, or a directory of such files. A way that no session has
    shown is learned from sessions in which an agent goes on from there: record some, and compile again.
    """
    found = count_runs([_events(path) for path in _journals(paths)])
    if as_json:
        _render.document(
            {
                "runs": found.total,
                "finished": found.finished,
                "escalations": [_json(each) for each in found.escalated],
            }
        )
    else:
        _render.out(_text(found))
    return EXIT_OK


def _journals(paths: tuple[Path, ...]) -> list[Path]:
    found = []
    for path in paths:
        inside = sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path}: has no journal, NAME{_SUFFIX}")
        found += inside
    return found


def _events(path: Path) -> list[JsonObject]:
    try:
        events = read_events(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: is not there") from None
    if not events or "stretto_run" not in events[0]:
        raise RunError(str(path), "it is no journal of a run")
    return events


def _json(each: Escalated) -> JsonObject:
    return {
        "procedure": each.procedure,
        "node": each.node,
        "reason": each.reason,
        "runs": each.runs,
        "observed": list(each.observed),
    }


def _text(found: Runs) -> str:
    said = f"{counted(found.total, 'run')}, {found.finished:,} came to their end"
    if not found.escalated:
        return said
    columns = [
        _render.Column("procedure"),
        _render.Column("stopped at"),
        _render.Column("reason"),
        _render.Column("runs", number=True),
        _render.Column("met"),
    ]
    rows = [
        [each.procedure[:_DIGEST], each.node, each.reason, f"{each.runs:,}", "; ".join(each.observed[:_SHOWN])]
        for each in found.escalated
    ]
    if len({each.procedure for each in found.escalated}) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    return f"{said}\n\n{_render.table(columns, rows)}"
