"""Lines of a file that may be compressed, huge, torn or no text at all, one at a time.

The only module here that opens files. It knows JSON Lines, JSON documents spread over lines, and nothing of what they
mean. Never more than one line or document is held, and none longer than `TRACE_LINE_BYTES`.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, cast

from waggle import jsonvalue
from waggle._defaults import TRACE_LINE_BYTES
from waggle.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _typeshed import WriteableBuffer

    from waggle.jsonvalue import JsonObject

__all__ = ["EXPECTED", "STDIN", "Problems", "read_records"]

#: The name that stands for standard input.
STDIN: Final = "-"

#: What every error about a file of another kind says.
EXPECTED: Final = "expected recorded sessions in JSON (UTF-8)"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_CHUNK: Final = 256 * 1024

#: A whole text of JSON, or one that does not end; a raw line cannot be inside one, since JSON escapes line feeds.
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*+("|\Z)')
_BRACKETS: Final = re.compile(rb"[\[\]{}]")


class Problems:
    """Where the problems of one file go.

    Args:
        path: the file's name, for the reports.
        callback: takes each report and lets the reading go on; without one, damage is raised.
    """

    def __init__(self, path: str, callback: Callable[[TraceError], None] | None) -> None:
        self.path = path
        self._callback = callback

    @property
    def stem(self) -> str:
        """The file's name without its suffixes, for sessions that have no name of their own."""
        name = PurePath(self.path).name
        return name.partition(".")[0] or name

    def damage(self, line: int, problem: str) -> None:
        """Report something that no sound recording has.

        Raises:
            TraceError: nobody takes reports.
        """
        error = TraceError(self.path, line, problem)
        if self._callback is None:
            raise error
        self._callback(error)

    def leftover(self, line: int, problem: str) -> None:
        """Report something that every interrupted recording has: passed over quietly when nobody takes reports."""
        if self._callback is not None:
            self._callback(TraceError(self.path, line, problem))


def read_records(problems: Problems, on_bytes: Callable[[int], None] | None) -> Iterator[tuple[int, JsonObject]]:
    """Read the JSON objects of a file, gzipped or not, or of standard input: one a line, or spread over several lines.

    Lines end at a line feed only; a byte order mark, carriage returns and empty lines are passed over. A last line
    that is cut off is reported as a leftover, any other that is no JSON object as damage. When the first line is not
    a whole value but the beginning of one, the file is taken to hold documents, one after another; a list of objects
    counts as its members.

    Args:
        problems: names the file and takes what cannot be read.
        on_bytes: called with the number of bytes read from the disk each time some were, compressed as they are there.

    Yields:
        Line number, from 1, and the object; of a document the number of its first line.

    Raises:
        TraceError: the file cannot be opened or read, or does not begin with a JSON object.
    """
    begun = False
    with _opened(problems.path, on_bytes) as stream:
        lines = _lines(stream, problems)
        for number, raw, ended in lines:
            line = raw.removeprefix(_BOM) if number == 1 else raw
            if line.isspace() or not line:
                continue
            if not begun and ended and (_depth(line) or 0) > 0:
                yield from _read_documents(number, line, lines, problems)
                return
            try:
                value = jsonvalue.loads(line)
                reason = "this is JSON, but no object"
            except ValueError as error:
                if not ended and (begun or line.lstrip().startswith(b"{")):
                    problems.leftover(number, "the last line is cut off and was passed over")
                    return
                value, reason = None, _reason(error)
            if isinstance(value, dict):
                begun = True
                yield number, value
            elif begun:
                problems.damage(number, f"expected one JSON object a line: {reason}")
            elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
                yield from ((number, one) for one in value if isinstance(one, dict))
                begun = True
            else:  # not one line made sense: this is some other file, and its other lines will be no better
                raise TraceError(problems.path, number, f"{EXPECTED}: {reason}")


def _read_documents(
    first: int, line: bytes, lines: Iterator[tuple[int, bytes, bool]], problems: Problems
) -> Iterator[tuple[int, JsonObject]]:
    """Read documents that are spread over lines, the first of which has been read."""
    begun = False
    held, size, depth = [line], len(line), _depth(line) or 0
    for number, raw, _ in lines:
        if not held and raw.isspace():
            continue
        first = number if not held else first
        change = _depth(raw)
        size += len(raw)
        if change is not None and size <= TRACE_LINE_BYTES:
            held.append(raw)
            depth += change
            if depth > 0:
                continue
            for value in _members(first, b"".join(held), problems, begun=begun):
                begun = True
                yield first, value
        elif size > TRACE_LINE_BYTES:
            raise TraceError(problems.path, first, f"longer than {TRACE_LINE_BYTES} bytes and not read")
        else:
            _misread(first, "a text in it does not end on its line", problems, begun=begun)
        held, size, depth = [], 0, 0
    if held:
        if not begun:
            raise TraceError(problems.path, first, f"{EXPECTED}: the document that begins here does not end")
        problems.leftover(first, "the last document is cut off and was passed over")


