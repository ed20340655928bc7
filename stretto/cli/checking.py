"""Commands that hold a flow against recorded sessions: ``audit``, ``promote``, ``drift``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto._defaults import (
    EXIT_OK,
    EXIT_PROBLEMS,
    PROMOTE_MIN_LOWER,
    PROMOTE_MIN_TASKS,
    PROMOTE_MIN_USED,
)
from stretto.cli import options, session_options
from stretto.cli.reading import reading
from stretto.cli.writing import check_flow_place, check_new_place, picture_kind, write, write_flow
from stretto.flow.file import read_flow
from stretto.flow.model import Bar
from stretto.review.audit import audit
from stretto.review.audit_page import audit_page
from stretto.review.drift import drift
from stretto.review.drift_page import drift_page
from stretto.review.promote import promote
from stretto.review.promote_page import promote_page
from waggle import _render

if TYPE_CHECKING:
    from stretto.cli.options import Asked
    from stretto.cli.session_options import Part, Sources

__all__ = ["audit_flow", "promote_flow", "watch_drift"]


@click.command("audit")
@options.flow
@session_options.sources()
@session_options.rest
@options.decider("the arbiter where the flow has one, else habit")
@options.oracle
@options.as_json
def audit_flow(
    *, flow_path: Path, sources: Sources, part: Part, decider: str | None, asked: Asked, as_json: bool
) -> int:
    """Measure how well a flow foresees the agent.

    At every point where the agent chose, the flow says what comes next, and the agent's own next step is the truth. It
    tells something of a flow on sessions it was not learned from.
    """
    flow, oracle = read_flow(flow_path), asked.oracle()
    with reading(sources, part, rest=True) as sessions:
        found = audit(flow, sessions.episodes(), decider, oracle)
    if as_json:
        _render.document({**found.as_json(), "problems": sessions.problems})
    else:
        _render.out(audit_page(found).removesuffix("\n"))
    return EXIT_OK


@click.command("promote")
@options.flow
@session_options.sources()
@session_options.rest
@options.out
@options.decider("the flow's own")
@options.oracle
@options.threshold
@click.option(
    "--min-used",
    type=click.FloatRange(0, 1),
    default=PROMOTE_MIN_USED,
    metavar="SHARE",
    help=f"Share of a site's lookups that must be used, 0 to 1. Default: {PROMOTE_MIN_USED}.",
)
@click.option(
    "--min-lower",
    type=click.FloatRange(0, 1),
    default=PROMOTE_MIN_LOWER,
    metavar="SHARE",
    help=f"What the lower end of that share's 90 % interval must reach, 0 to 1. Default: {PROMOTE_MIN_LOWER}.",
)
@click.option(
    "--min-tasks",
    type=click.IntRange(min=0),
    default=PROMOTE_MIN_TASKS,
    metavar="N",
    help=f"Tasks in which something must be looked up at the site. Default: {PROMOTE_MIN_TASKS}.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write what is printed to this file, too."
)
@options.force
@options.dry_run
@options.as_json
def promote_flow(
    *,
    flow_path: Path,
    sources: Sources,
    part: Part,
    out: Path,
    decider: str | None,
    asked: Asked,
    threshold: float,
    min_used: float,
    min_lower: float,
    min_tasks: int,
    report: Path | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Limit a flow to the sites that have a record.

    Every result of recorded sessions is decided on as if the flow had been served; a lookup is used when the agent
    makes it in a later turn. Sites whose lookups were used often enough are promoted; elsewhere the new flow does
    nothing.
    """
    check_flow_place(out, force=force)
    if report is not None:
        check_new_place(report, force=force)
    flow, oracle = read_flow(flow_path), asked.oracle()
    bar = Bar(threshold, min_used, min_lower, min_tasks)
    with reading(sources, part, rest=True) as sessions:
        promoted = promote(flow, sessions.episodes(), decider=decider, bar=bar, oracle=oracle)
    write_flow(out, promoted.applied(flow), dry_run=dry_run)
    page = promote_page(promoted)
    if report is not None:
        write(report, page.encode(), dry_run=dry_run)
    if as_json:
        told = {"dry_run": dry_run, **promoted.as_json(), "out": str(out), "problems": sessions.problems}
        _render.document(told)
    else:
        _render.out(page.removesuffix("\n"))
    return EXIT_OK


@click.command("drift")
@options.flow
@session_options.sources()
@options.decider("habit")
@options.oracle
@options.picture("the three series")
@options.dry_run
@options.as_json
def watch_drift(
    *,
    flow_path: Path,
    sources: Sources,
    decider: str | None,
    asked: Asked,
    picture: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Watch for a change of the agent, its tools or its work.

    Sessions are taken in order of their start. The exit code is 1 while the alarm sounds after the last one, 0 when it
    does not, and 2 when something cannot be read.
    """
    kind = picture_kind(picture)
    flow, oracle = read_flow(flow_path), asked.oracle()
    with reading(sources, order="start") as sessions:
        found = drift(flow, sessions.episodes(), decider or "habit", oracle)
    if picture is not None:
        from stretto.review.figures import draw_drift  # noqa: PLC0415 - needs matplotlib

        write(picture, draw_drift(found, kind=kind), dry_run=dry_run)
    if as_json:
        _render.document({**found.as_json(), "problems": sessions.problems})
    else:
        _render.out(drift_page(found).removesuffix("\n"))
    return EXIT_PROBLEMS if found.sounding else EXIT_OK
