"""The exceptions a caller may want to catch, apart from the modules that raise them: importing them costs nothing.

Each keeps its facts as attributes, passes them to ``Exception`` so that it survives pickling, and builds its
text from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CountsError",
    "InvalidSkillName",
    "LedgerCorrupt",
    "SettingsError",
    "SkillFileError",
    "StoreError",
    "StoreLocked",
    "StoreUnavailable",
    "TraceError",
    "WaggleError",
]


class WaggleError(Exception):
    """Root of everything this project raises on purpose."""


class SettingsError(WaggleError, ValueError):
    """A setting is unknown, of the wrong type, or may not be set where it stands.

    Attributes:
        source: the file or variable it was read from.
        problem: what is wrong and what would be right.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}"


class StoreError(WaggleError, OSError):
    """A place for skills or records could not be used."""


class StoreUnavailable(StoreError):
    """There is no place to write.

    Attributes:
        path: the directory or file that was tried, or None when none could be determined.
        problem: why it failed.
        remedy: what the user can do, usually a variable to set.
    """

    def __init__(self, path: Path | None, problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.problem}; {self.remedy}"


class StoreLocked(StoreError, TimeoutError):
    """Another process held the lock for too long.

    Attributes:
        path: the lock file.
        seconds: how long was waited.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path, seconds)
        self.path = path
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.path}: locked by another process for {self.seconds:g} s; try again when it has ended"


class SkillFileError(WaggleError, ValueError):
    """A skill file is not valid.

    Attributes:
        path: the file.
        line: line number, from 1, or None when the fault has no line.
        problem: what is wrong and what would be right.
    """

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path = path
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        return f"{where}: {self.problem}"


class InvalidSkillName(WaggleError, ValueError):
    """A name cannot be the name of a skill.

    Attributes:
        name: the name as given.
        rule: the rule it breaks.
    """

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(name, rule)
        self.name = name
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.name[:80]!r} cannot be a skill's name: {self.rule}"


class LedgerCorrupt(WaggleError, ValueError):
    """A ledger has lines that are no records, other than a torn last one.

    Attributes:
        path: the ledger.
        lines: numbers of the bad lines, from 1, ascending.
    """

    def __init__(self, path: Path, lines: tuple[int, ...]) -> None:
        super().__init__(path, lines)
        self.path = path
        self.lines = lines

    def __str__(self) -> str:
        shown = ", ".join(str(number) for number in self.lines[:5])
        more = f" and {len(self.lines) - 5} more" if len(self.lines) > 5 else ""  # noqa: PLR2004 - as many as fit a line
        return f"{self.path}: not a record on line {shown}{more}"


class CountsError(WaggleError, ValueError):
    """The file with a project's counts is not what this version writes; it is left as it is.

    Attributes:
        path: the file.
        reason: what is wrong with it.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}. Move it away to begin counting anew; routes keep their own counts."


class TraceError(WaggleError, ValueError):
    """A recorded session cannot be read.

    Attributes:
        path: the file, or ``-`` for standard input.
        line: line number, from 1, or None when the fault has no line.
        problem: what is wrong and what would be right.
    """

    def __init__(self, path: str, line: int | None, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path = path
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.problem}"
