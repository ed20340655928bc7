"""The exceptions of stretto, apart from the modules that raise them. Each keeps its facts and survives pickling."""

from __future__ import annotations

from waggle.errors import WaggleError

__all__ = [
    "BadFlow",
    "CanonicalCollision",
    "FileError",
    "FlowError",
    "GuardsError",
    "ManifestError",
    "OracleError",
    "ProcedureError",
    "RunError",
    "SessionLogError",
    "StrettoError",
    "ToolsError",
    "UsageError",
]


class StrettoError(WaggleError):
    """Root of everything stretto raises on purpose."""


class UsageError(StrettoError, ValueError):
    """What was asked for cannot be done as it was asked; the text says what would be right."""


class SessionLogError(StrettoError, ValueError):
    """A recorded session, an export of spans or a results file cannot be read.

    Attributes:
        path: the file.
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


class CanonicalCollision(StrettoError, ValueError):
    """An alias table gives one name to tools that do different things.

    Attributes:
        name: the name, ``app.action``.
        first: the one tool.
        second: the other.
    """

    def __init__(self, name: str, first: str, second: str) -> None:
        super().__init__(name, first, second)
        self.name = name
        self.first = first
        self.second = second

    def __str__(self) -> str:
        return f"{self.first} and {self.second} would both be {self.name}, and change things: give them two names"


class FileError(StrettoError, ValueError):
    """A JSON file is not what it should be.

    Attributes:
        path: the file, empty for a value that is in none.
        at: where in it, as a JSON path, ``$.habit.base.alpha``.
        problem: what is wrong and what would be right.
    """

    def __init__(self, path: str, at: str, problem: str) -> None:
        super().__init__(path, at, problem)
        self.path = path
        self.at = at
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem} @ {self.at}" if self.path else f"{self.problem} @ {self.at}"


class ManifestError(FileError):
    """A manifest file is not valid."""


class FlowError(FileError):
    """A flow file is not valid."""


class ProcedureError(FileError):
    """A procedure's file cannot be read, or is none."""


class AnswersError(FileError):
    """A file of an adviser's answers cannot be read, or is none."""


class RunError(StrettoError, ValueError):
    """The journal of a run cannot be taken up.

    Attributes:
        path: the file.
        problem: what is wrong and what would be right.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class GuardsError(FileError):
    """A file of guards is not valid."""


class ToolsError(FileError):
    """A file of declarations of tools is not valid."""


class BadFlow(StrettoError, ValueError):
    """A valid flow cannot do what is asked of it, such as serving ``reach`` without reach counts."""


class OracleError(StrettoError):
    """An oracle gave no answer, or no complete one."""
