"""The lookups of a hook: reads that Claude Code's own tools would make, made in their place, inside one project.

What must stay true: nothing outside the project's directory is read, whatever links lead there; nothing that the
project's or the user's settings deny to the agent; no file that is there to hold secrets. A lookup that may not be made
is never proposed, and what is read is checked once more when it is opened. Every lookup has a time and a size.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from waggle import shell
from waggle.calls import Result
from waggle.hook.events import numbered
from waggle.hook.ripgrep import GLOB_FILES, glob_options, listed, read_search
from waggle.hook.running import find_ripgrep, run
from waggle.shell import Script
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = ["HookTools", "Reads"]

#: Longest file that is read whole, bytes, and lines of one read; both as Claude Code has them.
_WHOLE_BYTES: Final = 256 * 1024
_LINES: Final = 2000

#: Longest output of a command, characters, as Claude Code has it; and of a search, whose files may be many.
_OUTPUT_CHARS: Final = 30_000
_SEARCH_BYTES: Final = 4 * 1024 * 1024

#: Files that are there to hold secrets, by name. An agent may ask for them; nobody reads them unasked.
_SECRETS: Final = (".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "id_rsa*", "id_ed25519*")
_SECRETS_TOO: Final = (
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials*",
    "secrets*",
    "*.kdbx",
    ".htpasswd",
)

#: Options that follow links out of the project, and those that name a program or a file to be read.
_FOLLOWING: Final = ("--follow", "--dereference", "--dereference-recursive", "--logical", "--pre", "--files-from")


class Reads:
    """What may be read in one project, and how.

    Args:
        root: the project's directory.
        denied: patterns of what the host's settings deny to ``Read``; and names of tools that they deny whole.
    """

    def __init__(self, root: Path, denied: tuple[str, ...] = ()) -> None:
        self._root = Path(os.path.realpath(root))
        self._denied = denied
        self._patterns = tuple(rule[5:-1] for rule in denied if rule.startswith("Read(") and rule.endswith(")"))
        self._ripgrep = find_ripgrep(self._root)

    # --- what may be read -----------------------------------------------------------------------------------------

    def allows(self, tool: str, args: Mapping[str, JsonValue], cwd: str) -> bool:
        """Whether a call may be made here, as far as its arguments tell; looks at the disk, reads nothing.

        Args:
            tool: the tool.
            args: its arguments.
            cwd: the agent's working directory.
        """
        if {tool, "Read"} & set(self._denied) or (
            tool != "Read" and any(r.startswith(f"{tool}(") for r in self._denied)
        ):
            return False
        match tool:
            case "Read":
                path = args.get("file_path")
                return isinstance(path, str) and set(args) <= {"file_path", "offset", "limit"} and self._may(path, cwd)
            case "Grep":
                search = read_search(args)
                return search is not None and self._may_search(search.path, cwd)
            case "Glob":
                pattern, path = args.get("pattern"), args.get("path", ".")
                return (
                    isinstance(pattern, str)
                    and isinstance(path, str)
                    and set(args) <= {"pattern", "path"}
                    and not pattern.startswith("/")
                    and "\0" not in pattern
                    and self._may_search(path, cwd)
                )
            case "Bash":
                command = args.get("command")
                # What a command reads below a directory is not told by its words.
                return isinstance(command, str) and not self._denied and self._may_run(command, cwd)
        return False

    def _may(self, path: str, cwd: str) -> bool:
        return self._inside(path, cwd) is not None

    def _may_search(self, path: str, cwd: str) -> bool:
        """Whether ripgrep is there, and a path below the working directory, where names are shown from."""
        return self._ripgrep is not None and self._may(path, cwd) and self._from_here(path, cwd) is not None

    def _from_here(self, path: str, cwd: str) -> str | None:
        """A path as seen from the working directory; None when it does not lie in it."""
        here = cwd or str(self._root)
        seen = os.path.relpath(os.path.join(here, path), here)  # noqa: PTH118 - the agent's spelling
        return None if Path(seen).parts[:1] == (os.pardir,) else seen

    def _inside(self, path: str, cwd: str) -> Path | None:
        """The real path; None outside the project, and for what must not be read."""
        real = self._listable(path, cwd)
        if real is None:
            return None
        parts = real.relative_to(self._root).parts
        secret = any(fnmatchcase(part.lower(), name) for part in parts for name in (*_SECRETS, *_SECRETS_TOO))
        return None if secret else real

    def _listable(self, path: str, cwd: str) -> Path | None:
        """The real path; None outside the project, and where a rule denies it."""
        if "\0" in path or path.startswith("~"):
            return None
        real = Path(os.path.realpath(os.path.join(cwd or self._root, path)))  # noqa: PTH118 - the agent's spelling
        if real != self._root and self._root not in real.parents:
            return None
        return None if self._is_denied(real.relative_to(self._root).as_posix(), str(real)) else real

    def _is_denied(self, inside: str, real: str) -> bool:
        """Whether a rule denies a path; a rule is read as widely as it can be meant."""
        for rule in self._patterns:
            pattern = rule.removeprefix("./").removeprefix("//").removeprefix("/").replace("**/", "*")
            if any(
                fnmatchcase(name, each) for name in (inside, real.lstrip("/")) for each in (pattern, f"*/{pattern}")
            ):
                return True
            if fnmatchcase(f"{inside}/", f"{pattern.rstrip('/*')}/*"):
                return True
        return False

    def _may_run(self, command: str, cwd: str) -> bool:
        """Whether a command reads inside the project only, as far as its words tell, each taken for a path."""
        script = shell.parse(command)
        if not isinstance(script, Script) or not shell.reads(command) or shell.reading(command) is None:
            return False
        base = cwd or str(self._root)
        for words, redirected in _commands(script):
            if words is None:
                return False
            for word in (*words[1:], *redirected):
                if word.startswith(_FOLLOWING) or (word[:1] == "-" and word[1:2] != "-" and {"R", "L"} & set(word)):
                    return False
                if not all(self._may(part, base) for part in _paths_in(word)):
                    return False
            if words[0] == "cd":
                base = os.path.join(base, words[-1])  # noqa: PTH118 - the agent's spelling
        return True

    # --- reading ----------------------------------------------------------------------------------------------------

    def run(self, tool: str, args: dict[str, Any], cwd: str) -> Result:
        """Make a lookup. What cannot be read is a failed lookup; nothing is raised but `OSError` and `ValueError`."""
        if not self.allows(tool, args, cwd):
            return Result("not inside the project", ok=False)
        match tool:
            case "Read":
                return self._read(args, cwd)
            case "Grep":
                return self._grep(args, cwd)
            case "Glob":
                return self._glob(str(args["pattern"]), str(args.get("path", ".")), cwd)
        code, output = run(str(args["command"]), cwd or str(self._root), bound=4 * _OUTPUT_CHARS)
        text = output.decode("utf-8", "replace").strip("\n")
        if len(text) > _OUTPUT_CHARS:
            return Result("it printed too much", ok=False)
        return Result(text, ok=code == 0)

    def _read(self, args: Mapping[str, Any], cwd: str) -> Result:
        path = self._inside(args["file_path"], cwd)
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
        return Result(numbered(shown, first)) if shown else Result("the file has fewer lines", ok=False)

    def _grep(self, args: Mapping[str, Any], cwd: str) -> Result:
        search, here = read_search(args), cwd or str(self._root)
        path = self._from_here(search.path, cwd) if search else None
        if search is None or path is None:
            return Result("not a search that is made", ok=False)
        target = os.path.join(os.curdir, "" if path == os.curdir else path)  # noqa: PTH118 - "./" tells it from an option
        found = self._searched(search.finding(target), here)
        files = [name.removeprefix("./") for name in found.split("\0") if name]
        # The host's own search would show them: one that left them out would tell the agent something else.
        if not all(self._may(name, here) for name in files):
            return Result("it finds what is not read unasked", ok=False)
        if search.mode == "files_with_matches":
            changed = {name: os.stat(os.path.join(here, name)).st_mtime for name in files}  # noqa: PTH116, PTH118
            return Result(search.shown(sorted(files, key=lambda name: (-changed[name], name))))
        printed = self._searched(search.reading(target), here).replace("\r\n", "\n") if files else ""
        lines = printed.removesuffix("\n").split("\n") if printed else []
        if search.mode == "count" or target.endswith(os.sep) or os.path.isdir(os.path.join(here, path)):  # noqa: PTH112, PTH118
            lines = [line.removeprefix("./") for line in lines]
        return Result(search.shown(lines))

    def _glob(self, pattern: str, path: str, cwd: str) -> Result:
        base, from_here, here = self._inside(path, cwd), self._from_here(path, cwd), cwd or str(self._root)
        if base is None or from_here is None or not base.is_dir():
            return Result("not a directory", ok=False)
        found = self._searched(glob_options(pattern), str(base))
        names = [os.path.normpath(os.path.join(from_here, name)) for name in found.split("\0") if name]  # noqa: PTH118
        if len(names) > GLOB_FILES:
            return Result("too many files", ok=False)
        if not all(self._listable(name, here) for name in names):
            return Result("it finds what is not listed unasked", ok=False)
        return Result(listed(names))

    def _searched(self, options: list[str], cwd: str) -> str:
        """What ripgrep prints; nothing where it finds nothing.

        Raises:
            OSError: it cannot be run.
            ValueError: it did not understand the search, could not read a file, or printed too much.
        """
        code, output = run([self._ripgrep or "", *options], cwd, bound=_SEARCH_BYTES)
        if code not in (0, 1) or len(output) > _SEARCH_BYTES:
            raise ValueError("the search failed")
        return output.decode("utf-8", "replace")


class HookTools(ToolTable):
    """What is known of the host's tools; of its reads, those alone may be repeated that the hook can make itself.

    Args:
        reads: what may be read.
        table: what else is known, the user's word among it.
    """

    def __init__(self, reads: Reads, table: ToolTable) -> None:
        super().__init__()
        self.__dict__.update(table.__dict__)
        self._reads = reads
        self.cwd = ""  #: of the call that is followed now; sessions of one project mostly share it

    def may_repeat(self, tool: str, args: Mapping[str, JsonValue]) -> bool:
        """See `ToolTable.may_repeat`."""
        return super().may_repeat(tool, args) and self._reads.allows(tool, args, self.cwd)


def _commands(script: Script) -> Iterator[tuple[list[str] | None, list[str]]]:
    """The commands of a script as words, None where the shell would make the words; and what they are redirected to."""
    for pipeline in script.pipelines:
        for command in pipeline:
            plain = all(word.prefix is None for word in command.argv)
            files = [each.target for each in command.redirections if each.operator == "<"]
            yield [word.text for word in command.argv] if plain else None, files


def _paths_in(word: str) -> list[str]:
    """The parts of a word that a program may take for a path."""
    if not word.startswith("-"):
        return [word]
    _, equals, value = word.partition("=")
    return [value] if equals else [word[at:] for at in (2,) if len(word) > at and not word.startswith("--")]
