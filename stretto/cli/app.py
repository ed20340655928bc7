"""The command group: which commands there are, and which exit code an error has."""

from __future__ import annotations

from typing import Final

import click

import stretto
from stretto import _defaults
from waggle.cli.group import CommandGroup, exit_codes, run_group

__all__ = ["EXIT_CODES", "cli", "run"]

EXIT_CODES: Final = (
    (_defaults.EXIT_OK, "all is well"),
    (_defaults.EXIT_PROBLEMS, "the command ran and found something: a change to review, a drift, a fault"),
    (_defaults.EXIT_USAGE, "what was given cannot be used: the command line, a flow, a recorded session"),
    (_defaults.EXIT_STORE, "a place cannot be written"),
    (_defaults.EXIT_INTERRUPTED, "stopped with Ctrl-C"),
)

#: Commands and where they are. Only the one that is asked for is imported.
_HOMES: Final = {
    "audit": "checking.audit_flow",
    "ceiling": "measuring.count_ceiling",
    "compile": "compiling.compile_results",
    "compile-procedure": "intents.compile_procedures",
    "completions": "upkeep",
    "costs": "measuring.count_costs",
    "demo": "demo",
    "doctor": "upkeep",
    "drift": "checking.watch_drift",
    "evaluate": "tuning.evaluate_logs",
    "fit-procedure": "fitting.fit_procedure",
    "flow-diff": "reviewing",
    "flow-show": "reviewing",
    "init": "hosting",
    "intents": "intents.find_intents",
    "learn": "learning.learn_flow",
    "learn-curve": "curves",
    "merge": "learning.merge_flows",
    "procedure": "procedures",
    "promote": "checking.promote_flow",
    "redact": "upkeep.redact_logs",
    "replay": "measuring.replay_flow",
    "search": "tuning.search_thresholds",
}


def _code_of(error: Exception) -> int:
    return _defaults.EXIT_STORE if isinstance(error, OSError) else _defaults.EXIT_USAGE


@click.group(
    cls=CommandGroup,
    homes=_HOMES,
    package="stretto.cli",
    code_of=_code_of,
    epilog=exit_codes(EXIT_CODES),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(stretto.__version__, prog_name="stretto", message="%(prog)s %(version)s")
def cli() -> None:
    """Learn from an agent's recorded sessions which lookups it makes next, review that, and measure what it saves.

    What is learned is a flow, one JSON file. Sessions are recorded logs, canonical traces or Claude Code transcripts
    (--sessions), results of tau-bench (--results), or OpenTelemetry spans (--otel).
    """


def run() -> int:
    """Run the command line; returns the exit code."""
    return run_group(cli, "stretto")
