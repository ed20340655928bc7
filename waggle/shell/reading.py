"""A read-only shell command as a structured read: its form, the values in it, and what it shows.

Two commands of one form differ only in the values of its slots, so a form and new values make a command again. Not
responsible for what reads: that is `waggle.shell.allowlist`, and nothing it refuses has a reading.

What must survive changes: `written` gives a command only when reading that command gives back the same form and the
same values. So a value is never anything but the one argument, or the number, whose place it takes.
"""

from __future__ import annotations

import math
import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from waggle.shell import quote
from waggle.shell.allowlist import judge
from waggle.shell.ranges import SEARCHES, cut, line_numbers, take_apart, window
from waggle.shell.reasons import Reason, Refused
from waggle.shell.syntax import LENGTH_LIMIT, parse_or_raise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.shell.ranges import Ranges, Taken
    from waggle.shell.syntax import Redirection, Script, SimpleCommand
    from waggle.shell.words import Word

__all__ = ["Piece", "Reading", "reading", "written"]

#: Readings kept, in commands; as many as verdicts.
_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that a command shows.

    Attributes:
        kind: lines of a file, a search, a list of files, or the state of something.
        path: as it stands after ``cd``, normalised, with ``/``; relative or absolute. Empty for the working directory,
            which is also given where a command names nothing or several.
        first: the first line shown, from 1; of lines only.
        last: the last line shown, infinite for the end of the file; of lines only.
        numbered: the output shows the file's line numbers; of lines only.
    """

    kind: Literal["lines", "search", "list", "status"]
    path: str
    first: int = 1
    last: float = math.inf
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A read-only command, understood.

    Attributes:
        form: the command with ``{name}`` in place of each value, single blanks, and quotes only where needed.
        args: the values by the names of their slots, in the order of the form: numbers as int, the rest as str. It is
            shared by all who read the same command; do not change it.
        pieces: what is shown, in order; empty when any part of it is not understood.
    """

    form: str
    args: JsonObject
    pieces: tuple[Piece, ...]


def reading(command: str) -> Reading | None:
    """Read a command; None when it is not provably read-only, or cannot be written again exactly; never raises.

    Slots are ``dir`` (of ``cd``), ``pattern`` (of grep and its like), ``path``, ``name`` (of find), the line numbers
    ``first``, ``last`` and ``count``, and the numbers that other options take, by telling names (``after``, ``depth``).
    A second slot of one name is ``path2``. A literal that looks like a slot is the value of a slot ``text``.

    A word that the shell replaces stands in the form as it is when it has a single ``*``, ``?`` or leading ``~``; with
    more of them, or a variable, its quotes are not known any more, and the command has no reading.

    Costs three to four times a `judge`, about 120 µs for an ordinary command, and 0.2 µs for one that was among the
    last 1,024 different ones.
    """
    if len(command) > LENGTH_LIMIT:  # not worth a place among the kept ones
        return None
    return _reading(command)


@lru_cache(maxsize=_KEPT)
def _reading(command: str) -> Reading | None:
    if not judge(command).reads:
        return None
    try:
        script = parse_or_raise(command)
        pipelines = [[take_apart(each.argv) for each in pipeline] for pipeline in script.pipelines]
        writer = _Writer([each for pipeline in pipelines for each in pipeline])
        form = writer.script(script)
    except Refused:
        return None
    # A quote can take four times the room that it took in the command.
    if len(command) > LENGTH_LIMIT // 4 and len(_filled(form, writer.args)) > LENGTH_LIMIT:
        return None
    return Reading(form, writer.args, _shown(script, pipelines))


def written(form: str, args: Mapping[str, JsonValue]) -> str:
    """Make a command of a form and the values of its slots.

    Costs a `reading` of what was made.

    Raises:
        ValueError: a value is missing, holds a NUL, is of another type than its slot or below 0; or the command would
            not be that form with those values (a path like ``-rf``, which would be an option).
    """
    command = _filled(form, args)
    again = reading(command)
    if again is None or again.form != form or not _same(again.args, args):
        raise ValueError(f"these values of {', '.join(args) or 'no slot'} do not make a command of the form {form!r}")
    return command


