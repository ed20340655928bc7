"""Whether a step does a thing or undoes it, where an export has written both as one action. Pure.

No later stage can tell what was done when "add" and "remove" have one name; so it is asked before anything is compiled.
The lists of words are English, and only ever lead to a refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.compiler.names import words_of
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.analysis import Analysis

__all__ = ["direction_of"]

#: Words that do, with those that undo, as they stand in names of tools and in requests.
_DOING: Final = frozenset(
    {
        "add",
        "append",
        "attach",
        "assign",
        "tag",
        "label",
        "open",
        "grant",
        "enable",
        "activate",
        "subscribe",
        "follow",
        "lock",
        "mute",
        "pin",
        "show",
        "start",
        "join",
        "increase",
        "raise",
        "block",
        "book",
        "create",
        "put",
        "mark",
    }
)
_UNDOING: Final = frozenset(
    {
        "remove",
        "delete",
        "detach",
        "unassign",
        "untag",
        "clean",
        "clear",
        "close",
        "revoke",
        "disable",
        "deactivate",
        "unsubscribe",
        "unfollow",
        "unlock",
        "unmute",
        "unpin",
        "hide",
        "stop",
        "leave",
        "decrease",
        "lower",
        "unblock",
        "cancel",
        "drop",
        "unlabel",
        "unmark",
        "take",
        "strip",
    }
)
#: Verbs of names that do not say which of the two they do.
_NEUTRAL: Final = frozenset(
    {
        "update",
        "set",
        "change",
        "modify",
        "edit",
        "toggle",
        "manage",
        "switch",
        "apply",
        "adjust",
    }
)

#: Different values of an argument up to which it may tell the one from the other.
_TELLING: Final = 4


def direction_of(analysis: Analysis, key: str) -> str:
    """Why it is not told whether a step does or undoes; empty when it is told."""
    steps = analysis.steps(key)
    raw = sorted({call.raw_name for step in steps for call in step.calls if call.raw_name})
    sides = {_side(words_of(name)) for name in raw} - {""}
    if len(sides) > 1:
        return f"it stands for {' and '.join(raw)}"
    if len({call.effect for step in steps for call in step.calls}) > 1:
        return f"it stands for calls with different effects ({' and '.join(raw)})"
    if not set(words_of(key.rpartition("#")[0])) & _NEUTRAL or _told_by_argument(analysis, key):
        return ""
    asked = {_side(words_of(run.trace.request)) for run in analysis.occurrences(key)} - {""}
    return "some requests ask to do it and others to undo it, and the calls look alike" if len(asked) > 1 else ""


def _side(words: Sequence[str]) -> str:
    """``do`` or ``undo``, by the words; empty when they say neither, or both."""
    doing, undoing = bool(set(words) & _DOING), bool(set(words) & _UNDOING)
    if doing == undoing:
        return ""
    return "do" if doing else "undo"


def _told_by_argument(analysis: Analysis, key: str) -> bool:
    """Whether the few values of some argument part the traces as their requests do, each seen twice at least."""
    for path in analysis.classifier.paths(key):
        sides: dict[bytes, list[str]] = {}
        for run in analysis.occurrences(key):
            argument = run.arguments(key).get(path)
            side = _side(words_of(run.trace.request))
            if argument is not None and side:
                sides.setdefault(atoms.key(argument.value), []).append(side)
        found = [set(each) for each in sides.values() if len(each) > 1]
        if (
            len(found) == len(sides) <= _TELLING
            and all(len(each) == 1 for each in found)
            and len(set().union(*found)) > 1
        ):
            return True
    return False
