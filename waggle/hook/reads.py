"""Reads that a host's own tools would make, made in their place, inside one project. They are called as Claude Code's.

What must stay true: nothing outside the project's directory is read, whatever links lead there; nothing that the
project's or the user's settings deny to the agent; no file that is there to hold secrets. A lookup that may not be made
is never proposed, and what is read is checked once more when it is opened. Every lookup has a time and a size.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import threading
import time
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from waggle import shell
from waggle.calls import Result
from waggle.hook.hosts.claude_code import FORM
from waggle.hook.hosts.host import Entry
from waggle.shell import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.hook.hosts.host import Form
    from waggle.jsonvalue import JsonValue

__all__ = ["Reads"]

#: Longest file that is read whole, bytes, and lines of one read; both as Claude Code has them.
_WHOLE_BYTES: Final = 256 * 1024
_LINES: Final = 2000

#: Longest output of a command, characters, as Claude Code has it; files of one listing.
_OUTPUT_CHARS: Final = 30_000
_FILES: Final = 100

#: Seconds of one lookup.
_SECONDS: Final = 1.5

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
        form: how the host's tools show what they have read.
    """

    def __init__(self, root: Path, denied: tuple[str, ...] = (), form: Form = FORM) -> None:
        self._root = Path(os.path.realpath(root))
        self._denied = denied
        self._form = form
        self._patterns = tuple(rule[5:-1] for rule in denied if rule.startswith("Read(") and rule.endswith(")"))

    # --- what may be read -----------------------------------------------------------------------------------------

    def allows(self, tool: str, args: Mapping[str, JsonValue], cwd: str) -> bool:
        """Whether a call may be made here, as far as its arguments tell; looks at the disk, reads nothing.

        Args:
            tool: the tool.
            args: its arguments.
            cwd: the agent's working directory.
        """
        if tool in self._denied or (tool == "Read" and "Read" in self._denied):
            return False
        match tool:
            case "Read":
                path = args.get("file_path")
                return isinstance(path, str) and set(args) <= {"file_path", "offset", "limit"} and self._may(path, cwd)
            case "Glob":
                pattern, path = args.get("pattern"), args.get("path", ".")
                return (
                    isinstance(pattern, str)
                    and isinstance(path, str)
                    and set(args) <= {"pattern", "path"}
                    and ".." not in pattern
                    and not pattern.startswith(("/", "~"))
                    and self._may(path, cwd)
                )
            case "LS":
                path = args.get("path")
                return isinstance(path, str) and set(args) == {"path"} and self._may(path, cwd)
            case "Bash":
                command = args.get("command")
                # What a command reads below a directory is not told by its words.
                return isinstance(command, str) and not self._denied and self._may_run(command, cwd)
        return False

    def _may(self, path: str, cwd: str) -> bool:
        return self._inside(path, cwd) is not None

    def _inside(self, path: str, cwd: str) -> Path | None:
        """The real path; None outside the project, and for what must not be read."""
        if "\0" in path or path.startswith("~"):
            return None
        real = Path(os.path.realpath(os.path.join(cwd or self._root, path)))  # noqa: PTH118 - the agent's spelling
        if real != self._root and self._root not in real.parents:
            return None
        inside = real.relative_to(self._root)
        if any(fnmatchcase(part.lower(), secret) for part in inside.parts for secret in (*_SECRETS, *_SECRETS_TOO)):
            return None
        return None if self._is_denied(inside.as_posix(), str(real)) else real

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
            case "Glob":
                return self._glob(str(args["pattern"]), str(args.get("path", ".")), cwd)
            case "LS":
                return self._list(str(args["path"]), cwd)
        return _run(str(args["command"]), cwd or str(self._root))

    def _read(self, args: Mapping[str, Any], cwd: str) -> Result:
        path = self._inside(args["file_path"], cwd)
        first, limit = args.get("offset", 1), args.get("limit", _LINES)
        if path is None or type(first) is not int or type(limit) is not int or limit < 1:
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
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        first = max(first, 1)
        shown = lines[first - 1 : first - 1 + min(limit, _LINES)]
        return (
            Result(self._form.lines(shown, first, len(lines)))
            if shown
            else Result("the file has fewer lines", ok=False)
        )

    def _glob(self, pattern: str, path: str, cwd: str) -> Result:
        base = self._inside(path, cwd)
        if base is None or not base.is_dir():
            return Result("not a directory", ok=False)
        until, found = time.monotonic() + _SECONDS, []
        for each in base.glob(pattern):
            if time.monotonic() > until:
                return Result("too many files", ok=False)
            if each.is_file() and self._may(str(each), cwd):
                found.append(each)
        found.sort(key=lambda each: (each.stat().st_mtime, str(each)))
        if len(found) > _FILES:
            return Result("too many files", ok=False)
        return Result(self._form.files(found, cwd or str(self._root)))

    def _list(self, path: str, cwd: str) -> Result:
        base = self._inside(path, cwd)
        if base is None or not base.is_dir():
            return Result("not a directory", ok=False)
        found = sorted(each for each in base.iterdir() if self._may(str(each), cwd))
        if len(found) > _FILES:
            return Result("too many files", ok=False)
        entries = [Entry(each.name, None if each.is_dir() else each.stat().st_size) for each in found]
        return Result(self._form.entries(entries, str(base)))


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


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _run(command: str, cwd: str) -> Result:
    """Run a command that is known to read, without input, within its time; its output as Claude Code shows it."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("ENV", "BASH_ENV", "CDPATH", "GREP_OPTIONS")
    }
    process = subprocess.Popen(  # noqa: S602 - judged to read only, word by word
        command,
        shell=True,
        cwd=cwd,
        env={**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "PAGER": "cat"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - a pipe; this tells the type checker
    timer = threading.Timer(_SECONDS, _kill, (process.pid,))
    timer.start()
    try:
        output = process.stdout.read(4 * _OUTPUT_CHARS + 1)
    finally:
        timer.cancel()
        if process.poll() is None and len(output) > 4 * _OUTPUT_CHARS:
            _kill(process.pid)
        process.stdout.close()
        process.wait()
    text = output.decode("utf-8", "replace").strip("\n")
    if len(text) > _OUTPUT_CHARS:
        return Result("it printed too much", ok=False)
    return Result(text, ok=process.returncode == 0)
