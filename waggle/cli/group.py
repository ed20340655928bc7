"""A group of commands: each is imported when it is asked for, and what it raises or returns becomes an exit code.

Every error is one line on standard error, `path:line: problem`; a stack trace is a bug. Not responsible for which
commands there are, nor for which code an error has: each program says both.
"""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from waggle import _render
from waggle._defaults import EXIT_INTERRUPTED, EXIT_OK, EXIT_STORE
from waggle.errors import StoreError, WaggleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["CommandGroup", "exit_codes", "run_group"]


class CommandGroup(click.Group):
    """Finds commands, and turns what they raise and return into exit codes.

    Args:
        arguments: those of `click.Group`.
        homes: where each command is, ``module`` when the function has the command's name, else ``module.function``.
        package: that the modules are in.
        code_of: the exit code of an error.
        others: those of `click.Group`.
    """

    def __init__(
        self,
        *arguments: Any,
        homes: Mapping[str, str],
        package: str,
        code_of: Callable[[Exception], int],
        **others: Any,
    ) -> None:
        super().__init__(*arguments, **others)
        self._homes = homes
        self._package = package
        self._code_of = code_of

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        del ctx
        return sorted(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is none of this name."""
        del ctx
        if cmd_name not in self._homes:
            return None
        module, _, function = self._homes[cmd_name].partition(".")
        command: click.Command = getattr(
            import_module(f"{self._package}.{module}"), function or cmd_name.replace("-", "_")
        )
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; never returns, as click does."""
        try:
            with _log_as_notes():
                code = super().invoke(ctx)
        except KeyboardInterrupt:
            _render.note("stopped")
            code = EXIT_INTERRUPTED
        except (WaggleError, OSError) as error:
            _render.note(_told(error))
            code = self._code_of(error)
        except ExceptionGroup as group:
            code = EXIT_OK
            for each in group.exceptions:
                if not isinstance(each, WaggleError):
                    raise
                _render.note(_told(each))
                code = code or self._code_of(each)
        ctx.exit(code or EXIT_OK)


def _told(error: Exception) -> str:
    # The subclasses of StoreError write their own text.
    if isinstance(error, OSError) and (type(error) is StoreError or not isinstance(error, WaggleError)):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return str(error)


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


def exit_codes(codes: Sequence[tuple[int, str]]) -> str:
    """The end of a program's help: a line a code."""
    return "\b\nExit codes:\n" + "\n".join(f"  {code:<3}  {about}" for code, about in codes)


def run_group(group: click.Group, name: str) -> int:
    """Run a program's command line; returns the exit code."""
    try:
        code = group.main(prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # Ctrl-C before a command had begun
        return EXIT_INTERRUPTED
    except OSError as error:  # the help text could not be printed
        _render.silence(sys.stdout)
        _render.note(_told(error))
        return EXIT_STORE
    return code if isinstance(code, int) else EXIT_OK
