"""What must hold for the operands of a command, where its options alone do not say whether it only reads.

Each check refuses what could write, and gives the commands that its command runs in turn: they must be reads as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from waggle.shell.options import Arguments
from waggle.shell.programs import awk_prints, printf_prints, sed_prints
from waggle.shell.reasons import Reason, Refused
from waggle.shell.words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from waggle.shell.options import Runs

__all__ = [
    "check_awk",
    "check_bracket",
    "check_command",
    "check_date",
    "check_find",
    "check_printf",
    "check_sed",
    "check_test",
    "check_timeout",
    "check_xargs",
    "single_operand",
]


def single_operand(name: str) -> Callable[[Arguments], Runs]:
    """There is at most one operand: a second one would name an output, so it may not come from a pattern either."""

    def check(arguments: Arguments) -> Runs:
        if len(arguments.operands) > 1 or any(word.prefix is not None for word in arguments.operands):
            raise Refused(Reason.OPERAND, name)
        return ()

    return check


def check_sed(arguments: Arguments) -> Runs:
    """The script, from its options or else the first operand, only prints."""
    scripts = arguments.values("-e", "--expression") or list(arguments.operands[:1])
    if not scripts:
        raise Refused(Reason.PROGRAM, "sed")
    script = "\n".join(word.text for word in scripts)
    if any(word.prefix is not None for word in scripts) or not sed_prints(script):
        raise Refused(Reason.PROGRAM, f"sed {script}")
    return ()


def check_awk(arguments: Arguments) -> Runs:
    """The program only selects and prints, and no operand is a network connection."""
    program, *files = arguments.operands or (Word(""),)
    if program.prefix is not None or not awk_prints(program.text):
        raise Refused(Reason.PROGRAM, f"awk {program.text}")
    for word in files:  # gawk opens network connections for /inet/…
        if word.text.startswith("/inet") or (word.prefix is not None and "/inet".startswith(word.prefix)):
            raise Refused(Reason.OPERAND, f"awk {word.text}")
    return ()


def check_printf(arguments: Arguments) -> Runs:
    """The format takes its arguments as text, and nothing is assigned (``-v``)."""
    words = arguments.operands
    if not words or words[0].text.startswith("-") or words[0].prefix is not None or not printf_prints(words[0].text):
        raise Refused(Reason.PROGRAM, f"printf {words[0].text if words else ''}")
    return ()


# Left out: -v and -R evaluate subscripts, which can run commands; so does zsh for the operands of -eq when they are no
# numbers. -a, -o and parentheses make it depend on the operands' values what is an operator.
_TEST: Final = (
    r"(?:!\0)?(?:-[bcdefghknprsuwxzGLNOS]\0[^\0]*"
    r"|[^\0]+\0(?:=|==|!=|-nt|-ot|-ef)\0[^\0]*|-?[0-9]+\0-(?:eq|ne|lt|le|gt|ge)\0-?[0-9]+)"
)


def check_test(arguments: Arguments) -> Runs:
    """The condition has one of the forms whose meaning does not depend on the operands."""
    words = arguments.operands
    if any(word.prefix is not None for word in words) or not re.fullmatch(
        _TEST, "\0".join(word.text for word in words)
    ):
        raise Refused(Reason.OPERAND, f"test {' '.join(word.text for word in words)}")
    return ()


def check_bracket(arguments: Arguments) -> Runs:
    """The same behind ``[``."""
    *words, last = arguments.operands or (Word(""),)
    if last.text != "]":
        raise Refused(Reason.OPERAND, "[")
    return check_test(Arguments((), tuple(words)))


def check_date(arguments: Arguments) -> Runs:
    """It shows the time: any operand but a format sets it."""
    if any(not word.text.startswith("+") for word in arguments.operands):
        raise Refused(Reason.OPERAND, "date")
    return ()


def check_command(arguments: Arguments) -> Runs:
    """It looks a name up; without ``-v`` it runs what it names."""
    if not arguments.has("-v", "-V"):
        raise Refused(Reason.OPTION, "command")
    return ()


def check_timeout(arguments: Arguments) -> Runs:
    """What it runs is a read."""
    duration, *inner = arguments.operands or (Word(""),)
    if not inner or not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?[smhd]?", duration.text):
        raise Refused(Reason.OPERAND, "timeout")
    return [inner]


def check_xargs(arguments: Arguments) -> Runs:
    """What it runs is a read whatever xargs appends to it, or puts in place of a mark."""
    inner = arguments.operands
    marks = [word.text for word in arguments.values("-I")]
    if not inner:
        return ()  # it runs echo
    if not marks:
        return [(*inner, Word("…", ""))]
    if len(marks) > 1 or not marks[0]:
        raise Refused(Reason.OPTION, "xargs -I")
    return [[_replaced(word, marks[0], "") for word in inner]]


def _replaced(word: Word, mark: str, begins: str) -> Word:
    """Tell that a command puts something which begins with `begins` in place of `mark`."""
    before, found, _ = word.text.partition(mark)
    if not found:
        return word
    prefix = before or begins
    return Word(word.text, prefix if word.prefix is None else min(prefix, word.prefix, key=len))


#: What each predicate of find takes, in words. Those that run commands, delete or write files are left out.
_FIND: Final[Mapping[str, int]] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"), 1),
    **dict.fromkeys(("-lname", "-ilname", "-type", "-xtype", "-size", "-perm", "-user", "-group", "-uid", "-gid"), 1),
    **dict.fromkeys(("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer"), 1),
    **dict.fromkeys(("-newermt", "-newerat", "-newerct", "-newermm", "-samefile", "-inum", "-links", "-fstype"), 1),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-regextype", "-printf"), 1),
    **dict.fromkeys(("-empty", "-readable", "-writable", "-executable", "-nouser", "-nogroup", "-true", "-false"), 0),
    **dict.fromkeys(("-print", "-print0", "-ls", "-prune", "-quit", "-depth", "-d", "-daystart", "-follow"), 0),
    **dict.fromkeys(("-mount", "-xdev", "-noleaf", "-a", "-and", "-o", "-or", "-not", "-H", "-L", "-P", "-E"), 0),
}


def check_find(arguments: Arguments) -> Runs:
    """Every predicate is known not to write, and what ``-exec`` runs is a read."""
    runs: list[Sequence[Word]] = []
    words = iter(arguments.operands)
    for word in words:
        if word.prefix == "":
            raise Refused(Reason.PATTERN, f"find {word.text}")
        if word.text == "-exec":
            runs.append(_executed(words))
        elif word.text in _FIND:
            for _ in range(_FIND[word.text]):
                value = next(words, None)
                # Should a find not know the predicate's value, it would take this word for a predicate.
                if value is None or value.prefix == "" or re.match(r"-(?![0-9])", value.text):
                    raise Refused(Reason.OPTION, f"find {word.text}")
        elif word.text.startswith("-"):
            raise Refused(Reason.OPTION, f"find {word.text}")
    return runs


def _executed(words: Iterator[Word]) -> Sequence[Word]:
    """Take the command behind -exec. In it, each path begins with where the search began, never like an option."""
    command: list[Word] = []
    for word in words:
        if word.prefix is not None:  # a file could be called ; and end the command
            raise Refused(Reason.PATTERN, f"find -exec {word.text}")
        if command and (word.text == ";" or (word.text == "+" and command[-1].text == "{}")):
            return [_replaced(each, "{}", "./") for each in command]
        command.append(word)
    raise Refused(Reason.OPERAND, "find -exec")
