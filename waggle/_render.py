"""What commands print: text for people, JSON for programs, notes and progress on standard error.

Everything a command prints passes here, so that three things hold for all of it: printing never raises, whatever the
encoding and whether or not anybody still reads; what a terminal would obey instead of show is escaped; and no text is
ever handed to a markup parser. Not responsible for what is said.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TextIO

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from waggle.jsonvalue import JsonValue

__all__ = ["Column", "document", "note", "out", "plain", "progress", "silence", "table"]

#: What is escaped: controls, which a terminal obeys; halves of surrogate pairs, which no encoding has; line separators;
#: and the marks that reverse the direction of writing, which make a text look like another.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
_BREAKS: Final = re.compile("[\t\n]")

#: Columns where nobody looks at a screen: cells are never folded in a file.
_UNFOLDED: Final = 100_000
_GAP: Final = 2  #: columns between two cells
_LEAST_FOLDED: Final = 24  #: columns below which a text is not folded any narrower


# --- text -----------------------------------------------------------------------------------------------------


def plain(text: str, *, lines: bool = False) -> str:
    r"""Text as it can be shown: what a terminal would obey, or its encoding does not have, becomes an escape.

    Args:
        text: any string; lone surrogates too.
        lines: keep line ends and tabs; otherwise they are escaped as well, so that the text stays on one line.
    """
    shown = _UNSAFE.sub(_escape, text)
    if not lines:
        shown = _BREAKS.sub(_escape, shown)
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("ascii", "backslashreplace").decode() if found[0] > "\x7f" else repr(found[0])[1:-1]


def out(text: str) -> None:
    """Print text for people, line by line as it is given, on standard output."""
    _write(sys.stdout, plain(text, lines=True) + "\n")


def note(text: str) -> None:
    """Print one line that is not the command's result, on standard error."""
    _write(sys.stderr, plain(text) + "\n")


def document(value: JsonValue) -> None:
    """Print one JSON document in ASCII on standard output; keys keep their order."""
    # What is not ASCII stands inside a JSON string, so an escape may take its place.
    text = re.sub(r"[^\x00-\x7f]+", lambda run: jsonvalue.canonical(run[0]).decode()[1:-1], jsonvalue.pretty(value))
    _write(sys.stdout, text)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # closed before we were started
        return
    try:
        with suppress(AttributeError):  # a stream that is no file, in somebody's test
            stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # TextIO lacks the method, its class has it
        stream.write(text)
        stream.flush()
    except OSError as error:
        silence(stream)
        gone = error.errno in (errno.EPIPE, errno.EINVAL)  # Windows calls a pipe without a reader invalid
        if stream is sys.stdout and not gone:
            raise OSError(error.errno, error.strerror, "standard output") from error


def silence(stream: TextIO) -> None:
    """Let what is still to come go nowhere: the reader has gone, and the work goes on to its end and its exit code.

    What is buffered goes there too; otherwise the interpreter would try it again at its end, and fail in its own way.
    """
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# --- tables ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        title: its heading.
        number: align to the right.
    """

    title: str
    number: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Lay rows out under headings. Cells are data: they are escaped, and stay on their line.

    Only the last column is folded, to the width of the terminal where there is one, so that names can be copied; in a
    terminal too narrow for the others, lines are as long as they must be.

    Args:
        columns: C columns.
        rows: each with C cells.

    Returns:
        The lines, to be printed with `out`; without rows an empty text.
    """
    from rich.cells import cell_len  # noqa: PLC0415 - 100 ms, and many commands print no table
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    if not rows:
        return ""
    cells = [[plain(cell) for cell in row] for row in rows]
    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="")
    needed = _LEAST_FOLDED
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        justify: Literal["left", "right"] = "right" if column.number else "left"
        grid.add_column(Text(column.title), justify=justify, overflow="fold", no_wrap=not last)
        if not last:
            needed += _GAP + max(map(cell_len, [column.title, *(row[position] for row in cells)]))
    for row in cells:
        grid.add_row(*map(Text, row))
    laid_out = io.StringIO()
    Console(file=laid_out, width=max(_width(), needed), color_system=None, legacy_windows=False).print(grid)
    return "\n".join(line.rstrip() for line in laid_out.getvalue().rstrip("\n").split("\n"))


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout and sys.stdout.isatty() else _UNFOLDED


# --- progress -------------------------------------------------------------------------------------------------


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how far a long work has come, where standard error is a terminal; elsewhere nothing is printed.

    Args:
        what: names the work; our own words, never data.
        total: units of work, or None when it is not known.

    Yields:
        A function that takes the number of units done since its last call.
    """
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - not needed where nobody looks
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - as above

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda units: bar.advance(task, units)
