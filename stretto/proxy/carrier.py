r"""Where looked-up text goes in a server's answer: one more item of its content, and every other byte as it was.

Models are shown ``content``, but several hosts drop its text items when there is ``structuredContent``, and show an
embedded resource. So the text goes into a text item where there is no structured content, and into a resource where
there is. Structured content itself is never touched: a strict schema would turn the whole call into an error.

Not responsible for the text (`stretto.block`) nor for when to add it (`stretto.proxy.session`).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["can_carry", "is_final", "with_text"]

#: What the resource calls itself. Nothing can be read there.
_URI: Final = "stretto://lookups"

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_value_at: Final = json.JSONDecoder().raw_decode


def is_final(response: JsonObject) -> bool:
    """Whether a response to ``tools/call`` is what came of the call: no question to the user, and no task instead."""
    if response.get("error") is not None:
        return True
    result = response.get("result")
    if not isinstance(result, dict):
        return False
    promised = "task" in result and "content" not in result
    return result.get("resultType", "complete") == "complete" and not promised


def can_carry(response: JsonObject) -> bool:
    """Whether text can be added to a response: a final result, failed or not, that is well formed.

    A JSON-RPC error has no content.
    """
    result = response.get("result")
    return (
        isinstance(result, dict)
        and response.get("error") is None
        and is_final(response)
        and isinstance(result.get("content", []), list)
        and isinstance(result.get("isError", False), bool)
    )


def with_text(line: bytes, text: str) -> bytes | None:
    """Add text to the result on a line.

    Args:
        line: one response that can carry text, with its line end.
        text: for the model.

    Returns:
        The line with one more item at the end of ``result.content``, which is made if it is missing; all other bytes
        are the line's own. None when no place is found: a decoder that is stricter than another gave up.
    """
    try:
        document = line.decode("utf-8")
        start, end = _members(document, _after_space(document, 0))["result"]
        result = _members(document, start)
        structured = result.get("structuredContent")
        item = _item(text, structured=structured is not None and document[slice(*structured)] != "null")
        said = jsonvalue.dumps(item).decode()
        if "content" in result:
            start, end = result["content"]
            added = said if _is_empty(document, start) else f",{said}"
        else:
            added = f'"content":[{said}]' if _is_empty(document, start) else f',"content":[{said}]'
    except (ValueError, LookupError, RecursionError):
        return None
    return (document[: end - 1] + added + document[end - 1 :]).encode()


def _item(text: str, *, structured: bool) -> JsonValue:
    if structured:
        return {"type": "resource", "resource": {"uri": _URI, "mimeType": "text/plain", "text": text}}
    return {"type": "text", "text": text}


def _members(document: str, at: int) -> dict[str, tuple[int, int]]:
    """Where the values of the object at a place stand, by key; of equal keys the last counts, as for any reader."""
    return {key: (start, end) for key, start, end in _walk(document, at)}


def _walk(document: str, at: int) -> Iterator[tuple[str, int, int]]:
    if document[at] != "{":
        raise ValueError("no object")
    at = _after_space(document, at + 1)
    while document[at] != "}":
        key, end = _value_at(document, at)
        start = _after_space(document, _after_space(document, end) + 1)  # past the colon
        _, end = _value_at(document, start)
        yield key, start, end
        at = _after_space(document, end)
        if document[at] == ",":
            at = _after_space(document, at + 1)


def _is_empty(document: str, at: int) -> bool:
    """Whether the object or list at a place has nothing in it."""
    return document[_after_space(document, at + 1)] in "]}"


def _after_space(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    return found.end() if found else at
