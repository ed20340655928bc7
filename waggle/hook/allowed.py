"""What a hook may read in one project: judged by a call's arguments and the disk, before anything is read.

What must stay true: nothing outside the project's directory is allowed, whatever links lead there; nothing that the
project's or the user's settings deny to the agent; no file that is there to hold secrets.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from waggle import shell
from waggle.hook.ripgrep import read_search
from waggle.hook.running import find_ripgrep
from waggle.shell import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = ["Allowed"]

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


class Allowed:
    """What may be read in one project. Reads are called as Claude Code's tools are; see `waggle.hook.reads`.

    Args:
        root: the project's directory.
        denied: patterns of what the host's settings deny to ``Read``; and names of tools that they deny whole.

    Attributes:
        root: its real directory.
        ripgrep: what searches; None where there is none.
    """

    def __init__(self, root: Path, denied: tuple[str, ...] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.ripgrep = find_ripgrep(self.root)
        self._denied = denied
        self._patterns = tuple(rule[5:-1] for rule in denied if rule.startswith("Read(") and rule.endswith(")"))

    def allows(self, tool: str, args: Mapping[str, JsonValue], cwd: str) -> bool:
        """Whether a call may be made here, as far as its arguments tell; looks at the disk, reads nothing.

        Args:
            tool: the tool.
            args: its arguments.
            cwd: the agent's working directory.
        """
        judges = {
            "Read": self._may_read,
            "Grep": self._may_grep,
            "Glob": self._may_glob,
            "Files": self._may_list_files,
            "LS": self._may_list,
            "Bash": self._may_shell,
        }
        judge = judges.get(tool)
        of_tool = tool != "Read" and any(rule.startswith(f"{tool}(") for rule in self._denied)
        return judge is not None and not ({tool, "Read"} & set(self._denied) or of_tool) and judge(args, cwd)

    def _may_read(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        path = args.get("file_path")
        return isinstance(path, str) and set(args) <= {"file_path", "offset", "limit"} and self.may(path, cwd)

    def _may_grep(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        search = read_search(args)
        return search is not None and self._may_search(search.path, cwd)

    def _may_glob(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        pattern, path = args.get("pattern"), args.get("path", ".")
        return (
            isinstance(pattern, str)
            and isinstance(path, str)
            and set(args) <= {"pattern", "path"}
            and not pattern.startswith("/")
            and "\0" not in pattern
            and self._may_search(path, cwd)
        )

    def _may_list_files(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        pattern, path = args.get("pattern"), args.get("path", ".")
        return (
            isinstance(pattern, str)
            and isinstance(path, str)
            and set(args) <= {"pattern", "path"}
            and ".." not in pattern
            and not pattern.startswith(("/", "~"))
            and self.may(path, cwd)
        )

    def _may_list(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        path = args.get("path")
        return isinstance(path, str) and set(args) == {"path"} and self.may(path, cwd)

    def _may_shell(self, args: Mapping[str, JsonValue], cwd: str) -> bool:
        command = args.get("command")
        # What a command reads below a directory is not told by its words.
        return isinstance(command, str) and not self._denied and self._may_run(command, cwd)

    def may(self, path: str, cwd: str) -> bool:
        """Whether a file, or a directory, may be read."""
        return self.inside(path, cwd) is not None

    def _may_search(self, path: str, cwd: str) -> bool:
        """Whether ripgrep is there, and a path below the working directory, where names are shown from."""
        return self.ripgrep is not None and self.may(path, cwd) and self.from_here(path, cwd) is not None

    def from_here(self, path: str, cwd: str) -> str | None:
        """A path as seen from the working directory; None when it does not lie in it."""
        here = cwd or str(self.root)
        seen = os.path.relpath(os.path.join(here, path), here)  # noqa: PTH118 - the agent's spelling
        return None if Path(seen).parts[:1] == (os.pardir,) else seen

    def inside(self, path: str, cwd: str) -> Path | None:
        """The real path; None outside the project, and for what must not be read."""
        real = self.listable(path, cwd)
        if real is None:
            return None
        parts = real.relative_to(self.root).parts
        secret = any(fnmatchcase(part.lower(), name) for part in parts for name in (*_SECRETS, *_SECRETS_TOO))
        return None if secret else real

    def listable(self, path: str, cwd: str) -> Path | None:
        """The real path; None outside the project, and where a rule denies it."""
        if "\0" in path or path.startswith("~"):
            return None
        real = Path(os.path.realpath(os.path.join(cwd or self.root, path)))  # noqa: PTH118 - the agent's spelling
        if real != self.root and self.root not in real.parents:
            return None
        return None if self._is_denied(real.relative_to(self.root).as_posix(), str(real)) else real

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
        base = cwd or str(self.root)
        for words, redirected in _commands(script):
            if words is None:
                return False
            for word in (*words[1:], *redirected):
                if word.startswith(_FOLLOWING) or (word[:1] == "-" and word[1:2] != "-" and {"R", "L"} & set(word)):
                    return False
                if not all(self.may(part, base) for part in _paths_in(word)):
                    return False
            if words[0] == "cd":
                base = os.path.join(base, words[-1])  # noqa: PTH118 - the agent's spelling
        return True


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
