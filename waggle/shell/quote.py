"""Values as words of a POSIX shell command."""

from __future__ import annotations

__all__ = ["quote"]


def quote(value: str) -> str:
    r"""Quote a value so that a POSIX shell passes it on as one argument, unchanged.

    The value stands in single quotes whatever it contains; a single quote in it becomes ``'\''``.

    Raises:
        ValueError: the value holds a NUL, which no argument can carry.
    """
    if "\0" in value:
        raise ValueError(f"a shell argument cannot hold a NUL, and this one does at index {value.index(chr(0))}")
    return "'" + value.replace("'", "'\\''") + "'"
