"""The command group: which commands there are, and what becomes of errors.

Every error is one line on standard error, `path:line: problem`, and an exit code; a stack trace is a bug.
"""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

import waggle
from waggle import _defaults, _render
from waggle.errors import (
    InvalidSkillName,
    LedgerCorrupt,
    SettingsError,
    SkillFileError,
    StoreError,
    TraceError,
    WaggleError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    "ls": "skills",
    "mine": "sessions",
    "replay": "sessions",
    "show": "skills",
    "stats": "effect",
    "why": "receipts",
    "why-not": "receipts",
    "verify": "health",
}


class _Commands(click.Group):
    """Finds commands, and turns what they raise and return into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        del ctx
        return sorted(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is none of this name."""
        del ctx
        if cmd_name not in _HOMES:
            return None
        command: click.Command = getattr(import_module(f"waggle.cli.{_HOMES[cmd_name]}"), cmd_name.replace("-", "_"))
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; never returns, as click does."""
        try:
            with _log_as_notes():
                code = super().invoke(ctx)
        except KeyboardInterrupt:
            _render.note("stopped")
            code = _defaults.EXIT_INTERRUPTED
        except (WaggleError, OSError) as error:
            _render.note(_told(error))
            code = _code_of(error)
        except ExceptionGroup as group:
            code = _defaults.EXIT_OK
            for each in group.exceptions:
                if not isinstance(each, WaggleError):
                    raise
                _render.note(_told(each))
                code = code or _code_of(each)
        ctx.exit(code or _defaults.EXIT_OK)


def _told(error: Exception) -> str:
    # The subclasses of StoreError write their own text.
    if isinstance(error, OSError) and (type(error) is StoreError or not isinstance(error, WaggleError)):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return str(error)


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


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _render.note(record.getMessage())


@contextmanager
def _log_as_notes() -> Iterator[None]:
    """Print what the library warns of as any other note, instead of in the way of Python's last resort."""
    handler = _Notes(logging.WARNING)
    logger = logging.getLogger("waggle")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _epilog() -> str:
    return "\b\nExit codes:\n" + "\n".join(f"  {code:<3}  {about}" for code, about in EXIT_CODES)


@click.group(cls=_Commands, epilog=_epilog(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(waggle.__version__, prog_name="waggle", message="%(prog)s %(version)s")
def cli() -> None:
    """Procedure memory for AI agents: learn the reads an agent repeats, and make them before it asks.

    TRACE is a recorded session: a file in the canonical trace format or a Claude Code transcript
    (~/.claude/projects/*/*.jsonl), as text or gzipped, a directory of them, or - for standard input.
    """


def run() -> int:
    """Run the command line; returns the exit code."""
    try:
        code = cli.main(prog_name="waggle", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # Ctrl-C before a command had begun
        return _defaults.EXIT_INTERRUPTED
    except OSError as error:  # the help text could not be printed
        _render.silence(sys.stdout)
        _render.note(_told(error))
        return _defaults.EXIT_STORE
    return code if isinstance(code, int) else _defaults.EXIT_OK
