"""Looking into foreign JSON: what a value must be, and a complaint that names its place when it is not.

Not responsible for any format. What a file holds is never shown in a complaint, only what kind of value stands where
another one was expected: it may be long, or secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from waggle import jsonvalue

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Misfit", "list_at", "object_at", "text_at", "text_of_blocks", "value_of"]

_NAMES: Final[dict[type, str]] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


class Misfit(ValueError):
    """A value is not what the format says; the text names the place as a JSON path and what was expected there."""

    def __init__(self, at: str, expected: str, found: JsonValue) -> None:
        super().__init__(f"{at}: expected {expected}, found {_NAMES[type(found)]}")


def object_at(value: JsonValue, at: str) -> JsonObject:
    """The value, which must be an object.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, dict):
        return value
    raise Misfit(at, "an object", value)


def list_at(value: JsonValue, at: str) -> list[JsonValue]:
    """The value, which must be a list.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, list):
        return value
    raise Misfit(at, "a list", value)


def text_at(value: JsonValue, at: str) -> str:
    """The value, which must be a text.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, str):
        return value
    raise Misfit(at, "a text", value)


def value_of(text: str) -> JsonValue:
    """The JSON value a text stands for, the text itself when it stands for none."""
    try:
        return jsonvalue.loads(text)
    except ValueError:
        return text


def text_of_blocks(content: JsonValue, at: str) -> str:
    """The text of a message that is a text or a list of blocks, a line apart; what is no text stands as ``[image]``.

    Raises:
        Misfit: it is neither, nor nothing.
    """
    if content is None or isinstance(content, str):
        return content or ""
    texts: list[str] = []
    for number, block in enumerate(list_at(content, at)):
        if isinstance(block, str):
            texts.append(block)
            continue
        fields = object_at(block, f"{at}[{number}]")
        text = fields.get("text")
        texts.append(text if isinstance(text, str) else f"[{str(fields.get('type') or 'block')[:40]}]")
    return "\n".join(texts)
