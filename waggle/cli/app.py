"""The command group: which commands there are, and what becomes of errors.

Every error is one line on standard error, `path:line: problem`, and an exit code; a stack trace is a bug.
"""

from __future__ import annotations

from typing import Final

import click

import waggle
from waggle import _defaults
from waggle.cli.group import CommandGroup, exit_codes, run_group
from waggle.errors import InvalidSkillName, LedgerCorrupt, SettingsError, SkillFileError, TraceError

__all__ = ["EXIT_CODES", "cli", "run"]

EXIT_CODES: Final = (
    (_defaults.EXIT_OK, "all is well"),
    (_defaults.EXIT_PROBLEMS, "the command ran and found something wrong"),
    (_defaults.EXIT_USAGE, "the command line or a setting is wrong"),
    (_defaults.EXIT_SKILL, "a skill cannot be read or does not exist"),
    (_defaults.EXIT_STORE, "a place cannot be read or written, or its lock was not had in time"),
    (_defaults.EXIT_LEDGER, "a ledger is damaged"),
    (_defaults.EXIT_TRACE, "a recorded session cannot be read"),
    (_defaults.EXIT_INTERRUPTED, "stopped with Ctrl-C"),
)


#: Commands and the modules they are in. Only the one that is asked for is imported: all of them take half a second.
_HOMES: Final = {
    "config": "upkeep",
    "demo": "sessions",
    "doctor": "health",
    "export": "skills",
    "gc": "upkeep",
    "init": "hosting",
    "ls": "skills",
    "mine": "sessions",
    "replay": "sessions",
    "serve": "serving",
    "show": "skills",
    "stats": "effect",
    "why": "receipts",
    "why-not": "receipts",
    "verify": "health",
}


def _code_of(error: Exception) -> int:
    match error:
        case SettingsError():
            return _defaults.EXIT_USAGE
        case SkillFileError() | InvalidSkillName():
            return _defaults.EXIT_SKILL
        case LedgerCorrupt():
            return _defaults.EXIT_LEDGER
        case TraceError():
            return _defaults.EXIT_TRACE
        case _:
            return _defaults.EXIT_STORE


@click.group(
    cls=CommandGroup,
    homes=_HOMES,
    package="waggle.cli",
    code_of=_code_of,
    epilog=exit_codes(EXIT_CODES),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(waggle.__version__, prog_name="waggle", message="%(prog)s %(version)s")
def cli() -> None:
    """Procedure memory for AI agents: learn the reads an agent repeats, and make them before it asks.

    TRACE is a recorded session: a file in the canonical trace format or a Claude Code transcript
    (~/.claude/projects/*/*.jsonl), as text or gzipped, a directory of them, or - for standard input.
    """


def run() -> int:
    """Run the command line; returns the exit code."""
    return run_group(cli, "waggle")