def _same(one: JsonObject, other: Mapping[str, JsonValue]) -> bool:
    """Whether the values are equal and of equal types: to Python, True is 1."""
    return one == other and all(type(value) is type(other[name]) for name, value in one.items())


def _filled(form: str, args: Mapping[str, JsonValue]) -> str:
    def value_of(found: re.Match[str]) -> str:
        match args.get(found[1]):
            case str(text):
                return _word(text)
            case bool():
                pass
            case int(number) if number >= 0:
                return str(number)
        raise ValueError(f"slot {found[1]!r} needs a text, or a number from 0 on")

    return _SLOT.sub(value_of, form)


def _word(text: str) -> str:
    """Write an argument without quotes where that is the same."""
    return text if _BARE.fullmatch(text) else quote(text)


#: A slot in a form. ``{print}`` is a part of awk programs.
_SLOT = re.compile(r"\{(?!print\})([a-z][a-z_]*[0-9]*)\}")
#: What needs no quotes. Behind = and : a ~ may be a home directory.
_BARE = re.compile(r"[A-Za-z0-9_./:,@%+^\]-](?:[A-Za-z0-9_./:,@%+^\]=-]|(?<![=:])~)*|\{\}")
#: A word with a single character that the shell replaces, and no other that does so unless it was quoted.
_REPLACED = re.compile(r"(?!=)[A-Za-z0-9_./:,@%+=-]*[*?][A-Za-z0-9_./:,@%+=-]*|~(?:/[A-Za-z0-9_./:,@%+-]*)?")
_NUMBER = re.compile(r"0|[1-9][0-9]*")

#: What an option's number says, by the option, or the command and the option. Others go by the option's own name.
_MEANINGS: Final = (
    {"-A": "after", "-B": "before", "-C": "context", "-U": "context", "-m": "count", "-n": "count", "-w": "width"}
    | {"--after-context": "after", "--before-context": "before", "--lines": "count", "--max-count": "count"}
    | {"--max-depth": "depth", "--unified": "context", "du -d": "depth", "rg -d": "depth", "tree -L": "depth"}
    | {"-#": "count", "grep -#": "context", "egrep -#": "context", "fgrep -#": "context", "git grep -#": "context"}
)
_FIND_NAMES: Final = frozenset(["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"])
_FIND_NUMBERS: Final = {"-maxdepth": "depth", "-mindepth": "min_depth"}


