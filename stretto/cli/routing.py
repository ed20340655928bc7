"""The command ``procedure route``: which procedure a request is for, if any, and what stands in the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto._defaults import EXIT_OK
from stretto.cli import options
from stretto.cli.intents import SUFFIX as PROCEDURES
from stretto.cli.scoping import SCOPE
from stretto.compiler.requests import SUFFIX, read_requests
from stretto.compiler.route import Candidate, Router, Verdict
from stretto.errors import UsageError
from stretto.procedure.file import read_any
from stretto.procedure.graph import Procedure
from stretto.procedure.secrets import variable_of
from waggle import _render, jsonvalue

if TYPE_CHECKING:
    from stretto.compiler.requests import Requests
    from stretto.compiler.route import Routed
    from waggle.jsonvalue import JsonObject

__all__ = ["read_candidates", "route"]

_SAID: Final = {
    Verdict.ROUTE: "route: it is for {name}",
    Verdict.SUGGEST: "suggest: it is like what {name} does, and not routed by itself",
    Verdict.FALLBACK: "fallback: it is the agent's",
}


@click.command("route")
@click.option(
    "--procedures",
    "directory",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Procedures with their requests beside them, as `compile-procedure --requests` writes them.",
)
@click.option("--person", is_flag=True, help="There is a person who can be asked. Default: nobody is there.")
@click.option(
    "--relaxed",
    is_flag=True,
    help="Procedures that only read take requests with the words of their members in any order.",
)
@SCOPE
@options.as_json
@click.argument("request")
def route(*, directory: Path, person: bool, relaxed: bool, scope: dict[str, str], as_json: bool, request: str) -> int:
    """Say which procedure a request is for; nothing is run.

    `route`: it passes three gates, and the inputs that it says are printed. `suggest`: it is like a procedure's
    requests, and a gate failed. `fallback`: it is like none. Always with the numbers and with what failed.
    """
    candidates, others, without = read_candidates(directory)
    found = Router(candidates, others=others, relaxed=relaxed).route(
        request, has_secret=lambda name: variable_of(name) in os.environ, person=person, scope=scope
    )
    for name in without:
        _render.note(f"{name}: has no requests beside it, and is not routed to")
    if as_json:
        _render.document(_routed_json(found))
    else:
        _render.out("\n".join(_render.plain(line) for line in _text(found)))
    return EXIT_OK


def read_candidates(directory: Path) -> tuple[list[Candidate], list[Requests], list[str]]:
    """The procedures of a directory with their requests; requests without a procedure; files without requests.

    Raises:
        UsageError: there is no such directory, no procedure in it, or two have one name.
        ProcedureError: a file in it is none.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: is no directory")
    requests = {path.name.removesuffix(SUFFIX): read_requests(path) for path in sorted(directory.glob(f"*{SUFFIX}"))}
    candidates, without = [], []
    for path in sorted(directory.glob(f"*{PROCEDURES}")):
        procedure = read_any(path)
        mine = requests.pop(path.name.removesuffix(PROCEDURES), None)
        if isinstance(procedure, Procedure) and mine is not None:
            candidates.append(Candidate(procedure, mine))
        else:
            without.append(str(path))
    if not candidates and not without:
        raise UsageError(f"{directory}: has no procedure, NAME{PROCEDURES}")
    names = [each.procedure.name for each in candidates]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{directory}: two procedures are called {twice[0]}")
    return candidates, [*requests.values()], without


def _routed_json(found: Routed) -> JsonObject:
    return {
        "verdict": str(found.verdict),
        "procedure": found.procedure,
        "similarity": found.similarity,
        "threshold": found.threshold,
        "other": found.other,
        "other_similarity": found.other_similarity,
        "margin": found.margin,
        "failed": None if found.failed is None else str(found.failed),
        "reasons": [{"gate": str(gate), "says": says} for gate, says in found.reasons],
        "inputs": dict(found.inputs),
    }


def _text(found: Routed) -> list[str]:
    lines = [_SAID[found.verdict].format(name=found.procedure)]
    if found.procedure:
        lines.append(f"similarity to {found.procedure} {found.similarity:.2f}, threshold {found.threshold:.2f}")
    if found.other:
        lines.append(f"similarity to {found.other} {found.other_similarity:.2f}, margin {found.margin:.2f}")
    lines += [f"failed: {gate}: {says}" for gate, says in found.reasons]
    return [
        *lines,
        *(f"input {name}: {jsonvalue.dumps(value).decode()}" for name, value in sorted(found.inputs.items())),
    ]
