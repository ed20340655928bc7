"""The commands ``intents`` and ``compile-procedure``: what recorded sessions were about, and a procedure of each.

Not responsible for finding intents (`stretto.compiler.discover`), nor for compiling (`stretto.compiler.compiling`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import stretto
from stretto._defaults import EXIT_OK, EXIT_PROBLEMS
from stretto.cli import options, session_options
from stretto.cli.reading import reading
from stretto.cli.versions import read_old, replace_procedure, superseded_place
from stretto.cli.writing import check_new_place
from stretto.compiler.abstain import Outcome
from stretto.compiler.compiling import compile_traces
from stretto.compiler.declared import read_declared
from stretto.compiler.discover import discover
from stretto.compiler.embed import TfidfEmbedder
from stretto.compiler.emit import Origin
from stretto.compiler.measure import call_reduction
from stretto.compiler.paper import Result
from stretto.compiler.reading import read_recorded
from stretto.compiler.requests import SUFFIX as REQUESTS
from stretto.compiler.requests import dump_requests, index_of, requests_of
from stretto.compiler.settings import CompilerSettings
from stretto.compiler.subclusters import twins
from waggle import _render, files
from waggle.cli.place import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.cli.options import Option
    from stretto.cli.session_options import Sources
    from stretto.cli.versions import Old
    from stretto.compiler.compiling import Compilation
    from stretto.compiler.discover import Discovery, Intent
    from stretto.compiler.embed import Embedder
    from stretto.compiler.reading import Reading
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["SUFFIX", "compile_procedures", "compiled_json", "find_intents"]

#: How the name of a procedure's file ends.
SUFFIX: Final = ".procedure.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """How intents are looked for.

    Attributes:
        tools: what the user says of the tools.
        trust: whether what the recording says of them is believed where the user says nothing.
        failed: whether sessions that did not reach their goal are taken, too.
        embedder: ``tfidf`` or ``sentences``.
        support: traces of one intent that it takes.
        join: actions that do not part traces.
    """

    tools: Path | None
    trust: bool
    failed: bool
    embedder: str
    support: int
    join: tuple[str, ...]

    @property
    def settings(self) -> CompilerSettings:
        """The compiler's settings."""
        return replace(CompilerSettings(), support_floor=self.support)

    def read(self, sources: Sources) -> Reading:
        """The sessions as traces."""
        declared = read_declared(self.tools) if self.tools is not None else None
        with reading(sources) as recorded:
            held, trust = recorded.told(trust=self.trust)
            return read_recorded(held, declared, trust=trust, failed=self.failed, sparse=sources.otel is not None)

    def embeds(self) -> Embedder:
        """What makes vectors of documents."""
        if self.embedder == "tfidf":
            return TfidfEmbedder()
        from stretto.compiler.sentences import SentenceEmbedder  # noqa: PLC0415 - brings PyTorch

        return SentenceEmbedder()


_OPTIONS: Final[Mapping[str, Option]] = {
    **session_options.KNOWN,
    "failed": click.option("--failed", is_flag=True, help="Take sessions, too, that did not reach their goal."),
    "embedder": click.option(
        "--embedder",
        type=click.Choice(["tfidf", "sentences"]),
        default="tfidf",
        metavar="[tfidf|sentences]",
        help="What tells sessions alike: their words, or a small sentence model. Default: tfidf.",
    ),
    "support": click.option(
        "--support",
        type=click.IntRange(min=1),
        default=CompilerSettings().support_floor,
        metavar="N",
        help=f"Sessions of one intent that it takes. Default: {CompilerSettings().support_floor}.",
    ),
    "join": click.option(
        "--join",
        multiple=True,
        metavar="ACTION",
        help="An action with an effect that only some sessions of an intent make; once for each.",
    ),
}


@click.command("intents")
@session_options.traces
@session_options.sources(files=False)
@options.gathered("asked", Asked, _OPTIONS)
@options.as_json
def find_intents(*, traces: Path | None, sources: Sources, asked: Asked, as_json: bool) -> int:
    """Find out what recorded sessions were about: which of them did the same.

    TRACES is a directory or a file of recorded sessions, as --sessions. Needs the extra `compiler`.
    """
    read = asked.read(session_options.given(sources, traces))
    found = discover(read.traces, asked.embeds(), asked.settings, join=asked.join)
    if as_json:
        _render.document(
            {
                "traces": len(read.traces),
                "embedder": found.embedder,
                "threshold": found.threshold,
                "intents": [_intent_json(intent) for intent in found.intents],
                "branch_candidates": [
                    {"action": each.action, "with": each.with_it, "without": each.without}
                    for each in found.branch_candidates
                ],
                "split": len(found.splits),
                "copies": found.copies,
                "warnings": list(read.warnings),
            }
        )
        return EXIT_OK
    _render.out(_intents_text(read, found))
    for warning in read.warnings:
        _render.note(warning)
    return EXIT_OK


