"""Shell commands: parsed, judged read-only or not, and values quoted for them.

Nothing here runs a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle._lazy import lazy

if TYPE_CHECKING:
    from waggle.shell.allowlist import Verdict, judge, reads
    from waggle.shell.quote import quote
    from waggle.shell.reasons import Reason, Refusal
    from waggle.shell.syntax import Connector, Pipeline, Redirection, Script, SimpleCommand, parse
    from waggle.shell.words import Word

__all__ = [
    "Connector",
    "Pipeline",
    "Reason",
    "Redirection",
    "Refusal",
    "Script",
    "SimpleCommand",
    "Verdict",
    "Word",
    "judge",
    "parse",
    "quote",
    "reads",
]

__getattr__ = lazy(
    __name__,
    {
        "allowlist": ("Verdict", "judge", "reads"),
        "quote": ("quote",),
        "reasons": ("Reason", "Refusal"),
        "syntax": ("Connector", "Pipeline", "Redirection", "Script", "SimpleCommand", "parse"),
        "words": ("Word",),
    },
)
