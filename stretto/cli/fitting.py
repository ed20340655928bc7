"""The command ``fit-procedure``: decision trees of recorded sessions in which nobody spoke after the ticket.

Not responsible for fitting (`stretto.procedure.trees.fitting`), nor for replaying (`stretto.procedure.trees.held_out`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto._defaults import EXIT_OK, TREE_FOLDS, TREE_MAX_CALLS
from stretto.cli import options, session_options
from stretto.cli.given_values import values
from stretto.cli.jsonfile import read_json
from stretto.cli.reading import reading
from stretto.cli.writing import check_new_place, write
from stretto.compiler.declared import read_declared
from stretto.compiler.reading import known_tools
from stretto.errors import UsageError
from stretto.procedure.trees.file import checks_from_json, dump_trees
from stretto.procedure.trees.fitting import FitOptions, fit_trees
from stretto.procedure.trees.held_out import replay_held_out
from stretto.procedure.trees.paper import TreeResult
from waggle import _render
from waggle.cli.place import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.cli.options import Option
    from stretto.cli.session_options import Sources
    from stretto.procedure.trees.fitting import Fitted
    from stretto.procedure.trees.held_out import HeldOut
    from stretto.sessions.corpus import Recorded
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["fit_procedure"]

#: Why sessions do not serve, for people.
_LEFT_OUT: Final = {
    "failed": "they did not reach their goal",
    "not solo": "somebody spoke after the first call, or nobody before it",
    "not sayable": "a call cannot be said as an action of a tree",
    "secret": "an argument is a secret, and trees have no place for one",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is fitted, beside the sessions.

    Attributes:
        tools: what the user says of the tools.
        trust: whether what the recording says of them is believed where the user says nothing.
        only: the domain whose sessions are taken; None for all.
        fit: how.
        parts: of the tasks that are left out in turn; 0 for none.
    """

    tools: Path | None
    trust: bool
    only: str | None
    fit: FitOptions
    parts: int


def _asked(
    *,
    tools: Path | None,
    trust: bool,
    only: str | None,
    parts: int,
    checks: Path | None,
    handoff: str,
    given: tuple[str, ...],
    sure: float | None,
    unsure_reads: bool,
    **others: Any,
) -> Asked:
    if given and not handoff:
        raise click.UsageError("--handoff-argument goes with --handoff")
    if unsure_reads and sure is None:
        raise click.UsageError("--unsure-reads goes with --sure")
    fit = FitOptions(
        handoff=handoff,
        handoff_arguments=values(given, "--handoff-argument"),
        checks=checks_from_json(read_json(checks), str(checks)) if checks is not None else (),
        sure=sure,
        sure_reads=not unsure_reads,
        **others,
    )
    return Asked(tools, trust, only, fit, parts)


_OPTIONS: Final[Mapping[str, Option]] = {
    **session_options.KNOWN,
    "only": click.option(
        "--only", metavar="DOMAIN", help="Take only the sessions of this domain. Needed where there are several."
    ),
    "handoff": click.option(
        "--handoff",
        default="",
        metavar="TOOL",
        help="The tool that passes to a person and ends a run. What it was told in the sessions is not learned.",
    ),
    "given": click.option(
        "--handoff-argument",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help="What that tool is told; JSON where it is no text. Once for each.",
    ),
    "checks": click.option(
        "--checks",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="How outcomes are looked at: a list of phrase, probe, contains and lacks, in JSON. Default: no run is "
        "`resolved`.",
    ),
    "sure": click.option(
        "--sure",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
        help="Stop where no action has this share of 10 cases or more. Default: the most frequent that can be done.",
    ),
    "unsure_reads": click.option("--unsure-reads", is_flag=True, help="With --sure: only changes have to be sure."),
    "symbolic": click.option(
        "--no-symbols",
        "symbolic",
        flag_value=False,
        default=True,
        help="Keep identifiers as they are, instead of where they come from.",
    ),
    "max_calls": click.option(
        "--max-calls",
        type=click.IntRange(min=1),
        default=TREE_MAX_CALLS,
        metavar="N",
        help=f"Calls of one run at most. Default: {TREE_MAX_CALLS}.",
    ),
    "bag": click.option(
        "--bag",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Let N trees on halves of the tasks vote on what is asked. Default: 0, none.",
    ),
    "seed": click.option(
        "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Of these halves. Default: 0."
    ),
    "parts": click.option(
        "--parts",
        type=click.IntRange(min=0),
        default=TREE_FOLDS,
        metavar="N",
        help="Put the tasks in N parts, and replay each by trees fitted without it; 0 replays nothing. "
        f"Default: {TREE_FOLDS}.",
    ),
}


