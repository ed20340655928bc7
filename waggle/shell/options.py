"""Options of a program, matched strictly against the ones that are known to be harmless.

Long options are known only by their full names. The tools also accept abbreviations (``--in-p`` for ``--in-place``),
so anything not on the list may be one and is refused.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from waggle.shell.reasons import Reason, Refused
from waggle.shell.words import Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Arguments", "Options", "Runs"]

#: Commands that a command runs in turn, each as its name and arguments.
Runs: TypeAlias = "Sequence[Sequence[Word]]"

_FLAG: Final = "flag"
_VALUE: Final = "value"  # attached (-n5, --lines=5) or the next word
_ATTACHED: Final = "attached"  # a value only where it is attached (-U3, --color=always)

_NUMBER = re.compile(r"-[0-9]+")


class Arguments(NamedTuple):
    """What follows a command's name, taken apart.

    Attributes:
        options: name and value of each option in order; the value is None where there is none. ``-5`` is ``-#`` with
            the value ``5``.
        operands: the other words in order.
    """

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def values(self, *names: str) -> list[Word]:
        """Values given to any of these options, in order."""
        return [value for name, value in self.options if name in names and value is not None]

    def has(self, *names: str) -> bool:
        """Whether any of these options is there."""
        return any(name in names for name, _ in self.options)


class Options:
    """The harmless options of one program.

    Attributes:
        row: the options as they stand in the table: ``-nA:U? -# --color? --include= --all``. Short ones stand together
            as for ``getopt``, a colon behind those that take a value, a question mark behind those whose value must be
            attached; ``=`` and ``?`` say the same of long ones. ``-#`` is any number (``-5``).
        permute: options may follow operands, as they may for GNU's tools; otherwise the first operand ends them.
    """

    def __init__(self, row: str, *, permute: bool = True) -> None:
        self.row = row
        self.permute = permute

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """What each option takes, by its name with the dashes. Read when first asked: most rows never are."""
        kinds: dict[str, str] = {}
        for item in self.row.split():
            if item.startswith("--"):
                kinds[item.rstrip("=?")] = {"=": _VALUE, "?": _ATTACHED}.get(item[-1], _FLAG)
            else:
                for letter, mark in re.findall(r"([^:?])([:?]?)", item[1:]):
                    kinds[f"-{letter}"] = {":": _VALUE, "?": _ATTACHED}.get(mark, _FLAG)
        return kinds

    def match(self, name: str, words: Sequence[Word], *, tame: bool = False) -> Arguments:
        """Tell options, their values and operands apart.

        Args:
            name: the command's name, for refusals.
            words: what follows it.
            tame: no option of this program can write. Then a word that the shell replaces may become anything;
                otherwise it must be certain that it does not become an option.

        Raises:
            Refused: an option is not known, lacks its value, or a word may become one.
        """
        return _Matcher(self, name, words, tame=tame).match()


class _Matcher:
    """One pass over the words; `at` is the next one."""

    __slots__ = ("at", "found", "name", "operands", "options", "tame", "words")

    def __init__(self, options: Options, name: str, words: Sequence[Word], *, tame: bool) -> None:
        self.options = options
        self.name = name
        self.words = words
        self.tame = tame
        self.at = 0
        self.found: list[tuple[str, Word | None]] = []
        self.operands: list[Word] = []

    def match(self) -> Arguments:
        words = self.words
        while self.at < len(words):
            word = words[self.at]
            self.at += 1
            text = word.text
            if word.prefix == "" and not self.tame:
                raise Refused(Reason.PATTERN, f"{self.name} {text}")
            if text[:1] != "-" or text == "-" or word.prefix == "":
                self.operands.append(word)
                if not self.options.permute:
                    break
            elif text == "--":
                break
            elif text.startswith("--"):
                self.long(word)
            else:
                self.short(word)
        self.operands.extend(words[self.at :])
        return Arguments(tuple(self.found), tuple(self.operands))

    def long(self, word: Word) -> None:
        option, equals, value = word.text.partition("=")
        kind = self.options.kinds.get(option)
        if kind is None or (equals and kind is _FLAG):
            raise self.unknown(option)
        if not equals:
            self.certain(word)
            self.found.append((option, self.next_word(option) if kind is _VALUE else None))
        elif word.prefix is None:
            self.found.append((option, Word(value)))
        elif word.prefix.startswith(f"{option}="):
            self.found.append((option, Word(value, word.prefix[len(option) + 1 :])))
        else:
            self.certain(word)

    def short(self, word: Word) -> None:
        """Match a cluster such as ``-nA3``."""
        self.certain(word)
        text = word.text
        if "-#" in self.options.kinds and _NUMBER.fullmatch(text):
            self.found.append(("-#", Word(text[1:])))
            return
        for place, letter in enumerate(text[1:], 2):
            option = f"-{letter}"
            kind = self.options.kinds.get(option)
            if kind is None:
                raise self.unknown(option)
            if kind is not _FLAG:
                attached = Word(text[place:]) if text[place:] else None
                self.found.append((option, self.next_word(option) if kind is _VALUE and not attached else attached))
                return
            self.found.append((option, None))

    def certain(self, word: Word) -> None:
        """Refuse an option that the shell replaces by others."""
        if word.prefix is not None:
            raise Refused(Reason.PATTERN, f"{self.name} {word.text}")

    def next_word(self, option: str) -> Word:
        """Take the next word as an option's value."""
        if self.at == len(self.words):
            raise self.unknown(option)
        value = self.words[self.at]
        self.at += 1
        # Should some version of the tool not take a value here, this word would be an option to it.
        if not self.tame and (value.prefix is not None or value.text[:1] == "-"):
            raise self.unknown(option)
        return value

    def unknown(self, option: str) -> Refused:
        return Refused(Reason.OPTION, f"{self.name} {option}")
