"""Commands that make flows of counts: ``learn``, ``merge``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto._defaults import CORPUS_CACHE_BYTES, EXIT_OK
from stretto.cli import learn_options, options, session_options
from stretto.cli.reading import provenance, reading
from stretto.cli.writing import check_flow_place, write_flow
from stretto.errors import UsageError
from stretto.flow.file import flow_version, read_flow
from stretto.learning import LearnOptions, learn, learn_counts, merge, plan_of_flow
from stretto.model.sample import Sample
from waggle import _render
from waggle.cli.place import counted

if TYPE_CHECKING:
    from stretto.cli.reading import Reading
    from stretto.cli.session_options import Part, Sources
    from stretto.flow.model import Flow
    from waggle.jsonvalue import JsonObject

__all__ = ["flow_json", "learn_flow", "learned_line", "learned_notes", "merge_flows"]


@click.command("learn")
@session_options.sources()
@session_options.part
@learn_options.learned()
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that read a directory of session logs; the flow is the same. Default: one a core for large ones.",
)
@options.out
@options.force
@options.dry_run
@options.as_json
def learn_flow(
    *,
    sources: Sources,
    part: Part,
    learned: LearnOptions,
    jobs: int | None,
    out: Path,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Learn a flow from recorded sessions.

    Counts what followed what in the successful sessions, and where the arguments of reads came from. The same sessions
    give the same file, but for the time in it. Prints the domain, the sessions learned from, the tools and the file.
    """
    check_flow_place(out, force=force)
    with reading(sources, part, order="start" if learned.half_life else "session") as sessions:
        plain = sources.rewards is None and sources.named is None and not learned.half_life
        can_split = sources.sessions is not None and part.is_whole and plain
        if jobs is not None and jobs > 1 and not can_split:
            raise UsageError("--jobs goes with all of --sessions, without --rewards, --format and --half-life")
        if jobs is None:
            jobs = (os.cpu_count() or 1) if can_split and sessions.size_bytes > CORPUS_CACHE_BYTES else 1
        if jobs > 1 and sources.sessions is not None:
            flow = sessions.learned_in_parts(sources.sessions, jobs, learned)
        else:
            flow = learn(sessions, learned, provenance=provenance(sessions.conventions))
    learned_notes(flow, learned)
    write_flow(out, flow, dry_run=dry_run)
    if as_json:
        _render.document(flow_json(flow, sessions, out, dry_run=dry_run))
    else:
        _render.out(learned_line(flow, sessions, out))
    return EXIT_OK


def learned_notes(flow: Flow, learned: LearnOptions) -> None:
    """Tell what the user may not expect of a flow that was learned."""
    if not flow.manifest.reads:
        _render.note("no tool is known to read, so this flow looks nothing up; say which do with --manifest")
    if learned.surprise is not None and flow.surprise is None:
        steps = counted(learned.surprise_window, "step")
        _render.note(f"no session has {steps} to choose at, so there is no surprise gate; a smaller --surprise-window")


def learned_line(flow: Flow, sessions: Reading, out: Path) -> str:
    """What was learned: domain, sessions, tools, file."""
    many = f"{flow.provenance.habit_episodes:,} of {counted(sessions.seen, 'session')}"
    return f"{flow.manifest.domain or 'unnamed'}: {many}, {counted(len(flow.manifest.tools), 'tool')}, {out}"


def flow_json(flow: Flow, sessions: Reading, out: Path, *, dry_run: bool) -> JsonObject:
    """The same for programs."""
    return {
        "dry_run": dry_run,
        "domain": flow.manifest.domain,
        "sessions": sessions.seen,
        "learned": flow.provenance.habit_episodes,
        "tools": len(flow.manifest.tools),
        "reads": len(flow.manifest.reads),
        "sites": len(flow.sites.next),
        "alpha": flow.habit.base.alpha,
        "decider": flow.default_decider,
        "version": flow_version(flow),
        "out": str(out),
        "problems": sessions.problems,
    }


# --- merge ----------------------------------------------------------------------------------------------------


@click.command("merge")
@click.argument("flows", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FLOW [OTHER...]")
@session_options.sources(files=False)
@options.out
@options.force
@options.dry_run
@options.as_json
def merge_flows(
    *, flows: tuple[Path, ...], sources: Sources, out: Path, force: bool, dry_run: bool, as_json: bool
) -> int:
    """Add other flows, or further sessions, to a flow.

    Flows add when they were learned under one plan: the same tools, features and constants. Further sessions are
    counted under the plan of FLOW. Everything that is no count stays as FLOW has it. A session that is counted twice
    counts twice.
    """
    check_flow_place(out, force=force)
    given = sources.sessions or sources.results or sources.otel
    if len(flows) == 1 and not given:
        raise UsageError("there is nothing to add; name another flow, or give --sessions")
    first, *others = map(read_flow, flows)
    problems: JsonObject = {"problems": []}
    if given:
        with reading(sources) as sessions:
            others.append(_counted_for(first, sessions))
        problems["problems"] = sessions.problems
    merged = merge(first, *others)
    made = provenance()
    merged.provenance = replace(merged.provenance, stretto=made.stretto, compiled_unix_ms=made.compiled_unix_ms)
    write_flow(out, merged, dry_run=dry_run)
    before, after = first.provenance.habit_episodes, merged.provenance.habit_episodes
    if as_json:
        many: JsonObject = {"before": before, "after": after}
        _render.document({"dry_run": dry_run, "domain": merged.manifest.domain, **many, "out": str(out), **problems})
    else:
        _render.out(f"{merged.manifest.domain or 'unnamed'}: {before:,} + {counted(after - before, 'session')}, {out}")
    return EXIT_OK


def _counted_for(flow: Flow, sessions: Reading) -> Flow:
    """Sessions counted under a flow's plan. As in learning, so many of them are rehearsed as a sample has."""
    sample = Sample()
    for recorded in sessions:
        if recorded.episode.succeeded:
            sample.add(recorded.episode, ())
    for tool, kind in sorted(sessions.manifest.tools.items()):
        if kind != flow.manifest.tools.get(tool, kind):
            _render.note(f"{tool}: {kind} in these sessions, {flow.manifest.kind(tool)} in the flow, which stays so")
    plan = plan_of_flow(flow, (episode.id for episode in sample.episodes))
    return learn_counts(sessions, plan, flow.provenance)
