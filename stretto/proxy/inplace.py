"""Edits of a JSON text where it stands: every character outside of an edit stays as it was.

Not responsible for what is edited. Whoever reads a text by these functions has parsed it before: what is no JSON raises
whatever it happens to meet.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["UNREADABLE", "Edit", "Member", "Part", "appended", "edited", "items", "member", "members", "without"]

#: What may be raised where a decoder that is stricter than the one that parsed the text gives up.
UNREADABLE: Final = (ValueError, LookupError, RecursionError)

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_value_at: Final = json.JSONDecoder().raw_decode


class Part(NamedTuple):
    """A value of a text: what it is, and where it starts and ends."""

    value: Any
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object: its key, where that starts, and its value."""

    key: str
    at: int
    part: Part


class Edit(NamedTuple):
    """What stands between two places is replaced."""

    start: int
    end: int
    text: str


def edited(document: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap, in any order."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits):
        parts += [document[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, document[done:]])


def members(document: str, at: int = 0) -> list[Member]:
    """The members of the object that stands at a place or after white space there, in order."""
    return list(_members(document, _after_space(document, at)))


def member(found: Iterable[Member], key: str) -> Part | None:
    """The value under a key; of equal keys the last counts, as for any reader."""
    return {each.key: each.part for each in found}.get(key)


def items(document: str, at: int) -> list[Part]:
    """The items of the list at a place, in order."""
    return list(_items(document, at))


def appended(document: str, part: Part, text: str) -> Edit:
    """The edit that puts one more item, or member, at the end of a list or object."""
    empty = document[_after_space(document, part.start + 1)] in "]}"
    return Edit(part.end - 1, part.end - 1, text if empty else f",{text}")


def without(found: list[Member], key: str) -> list[Edit]:
    """The edits that take every member of this key out of an object."""
    kept = [place for place, each in enumerate(found) if each.key != key]
    if len(kept) == len(found):
        return []
    tail = kept[-1] + 1 if kept else 0  # from here on, all go
    edits = [Edit(each.at, following.at, "") for each, following in pairwise(found[: tail + 1]) if each.key == key]
    if tail < len(found):
        start = found[tail - 1].part.end if tail else found[0].at
        edits.append(Edit(start, found[-1].part.end, ""))
    return edits


def _members(document: str, at: int) -> Iterator[Member]:
    if document[at] != "{":
        raise ValueError("no object")
    at = _after_space(document, at + 1)
    while document[at] != "}":
        key, end = _value_at(document, at)
        start = _after_space(document, _after_space(document, end) + 1)  # past the colon
        value, end = _value_at(document, start)
        yield Member(key, at, Part(value, start, end))
        at = _past_comma(document, end)


def _items(document: str, at: int) -> Iterator[Part]:
    if document[at] != "[":
        raise ValueError("no list")
    at = _after_space(document, at + 1)
    while document[at] != "]":
        value, end = _value_at(document, at)
        yield Part(value, at, end)
        at = _past_comma(document, end)


def _past_comma(document: str, at: int) -> int:
    at = _after_space(document, at)
    return _after_space(document, at + 1) if document[at] == "," else at


def _after_space(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return found.end() if found else at
