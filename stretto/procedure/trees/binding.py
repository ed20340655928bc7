"""Between calls as they are made and actions as trees have them: values to symbols, and symbols to values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stretto.procedure.trees.actions import mapped
from stretto.procedure.trees.symbols import (
    DEEPEST,
    SHORT,
    FromResult,
    FromTicket,
    is_identifier,
    read_symbol,
    say_place,
    say_shape,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.procedure.trees.actions import Action, Place
    from stretto.procedure.trees.state import Returned, State
    from stretto.procedure.trees.symbols import Key
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["bind", "symbolise"]


class _Unbound(Exception):
    """Nothing is found for a symbol."""


def bind(action: Action, state: State) -> JsonObject | None:
    """The arguments of a symbolic action in a state; None when one of its symbols finds nothing.

    A shape is its first match in the ticket. A place is looked up in the results of its tool, the latest first: with
    ``[*]`` its first value that this argument of this tool was not given yet, those of the elements that a condition
    describes before the others; without, its value in a result that holds an identifier of the ticket if there is one.
    """
    given: dict[Place, set[str]] = {}

    def change(place: Place, text: str) -> str:
        symbol = read_symbol(text)
        if symbol is None:
            return text
        passed = state.passed(action.tool, place) | given.get(place, set())
        found = symbol.find(state.ticket) if isinstance(symbol, FromTicket) else _find(symbol, state.results, passed)
        if found is None:
            raise _Unbound
        given.setdefault(place, set()).add(found)
        return found

    try:
        bound = mapped(dict(action.arguments), change)
    except _Unbound:
        return None
    return bound if isinstance(bound, dict) else None


def _find(symbol: FromResult, results: Sequence[Returned], passed: set[str]) -> str | None:
    latest = [result for result in reversed(results) if result.tool == symbol.tool]
    many = None in symbol.path
    if not many:
        latest.sort(key=lambda result: not result.given)
    for result in latest:
        found = _follow(result.value, symbol.path)
        found.sort(key=lambda each: not _is_like(each.element, symbol.where))
        for value, _ in found:
            if isinstance(value, str) and not (many and value in passed):
                return value
    return None


class _Followed(NamedTuple):
    value: JsonValue
    element: JsonValue  # of the innermost list on the way


def _follow(value: JsonValue, path: Sequence[Key]) -> list[_Followed]:
    nodes = [_Followed(value, None)]
    for key in path:
        if key is None:
            nodes = [_Followed(each, each) for node, _ in nodes if isinstance(node, list) for each in node]
        else:
            nodes = [_Followed(node[key], element) for node, element in nodes if isinstance(node, dict) and key in node]
    return nodes


def _is_like(element: JsonValue, where: Sequence[tuple[str, str | bool]]) -> bool:
    return isinstance(element, dict) and all(_same(element.get(name), value) for name, value in where)


def _same(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other) and one == other


# --- values to symbols ---------------------------------------------------------------------------------------------


def symbolise(arguments: JsonObject, state: State) -> JsonObject:
    """A call's arguments with each identifier as where it came from.

    That is the latest result that holds it, at its first place; else the ticket, as a shape; else itself.

    Raises:
        ValueError: a text looks like a symbol and is none, or arguments are nested too deeply.
    """

    def change(_: Place, text: str) -> str:
        symbol = _say(text, state) if is_identifier(text) else None
        if symbol is None and read_symbol(text) is not None:
            raise ValueError(f"{text[:80]!r} is a value, and would be read as where one is found")
        return text if symbol is None else symbol

    made = mapped(arguments, change)
    return made if isinstance(made, dict) else {}


def _say(text: str, state: State) -> str | None:
    for result in reversed(state.results):
        if text not in result.texts:
            continue
        standing = next(_standings(text, result.value, (), None, DEEPEST), None)
        said = standing and say_place(result.tool, standing.path, standing.where())
        if said:
            return said
    return say_shape(text) if text in state.ticket else None


class _Among(NamedTuple):
    elements: list[JsonValue]
    number: int
    depth: int  # keys of the path up to and with ``[*]``


class _Standing(NamedTuple):
    value: str
    path: tuple[Key, ...]
    among: _Among | None

    def where(self) -> dict[str, str | bool]:
        """The fields that set the element apart from those of its list that do not hold the value at the same place."""
        element = self.among and self.among.elements[self.among.number]
        if self.among is None or not isinstance(element, dict):
            return {}
        below = self.path[self.among.depth :]
        others = [
            other
            for number, other in enumerate(self.among.elements)
            if number != self.among.number and all(value != self.value for value, _ in _follow(other, below))
        ]
        fields = {name: value for name, value in sorted(element.items()) if isinstance(value, str | bool)}
        return {
            name: value
            for name, value in fields.items()
            if others
            and _is_word(value)
            and not any(isinstance(other, dict) and _same(other.get(name), value) for other in others)
        }


def _is_word(value: str | bool) -> bool:  # noqa: FBT001 - a field's value
    return isinstance(value, bool) or (0 < len(value) <= SHORT and not is_identifier(value))


def _standings(
    text: str, value: JsonValue, path: tuple[Key, ...], among: _Among | None, deepest: int
) -> Iterator[_Standing]:
    """Where a value stands in a result, in the order of sorted keys."""
    if isinstance(value, str):
        if value == text:
            yield _Standing(text, path, among)
    elif isinstance(value, dict) and deepest:
        for key, each in sorted(value.items()):
            yield from _standings(text, each, (*path, key), among, deepest - 1)
    elif isinstance(value, list) and deepest:
        for number, each in enumerate(value):
            yield from _standings(text, each, (*path, None), _Among(value, number, len(path) + 1), deepest - 1)
