"""A result as values: what a later call may have taken from it, and where that stands.

A result that is JSON is read as it is, any other text as its lines. Places are paths that do not count: ``$`` the
whole, ``.key`` a field, ``[*]`` any element. Not responsible for which results a session shows; nothing is read before
it is asked for, and what was read is kept.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from waggle import jsonvalue
from waggle.values import read_result

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

_T = TypeVar("_T")

__all__ = ["Found", "Output", "as_text"]


def as_text(value: JsonValue) -> str:
    """A value as it is compared: a string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else jsonvalue.dumps(value).decode()


class Found(NamedTuple):
    """A string in a result, with the object that directly holds it; None inside a plain list."""

    value: str
    record: JsonObject | None


#: Nesting beyond which a result's values are not looked at; no tool's answer that people read is so deep.
_DEEPEST: Final = 100

#: Leaves of a result that are looked at for a name or a part, and strings at one path. Nobody walks a longer list.
_LEAVES: Final = 2000

_TOKEN: Final = re.compile(r"\.([^.\[]+)|(\[\*\])")


@lru_cache(maxsize=4096)
def _tokens(path: str) -> tuple[str | None, ...] | None:
    """A path's keys, None for any element; None as a whole for a path that cannot be followed."""
    tokens: list[str | None] = []
    at = 1
    while at < len(path):
        match = _TOKEN.match(path, at)
        if not match:
            return None
        tokens.append(match[1])
        at = match.end()
    return tuple(tokens) if path[:1] in ("$", "@") else None


class Output:
    """One successful result of a session.

    Args:
        number: order of arrival within the session, from 0.
        tool: what returned it.
        text: the result.
        arguments: of the call, None where they are no object.

    Attributes:
        number, tool, text, arguments: as given.
    """

    __slots__ = ("__dict__", "_kept", "_listed", "arguments", "number", "text", "tool")

    def __init__(self, number: int, tool: str, text: str, arguments: JsonObject | None = None) -> None:
        self.number = number
        self.tool = tool
        self.text = text
        self.arguments = arguments
        self._kept: dict[Hashable, tuple[int, object]] = {}
        self._listed: tuple[tuple[str | float, str, JsonObject | None], ...] | None = None

    @cached_property
    def value(self) -> JsonValue:
        """The result as a value; see `waggle.values.read_result`."""
        return read_result(self.text)

    def path_of(self, value: str) -> str | None:
        """Where the result holds exactly this string: its first path in document order, objects by sorted keys."""
        if "\\" not in self.text and value not in self.text:
            return None  # in a text without escapes every string stands as it is
        return self._paths.get(value)

    @cached_property
    def _paths(self) -> dict[str, str]:
        found: dict[str, str] = {}
        _index(self.value, "$", found, _DEEPEST)
        return found

    def strings(self, path: str) -> tuple[Found, ...]:
        """The strings at a path, in document order, at most 2,000; none where the path leads nowhere."""
        kept = self._followed.get(path)
        if kept is None:
            found = ((value, record) for value, record in self._at(path) if isinstance(value, str))
            kept = self._followed[path] = tuple([Found(*each) for each in islice(found, _LEAVES)])
        return kept

    @cached_property
    def _followed(self) -> dict[str, tuple[Found, ...]]:
        return {}

    def values(self, path: str) -> Iterator[tuple[JsonValue, JsonObject | None]]:
        """The values at a path, of any kind, each with the object that directly holds it.

        A path that begins with ``@`` leads into the call's arguments.
        """
        return iter(self._at(path))

    def _at(self, path: str) -> list[tuple[JsonValue, JsonObject | None]]:
        tokens = _tokens(path)
        if tokens is None:
            return []
        root = self.arguments if path[0] == "@" else self.value
        nodes: list[tuple[JsonValue, JsonObject | None]] = [(root, None)]
        for token in tokens:
            if token is None:
                nodes = [(each, None) for node, _ in nodes if isinstance(node, list) for each in node]
            else:
                nodes = [(node[token], node) for node, _ in nodes if isinstance(node, dict) and token in node]
        return nodes

    def listed(self, limit: int = _LEAVES) -> tuple[tuple[str | float, str, JsonObject | None], ...]:
        """The first leaves in document order: each string or number, its path and the object that directly holds it."""
        kept = self._listed
        if kept is None:
            kept = self._listed = tuple(islice(_leaves(self.value, "$", None, _DEEPEST), limit))
        return kept

    @cached_property
    def lowered(self) -> str:
        """The text, lower-cased."""
        return self.text.lower()

    @cached_property
    def derived(self) -> dict[str, tuple[JsonValue, ...]]:
        """What derivations gave here; filled by `stretto.bindings.derive`."""
        return {}

    def kept(self, key: Hashable, version: int, make: Callable[[], _T]) -> _T:
        """What was made of this result under a key; made anew when the version is another one."""
        known = self._kept.get(key)
        if known is None or known[0] != version:
            known = self._kept[key] = (version, make())
        return known[1]  # type: ignore[return-value]  # the key says what was made

    def under(self, name: str) -> Iterator[Found]:
        """The strings under a key of this name, anywhere in the result, in document order."""
        for leaf, path, record in self.listed(_LEAVES):
            if record is not None and isinstance(leaf, str) and path.endswith(f".{name}"):
                yield Found(leaf, record)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Every string and number in the result, as text, lower-cased and trimmed."""
        found: set[str] = set()
        todo = [self.value]
        for node in todo:  # grows while it is walked
            if isinstance(node, dict):
                todo.extend(node.values())
            elif isinstance(node, list):
                todo.extend(node)
            elif isinstance(node, str):
                found.add(node.lower().strip())
            elif isinstance(node, (int, float)) and not isinstance(node, bool):
                found.add(as_text(node))
        return frozenset(found)


def _index(node: JsonValue, path: str, found: dict[str, str], depth: int) -> None:
    """Note the first path of every string below a node. The hot spot of learning: leaves are not worth a call."""
    if type(node) is dict and depth:
        children = [(f"{path}.{key}", node[key]) for key in sorted(node)]
    elif type(node) is list and depth:
        below = f"{path}[*]"
        children = [(below, child) for child in node]
    else:
        children = []
        if type(node) is str:
            found.setdefault(node, path)
    for place, child in children:
        if type(child) is str:
            if child not in found:
                found[child] = place
        elif type(child) is dict or type(child) is list:
            _index(child, place, found, depth - 1)


def _leaves(
    node: JsonValue, path: str, record: JsonObject | None, depth: int
) -> Iterator[tuple[str | float, str, JsonObject | None]]:
    if isinstance(node, dict):
        if depth:
            for key in sorted(node):
                yield from _leaves(node[key], f"{path}.{key}", node, depth - 1)
    elif isinstance(node, list):
        if depth:
            for child in node:
                yield from _leaves(child, f"{path}[*]", None, depth - 1)
    elif isinstance(node, (str, int, float)) and not isinstance(node, bool) and node != "":
        yield node, path, record
