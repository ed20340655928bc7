"""Values as words of a POSIX shell command."""

from __future__ import annotations

import posixpath
import re
from typing import Final

__all__ = ["in_directory", "quote"]

#: A word that needs no quotes and is no option.
_BARE: Final = re.compile(r"[\w./@%+,][\w./@%+,:-]*", re.ASCII)


def quote(value: str) -> str:
    r"""Quote a value so that a POSIX shell passes it on as one argument, unchanged.

    The value stands in single quotes whatever it contains; a single quote in it becomes ``'\''``.

    Raises:
        ValueError: the value holds a NUL, which no argument can carry.
    """
    if "\0" in value:
        raise ValueError(f"a shell argument cannot hold a NUL, and this one does at index {value.index(chr(0))}")
    return "'" + value.replace("'", "'\\''") + "'"


def in_directory(command: str, directory: str, base: str) -> str:
    """The command that does in one directory what a command did in another: with a ``cd`` before it, if need be.

    Args:
        command: what was run.
        directory: where, absolute or from `base` on.
        base: where the new command starts; empty when that is not known.

    Raises:
        ValueError: the directory holds a NUL.
    """
    where = posixpath.normpath(posixpath.join(base, directory))
    here = posixpath.normpath(base) if base else ""
    if where == here:
        return command
    if here and where.startswith(f"{here.rstrip('/')}/"):
        where = posixpath.relpath(where, here)
    return f"cd {where if _BARE.fullmatch(where) else quote(where)} && {command}"
