r"""Actions: ``stop``, a tool, or a tool with its arguments, ``get_order{"id": "@ticketW\\d{7}"}``, as one text.

The text is what trees, counts and features have; two actions are the same when their texts are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from stretto.procedure.trees.symbols import DEEPEST, read_symbol, spaced
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Action", "Place", "mapped", "read_action", "say_action"]

#: Where a text stands in arguments: the names of fields from the root, ``[*]`` for any element of a list.
Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """A call as an action says it.

    Attributes:
        text: the action.
        tool: what is called.
        arguments: with symbols in the place of values, where the procedure is symbolic.
    """

    text: str
    tool: str
    arguments: Mapping[str, JsonValue]


@lru_cache(maxsize=4096)
def read_action(text: str, *, symbolic: bool) -> Action:
    """An action's text as a call.

    Raises:
        ValueError: it is none; it says why.
    """
    tool, brace, rest = text.partition("{")
    if not tool:
        raise ValueError("an action begins with the name of a tool")
    try:
        arguments = jsonvalue.loads(brace + rest) if brace else {}
    except ValueError as error:
        raise ValueError(f"the arguments of {tool[:80]} are no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ValueError("arguments are one object")  # noqa: TRY004 - of the text, not of an argument
    mapped(arguments, lambda _, value: str(read_symbol(value)) if symbolic else value)
    return Action(text, tool, arguments)


def say_action(tool: str, arguments: JsonObject) -> str:
    """The text of a call.

    Raises:
        ValueError: the tool's name is empty, or has a brace, which would be read as that of arguments; or arguments are
            nested too deeply.
    """
    if not tool or "{" in tool:
        raise ValueError(f"{tool[:80]!r} cannot be the name of a tool in an action")
    return tool + spaced(arguments) if arguments else tool


def mapped(value: JsonValue, change: Callable[[Place, str], str], place: Place = ()) -> JsonValue:
    """A value with every text in it changed, in the order of sorted keys, so that what is found first is settled.

    Raises:
        ValueError: the value is nested more than `stretto.procedure.trees.symbols.DEEPEST` deep.
    """
    if isinstance(value, str):
        return change(place, value)
    if len(place) > DEEPEST:
        raise ValueError("arguments are nested too deeply")
    if isinstance(value, list):
        return [mapped(each, change, (*place, "[*]")) for each in value]
    if isinstance(value, dict):
        return {key: mapped(each, change, (*place, key)) for key, each in sorted(value.items())}
    return value