class _Writer:
    """Writes a script as a form, and notes the values."""

    __slots__ = ("args", "counts", "numbers", "wholes")

    def __init__(self, commands: list[Taken]) -> None:
        self.args: JsonObject = {}
        self.counts: dict[str, int] = {}
        # By the id of a word: the slot that it is; and start, end and name of each number in it.
        self.wholes: dict[int, str] = {}
        self.numbers: dict[int, list[tuple[int, int, str]]] = {}
        for taken in commands:  # the list grows while it is walked: a command may run others
            self.find_slots(taken)
            commands.extend(take_apart(words) for words in taken.runs)

    def find_slots(self, taken: Taken) -> None:
        for word in taken.programs:
            if taken.name in SEARCHES:
                self.wholes[id(word)] = "pattern"
            else:
                self.numbers[id(word)] = [*line_numbers(taken.name, word.text)]
        for word in taken.paths:
            if word.text != "-":  # standard input
                self.wholes[id(word)] = "path"
        operands = taken.arguments.operands
        if taken.name == "cd" and len(operands) == 1 and operands[0].text != "-":
            self.wholes[id(operands[0])] = "dir"
        elif taken.name == "find":
            for test, value in pairwise(operands):
                if test.text in _FIND_NAMES:
                    self.wholes[id(value)] = "name"
                elif test.text in _FIND_NUMBERS:
                    self.numbers[id(value)] = [(0, len(value.text), _FIND_NUMBERS[test.text])]
        self.find_option_numbers(taken)

    def find_option_numbers(self, taken: Taken) -> None:
        values = [(option, value) for option, value in taken.arguments.options if value]
        if not values:
            return
        words = {id(word) for word in taken.words}
        separate = {id(value) for _, value in values}
        options = iter([word for word in taken.words if id(word) not in separate])
        for option, value in values:
            # Attached values come in the order of the words that they end.
            word = (
                value if id(value) in words else next(each for each in options if _ends(each.text, option, value.text))
            )
            name = _MEANINGS.get(f"{taken.name} {option}") or _MEANINGS.get(option) or option.strip("-").lower()
            start = len(word.text) - len(value.text)
            if taken.name == "tail" and value.text[:1] == "+":
                start, name = start + 1, "first"
            self.numbers.setdefault(id(word), []).append((start, len(word.text), name.replace("-", "_")))

    def script(self, script: Script) -> str:
        """Write the form.

        Raises:
            Refused: it cannot be written again exactly.
        """
        pipelines = [" | ".join(map(self.command, each)) for each in script.pipelines]
        parts = [pipelines[0]]
        for connector, pipeline in zip(script.connectors, pipelines[1:], strict=True):
            parts += ["; " if connector == ";" else f" {connector} ", pipeline]
        return "".join(parts)

    def command(self, command: SimpleCommand) -> str:
        words = " ".join(map(self.word, command.argv))
        if not command.redirections:
            return words
        if command.argv[0].text == "[":  # written as |&, which has no form of its own here
            raise Refused(Reason.REDIRECTION, "[")
        return " ".join([words, *map(self.redirection, command.redirections)])

    def redirection(self, redirection: Redirection) -> str:
        fd = "" if redirection.fd is None else redirection.fd
        return f"{fd}{redirection.operator}{self.literal(redirection.target)}"

    def word(self, word: Word) -> str:
        text = word.text
        if word.prefix is not None:
            if not _REPLACED.fullmatch(text):
                raise Refused(Reason.PATTERN, text)
            return text
        key = id(word)
        if key in self.wholes:
            return self.slot(self.wholes[key], text)
        if key not in self.numbers or _SLOT.search(text):
            return self.literal(text)
        parts, at = [], 0
        for start, end, name in self.numbers[key]:
            if _NUMBER.fullmatch(text, start, end):
                parts += [text[at:start], self.slot(name, int(text[start:end]))]
                at = end
        template = "".join([*parts, text[at:]])
        return template if _BARE.fullmatch(text) else quote(template)

    def literal(self, text: str) -> str:
        if _BARE.fullmatch(text):
            return text
        return self.slot("text", text) if _SLOT.search(text) else quote(text)

    def slot(self, name: str, value: str | int) -> str:
        count = self.counts[name] = self.counts.get(name, 0) + 1
        key = name if count == 1 else f"{name}{count}"
        self.args[key] = value
        return f"{{{key}}}"


def _ends(word: str, option: str, value: str) -> bool:
    """Whether an option with the value attached can stand in this word, or at its end."""
    if option.startswith("--"):
        return word == f"{option}={value}"
    letter = "" if option == "-#" else option[1]
    return word[:1] == "-" and word[:2] != "--" and word.endswith(letter + value)


_SILENT: Final = frozenset(["echo", "printf", "true", ":"])
_STATUS: Final = frozenset(
    ["git status", "git diff", "git log", "git show", "git branch", "pwd", "wc", "stat", "file", "du"]
)
_LISTS: Final = frozenset(["ls", "tree", "git ls-files"])
#: Without an operand they read what is typed.
_NEED_PATHS: Final = frozenset(["wc", "stat", "file"])
#: They show their files one after the other, each from its own first line.
_EACH_FILE: Final = frozenset(["cat", "head", "tail"])