@click.command("fit-procedure")
@session_options.traces
@session_options.sources(files=False)
@options.gathered("asked", _asked, _OPTIONS)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where the procedure is written, whole or not at all.",
)
@options.force
@options.dry_run
@options.as_json
def fit_procedure(
    *,
    traces: Path | None,
    sources: Sources,
    asked: Asked,
    out: Path,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Fit a tree procedure of recorded sessions: after each call a decision tree says what to do next.

    TRACES is a directory or a file of recorded sessions, as --sessions. Those serve that reached their goal, and in
    which nobody spoke after the first call. `compile-procedure` proves every step; trees do what was done most often
    in the same state, which needs many sessions that agree. Prints what was fitted, and what trees do on tasks that
    they were not fitted on.
    """
    if not dry_run:
        check_new_place(out, force=force)
    sources = session_options.given(sources, traces)
    with reading(sources) as recorded:
        held, trust = recorded.told(trust=asked.trust)
    names = [path for path in (sources.sessions, *sources.results, sources.otel) if path is not None]
    held, domain = _of_one_domain(held, asked.only, names)
    declared = read_declared(asked.tools) if asked.tools is not None else None
    known = known_tools(held, declared, trust=trust)
    if known.secrets:
        tool, arguments = min(known.secrets.items())
        raise UsageError(
            f"{asked.tools}: {tool} takes a secret, {', '.join(arguments)}; trees have no place for one: "
            "`compile-procedure` has"
        )
    manifest = replace(known.manifest, domain=domain)
    fit = replace(asked.fit, sources=tuple(path.name for path in names))
    with _render.progress("fits", asked.parts + 1) as done:
        fitted = _fitted(held, manifest, fit, names)
        done(1)
        left_out = None
        if asked.parts:
            left_out = replay_held_out(fitted.sessions, manifest, fit, parts=asked.parts, on_part=lambda: done(1))
    write(out, dump_trees(fitted.procedure), dry_run=dry_run)
    warnings = [*_warnings(fitted, len(held)), *known.warnings]
    if as_json:
        _render.document(_fitted_json(fitted, left_out, out, warnings, dry_run=dry_run))
    else:
        _render.out(_fitted_text(fitted, left_out, out))
        for warning in warnings:
            _render.note(warning)
    return EXIT_OK


def _of_one_domain(held: list[Recorded], only: str | None, names: Sequence[Path]) -> tuple[list[Recorded], str]:
    domains = {each.episode.domain for each in held}
    where = ", ".join(map(str, names))
    if only is not None and only not in domains:
        raise UsageError(f"{where}: no session is of {only}; there are: {', '.join(sorted(domains)) or 'none'}")
    if only is None and len(domains) > 1:
        raise UsageError(f"{where}: sessions of several domains, {', '.join(sorted(domains))}; take one with --only")
    domain = only if only is not None else next(iter(domains), "")
    return [each for each in held if each.episode.domain == domain], domain


def _fitted(held: Sequence[Recorded], manifest: Manifest, fit: FitOptions, names: Sequence[Path]) -> Fitted:
    try:
        return fit_trees((each.episode for each in held), manifest, fit)
    except UsageError as error:
        raise UsageError(f"{', '.join(map(str, names))}: {error}") from None


def _warnings(fitted: Fitted, whole: int) -> list[str]:
    found = [f"{count} of {whole} sessions left out: {_LEFT_OUT[why]}" for why, count in fitted.left_out.items()]
    procedure = fitted.procedure
    if procedure.handoff and procedure.handoff not in _called(fitted):
        found.append(f"no session calls {procedure.handoff}, so no run hands over")
    if not procedure.checks:
        found.append("there is no check, so nothing tells a run that its outcome is right: it ends as hand_back")
    return found


def _called(fitted: Fitted) -> set[str]:
    return {call.name for episode in fitted.sessions for turn in episode.turns() for call in turn.calls}


def _fitted_json(
    fitted: Fitted, left_out: HeldOut | None, out: Path, warnings: Sequence[str], *, dry_run: bool
) -> JsonObject:
    return {
        "dry_run": dry_run,
        "domain": fitted.procedure.domain,
        "sessions": len(fitted.sessions),
        "tasks": fitted.procedure.provenance.training_tasks,
        "decisions": fitted.decisions,
        "actions": fitted.actions,
        "depths": dict(fitted.depths),
        "without": dict(fitted.left_out),
        "held_out": None
        if left_out is None
        else {
            "parts": left_out.parts,
            "sessions": left_out.sessions,
            **{str(result).replace(" ", "_"): left_out.results[result] for result in TreeResult},
        },
        "out": str(out),
        "warnings": list(warnings),
    }


def _fitted_text(fitted: Fitted, left_out: HeldOut | None, out: Path) -> str:
    facts = [
        counted(len(fitted.sessions), "session"),
        counted(fitted.procedure.provenance.training_tasks, "task"),
        counted(fitted.decisions, "decision"),
        counted(fitted.actions, "action"),
    ]
    lines = [
        _render.plain(f"{fitted.procedure.domain or 'unnamed'}: {', '.join(facts)}"),
        f"  {out}; `stretto procedure show {out}`",
    ]
    if left_out is not None:
        shares = (f"{count} {result} ({count / left_out.sessions:.0%})" for result, count in left_out.results.items())
        lines.append(f"  tasks left out, in {counted(left_out.parts, 'part')}: {', '.join(shares)}")
    return "\n".join(lines)