def _intent_json(intent: Intent) -> JsonObject:
    return {
        "name": intent.name,
        "sessions": len(intent.traces),
        "supported": intent.supported,
        "effects": list(intent.signature),
        "request": intent.traces[0].request[:_REQUEST],
        "farthest": list(intent.farthest or ()),
        "distance": intent.distance,
    }


_REQUEST: Final = 200  # characters of a request that are shown


def _intents_text(read: Reading, found: Discovery) -> str:
    columns = [
        _render.Column("intent"),
        _render.Column("sessions", number=True),
        _render.Column("changes"),
        _render.Column("for example"),
    ]
    rows = [
        [
            intent.name + ("" if intent.supported else " (too few)"),
            f"{len(intent.traces):,}",
            ", ".join(intent.signature) or "nothing",
            " ".join(intent.traces[0].request.split())[:_EXAMPLE],
        ]
        for intent in found.intents
    ]
    supported = counted(len(found.supported), "intent")
    return "\n".join(
        [
            f"{counted(len(read.traces), 'session')}, {supported} with enough of them",
            "",
            _render.table(columns, rows),
            *(
                f"{each.with_it} and {each.without} may be one: `--join {each.action}`"
                for each in found.branch_candidates
            ),
        ]
    )


_EXAMPLE: Final = 60