def _members(first: int, data: bytes, problems: Problems, *, begun: bool) -> Iterator[JsonObject]:
    """The objects of one document: itself, or the members of a list."""
    try:
        value = jsonvalue.loads(data)
    except ValueError as error:
        _misread(first, _reason(error), problems, begun=begun)
        return
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        yield from (one for one in value if isinstance(one, dict))
    else:
        _misread(first, "this is JSON, but no object", problems, begun=begun)


def _misread(line: int, reason: str, problems: Problems, *, begun: bool) -> None:
    if not begun:
        raise TraceError(problems.path, line, f"{EXPECTED}: {reason}")
    problems.damage(line, f"expected one JSON object after another: {reason}")


def _depth(line: bytes) -> int | None:
    """How many objects and lists a line opens beyond those it closes; None when a text in it does not end."""
    if any(not found[1] for found in _TEXT.finditer(line)):
        return None
    brackets = _BRACKETS.findall(_TEXT.sub(b"", line))
    return sum(1 if bracket in b"[{" else -1 for bracket in brackets)


def _reason(error: ValueError) -> str:
    """What is wrong, with the place inside the line; the decoders' own texts count lines and quote content."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1}"
    message, position = getattr(error, "msg", None), getattr(error, "pos", None)
    return f"{message} at character {position + 1}" if message and position is not None else str(error)


def _lines(stream: io.BufferedIOBase, problems: Problems) -> Iterator[tuple[int, bytes, bool]]:
    """Number, bytes and whether the line has its line feed; lines that are too long are reported and passed over."""
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(TRACE_LINE_BYTES)
            ended = line.endswith(b"\n")
            if len(line) == TRACE_LINE_BYTES and not ended:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(_CHUNK)
                problems.damage(number, f"longer than {TRACE_LINE_BYTES} bytes and passed over")
                continue
        except EOFError:
            problems.leftover(number, "the compressed file ends too early; what came before was read")
            return
        except (gzip.BadGzipFile, zlib.error) as error:
            problems.damage(number, f"the compressed file is damaged from here on ({error}); what came before was read")
            return
        if not line:
            return
        yield number, line, ended


class _Counted(io.RawIOBase):
    """Passes the bytes of a file on and says how many came."""

    def __init__(self, stream: io.BufferedReader, path: str, on_bytes: Callable[[int], None] | None) -> None:
        super().__init__()
        self._stream = stream
        self._path = path
        self._on_bytes = on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            # read1: what a pipe has now, not what would fill the buffer; a live pipe may never fill it.
            data = self._stream.read1(len(view))
        except OSError as error:
            raise TraceError(self._path, None, f"cannot be read: {error.strerror or error}") from error
        view[: len(data)] = data
        if data and self._on_bytes is not None:
            self._on_bytes(len(data))
        return len(data)


@contextmanager
def _opened(path: str, on_bytes: Callable[[int], None] | None) -> Iterator[io.BufferedIOBase]:
    """Open for reading, decompressed if the content says so. Standard input is left open."""
    if path == STDIN:
        yield _plain(_Counted(cast("io.BufferedReader", sys.stdin.buffer), path, on_bytes))
        return
    try:
        file = open(path, "rb")  # noqa: PTH123, SIM115 - the name is a text by now; closed below
    except FileNotFoundError:
        raise TraceError(path, None, "there is no such file or directory") from None
    except OSError as error:
        raise TraceError(path, None, f"cannot be opened: {error.strerror or error}") from error
    with file:
        yield _plain(_Counted(file, path, on_bytes))


def _plain(raw: _Counted) -> io.BufferedIOBase:
    reader = io.BufferedReader(raw, _CHUNK)
    if reader.peek(2)[:2] != _GZIP_MAGIC:
        return reader
    # Not wrapped once more: a second buffer would drop the whole lines before the place where a file was cut off.
    return gzip.GzipFile(fileobj=reader)
