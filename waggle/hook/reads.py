"""Reads that a host's own tools would make, made in their place, inside one project. They are called as Claude Code's.

What must stay true: what may not be read (`waggle.hook.allowed`) is never proposed, and what is read is checked once
more when it is opened. Every lookup has a time and a size.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from waggle.calls import Result
from waggle.hook.allowed import Allowed
from waggle.hook.hosts.claude_code import FORM
from waggle.hook.hosts.host import Entry
from waggle.hook.ripgrep import GLOB_FILES, glob_options, read_search
from waggle.hook.running import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waggle.hook.hosts.host import Form
    from waggle.jsonvalue import JsonValue

__all__ = ["Reads"]

#: Longest file that is read whole, bytes, and lines of one read; both as Claude Code has them.
_WHOLE_BYTES: Final = 256 * 1024
_LINES: Final = 2000

#: Seconds of one listing that is made here.
_SECONDS: Final = 1.5

#: Longest output of a command, characters, as Claude Code has it; and of a search, whose files may be many.
_OUTPUT_CHARS: Final = 30_000
_SEARCH_BYTES: Final = 4 * 1024 * 1024


class Reads:
    """What is read in one project, and how.

    Args:
        root: the project's directory.
        denied: what the host's settings deny; see `Allowed`.
        form: how the host's tools show what they have read.
    """

    def __init__(self, root: Path, denied: tuple[str, ...] = (), form: Form = FORM) -> None:
        self._allowed = Allowed(root, denied)
        self._form = form

    def allows(self, tool: str, args: Mapping[str, JsonValue], cwd: str) -> bool:
        """Whether a call may be made here; see `Allowed.allows`."""
        return self._allowed.allows(tool, args, cwd)

    def run(self, tool: str, args: dict[str, Any], cwd: str) -> Result:
        """Make a lookup. What cannot be read is a failed lookup; nothing is raised but `OSError` and `ValueError`."""
        if not self.allows(tool, args, cwd):
            return Result("not inside the project", ok=False)
        made = {
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Files": self._files,
            "LS": self._list,
            "Bash": self._shell,
        }
        return made[tool](args, cwd)

    def _shell(self, args: Mapping[str, Any], cwd: str) -> Result:
        code, output = run(str(args["command"]), self._here(cwd), bound=4 * _OUTPUT_CHARS)
        text = output.decode("utf-8", "replace").strip("\n")
        if len(text) > _OUTPUT_CHARS:
            return Result("it printed too much", ok=False)
        return Result(text, ok=code == 0)

    def _here(self, cwd: str) -> str:
        return cwd or str(self._allowed.root)

    def _read(self, args: Mapping[str, Any], cwd: str) -> Result:
        path = self._allowed.inside(args["file_path"], cwd)
        first, limit = args.get("offset", 1), args.get("limit", _LINES)
        if path is None or type(first) is not int or type(limit) is not int or first < 0 or limit < 1:
            return Result("not a file that is read", ok=False)
        whole = "offset" not in args and "limit" not in args
        # The last part of a real path is no link; were it made one by now, it would not be followed.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if not stat.S_ISREG(os.fstat(descriptor).st_mode) or size > (_WHOLE_BYTES if whole else 64 * _WHOLE_BYTES):
                return Result("not a file that is read whole", ok=False)
            data = file.read(size)
        if b"\0" in data or not data:
            return Result("not a text", ok=False)
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        start = max(first - 1, 0)  # 0 shows the whole file as well, numbered from 0
        shown = lines[start : start + min(limit, _LINES)]
        if not shown:
            return Result("the file has fewer lines", ok=False)
        return Result(self._form.lines(shown, first, len(lines)))

    def _grep(self, args: Mapping[str, Any], cwd: str) -> Result:
        search, here = read_search(args), self._here(cwd)
        path = self._allowed.from_here(search.path, cwd) if search else None
        if search is None or path is None:
            return Result("not a search that is made", ok=False)
        target = os.path.join(os.curdir, "" if path == os.curdir else path)  # noqa: PTH118 - "./" tells it from an option
        found = self._searched(search.finding(target), here)
        files = [name.removeprefix("./") for name in found.split("\0") if name]
        # The host's own search would show them: one that left them out would tell the agent something else.
        if not all(self._allowed.may(name, here) for name in files):
            return Result("it finds what is not read unasked", ok=False)
        if search.mode == "files_with_matches":
            changed = {name: os.stat(os.path.join(here, name)).st_mtime for name in files}  # noqa: PTH116, PTH118
            return Result(search.shown(sorted(files, key=lambda name: (-changed[name], name))))
        printed = self._searched(search.reading(target), here).replace("\r\n", "\n") if files else ""
        lines = printed.removesuffix("\n").split("\n") if printed else []
        if search.mode == "count" or target.endswith(os.sep) or os.path.isdir(os.path.join(here, path)):  # noqa: PTH112, PTH118
            lines = [line.removeprefix("./") for line in lines]
        return Result(search.shown(lines))

    def _glob(self, args: Mapping[str, Any], cwd: str) -> Result:
        pattern, path = str(args["pattern"]), str(args.get("path", "."))
        base, from_here, here = self._allowed.inside(path, cwd), self._allowed.from_here(path, cwd), self._here(cwd)
        if base is None or from_here is None or not base.is_dir():
            return Result("not a directory", ok=False)
        found = self._searched(glob_options(pattern), str(base))
        names = [os.path.normpath(os.path.join(from_here, name)) for name in found.split("\0") if name]  # noqa: PTH118
        if len(names) > GLOB_FILES:
            return Result("too many files", ok=False)
        if not all(self._allowed.listable(name, here) for name in names):
            return Result("it finds what is not listed unasked", ok=False)
        return Result(self._form.files([Path(here) / name for name in names], here))

    def _searched(self, options: list[str], cwd: str) -> str:
        """What ripgrep prints; nothing where it finds nothing.

        Raises:
            OSError: it cannot be run.
            ValueError: it did not understand the search, could not read a file, or printed too much.
        """
        code, output = run([self._allowed.ripgrep or "", *options], cwd, bound=_SEARCH_BYTES)
        if code not in (0, 1) or len(output) > _SEARCH_BYTES:
            raise ValueError("the search failed")
        return output.decode("utf-8", "replace")

    def _files(self, args: Mapping[str, Any], cwd: str) -> Result:
        pattern, path = str(args["pattern"]), str(args.get("path", "."))
        base = self._allowed.inside(path, cwd)
        if base is None or not base.is_dir():
            return Result("not a directory", ok=False)
        until, found = time.monotonic() + _SECONDS, []
        for each in base.glob(pattern):
            if time.monotonic() > until:
                return Result("too many files", ok=False)
            if each.is_file() and self._allowed.may(str(each), cwd):
                found.append(each)
        found.sort(key=lambda each: (each.stat().st_mtime, str(each)))
        if len(found) > GLOB_FILES:
            return Result("too many files", ok=False)
        return Result(self._form.files(found, self._here(cwd)))

    def _list(self, args: Mapping[str, Any], cwd: str) -> Result:
        base = self._allowed.inside(str(args["path"]), cwd)
        if base is None or not base.is_dir():
            return Result("not a directory", ok=False)
        found = sorted(each for each in base.iterdir() if self._allowed.may(str(each), cwd))
        if len(found) > GLOB_FILES:
            return Result("too many files", ok=False)
        entries = [Entry(each.name, None if each.is_dir() else each.stat().st_size) for each in found]
        return Result(self._form.entries(entries, str(base)))
