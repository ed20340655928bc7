"""Whether a shell command is provably read-only.

Provably means: it parses (`waggle.shell.syntax`), and each of its commands is on the list with options and operands
that are known to write nothing (`waggle.shell.commands`). Whatever is not understood counts as a write. Assumed is an
ordinary shell, in which ``cat`` is the standard tool of that name. To read is not to be harmless in every way: a
command may still be slow, wait for input, or print a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from waggle.shell.commands import COMMANDS
from waggle.shell.options import Arguments, Runs
from waggle.shell.reasons import Reason, Refused
from waggle.shell.syntax import LENGTH_LIMIT, parse_or_raise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.shell.words import Word

__all__ = ["Verdict", "judge", "reads"]

#: Verdicts kept, in commands. With `LENGTH_LIMIT` this bounds the memory to 4 MB of ASCII.
_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out about one command.

    Attributes:
        reads: it is provably read-only.
        reason: why it is not; None when it is.
        detail: the piece it was refused for, at most 40 characters; empty when it reads.
    """

    reads: bool
    reason: Reason | None = None
    detail: str = ""


_READS: Final = Verdict(reads=True)


def judge(command: str) -> Verdict:
    """Decide whether a command is provably read-only; never raises.

    Costs about 30 µs for a command of ten words, and 0.15 µs for one that was among the last 1,024 different ones.
    """
    if len(command) > LENGTH_LIMIT:  # not worth a place among the kept ones
        return Verdict(reads=False, reason=Reason.LENGTH, detail=f"{len(command)} characters")
    return _judge(command)


def reads(command: str) -> bool:
    """Whether a command is provably read-only; see `judge`."""
    return judge(command).reads


@lru_cache(maxsize=_KEPT)
def _judge(command: str) -> Verdict:
    try:
        script = parse_or_raise(command)
        pending: list[Sequence[Word]] = [each.argv for line in script.pipelines for each in line]
        for words in pending:  # the list grows while it is walked: what xargs or find -exec would run is appended
            pending.extend(_check(words))
    except Refused as error:
        return Verdict(reads=False, reason=error.refusal.reason, detail=error.refusal.detail)
    return _READS


def _check(words: Sequence[Word]) -> Runs:
    """Check one command; what it runs in turn is returned, to be checked as well."""
    name = words[0]
    command = COMMANDS.get(name.text)
    if command is None or name.prefix is not None:
        raise Refused(Reason.COMMAND, name.text)
    rest = words[1:]
    if command.options:
        arguments = command.options.match(name.text, rest, tame=command.tame)
    else:
        arguments = Arguments((), tuple(rest))
    return command.check(arguments) if command.check else ()
