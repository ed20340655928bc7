"""Reads a procedure's inputs from a request, without a model, and checks what any reader answers. Pure.

What is not told apart is left open. Values keep the spelling of the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from stretto.compiler.slots import Slot, spelled, tokens
from stretto.procedure import atoms
from stretto.procedure.readiness import input_faults
from stretto.procedure.shapes import fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.compiler.slots import Part, Token
    from stretto.procedure.graph import InputSpec
    from waggle.jsonvalue import JsonValue

__all__ = ["InputReader", "Read", "SlotReader", "checked"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9]\d*)")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9]\d*)\.\d+")


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
    in a member than any other does; a token is one input's, by the same rule. A text without a shape is read where
    members had it in quotation marks, or where the request says one of the values that members had. An input of a list,
    of truth or of objects is not read.

    Args:
        members: of the intent, as parts.
        values: that inputs without a shape had in members, by name; one that is said is read as it is here.
    """

    def __init__(self, members: Sequence[Sequence[Part]], values: Mapping[str, Sequence[str]] | None = None) -> None:
        self._values = values or {}
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
        for name, spec in sorted(inputs.items()):
            said = self._said(given, name) if spec.type == "string" and not (spec.many or spec.pattern) else None
            if said is not None and name not in found:
                found[name] = said
        return found

    def _said(self, given: Sequence[Token], name: str) -> str | None:
        """The one known value that is said, of those that overlap the longest; None for none, or several."""
        words = [token.word for token in given]
        spans = [
            (at, at + length, value)
            for value in self._values.get(name, ())
            for at in range(len(words))
            if (length := spelled(words, at, atoms.fold(value)))
        ]
        longest = max(spans, key=lambda span: span[1] - span[0], default=None)
        if longest is None or any(end <= longest[0] or at >= longest[1] for at, end, _ in spans):
            return None
        return longest[2]

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
