"""Setting one member in a JSON text that people and other programs write, too: every other byte stays as it is.

Not responsible for files, nor for what the member means.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.jsonvalue import JsonValue

__all__ = ["with_member"]

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_UNIT: Final = "  "  #: indentation of one level where the text shows none


class _Member(NamedTuple):
    """Where a member stands: from its key to the end of its value."""

    key: str
    begin: int
    value: int
    end: int


class _Object(NamedTuple):
    """Where an object stands, between its braces, and its members."""

    begin: int
    end: int
    members: list[_Member]


def with_member(text: str, keys: Sequence[str], value: JsonValue) -> str:
    """The text with a member set; objects on the way to it are made when missing.

    What is new is written in the text's own indentation and line ends, behind the members that are there.

    Args:
        text: of one JSON object. Of a key that stands twice the last one counts, as for every reader.
        keys: that lead to the member, at least one.
        value: its new value.

    Raises:
        ValueError: the text is no JSON object, or a key on the way leads to something else. The error says where.
    """
    if not isinstance(jsonvalue.loads(text), dict):
        raise ValueError("expected an object @ $")  # noqa: TRY004 - a fault of the text, as a missing brace is
    *way, last = keys
    inside = _object(text, text.index("{"))
    at = "$"
    for place, key in enumerate(way):
        member = _member(inside, key)
        if member is None:
            for inner in reversed([*way[place + 1 :], last]):
                value = {inner: value}
            return _added(text, inside, key, value)
        at += f".{key}"
        if text[member.value] != "{":
            raise ValueError(f"expected an object @ {at}")
        inside = _object(text, member.value)
    member = _member(inside, last)
    if member is None:
        return _added(text, inside, last, value)
    return text[: member.value] + _written(text, value, _indent(text, member.begin)) + text[member.end :]


def _member(inside: _Object, key: str) -> _Member | None:
    return next((each for each in reversed(inside.members) if each.key == key), None)


def _object(text: str, begin: int) -> _Object:
    """The object whose brace opens here. The text has been read before, so its tokens fit together."""
    members: list[_Member] = []
    depth = 0
    key: re.Match[str] | None = None  # of the member that is being read
    start = end = 0  # of its value
    for token in _TOKEN.finditer(text, begin):
        if depth == 1 and key is None and token[0].startswith('"'):
            key = token
        elif depth == 1 and key and token[0] in (",", "}"):
            members.append(_Member(str(jsonvalue.loads(key[0])), key.start(), start, end))
            key, start = None, 0
        elif key and not start and token[0] != ":":
            start = token.start()
        depth += (token[0] in ("{", "[")) - (token[0] in ("}", "]"))
        end = token.end()
        if not depth:
            break
    return _Object(begin + 1, end - 1, members)


def _added(text: str, inside: _Object, key: str, value: JsonValue) -> str:
    name = jsonvalue.dumps(key).decode()
    if not inside.members:
        indent = _indent(text, inside.begin)
        line_end = _line_end(text)
        own = indent + _unit(text)
        made = f"{line_end}{own}{name}: {_written(text, value, own)}{line_end}{indent}"
        return text[: inside.begin] + made + text[inside.end :]
    latest = inside.members[-1]
    gap = text[inside.begin : inside.members[0].begin]  # white space only
    if "\n" not in gap:
        return f"{text[: latest.end]}, {name}: {jsonvalue.dumps(value).decode()}{text[latest.end :]}"
    own = gap.rpartition("\n")[2]
    return f"{text[: latest.end]},{_line_end(text)}{own}{name}: {_written(text, value, own)}{text[latest.end :]}"


def _written(text: str, value: JsonValue, indent: str) -> str:
    """The value on several lines; the first begins where it is put."""
    unit = _unit(text)
    first, *rest = jsonvalue.pretty(value).rstrip("\n").split("\n")
    lines = [first]
    for line in rest:
        bare = line.lstrip(" ")
        lines.append(indent + unit * ((len(line) - len(bare)) // len(_UNIT)) + bare)
    return _line_end(text).join(lines)


def _indent(text: str, at: int) -> str:
    """White space at the beginning of the line that a place is on."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)  # the first indented line is of the first level
    return found[1] if found else _UNIT


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
