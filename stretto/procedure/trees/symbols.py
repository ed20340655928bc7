r"""Where the value of an argument is found, as a text in an action says it.

========================================  ============================================================================
``@get_order$.items[*].item_id``          in a result of a tool: a place, ``[*]`` for any element of a list
``@get_bills$[*].id?{"status": "due"}``   likewise, first in the elements whose fields are these
``@ticket\d{3}\-\d{4}``                   in the ticket: the first text of this shape
========================================  ============================================================================

A shape has literal characters and counted digits and nothing else. It is searched as a text, in the ticket with its
digits made alike, so that no file brings a regular expression with it. Any other text is itself. Not responsible for
finding values (`stretto.procedure.trees.binding`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEEPEST",
    "SHORT",
    "FromResult",
    "FromTicket",
    "Key",
    "Symbol",
    "is_identifier",
    "read_symbol",
    "say_place",
    "say_shape",
    "spaced",
]

#: Longest text that is a word of a state and no identifier or prose, characters. The original's.
SHORT: Final = 24

#: Nesting beyond which arguments are refused and results not looked at: no tool that people write goes there.
DEEPEST: Final = 100

#: Fewest characters of an identifier. The original's.
_IDENTIFIER: Final = 4

#: Most characters of an identifier that is looked for: longer ones are texts.
_LONGEST: Final = 200

#: One step of a place: a field's name, or None for any element of a list.
Key: TypeAlias = str | None

_DIGIT: Final = re.compile(r"\d")
_PLACE: Final = re.compile(r"@([^$\\]+)\$((?:\.[^.\[\]?]+|\[\*\])*)(?:\?(\{.*\}))?", re.DOTALL)
_KEY: Final = re.compile(r"\.([^.\[\]?]+)|\[\*\]")
_SHAPE: Final = re.compile(r"\\d\{([1-9][0-9]{0,2})\}|\\([^0-9A-Za-z])|([^\\.^$*+?{}\[\]|()\d])", re.DOTALL)
_PLAIN: Final = re.compile(r"[^.\[\]?]+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FromTicket:
    """The first text of a shape in the ticket.

    Attributes:
        shape: the text with every digit as 0.
    """

    shape: str

    def find(self, ticket: str) -> str | None:
        """The first text of this shape; None where there is none. Cost: linear in the ticket."""
        at = _DIGIT.sub("0", ticket).find(self.shape)
        return ticket[at : at + len(self.shape)] if at >= 0 else None


@dataclass(frozen=True, slots=True)
class FromResult:
    """A place in a result.

    Attributes:
        tool: whose.
        path: from the root.
        where: fields that the element of the innermost list should have, with their values.
    """

    tool: str
    path: tuple[Key, ...]
    where: tuple[tuple[str, str | bool], ...] = ()


Symbol: TypeAlias = FromTicket | FromResult


def is_identifier(text: str) -> bool:
    """Whether a text names one thing: four characters or more, a digit among them."""
    return _IDENTIFIER <= len(text) <= _LONGEST and _DIGIT.search(text) is not None


@lru_cache(maxsize=4096)
def read_symbol(text: str) -> Symbol | None:
    """Where a text of an action says its value is found; None for a text that is itself.

    Raises:
        ValueError: it begins as a symbol and is none.
    """
    if place := _PLACE.fullmatch(text):
        tool, path, where = place.groups()
        keys = tuple(found[1] for found in _KEY.finditer(path))
        return FromResult(tool, keys, _fields(where) if where is not None else ())
    if not text.startswith("@ticket") or r"\d{" not in text:
        return None
    return FromTicket(_read_shape(text.removeprefix("@ticket")))


def _fields(text: str) -> tuple[tuple[str, str | bool], ...]:
    fields = jsonvalue.loads(text)
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object, not {text[:80]}")  # noqa: TRY004 - of the text, not of an argument
    found: list[tuple[str, str | bool]] = []
    for name, value in sorted(fields.items()):
        if not isinstance(value, str | bool):
            raise ValueError(f"the field {name[:80]!r} is compared with neither a text nor true or false")  # noqa: TRY004 - as above
        found.append((name, value))
    return tuple(found)


def _read_shape(pattern: str) -> str:
    made: list[str] = []
    at = length = 0
    while at < len(pattern):
        found = _SHAPE.match(pattern, at)
        if found is None:
            raise ValueError(rf"a pattern has literal characters and \d{{N}} only, not {pattern[at : at + 20]!r}")
        count, escaped, plain = found.groups()
        made.append("0" * int(count) if count else escaped or plain)
        length += len(made[-1])
        if length > _LONGEST:
            raise ValueError(f"a pattern is for at most {_LONGEST} characters")
        at = found.end()
    return "".join(made)


def say_shape(value: str) -> str:
    """The text that stands for an identifier of the ticket."""
    said = [
        rf"\d{{{len(part)}}}" if part[0].isdecimal() else re.sub(r"([^0-9A-Za-z_\u0080-\U0010ffff])", r"\\\1", part)
        for part in re.findall(r"\d+|\D+", value)
    ]
    return f"@ticket{''.join(said)}"


def say_place(tool: str, path: tuple[Key, ...], where: Mapping[str, str | bool]) -> str | None:
    """The text that stands for a place in a result; None where this form cannot say it."""
    if not tool or {"$", "\\"} & set(tool) or not all(key is None or _PLAIN.fullmatch(key) for key in path):
        return None
    said = "".join("[*]" if key is None else f".{key}" for key in path)
    return f"@{tool}${said}{f'?{spaced(dict(where))}' if where else ''}"


def spaced(value: jsonvalue.JsonValue, deepest: int = DEEPEST) -> str:
    """A value as JSON on one line, a space after each comma and colon, keys sorted: as the original writes actions.

    Raises:
        ValueError: it is nested more than `DEEPEST` deep.
    """
    if not isinstance(value, dict | list):
        return jsonvalue.dumps(value).decode()
    if not deepest:
        raise ValueError("nested too deeply")
    if isinstance(value, list):
        return "[" + ", ".join([spaced(each, deepest - 1) for each in value]) + "]"
    fields = [f"{spaced(key)}: {spaced(each, deepest - 1)}" for key, each in sorted(value.items())]
    return "{" + ", ".join(fields) + "}"
