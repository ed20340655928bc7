"""Sites: what has just been seen when the next read is to be guessed.

A site is described from coarse to fine, so that counts of rare ones can lean on those of their kind. Pure.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle.extents import resolved
from waggle.values import Content

if TYPE_CHECKING:
    from waggle.calls import Result, Step
    from waggle.extents import Extents, Shown

__all__ = ["WHOLE_LINES", "Seen", "Site", "head_of"]


class Site(NamedTuple):
    """What has just been seen, in words, from coarse to fine.

    Attributes:
        call: the kind of the call (``search``, ``list``, ``lines``, ``status``); of any other its tool, and of a shell
            command the program, too. ``(failed)`` behind it when it failed.
        shows: what the result names.
        size: how many files and lines it names, or how many lines were read.
    """

    call: str
    shows: str = ""
    size: str = ""

    def levels(self) -> tuple[str, ...]:
        """Keys of the site, the coarse one first; the fine one begins with it."""
        coarse = f"{self.call} | {self.shows}"
        return (coarse, f"{coarse} | {self.size}")


def head_of(level: str) -> str:
    """What a site's key begins with: the kind of the call, or its tool, whatever came of it."""
    return level.partition(" | ")[0].removesuffix(_FAILED).partition(": ")[0]


_FAILED: Final = " (failed)"


class Seen:
    """A completed call as a site: what it shows, what its result names, and where relative paths in it count from.

    Nothing is read until it is asked for.

    Args:
        step: the call.
        result: its answer.
        extents: tells what calls show, and the session's directory.
    """

    def __init__(self, step: Step, result: Result, extents: Extents) -> None:
        self.step = step
        self.content = Content(step.args, result)
        self.size = len(result.text)
        self.directory = extents.directory
        self._extents = extents

    @cached_property
    def shown(self) -> Shown:
        """What the call shows."""
        return self._extents.shown(self.step)

    @cached_property
    def named(self) -> dict[str, tuple[int, str]]:
        """The files that the result names, resolved: index among them, and the base that its path counts from.

        Bases are ``""``, the session's directory, or an argument that holds the folder: ``dir`` of a ``cd``, the
        ``path`` or ``dir_path`` that was searched.
        """
        found: dict[str, tuple[int, str]] = {}
        if self.shown.kind == "lines":  # what a file's text names is no answer of the tool
            return found
        for base in ("", *(name for name in _BASES if isinstance(self.step.args.get(name), str))):
            for index, named in enumerate(self.content.files[:_FILES]):
                if named.path:
                    found.setdefault(self.full_path(named.path, base), (index, base))
        return found

    def full_path(self, path: str, base: str) -> str:
        """A path as the result prints it, resolved from a base; see `named`."""
        folder = self.step.args.get(base) if base else ""
        return resolved(path, resolved(folder, self._extents.directory) if isinstance(folder, str) else "")

    def lines_in(self, index: int) -> tuple[int, ...]:
        """The line numbers that the result prints for the file of this index; of the searched file for -1."""
        files = self.content.files
        if index >= 0:
            return files[index].lines if index < len(files) else ()
        if self.shown.kind == "search" and len(files) == 1 and self.shown.path:
            return files[0].lines if not files[0].path or self.named.get(self.shown.path) else ()
        return ()

    @cached_property
    def site(self) -> Site:
        """The site."""
        step, kind = self.step, self.shown.kind
        call = (kind if step.reads else "") or self._called()
        if not step.ok:
            call += _FAILED
        if kind == "lines":
            whole = self.shown.first == 1 and self.shown.last >= WHOLE_LINES
            length = self.shown.last - self.shown.first + 1
            return (
                Site(call, "a whole file") if whole else Site(call, "a part of a file", f"{_bucket(length, 40)} lines")
            )
        files = self.content.files
        if not files:
            return Site(call, "no file")
        lines = sum(len(named.lines) for named in files)
        what = "lines of" if lines else "names of"
        one = len(files) == 1
        shows = f"{what} one file" if one else f"{what} files"
        if one and not files[0].path:
            shows = "lines of the searched file" if self.shown.path else "lines"
        return Site(call, shows, f"{_bucket(len(files))} files, {_bucket(lines)} lines")

    def _called(self) -> str:
        step = self.step
        text = step.form or next((value for value in step.args.values() if isinstance(value, str)), "")
        if not step.form and self._extents.tools.spec(step.tool).command == "":
            return step.tool
        found = _PROGRAM.match(text)
        program = " ".join(part for part in found.groups() if part) if found else ""
        return f"{step.tool}: {program[:40]}"


#: A range that begins at the first line and has so many lines or no end is a whole file.
WHOLE_LINES: Final = 1000
_FILES: Final = 50  # files of one result that are compared with later calls
_BASES: Final = ("dir", "path", "dir_path")

#: The program and its subcommand, behind a ``cd``.
_PROGRAM: Final = re.compile(r"(?:cd [^&;|]*&& *)*([A-Za-z0-9_.-]+)(?: (-i|[a-z][a-z-]+)(?=[ \n]|$))?")


def _bucket(number: float, unit: int = 1) -> str:
    number = number / unit
    for limit, name in ((0, "0"), (1, "1"), (3, "2-3"), (10, "4-10")):
        if number <= limit:
            return name if unit == 1 else f"up to {limit * unit}"
    return "more than 10" if unit == 1 else f"more than {10 * unit}"