def _shown(script: Script, pipelines: Sequence[Sequence[Taken]]) -> tuple[Piece, ...]:
    """Tell what a script shows. That a command fails is left out of account, except before ``||``."""
    where = ""
    pieces: list[Piece] = []
    for connector, commands, taken in zip(("", *script.connectors), script.pipelines, pipelines, strict=True):
        first, *stages = map(_unwrapped, taken)
        if first.name in _SILENT and not stages:
            continue
        # Behind || nothing is certain to run, and to another descriptor than standard output it shows nothing.
        if connector == "||" or not all(map(_keeps_output, commands)):
            return ()
        if first.name == "cd" and not stages:
            moved = _placed(where, first.arguments.operands) if len(first.arguments.operands) == 1 else None
            # Had what stands before && failed, the shell would not have moved, and what follows a later ; would be
            # somewhere else.
            if moved is None or (connector == "&&" and pieces):
                return ()
            where = moved
        elif found := _pipeline(first, stages, where):
            pieces += found
        else:
            return ()
    return tuple(pieces)


def _keeps_output(command: SimpleCommand) -> bool:
    """Whether standard input and output stay what they are."""
    return not command.redirections or all(each.fd not in (None, 0, 1) for each in command.redirections)


def _unwrapped(taken: Taken) -> Taken:
    """What ``timeout`` runs, in place of it."""
    while taken.name == "timeout":
        taken = take_apart(taken.runs[0])
    return taken


def _placed(where: str, paths: Sequence[Word]) -> str | None:
    """The path as it stands after ``cd``, or `where` for none or several; None when that is not certain.

    Only the shell knows what it replaces, and where ``cd -`` goes; to other commands ``-`` is standard input.
    """
    for word in paths:
        if word.prefix is not None or word.text in ("", "-"):
            return None
    if len(paths) != 1:
        return where
    path = posixpath.normpath(posixpath.join(where, paths[0].text))
    return "" if path == "." else path


def _pipeline(first: Taken, stages: Sequence[Taken], where: str) -> Sequence[Piece]:
    """Tell what a pipeline shows; nothing when it is not understood."""
    pieces: Sequence[Piece] = _lines(first, where) or _other(first, where)
    for stage in stages:
        if not pieces or stage.paths:  # a later member that names files shows those, not what it is given
            return ()
        kind, several = pieces[0].kind, len(first.paths) > 1
        part = window(stage)
        if part and not part.numbered:
            if kind == "lines":
                # Where the second file's lines begin depends on the first one's length.
                pieces = () if several else _restricted(pieces, part.ranges)
        elif kind == "search" or first.name == "find" or (kind == "lines" and stage.name in SEARCHES):
            pieces = [Piece("search", where if several else pieces[0].path)]
        else:
            return ()
    return pieces


def _restricted(pieces: Sequence[Piece], part: Ranges) -> list[Piece]:
    """Keep of what is shown of one file the lines of `part`."""
    path, numbered = pieces[0].path, pieces[0].numbered
    kept = cut([(piece.first, piece.last) for piece in pieces], part)
    return [Piece("lines", path, first, last, numbered) for first, last in kept]


def _lines(taken: Taken, where: str) -> list[Piece]:
    """Tell which lines of its files a command shows."""
    part, paths = window(taken), taken.paths
    if not part or (len(paths) > 1 and (part.numbered or taken.name not in _EACH_FILE)):
        return []
    placed = [_placed(where, [path]) for path in paths]
    return [
        Piece("lines", path, first, last, part.numbered)
        for path in placed
        for first, last in part.ranges
        if path and all(placed)
    ]


def _other(taken: Taken, where: str) -> list[Piece]:
    """Tell what a command shows that is no lines."""
    kind = _kind(taken)
    place: str | None = where
    for folder in taken.folders:
        place = place if place is None else _placed(place, [folder])
    place = place if place is None else _placed(place, taken.paths)
    return [Piece(kind, place)] if kind and place is not None else []


def _kind(taken: Taken) -> Literal["search", "list", "status"] | None:
    name, arguments = taken.name, taken.arguments
    if name in ("grep", "egrep", "fgrep"):
        recursive = arguments.has("-r", "-R", "--recursive", "--dereference-recursive")
        return "search" if taken.paths or recursive else None
    if name in SEARCHES:
        return "list" if arguments.has("--files") else "search"
    if name == "find":
        if not taken.runs:
            return "list"
        return "search" if all(words[0].text in SEARCHES for words in taken.runs) else None
    if name in _LISTS:
        return "list"
    return "status" if name in _STATUS and (taken.paths or name not in _NEED_PATHS) else None
