"""Opening files to read them, bounded: the half of `waggle.files` that changes nothing. All others ask that module.

A pipe, a device or a directory in the place of a file is an error, not something to wait for.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Block", "read_blocks", "read_bytes"]

_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: A pipe in the place of a file would otherwise hold the reader until somebody writes to it.
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
_READ_BYTES: Final = 256 * 1024  #: of one read; larger ones are not faster


def _open_to_read(path: Path) -> tuple[int, int]:
    """Open a regular file; its descriptor, and the size it has now."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _FLAGS)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ValueError("is not a file but a directory, pipe or device")
    return descriptor, status.st_size


def read_bytes(path: Path, *, limit: int) -> bytes:
    """Read a whole file.

    Args:
        path: a regular file; a link is followed (`safe_join` first, where the path comes from data).
        limit: most bytes that are accepted.

    Raises:
        ValueError: it is larger than `limit`, or a directory, pipe or device. The text does not name the path.
        OSError: it cannot be read, or is not there.
    """
    descriptor, size = _open_to_read(path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        data = file.read(min(size, limit) + 1)  # room for `limit` bytes would cost more than all the rest
        while size < len(data) <= limit and (more := file.read(limit + 1 - len(data))):  # it has grown meanwhile
            data += more
    if len(data) > limit:
        raise ValueError(f"is larger than the {limit:,} bytes that are read")
    return data


class Block(NamedTuple):
    """Some lines of a file, one after another.

    Attributes:
        offset: where the first of them begins, in bytes from the start of the file.
        lines: without their line ends, at least one; one that is too long is given as an empty one.
        ended: False for the last block of a file whose last line has no line end: that line alone.
    """

    offset: int
    lines: list[bytes]
    ended: bool


def read_blocks(path: Path, *, longest: int) -> Iterator[Block]:
    r"""Read the lines of a file, many at a time, in memory that does not grow with the file.

    Lines end at ``\n`` only. What is appended while this runs may or may not be seen.

    Args:
        path: a regular file.
        longest: most bytes of a line that is given, at least 1.

    Raises:
        StoreUnavailable: it is a directory, pipe or device.
        OSError: it cannot be read, or is not there.
    """
    try:
        descriptor, _ = _open_to_read(path)
    except ValueError as error:
        raise StoreUnavailable(path, str(error), "move it away") from None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        offset = 0  # of the line in hand
        rest = b""  # what is known of it
        dropped = 0  # bytes of it that were let go, since it is too long
        while chunk := file.read(min(_READ_BYTES, longest)):
            size = len(rest) + len(chunk)
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if lines:
                if dropped or len(lines[0]) > longest:
                    lines[0] = b""
                yield Block(offset, lines, ended=True)
                offset += dropped + size - len(rest)
                dropped = 0
            if len(rest) > longest:
                dropped += len(rest)
                rest = b""
        if rest or dropped:
            yield Block(offset, [b"" if dropped else rest], ended=False)