@click.command("compile-procedure")
@session_options.traces
@session_options.sources(files=False)
@options.gathered("asked", Asked, _OPTIONS)
@click.option("--intent", "only", multiple=True, metavar="NAME", help="Compile only this one; once for each.")
@click.option(
    "--requests",
    is_flag=True,
    help="Also write NAME.requests.json for every intent: the words of its requests, without their values, by which "
    "`procedure route` tells whether a new one is for it.",
)
@click.option(
    "--assume",
    is_flag=True,
    help="Stop a run where what always held before a step that nobody can take back is otherwise, such as a status.",
)
@click.option("--human", is_flag=True, help="Let a person choose the way where nothing in the sessions tells it.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the procedures are written."
)
@options.force
@options.dry_run
@options.as_json
def compile_procedures(
    *,
    traces: Path | None,
    sources: Sources,
    asked: Asked,
    only: tuple[str, ...],
    requests: bool,
    assume: bool,
    human: bool,
    out: Path,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Compile recorded sessions into procedures: one for each intent, or a refusal that says what would settle it.

    TRACES is a directory or a file of recorded sessions, as --sessions. Each procedure is NAME.procedure.json in DIR.
    Needs the extra `compiler`. The exit code is 1 when something was refused.
    """
    read = asked.read(session_options.given(sources, traces))
    found = discover(read.traces, asked.embeds(), asked.settings, join=asked.join)
    chosen = [intent for intent in found.supported if not only or intent.name in only]
    if unknown := set(only) - {intent.name for intent in found.supported}:
        known = ", ".join(intent.name for intent in found.supported) or "none"
        raise click.UsageError(f"there is no intent {min(unknown)} with enough sessions; there are: {known}")
    places = {intent.name: out / f"{intent.name}{SUFFIX}" for intent in chosen}
    indexes = {intent.name: out / f"{intent.name}{REQUESTS}" for intent in found.intents if requests}
    for place in (*places.values(), *indexes.values()) if not dry_run else ():
        check_new_place(place, force=force)
    old = {name: read_old(place) for name, place in places.items()}
    settings = replace(asked.settings, assume=assume, inject=read.inject)
    made = []
    with _render.progress("intents", len(chosen)) as done:
        for intent in chosen:
            made.append(_compiled(intent, read, found, settings, human=human))
            done(1)
    if not dry_run:
        made = [_written(each, places[each.name], old[each.name]) for each in made]
        written = {each.name: index_of(each) for each in made}
        for intent in found.intents if requests else ():
            mine = written.get(intent.name) or requests_of(
                intent.name, ((trace.request, {}) for trace in intent.traces)
            )
            files.replace(indexes[intent.name], dump_requests(mine))
    if as_json:
        _render.document(compiled_json(read, found, made, places, dry_run=dry_run))
    else:
        _render.out(_compiled_text(read, found, made, places))
        for warning in read.warnings:
            _render.note(warning)
    return EXIT_OK if all(each.procedure is not None for each in made) else EXIT_PROBLEMS


def _written(made: Compilation, place: Path, old: Old | None) -> Compilation:
    """The same with what is there now."""
    if made.procedure is None:
        return made
    return replace(made, procedure=replace_procedure(place, made.procedure, old))


def _compiled(
    intent: Intent, read: Reading, found: Discovery, settings: CompilerSettings, *, human: bool
) -> Compilation:
    used = {f"{call.server}/{call.raw_name}" for trace in intent.traces for call in trace.calls}
    origin = Origin(
        intent.name,
        version=stretto.__version__,
        embedder=found.embedder,
        contracts={name: contract for name, contract in read.contracts.items() if name in used},
    )
    return compile_traces(
        intent.name, intent.traces, read.tools, settings, origin=origin, human=human, joined=intent.guarded
    )


def compiled_json(
    read: Reading, found: Discovery, made: list[Compilation], places: Mapping[str, Path], *, dry_run: bool
) -> JsonObject:
    """What ``compile-procedure --json`` prints."""
    return {
        "dry_run": dry_run,
        "traces": len(read.traces),
        "below_support": [intent.name for intent in found.below_support],
        "intents": [_compilation_json(each, places[each.name]) for each in made],
        "refused": dict(sorted(_refused(made).items())),
        "twins": [list(names) for names in _twins(made)],
        "warnings": list(read.warnings),
    }


def _twins(made: list[Compilation]) -> tuple[tuple[str, ...], ...]:
    return twins({each.name: each.procedure for each in made if each.procedure is not None})


def _refused(made: list[Compilation]) -> dict[str, JsonValue]:
    """How many intents were refused for each code."""
    counts: dict[str, int] = {}
    for each in made:
        for code in {str(reason.code) for reason in each.refusal.reasons} if each.refusal is not None else ():
            counts[code] = counts.get(code, 0) + 1
    return dict(counts)


def _compilation_json(made: Compilation, place: Path) -> JsonObject:
    left = [each.result for each in made.left_out]
    return {
        "name": made.name,
        "sessions": len(made.traces),
        "outcome": str(made.outcome),
        "steps": len(made.procedure.tools()) if made.procedure is not None else 0,
        "out": str(place) if made.procedure is not None else None,
        "parent": made.procedure.parent if made.procedure is not None else "",
        "reasons": [
            {"code": str(each.code), "step": each.step, "argument": each.path, "says": each.says}
            for each in made.reasons
        ],
        "would_settle": list(made.refusal.would_settle) if made.refusal is not None else [],
        "salvage": list(made.refusal.salvage) if made.refusal is not None else [],
        "calls": _calls_json(made),
        "left_out": {str(result): left.count(result) for result in Result},
        "warnings": list(made.warnings),
    }


def _calls_json(made: Compilation) -> JsonObject | None:
    if made.procedure is None or made.analysis is None:
        return None
    found = call_reduction(made.analysis)
    return {"observed": found.observed, "cold": found.cold, "warm": found.warm}


def _compiled_text(read: Reading, found: Discovery, made: list[Compilation], places: Mapping[str, Path]) -> str:
    outcomes = [each.outcome for each in made]
    lines = [
        f"{counted(len(read.traces), 'session')}, {counted(len(found.intents), 'intent')}: "
        + ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome)
        + f", {len(found.below_support)} with too few sessions"
    ]
    for each in made:
        lines += ["", f"{_render.plain(each.name)}: {each.outcome} ({counted(len(each.traces), 'session')})"]
        lines += [f"  {line}" for line in _about(each, places[each.name])]
    for names in _twins(made):
        lines += ["", _render.plain(f"{', '.join(names)}: these procedures do the same; one of them is enough")]
    return "\n".join(lines)


def _about(made: Compilation, place: Path) -> list[str]:
    lines = []
    if made.procedure is not None:
        steps = " → ".join(name for name, _ in made.procedure.tools())
        left = [each.result for each in made.left_out]
        lines += [steps, f"{place}; `stretto procedure show {place}`"]
        lines += _calls_text(made)
        lines.append("sessions left out: " + ", ".join(f"{left.count(result)} {result}" for result in Result))
        if made.procedure.parent:
            old = superseded_place(place, made.procedure.parent)
            lines.append(f"takes the place of {old}; `stretto procedure diff {old} {place}`")
    for reason in made.reasons:
        where = f"{reason.step} {reason.path}".strip()
        lines.append(_render.plain(f"{reason.code}: {where}: {reason.says}"))
    if made.refusal is not None:
        lines += [_render.plain(f"would settle it: {each}") for each in made.refusal.would_settle]
        if made.refusal.salvage:
            lines.append("could be compiled alone: " + " → ".join(made.refusal.salvage))
    lines += [_render.plain(each) for each in made.warnings]
    return lines


def _calls_text(made: Compilation) -> list[str]:
    if made.analysis is None:
        return []
    found = call_reduction(made.analysis)
    warm = f", {found.warm:,} where it need not log in" if found.warm < found.cold else ""
    return [f"calls: {found.observed:,} in the sessions, {found.cold:,} by the procedure{warm}"]
