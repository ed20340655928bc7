"""Commands that look whether all is well: ``verify``, ``doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waggle import _render
from waggle._defaults import EXIT_LEDGER, EXIT_OK, EXIT_PROBLEMS
from waggle.cli import options
from waggle.cli.diagnosing import diagnose
from waggle.cli.place import counted, open_place
from waggle.cli.verifying import verify_store

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.cli.verifying import Finding
    from waggle.routes import Scope

__all__ = ["doctor", "verify"]


@click.command()
@options.project
@options.scope("Only the project's store, or only the user's. Default: both.")
@options.as_json
def verify(*, directory: Path, scope: Scope | None, as_json: bool) -> int:
    """Check ledgers and skill files.

    Prints one line a finding and changes nothing. A last ledger line that a crash cut short, and what people have
    edited, are notes. The exit code is 1 for a problem and 5 for a damaged ledger.
    """
    found: list[Finding] = []
    skills = 0
    stores = open_place(directory).stores(scope)
    for store in stores:
        findings, count = verify_store(store)
        found += findings
        skills += count
    problems = [each for each in found if each.kind != "note"]
    if as_json:
        _render.document({"skills": skills, "problems": len(problems), "findings": [each.as_json() for each in found]})
    else:
        for each in found:
            _render.out(_render.plain(str(each)))
        notes = len(found) - len(problems)
        looked_at = f"{counted(skills, 'skill')} and {counted(len(stores), 'ledger')}"
        _render.out(f"checked {looked_at}: {counted(len(problems), 'problem')}, {counted(notes, 'note')}")
    if any(each.kind == "corrupt" for each in found):
        return EXIT_LEDGER
    return EXIT_PROBLEMS if problems else EXIT_OK


@click.command()
@options.project
@options.as_json
def doctor(*, directory: Path, as_json: bool) -> int:
    """Look whether everything is in place.

    One line each on versions, project, settings, stores and ledgers; what is wrong comes with what to do about it, and
    the exit code is 1.
    """
    checks = list(diagnose(directory))
    healthy = all(check.state != "problem" for check in checks)
    if as_json:
        _render.document({"healthy": healthy, "checks": [check.as_json() for check in checks]})
    else:
        rows = [[c.state, c.name, f"{c.found}; {c.remedy}" if c.remedy else c.found] for c in checks]
        _render.out(_render.table([_render.Column(title) for title in ("state", "what", "found")], rows))
    return EXIT_OK if healthy else EXIT_PROBLEMS
