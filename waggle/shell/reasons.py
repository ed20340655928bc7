"""Why a command was not understood: the reasons, and how one travels out of nested functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["Reason", "Refusal", "Refused"]

#: Characters of the command that a refusal quotes, at most: enough to see which form to support next.
_DETAIL_LIMIT: Final = 40


class Reason(StrEnum):
    """Why a command is not called a read, for counting."""

    # What the shell would do with the text is not understood.
    LENGTH = "length"  #: longer than any lookup; it carries a program or a file
    CHARACTER = "character"  #: a control character, or one outside ASCII that no quotes protect
    SYNTAX = "syntax"  #: an operator where a command should be, no command, a quote that does not end
    SUBSTITUTION = "substitution"  #: a command inside a word: ``$(…)``, backticks, ``<(…)``
    EXPANSION = "expansion"  #: ``${x:=y}``, ``$((…))``, ``$'…'``, ``~name``, ``!history``
    REDIRECTION = "redirection"  #: output to a file, or to a descriptor nobody knows
    HEREDOC = "heredoc"  #: ``<<`` and ``<<<``
    BACKGROUND = "background"  #: ``&``
    COMPOUND = "compound"  #: ``if``, ``for``, ``(…)``, ``{ …; }``, ``! …``, functions
    ASSIGNMENT = "assignment"  #: ``NAME=value``, alone or before a command

    # The words are understood, what they make a program do is not.
    COMMAND = "command"  #: a command that is not on the list
    SUBCOMMAND = "subcommand"  #: the same one level down: ``git push``
    OPTION = "option"  #: an option that is not known to be harmless
    OPERAND = "operand"  #: an operand more than expected, or one that could name an output
    PATTERN = "pattern"  #: a word that the shell replaces, where a replacement could act as an option
    PROGRAM = "program"  #: a sed, awk or printf program that is not known to be harmless


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that is not understood.

    Attributes:
        reason: the kind, for counting.
        detail: the piece it was refused for, at most 40 characters.
    """

    reason: Reason
    detail: str


class Refused(Exception):
    """Carries a refusal out of nested functions; it never leaves this package."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.refusal = Refusal(reason, detail[:_DETAIL_LIMIT])
