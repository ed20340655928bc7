"""Transforms: the pure functions by which a value may have come from another one.

A closed list, one direction each, no chains: with chains anything comes from anything. What must survive changes: a
transform of a value depends on nothing else, and gives None rather than a guess for a value outside its domain.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeGuard

    from waggle.jsonvalue import JsonValue

__all__ = ["COPY", "TRANSFORMS", "Rule", "Transform"]


class Rule(NamedTuple):
    """A transform without constants.

    Attributes:
        says: what it does, for people, behind the name of a value.
        function: pure; None for a value outside its domain, and instead of an empty text.
    """

    says: str
    function: Callable[[JsonValue], JsonValue]


def _of_text(function: Callable[[str], str]) -> Callable[[JsonValue], JsonValue]:
    return lambda value: (function(value) or None) if isinstance(value, str) else None


def _to_text(value: JsonValue) -> JsonValue:
    return repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _to_number(value: JsonValue) -> JsonValue:
    """Only of a text that `_to_text` would write, so that ``007`` and ``1.50`` stay texts."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    number = float(value) if "." in value else int(value)
    return number if repr(number) == value else None


_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")

#: The transforms without constants, by name, in the order in which they are tried.
TRANSFORMS: Final[Mapping[str, Rule]] = {
    "basename": Rule("its last part", _of_text(posixpath.basename)),
    "dirname": Rule("its folder", _of_text(posixpath.dirname)),
    "stem": Rule("its name without extension", _of_text(lambda path: posixpath.splitext(posixpath.basename(path))[0])),
    "extension": Rule("its extension", _of_text(lambda path: posixpath.splitext(path)[1])),
    "lower": Rule("in lower case", _of_text(str.lower)),
    "upper": Rule("in upper case", _of_text(str.upper)),
    "strip": Rule("without white space around it", _of_text(str.strip)),
    "before-colon": Rule("what stands before its colon", _of_text(lambda text: text[: max(text.find(":"), 0)])),
    "to-text": Rule("as text", _to_text),
    "to-number": Rule("as a number", _to_number),
}


@dataclass(frozen=True, slots=True)
class Transform:
    """A pure function from one value to another.

    `ValueIndex` finds all but ``inner`` and ``plus``: what was taken away or added shows only when several occurrences
    are compared.

    Attributes:
        name: ``copy``; a name in `TRANSFORMS`; ``affix``, which puts `before` and `after` around a text or an integer;
            ``inner``, which takes them away from a text; ``plus``, which adds `number` to an integer.
        before: text in front.
        after: text behind.
        number: what is added.

    Raises:
        ValueError: there is no transform of this name.
    """

    name: str = "copy"
    before: str = ""
    after: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        if self.name not in TRANSFORMS and self.name not in ("copy", "affix", "inner", "plus"):
            raise ValueError(f"no such transform: {self.name!r}")

    def __call__(self, value: JsonValue) -> JsonValue:
        """Transform a value; None where the transform does not apply to it."""
        match self.name:
            case "copy":
                return value
            case "plus":
                return value + self.number if _is_integer(value) else None
            case "affix":
                return f"{self.before}{value}{self.after}" if isinstance(value, str) or _is_integer(value) else None
            case "inner":
                return self._inside(value) if isinstance(value, str) else None
            case name:
                return TRANSFORMS[name].function(value)

    def _inside(self, text: str) -> str | None:
        end = len(text) - len(self.after)
        fits = len(self.before) < end and text.startswith(self.before) and text.endswith(self.after)
        return text[len(self.before) : end] if fits else None

    def __str__(self) -> str:
        around = " and ".join(repr(text) for text in (self.before, self.after) if text)
        match self.name:
            case "copy":
                return "as it is"
            case "plus":
                return f"{'plus' if self.number >= 0 else 'minus'} {abs(self.number)}"
            case "affix":
                return f"with {around} {'around it' if self.before and self.after else 'added'}"
            case "inner":
                return f"without {around}"
            case name:
                return TRANSFORMS[name].says


def _is_integer(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


COPY: Final = Transform()
