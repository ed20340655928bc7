"""One command that only reads: which of its words are patterns and files, and which lines of its input it shows.

Not responsible for whether it reads (`waggle.shell.allowlist`): what is here is asked only of commands that do. What
must survive changes: a command has a window only if it shows those lines and does nothing else to them.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from waggle.shell.commands import COMMANDS
from waggle.shell.git import _GLOBAL, _SUBCOMMANDS
from waggle.shell.options import Arguments, Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from waggle.shell.words import Word

__all__ = ["SEARCHES", "Number", "Ranges", "Taken", "Window", "cut", "line_numbers", "take_apart", "window"]

#: First and last line of each range, from 1, in order and without overlap; the last one may be infinite.
Ranges: TypeAlias = "Sequence[tuple[int, float]]"

#: They take a regular expression and look for it.
SEARCHES: Final = frozenset(["grep", "egrep", "fgrep", "rg", "git grep"])
#: All their operands are files or folders.
_FILES: Final = (
    frozenset(["cat", "cksum", "cmp", "column", "comm", "cut", "df", "diff", "du", "expand", "file", "fold", "head"])
    | frozenset(["hexdump", "ls", "md5sum", "nl", "od", "paste", "readlink", "realpath", "rev", "sha1sum", "sha256sum"])
    | frozenset(["sha512sum", "shasum", "sort", "stat", "strings", "tac", "tail", "tree", "uniq", "wc", "xxd"])
    | frozenset(["git check-ignore", "git ls-files", "git status"])
)
_RUN_OTHERS: Final = frozenset(["find", "timeout", "xargs"])
#: With one of these, no operand is the pattern.
_NO_PATTERN: Final = ("-e", "--regexp", "-f", "--file", "--files", "--type-list")


class Taken(NamedTuple):
    """One command taken apart; every word is an object of the parsed command, but values attached to an option.

    Attributes:
        name: ``sed``, or with its subcommand ``git log``.
        words: what stands behind the name.
        arguments: the words told apart.
        programs: patterns to look for, or scripts of sed and awk; from options or the first operand.
        paths: operands that are certainly files or folders.
        folders: where git is told to go first (``-C``).
        runs: the commands that this one runs.
    """

    name: str
    words: Sequence[Word]
    arguments: Arguments
    programs: Sequence[Word] = ()
    paths: Sequence[Word] = ()
    folders: Sequence[Word] = ()
    runs: Runs = ()


def take_apart(words: Sequence[Word]) -> Taken:
    """Take apart one command of a script that reads.

    Raises:
        Refused: it does not read.
    """
    name, rest = words[0].text, tuple(words[1:])
    if name == "git":
        return _take_git_apart(rest)
    command = COMMANDS[name]
    arguments = command.options.match(name, rest, tame=command.tame) if command.options else Arguments((), rest)
    programs, paths = _operands(name, arguments)
    runs = command.check(arguments) if command.check and name in _RUN_OTHERS else ()
    return Taken(name, rest, arguments, programs, paths, runs=runs)


def _take_git_apart(words: Sequence[Word]) -> Taken:
    before = _GLOBAL.match("git", words)
    for length in (2, 1):
        first, rest = before.operands[:length], before.operands[length:]
        name = " ".join(word.text for word in first)
        if reader := _SUBCOMMANDS.get(name):
            arguments = reader[0].match(name, rest)
            programs, paths = _operands(f"git {name}", arguments)
            # Elsewhere, and in front of --, an operand may be a revision.
            behind = _behind_dashes(rest, arguments)
            if behind is not None or f"git {name}" not in _FILES | SEARCHES:
                paths = [word for word in behind or () if not any(word is each for each in programs)]
            return Taken(f"git {name}", rest, arguments, programs, paths, before.values("-C"))
    return Taken("git", words, before)


def _behind_dashes(words: Sequence[Word], arguments: Arguments) -> Sequence[Word] | None:
    """The operands behind ``--``, None when it is not there."""
    taken = {id(word) for word in (*arguments.operands, *(value for _, value in arguments.options if value))}
    for place, word in enumerate(words):
        if word.text == "--" and id(word) not in taken:
            return words[place + 1 :]
    return None


def _operands(name: str, arguments: Arguments) -> tuple[Sequence[Word], Sequence[Word]]:
    """Tell patterns and scripts from files and folders."""
    operands = arguments.operands
    if name in _FILES:
        return (), operands
    if name in SEARCHES:
        given = arguments.has(*_NO_PATTERN)
        return (arguments.values("-e", "--regexp"), operands) if given else (operands[:1], operands[1:])
    if name == "sed":
        given = arguments.has("-e", "--expression")
        return (arguments.values("-e", "--expression"), operands) if given else (operands[:1], operands[1:])
    if name == "awk":
        return operands[:1], [word for word in operands[1:] if "=" not in word.text]  # x=1 is an assignment
    if name == "find":
        start = 0
        # What begins like these find takes for a part of its expression, or some version of it does.
        while start < len(operands) and operands[start].text[:1] not in ("-", "(", ")", "!", ","):
            start += 1
        return (), operands[:start]
    return (), ()


class Number(NamedTuple):
    """A line number in a program: where it stands, and what for."""

    start: int
    end: int
    name: Literal["first", "last", "count"]


_SED_LINE: Final = r"([0-9]+)(?:,(\+?)([0-9]+|(?<=,)\$))?[ \t]*p"
_SED_LINES = re.compile(rf"[ \t]*{_SED_LINE}(?:[ \t]*[;\n][ \t;\n]*{_SED_LINE})*[ \t;\n]*")
_SED_EACH = re.compile(_SED_LINE)
_AWK_TEST: Final = r"F?NR[ \t]*(==|[<>]=?)[ \t]*([0-9]+)"
_AWK_LINES = re.compile(
    rf"[ \t]*{_AWK_TEST}(?:[ \t]*(&&|,)[ \t]*{_AWK_TEST})?[ \t]*"
    r"""(?:\{[ \t]*print(?:[ \t]*\$0|([ \t]+NR[ \t]*(?:,|"(?:[^"\\]|\\t)*")[ \t]*\$0))?[ \t]*;?[ \t]*\})?[ \t]*"""
)


def line_numbers(name: str, program: str) -> list[Number]:
    """Find the line numbers in a sed script or an awk program that does nothing but select lines by them.

    Args:
        name: ``sed`` or ``awk``.
        program: the script.

    Returns:
        Their places in the program, in order; none when it is any other program.
    """
    result: list[Number] = []
    if name == "sed" and _SED_LINES.fullmatch(program):
        for each in _SED_EACH.finditer(program):
            result.append(Number(*each.span(1), "first"))
            if each[3] and each[3] != "$":
                result.append(Number(*each.span(3), "count" if each[2] else "last"))
    elif name == "awk" and (found := _AWK_LINES.fullmatch(program)):
        result.append(Number(*found.span(2), "last" if found[1][0] == "<" else "first"))
        if found[3]:
            result.append(Number(*found.span(5), "first" if found[4][0] == ">" else "last"))
    return result


class Window(NamedTuple):
    """The lines of its input that a command shows.

    Attributes:
        ranges: the lines, at least one.
        numbered: each stands behind its number.
    """

    ranges: Ranges
    numbered: bool = False


_ALL: Final = ((1, math.inf),)
#: Options with which lines are not lines.
_ZERO: Final = {"-z", "--null-data", "--zero-terminated"}
_HEAD: Final = {"-n", "--lines", "-#", "-q", "--quiet", "--silent"}
_NL_LAYOUT: Final = {"-w", "--number-width", "-s", "--number-separator", "-n", "--number-format"}


def window(taken: Taken) -> Window | None:
    """Tell which lines of its input a command shows; None when it does anything else, or nobody knows which lines."""
    find = _WINDOWS.get(taken.name)
    return find(taken, {name for name, _ in taken.arguments.options}) if find else None


def _cat(_: Taken, options: set[str]) -> Window | None:
    return Window(_ALL, numbered=bool(options - {"-u"})) if options <= {"-n", "--number", "-u"} else None


def _nl(taken: Taken, options: set[str]) -> Window | None:
    """Only with ``-ba``: otherwise empty lines have no number, and the others not that of the file."""
    every = [word.text for word in taken.arguments.values("-b", "--body-numbering")] == ["a"]
    return Window(_ALL, numbered=True) if every and options - _NL_LAYOUT <= {"-b", "--body-numbering"} else None


def _grep(taken: Taken, options: set[str]) -> Window | None:
    """Only ``grep -n ''``, which is how some number a file."""
    every = options in ({"-n"}, {"--line-number"}) and [word.text for word in taken.programs] == [""]
    return Window(_ALL, numbered=True) if every else None


def _head(taken: Taken, options: set[str]) -> Window | None:
    counts = [value.text for _, value in taken.arguments.options if value] or ["10"]
    plain = len(counts) == 1 and re.fullmatch("[0-9]+", counts[0]) and options <= _HEAD
    return Window(((1, int(counts[0])),)) if plain and int(counts[0]) else None


def _tail(taken: Taken, _: set[str]) -> Window | None:
    """Only ``tail -n +5``: which lines are the last five, the command does not say."""
    match taken.arguments.options:
        case [(("-n" | "--lines"), value)] if value and re.fullmatch(r"\+[0-9]+", value.text):
            return Window(((max(1, int(value.text)), math.inf),))
    return None


def _sed(taken: Taken, options: set[str]) -> Window | None:
    if not options & {"-n", "--quiet", "--silent"} or options & _ZERO:
        return None
    ranges: list[tuple[int, float]] = []
    for script in taken.programs:
        if not _SED_LINES.fullmatch(script.text):
            return None
        for start, plus, end in _SED_EACH.findall(script.text):
            first = int(start)
            last = math.inf if end == "$" else int(end or start) + (first if plus else 0)
            ranges.append((first, max(first, last)))  # sed shows the first line of a range that ends before it
    ranges.sort()
    apart = all(before[1] < after[0] for before, after in pairwise(ranges))  # else a line is shown twice
    return Window(ranges) if apart and ranges[0][0] > 0 else None


def _awk(taken: Taken, options: set[str]) -> Window | None:
    found = None if options else _AWK_LINES.fullmatch("".join(word.text for word in taken.programs))
    if not found:
        return None
    first, last = _compared(found[1], int(found[2]))
    if found[3] == ",":
        end = int(found[5])
        if found[1] != "==" or found[4] != "==" or end < first:
            return None
        last = end
    elif found[3]:
        other = _compared(found[4], int(found[5]))
        first, last = max(first, other[0]), min(last, other[1])
    return Window(((first, last),), numbered=bool(found[6])) if 0 < first <= last else None


def _compared(operator: str, number: int) -> tuple[int, float]:
    match operator:
        case "==":
            return number, number
        case ">" | ">=":
            return max(1, number + (operator == ">")), math.inf
        case _:
            return 1, number - (operator == "<")


_WINDOWS: Final = {"awk": _awk, "cat": _cat, "grep": _grep, "head": _head, "nl": _nl, "sed": _sed, "tail": _tail}


def cut(ranges: Ranges, part: Ranges) -> Iterator[tuple[int, float]]:
    """Keep of the lines in `ranges`, counted as they come out, those in `part`."""
    passed = 0
    for first, last in ranges:
        for begins, ends in part:
            low = max(begins, passed + 1)
            high = min(ends, passed + last - first + 1)
            if low <= high:
                yield first + low - passed - 1, first + high - passed - 1
        if math.isinf(last):
            return
        passed += int(last) - first + 1
