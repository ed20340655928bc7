"""Values and where they stand: atoms, paths, equality. Pure.

An **atom** of a JSON value is a scalar in it, or an empty list or object, with its **path**: ``$.a[0].id``. A **general
path** has ``[*]`` in the place of each index. Two tests of equality are kept apart on purpose: `same` is exact to the
type and decides what comes from where; `said` is loose and only ever finds *other* explanations, so that errors fall on
the side of doubt.

Not responsible for finding a value among the outputs of earlier calls: `waggle.values` does, for all of the project.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.values import show_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = [
    "arguments",
    "atoms",
    "exact",
    "fold",
    "general",
    "is_empty",
    "key",
    "nodes",
    "read_general",
    "said",
    "same",
    "shown",
]

_SPACE: Final = re.compile(r"\s+")
_STEP: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+|\*)\]|\[("(?:[^"\\]|\\.)*")\]')


def exact(path: tuple[str | int, ...]) -> str:
    """A path as it is written: ``$.items[3].id``."""
    return f"${show_path(path)}"


def atoms(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The atoms of a value, each with its exact path, in the order of sorted keys. Cost: linear in the value."""
    return ((path, node) for path, node in nodes(value) if not node or not isinstance(node, dict | list))


def arguments(args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The atoms of a call's arguments by exact path; none of a call without any."""
    return dict(atoms(dict(args))) if args else {}


def nodes(value: JsonValue, *, within_lists: bool = True) -> Iterator[tuple[str, JsonValue]]:
    """All that a value is made of, itself first, lists and objects before their parts, each with its exact path.

    Args:
        value: it.
        within_lists: whether the elements of lists are gone into.
    """
    todo: list[tuple[str, JsonValue]] = [("$", value)]
    while todo:
        path, node = todo.pop()
        yield path, node
        if isinstance(node, dict):
            todo += [(path + _shown_name(name), node[name]) for name in sorted(node, reverse=True)]
        elif within_lists and isinstance(node, list):
            todo += [(f"{path}[{index}]", node[index]) for index in reversed(range(len(node)))]


@lru_cache(maxsize=4096)
def _shown_name(name: str) -> str:
    return show_path((name,))


@lru_cache(maxsize=65536)
def general(path: str) -> str:
    """The general path of an exact one: ``$.items[3].id`` becomes ``$.items[*].id``."""
    return "$" + "".join("[*]" if step[2] else step[0] for step in _STEP.finditer(path, 1))


def read_general(value: JsonValue, path: str) -> list[tuple[str, JsonValue]]:
    """What stands at a path, general or exact, in order, each with its exact path; nothing where nothing does.

    Raises:
        ValueError: it is no path.
    """
    if not path.startswith("$"):
        raise ValueError(f"{path!r} is no path: it has to begin with $")
    found: list[tuple[tuple[str | int, ...], JsonValue]] = [((), value)]
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"{path!r} is no path @ {at}")
        at = step.end()
        found = [below for where, item in found for below in _below(where, item, step)]
    return [(exact(where), item) for where, item in found]


def _below(
    where: tuple[str | int, ...], item: JsonValue, step: re.Match[str]
) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    name, index, quoted = step.groups()
    if index is not None:
        if isinstance(item, list):
            chosen = range(len(item)) if index == "*" else [int(index)] if int(index) < len(item) else []
            for number in chosen:
                yield (*where, number), item[number]
    elif isinstance(item, dict):
        wanted = name if quoted is None else str(jsonvalue.loads(quoted))
        if wanted in item:
            yield (*where, wanted), item[wanted]


def key(value: JsonValue) -> bytes:
    """Equal for two values exactly when they are the `same`; to look values up by."""
    return jsonvalue.canonical(value)


def same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are equal to the type: ``True``, ``1``, ``1.0`` and ``"1"`` are four values."""
    return key(one) == key(other)


def shown(value: JsonValue) -> str:
    """A value as text: a text is itself, anything else is its JSON."""
    return value if isinstance(value, str) else jsonvalue.dumps(value).decode()


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """A text for loose comparison: NFKC, case folded, one space for each run of white space."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def said(value: JsonValue, text: str) -> bool:
    """Whether a text holds a value as a whole token, spelled in any case: used to find other explanations only.

    A token ends at letters, digits and ``_``: ``C-9041`` is said by ``(c-9041)`` and not by ``XC-9041``. What has no
    text (an empty one, an empty list or object) is never said.
    """
    if is_empty(value) or value is None:
        return False
    wanted = fold(shown(value))
    if not wanted:
        return False
    where = fold(text)
    at = where.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (at and _is_word(where[at - 1])) and not (end < len(where) and _is_word(where[end])):
            return True
        at = where.find(wanted, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def is_empty(value: JsonValue) -> bool:
    """Whether a value is an empty text, list or object."""
    return value in ("", [], {}) and not isinstance(value, bool | int | float)
