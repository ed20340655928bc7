"""What a request says beside its words: values, in their places. Pure.

A request is read as **parts**: words, **slots** (the value of an input of a procedure) and shapes (a value that is no
input's). Not responsible for finding out which value is which input's (`stretto.compiler.input_reader`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.procedure import atoms
from stretto.procedure.shapes import shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waggle.jsonvalue import JsonValue

__all__ = ["QUOTED", "Part", "Shaped", "Slot", "Token", "covers", "parts_of", "placed", "spelled", "tokens"]

#: The shape of a text in quotation marks; the others are those of `stretto.procedure.shapes`.
QUOTED: Final = "quoted"

_TOKEN: Final = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|(\S+)")
_LEADING: Final = "([{<'\"`\u2018\u201c\u00ab\u00bf\u00a1"  # and what opens a quotation, or a Spanish sentence
_TRAILING: Final = ")]}>'\"`,;:.!?\u2019\u201d\u00bb\u2026"


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a request.

    Attributes:
        text: as it is spelled, without punctuation at its ends, or without its quotation marks.
        quoted: whether it was in quotation marks.
    """

    text: str
    quoted: bool = False

    @property
    def word(self) -> str:
        """It folded, to be compared."""
        return atoms.fold(self.text)

    @property
    def shape(self) -> str:
        """The shape that it has; empty for a word."""
        return shape_of(self.text) or (QUOTED if self.quoted else "")


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of an input, in a request.

    Attributes:
        name: of the input.
        quoted: whether it was in quotation marks.
    """

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Shaped:
    """A value of a shape that is no input's."""

    shape: str


Part: TypeAlias = "str | Slot | Shaped"


def tokens(request: str) -> tuple[Token, ...]:
    """The tokens of a request, in order; punctuation that stands alone is none."""
    found = []
    for match in _TOKEN.finditer(request):
        if match[4] is None:
            found.append(Token(match[1] or match[2] or match[3], quoted=True))
        elif text := match[4].lstrip(_LEADING).rstrip(_TRAILING):
            found.append(Token(text))
    return tuple(found)


def placed(given: Sequence[Token], values: Mapping[str, JsonValue]) -> dict[int, tuple[str, int]]:
    """Where values stand in a request: for the first token of each, whose it is and how many tokens it takes.

    A value is found spelled in any case, once; elements of a list one by one. A value that is not there is left out,
    and a token belongs to one value: the longer first, then by name.
    """
    words = [token.word for token in given]
    wanted = [
        (atoms.fold(atoms.shown(each)), name)
        for name, value in sorted(values.items())
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, str | int | float) and not isinstance(each, bool)
    ]
    found: dict[int, tuple[str, int]] = {}
    taken: set[int] = set()
    for whole, name in sorted(wanted, key=lambda each: (-each[0].count(" "), each[1])):
        for at in range(len(words)):
            length = spelled(words, at, whole)
            if length and taken.isdisjoint(range(at, at + length)):
                found[at] = (name, length)
                taken.update(range(at, at + length))
                break
    return found


def spelled(words: Sequence[str], start: int, whole: str) -> int:
    """How many words from a place on spell a folded text together; 0 for none.

    A text in quotation marks is one word with spaces in it.
    """
    text = ""
    for length, word in enumerate(words[start:], 1):
        text = f"{text} {word}".strip()
        if text == whole:
            return length
        if not whole.startswith(text):
            return 0
    return 0


def covers(parts: Sequence[Part], given: Sequence[Token]) -> bool:
    """Whether a request may be made of these parts, whatever the inputs' values are: rather too often than too seldom.

    Words are as they are, a value that is no input's has its shape, and in the place of an input's value stand up to
    `_VALUE_TOKENS` tokens. Parts without a word cover nothing: they would cover everything.
    """
    if not any(isinstance(part, str) for part in parts):
        return False
    at = {0}
    for part in parts:
        if isinstance(part, Slot):
            at = {place + length for place in at for length in range(1, _VALUE_TOKENS + 1)}
        elif isinstance(part, Shaped):
            at = {place + 1 for place in at if place < len(given) and given[place].shape == part.shape}
        else:
            at = {place + 1 for place in at if place < len(given) and given[place].word == part}
    return len(given) in at


#: Tokens of an input's value at most.
_VALUE_TOKENS: Final = 8


def parts_of(given: Sequence[Token], places: Mapping[int, tuple[str, int]]) -> tuple[Part, ...]:
    """A request as parts.

    Args:
        given: its tokens.
        places: of values, as `placed` gives them. Elements of one list that follow each other are one slot.
    """
    found: list[Part] = []
    at = 0
    while at < len(given):
        if at in places:
            name, length = places[at]
            if not found or not isinstance(found[-1], Slot) or found[-1].name != name:
                found.append(Slot(name, given[at].quoted))
            at += length
            continue
        token = given[at]
        found.append(Shaped(token.shape) if token.shape else token.word)
        at += 1
    return tuple(found)
