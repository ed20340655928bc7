"""What a request says beside its words: values, in their places. Pure.

A request is read as **parts**: words, **slots** (the value of an input of a procedure) and shapes (a value that is no
input's). The words before a slot and the shape that its values have are all that is known of it, so that a request can
be read without a model; whatever is not told apart is left open. Values keep the spelling of the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from stretto.procedure import atoms
from stretto.procedure.readiness import input_faults
from stretto.procedure.shapes import fits, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.procedure.graph import InputSpec
    from waggle.jsonvalue import JsonValue

__all__ = [
    "QUOTED",
    "InputReader",
    "Part",
    "Read",
    "Shaped",
    "Slot",
    "SlotReader",
    "Token",
    "checked",
    "parts_of",
    "placed",
    "tokens",
]

#: The shape of a text in quotation marks; the others are those of `stretto.procedure.shapes`.
QUOTED: Final = "quoted"

_TOKEN: Final = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|(\S+)")
_LEADING: Final = "([{<'\"`\u2018\u201c\u00ab\u00bf\u00a1"  # and what opens a quotation, or a Spanish sentence
_TRAILING: Final = ")]}>'\"`,;:.!?\u2019\u201d\u00bb\u2026"
_WHOLE: Final = re.compile(r"-?(?:0|[1-9]\d*)")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9]\d*)\.\d+")


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
        (atoms.fold(atoms.shown(each)).split(), name)
        for name, value in sorted(values.items())
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, str | int | float) and not isinstance(each, bool)
    ]
    found: dict[int, tuple[str, int]] = {}
    taken: set[int] = set()
    for spelled, name in sorted(wanted, key=lambda each: (-len(each[0]), each[1])):
        at = next((start for start in range(len(words)) if _is_at(words, start, spelled, taken)), None)
        if at is not None:
            length = _length(words, at, spelled)
            found[at] = (name, length)
            taken.update(range(at, at + length))
    return found


def _is_at(words: Sequence[str], start: int, spelled: Sequence[str], taken: set[int]) -> bool:
    length = _length(words, start, spelled)
    return length > 0 and not taken & set(range(start, start + length))


def _length(words: Sequence[str], start: int, spelled: Sequence[str]) -> int:
    """Tokens from a place on that spell a value; 0 for none. A text in quotation marks is one token of many words."""
    whole, text = " ".join(spelled), ""
    for length, word in enumerate(words[start:], 1):
        text = f"{text} {word}".strip()
        if text == whole:
            return length if whole else 0
        if not whole.startswith(text):
            return 0
    return 0


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


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """What a request says of a procedure's inputs.

    Attributes:
        values: by name.
        refused: what a reader answered and is not taken, with why, for people.
    """

    values: Mapping[str, JsonValue]
    refused: tuple[str, ...] = ()


class InputReader(Protocol):
    """Reads inputs from a request; what it answers is checked against the request and the inputs (`checked`)."""

    def read(self, request: str, inputs: Mapping[str, InputSpec]) -> Mapping[str, JsonValue]:
        """The values that the request says, by name; none for an input that it does not say."""
        ...


class SlotReader:
    """Reads inputs by the shape of their values and the words before them, both as members of an intent had them.

    An input is read where one token fits, or where one of those that fit follows more of the words that stood before it
    in a member than any other does; a token is one input's, by the same rule. An input of a list, of words without a
    shape, of truth or of objects is not read.

    Args:
        members: of the intent, as parts.
    """

    def __init__(self, members: Sequence[Sequence[Part]]) -> None:
        self._before: dict[str, set[tuple[str, ...]]] = {}
        quoted: dict[str, list[bool]] = {}
        for member in members:
            for number, part in enumerate(member):
                if isinstance(part, Slot):
                    before = _before([each if isinstance(each, str) else _VALUE for each in member[:number]])
                    self._before.setdefault(part.name, set()).add(before)
                    quoted.setdefault(part.name, []).append(part.quoted)
        self._quoted = {name for name, each in quoted.items() if all(each)}

    def read(self, request: str, inputs: Mapping[str, InputSpec]) -> dict[str, JsonValue]:
        """The values that the request says."""
        given = tokens(request)
        places = {name: self._choose(given, name, spec) for name, spec in sorted(inputs.items())}
        chosen = {name: at for name, at in places.items() if at is not None}
        found = {}
        for name, at in chosen.items():
            rivals = [other for other, where in chosen.items() if where == at]
            if _best({rival: self._follows(given, at, rival) for rival in rivals}) == name:
                found[name] = _value(given[at], inputs[name])
        return found

    def _choose(self, given: Sequence[Token], name: str, spec: InputSpec) -> int | None:
        """The place of the one token that an input may be; None for none, or several."""
        fitting = [at for at, token in enumerate(given) if self._fits(token, name, spec)]
        return _best({at: self._follows(given, at, name) for at in fitting})

    def _fits(self, token: Token, name: str, spec: InputSpec) -> bool:
        if spec.many or _value(token, spec) is None:
            return False
        if spec.pattern:
            return fits(token.text, spec.pattern)
        return token.quoted and name in self._quoted

    def _follows(self, given: Sequence[Token], at: int, name: str) -> int:
        """How many of the words before a place stood before the input in a member, from the nearest on."""
        here = _before([_VALUE if token.shape else token.word for token in given[:at]])
        return max((_alike(here, before) for before in self._before.get(name, ())), default=0)


_VALUE: Final = "\0"  # stands for a value before a slot; no word has it
_NEAR: Final = 3  # words before a slot that are looked at

_Choice = TypeVar("_Choice", str, int)


def _before(words: Sequence[str]) -> tuple[str, ...]:
    """The words before a place, the nearest first; empty ones stand for the beginning."""
    return (*reversed(words[-_NEAR:]), *[""] * _NEAR)[:_NEAR]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return next((number for number, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def _best(numbers: Mapping[_Choice, int]) -> _Choice | None:
    """What has the largest number, or is alone; otherwise None."""
    highest = max(numbers.values(), default=0)
    best = [each for each, number in numbers.items() if number == highest]
    return best[0] if len(best) == 1 and (highest > 0 or len(numbers) == 1) else None


def _value(token: Token, spec: InputSpec) -> JsonValue:
    """A token as a value of an input's type; None where it is none."""
    if spec.type == "string":
        return token.text
    if spec.type in ("integer", "number") and _WHOLE.fullmatch(token.text):
        return int(token.text)
    if spec.type == "number" and _DECIMAL.fullmatch(token.text):
        return float(token.text)
    return None


def checked(request: str, inputs: Mapping[str, InputSpec], answers: Mapping[str, JsonValue]) -> Read:
    """What of a reader's answers is taken: what fits the inputs, and what the request says.

    Args:
        request: that was read.
        inputs: of the procedure.
        answers: of an `InputReader`.
    """
    values: dict[str, JsonValue] = {}
    refused = []
    for name, value in sorted(answers.items()):
        faults = [*input_faults(name, value, inputs), *_unsaid(request, name, value)]
        refused += faults
        if not faults:
            values[name] = value
    return Read(values, tuple(refused))


def _unsaid(request: str, name: str, value: JsonValue) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        is_word = isinstance(each, str | int | float) and not isinstance(each, bool)
        if not is_word or not atoms.said(each, request):
            yield f"input {name} was read as what the request does not say"
            return
