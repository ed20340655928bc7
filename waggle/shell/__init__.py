"""Shell commands: parsed, judged read-only or not, and values quoted for them.

Nothing here runs a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle._lazy import lazy

if TYPE_CHECKING:
    from waggle.shell.allowlist import Verdict, judge, reads
    from waggle.shell.quote import in_directory, quote
    from waggle.shell.reading import Piece, Reading, reading, written
    from waggle.shell.reasons import Reason, Refusal
    from waggle.shell.syntax import Connector, Pipeline, Redirection, Script, SimpleCommand, parse
    from waggle.shell.words import Word

__all__ = [
    "Connector",
    "Piece",
    "Pipeline",
    "Reading",
    "Reason",
    "Redirection",
    "Refusal",
    "Script",
    "SimpleCommand",
    "Verdict",
    "Word",
    "in_directory",
    "judge",
    "parse",
    "quote",
    "reading",
    "reads",
    "written",
]

_load = lazy(
    __name__,
    {
        "allowlist": ("Verdict", "judge", "reads"),
        "quote": ("in_directory", "quote"),
        "reading": ("Piece", "Reading", "reading", "written"),
        "reasons": ("Reason", "Refusal"),
        "syntax": ("Connector", "Pipeline", "Redirection", "Script", "SimpleCommand", "parse"),
        "words": ("Word",),
    },
)


def __getattr__(name: str) -> object:
    value = _load(name)
    # Importing the module for one of its other names leaves the module where the function of its name should be.
    if name in ("Piece", "Reading", "written"):
        _load("reading")
    return value
