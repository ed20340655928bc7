"""What could be passed as an argument: the values at its sources, in the order in which they are tried.

Kept by the session until a result or a message of the user changes it, so that asking again costs a look at what was
passed meanwhile. Not responsible for which one is passed (`stretto.bindings.binder`).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.bindings.derive import derived
from stretto.bindings.records import records
from stretto.bindings.results import as_text
from stretto.bindings.spoken import shape_of, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from stretto.bindings.model import Slot, Source
    from stretto.bindings.results import Found, Output
    from stretto.bindings.session import SessionValues
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "Block",
    "Listed",
    "Together",
    "block_of",
    "blocks",
    "derived_values",
    "is_mentioned",
    "lists",
    "spoken_values",
    "together",
]

#: Characters of another field of the same record that, when the user wrote it, mean this record.
_LEAST_SIBLING: Final = 4


class Block(NamedTuple):
    """The strings at one source of one result.

    Attributes:
        tool: that returned the result. (Not the result: it keeps its blocks, and would never be let go.)
        path: of the source.
        values: in document order.
        mentioned: places of those the user mentioned, ascending.
    """

    tool: str
    path: str
    values: list[str]
    mentioned: list[int]


def blocks(slot: Slot, sources: Sequence[Source], values: SessionValues, *, ordered: bool) -> list[Block]:
    """The strings at an argument's sources, as far as there are any.

    Args:
        slot: the argument.
        sources: usable ones.
        values: what the session has shown.
        ordered: take the sources in their order and of each the latest result first; otherwise the latest result comes
            first, whatever its source, and of each result the sources in their order.
    """

    def make() -> list[Block]:
        places = _by_order(sources, values) if ordered else _by_recency(sources, values)
        return [block for output, path in places if (block := block_of(output, path, values)).values]

    key = (slot, ordered, values.site if ordered else None)
    return values.kept(key, sources, make)


def block_of(output: Output, path: str, values: SessionValues) -> Block:
    """The strings at a path of one result; kept until the user says more."""

    def make() -> Block:
        found = output.strings(path)
        said = [place for place, each in enumerate(found) if is_mentioned(each, values)] if values.heard else []
        return Block(output.tool, path, [each.value for each in found], said)

    return output.kept(path, values.heard, make)


def _by_order(sources: Sequence[Source], values: SessionValues) -> Iterator[tuple[Output, str]]:
    return ((output, source.path) for source in sources for output in reversed(values.outputs_of(source.tool)))


def _by_recency(sources: Sequence[Source], values: SessionValues) -> Iterator[tuple[Output, str]]:
    paths: dict[str, list[str]] = {}
    for tool, path in sources:
        paths.setdefault(tool, []).append(path)
    held = [output for tool in paths for output in values.outputs_of(tool)]
    held.sort(key=attrgetter("number"), reverse=True)
    return ((output, path) for output in held for path in paths[output.tool])


def is_mentioned(found: Found, values: SessionValues) -> bool:
    """Whether the user wrote the value, or another field of the record that directly holds it."""
    return values.mentions(found.value) or (found.record is not None and _says(found.record.values(), values))


def _says(fields: Iterable[object], values: SessionValues) -> bool:
    """Whether the user wrote one of these fields."""
    return any(isinstance(each, str) and len(each) >= _LEAST_SIBLING and values.mentions(each) for each in fields)


class Listed(NamedTuple):
    """All strings at a source of one result, as one value."""

    value: list[JsonValue]
    text: str
    source: Source
    mentioned: bool


def lists(slot: Slot, sources: Sequence[Source], values: SessionValues) -> list[Listed]:
    """The lists at an argument's sources, the latest result first; a list is mentioned when all of it is."""

    def make() -> list[Listed]:
        found: list[Listed] = []
        for output, path in _by_recency(sources, values):
            strings = output.strings(path)
            if strings:
                value: list[JsonValue] = [each.value for each in strings]
                said = all(values.mentions(each.value) for each in strings)
                source = next(each for each in sources if each.tool == output.tool and each.path == path)
                found.append(Listed(value, as_text(value), source, said))
        return found

    return values.kept((slot, "lists"), sources, make)


def derived_values(slot: Slot, sources: Sequence[Source], values: SessionValues) -> list[tuple[str, JsonValue, Source]]:
    """The values that an argument's derivations give, as text and as they are: by source, the latest result first."""

    def make() -> list[tuple[str, JsonValue, Source]]:
        return [
            (as_text(value), value, source)
            for source in sources
            for output in reversed(values.outputs_of(source.tool))
            for value in derived(source.path, output)
        ]

    return values.kept((slot, "derived"), sources, make)


def spoken_values(slot: Slot, shapes: Collection[str], values: SessionValues) -> list[str]:
    """The values of an argument's shapes that the user wrote, each once, in order."""

    def make() -> list[str]:
        return [word for word in _words(values) if shape_of(word) in shapes]

    return values.kept((slot, "spoken"), (), make)


def _words(values: SessionValues) -> list[str]:
    """The words the user wrote, each once, in order."""

    def make() -> list[str]:
        return list(dict.fromkeys(token for message in values.messages for token in tokens(message)))

    return values.kept("words", (), make)


class Together(NamedTuple):
    """The arguments that one record gives."""

    arguments: JsonObject
    texts: tuple[tuple[str, str], ...]
    source: Source
    mentioned: bool


def together(tool: str, sources: Sequence[Source], values: SessionValues) -> list[Together]:
    """The arguments that records give, by source, the latest result first, in document order."""

    def make() -> list[Together]:
        return [
            one
            for source in sources
            for output in reversed(values.outputs_of(source.tool))
            for one in _records(output, source, values)
        ]

    return values.kept((tool, "records"), sources, make)


def _records(output: Output, source: Source, values: SessionValues) -> list[Together]:
    def make() -> list[Together]:
        return [
            Together(
                arguments,
                tuple([(name, as_text(value)) for name, value in arguments.items()]),
                source,
                values.heard > 0 and _says(record.values(), values),
            )
            for arguments, record in records(source.path, output)
        ]

    return output.kept(source, values.heard, make)
