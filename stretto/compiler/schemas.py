"""What a tool declares of itself: the schemas of its arguments and its output, and what the user adds. Pure.

Only what the dependency rule asks for is read from a schema: a default, the few values an argument may have, and which
fields an output has, with types and formats. What a schema does not say is not known; it is never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stretto.procedure.atoms import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["ToolSchema", "Tools"]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What is known of one action.

    Attributes:
        input: JSON Schema of its arguments; None when it is not known.
        output: JSON Schema of its output; None when it is not known.
        secrets: names of arguments that hold credentials.
        sessions: names of arguments that hold what a login yields: a token, a cookie.
    """

    input: JsonObject | None = None
    output: JsonObject | None = None
    secrets: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()


_NONE: Final = ToolSchema()


@dataclass(frozen=True, slots=True)
class Tools:
    """What is known of all actions, by canonical name.

    Attributes:
        schemas: by ``app.action``.
        links: pairs of an output's field and an argument that mean the same, as ``(app.action, $.path)`` each.
    """

    schemas: Mapping[str, ToolSchema] = field(default_factory=dict)
    links: frozenset[tuple[tuple[str, str], tuple[str, str]]] = frozenset()

    def of(self, name: str) -> ToolSchema:
        """What is known of an action; nothing of one that is not listed."""
        return self.schemas.get(name, _NONE)

    def default(self, name: str, path: str) -> list[JsonValue]:
        """The default of an argument, as a list of one; empty without one."""
        node = _at(self.of(name).input, path)
        return [node["default"]] if node is not None and "default" in node else []

    def listed(self, name: str, path: str) -> list[JsonValue]:
        """The values that an argument may have where they are listed (``enum``, ``const``); else none."""
        node = _at(self.of(name).input, path)
        if node is None:
            return []
        values = node.get("enum")
        found = list(values) if isinstance(values, list) else []
        return [*found, node["const"]] if "const" in node else found

    def is_listed(self, name: str, path: str, value: JsonValue) -> bool:
        """Whether a value is one of those an argument may have."""
        return key(value) in {key(each) for each in self.listed(name, path)}

    def required(self, name: str) -> frozenset[str]:
        """The names of the arguments that have to be given."""
        schema = self.of(name).input or {}
        listed = schema.get("required")
        return frozenset(str(each) for each in listed) if isinstance(listed, list) else frozenset()

    def may_yield(self, producer: str, consumer: str, path: str) -> bool:
        """Whether an output that was not recorded may have held what an argument was given.

        An output of which nothing is known may. One whose schema is known may where a field of it is compatible: types
        equal, formats equal where both are declared, and names that agree; or where the user has linked them.
        """
        schema = self.of(producer).output
        if schema is None:
            return True
        wanted = _at(self.of(consumer).input, path) or {}
        for where, node in _fields(schema, "$"):
            if ((producer, where), (consumer, path)) in self.links:
                return True
            if _fits(node, wanted) and _agree(where, producer, path, consumer):
                return True
        return False


def _at(schema: JsonObject | None, path: str) -> JsonObject | None:
    """The schema of what stands at an exact path, as far as properties and items lead."""
    node: JsonValue = schema
    for name, index, quoted in _PATH.findall(path):
        if not isinstance(node, dict):
            return None
        if index:
            node = node.get("items")
        else:
            properties = node.get("properties")
            node = properties.get(name or quoted) if isinstance(properties, dict) else None
    return node if isinstance(node, dict) else None


_PATH: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+|\*)\]|\["((?:[^"\\]|\\.)*)"\]')


def _fields(schema: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    """The fields of a schema that hold a value, each with its general path."""
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(properties, dict):
        for name, node in properties.items():
            if isinstance(node, dict):
                yield from _fields(node, f"{path}.{name}")
    elif isinstance(items, dict):
        yield from _fields(items, f"{path}[*]")
    else:
        yield path, schema


def _fits(field_schema: JsonObject, argument: JsonObject) -> bool:
    for word in ("type", "format"):
        one, other = field_schema.get(word), argument.get(word)
        if one is not None and other is not None and one != other:
            return False
    return True


#: Words of a name that do not tell what it names.
_EMPTY_WORDS: Final = frozenset(["id", "ids", "uuid", "key", "ref", "no", "number"])
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_VERBS: Final = frozenset(["get", "list", "find", "search", "fetch", "show", "read", "lookup", "create", "query"])


def _agree(where: str, producer: str, path: str, consumer: str) -> bool:
    """Whether a field and an argument are named alike, ``id`` being named after its object or its tool."""
    one, other = _words(where), _words(path)
    one_named, other_named = one or _noun(where, producer), other or _noun(path, consumer)
    return bool(one_named) and one_named == other_named


def _last_names(path: str) -> list[str]:
    return [name or quoted for name, _, quoted in _PATH.findall(path) if name or quoted]


def _split(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _words(path: str) -> tuple[str, ...]:
    names = _last_names(path)
    return tuple(word for word in _split(names[-1]) if word not in _EMPTY_WORDS) if names else ()


def _noun(path: str, tool: str) -> tuple[str, ...]:
    """What an ``id`` is one of: the object it stands in, else what the tool is about."""
    names = _last_names(path)
    if len(names) > 1:
        return _singular(_split(names[-2]))
    return _singular([word for word in _split(tool.rpartition(".")[2]) if word not in _VERBS])


def _singular(words: list[str]) -> tuple[str, ...]:
    if words and words[-1].endswith("s") and not words[-1].endswith("ss"):
        return (*words[:-1], words[-1][:-1])
    return tuple(words)
