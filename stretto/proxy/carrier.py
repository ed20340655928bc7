r"""Where looked-up text goes in a server's answer, and every other byte as it was.

``auto`` is one more item of its content. Models are shown ``content``, but several hosts drop its text items when there
is ``structuredContent``, and show an embedded resource. So the text goes into a text item where there is no structured
content, and into a resource where there is. ``inline`` is the end of the last text item, for hosts that show no more
than one item. ``plain`` is a text item always; structured content is taken out before, see `stretto.proxy.plain`.
Nothing is ever added to structured content: a strict schema would turn the whole call into an error.

Not responsible for the text (`stretto.block`) nor for when to add it (`stretto.proxy.serving.session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from stretto.proxy.inplace import UNREADABLE, Edit, appended, edited, items, member, members
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.proxy.inplace import Member, Part
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Carrier", "can_carry", "content_edit", "is_final", "last_text", "text_item", "with_text"]

#: Where text goes.
Carrier: TypeAlias = Literal["auto", "inline", "plain"]

#: What the resource calls itself. Nothing can be read there.
_URI: Final = "stretto://lookups"


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


def with_text(line: bytes, text: str, carrier: Carrier = "auto") -> bytes | None:
    """Add text to the result on a line.

    Args:
        line: one response that can carry text, with its line end.
        text: for the model.
        carrier: where it goes.

    Returns:
        The line with one more item at the end of ``result.content``, which is made if it is missing, or with a longer
        last text item; all other bytes are the line's own. None when no place is found: a decoder that is stricter than
        another gave up.
    """
    try:
        document = line.decode("utf-8")
        response = member(members(document), "result")
        if response is None:
            return None
        result = members(document, response.start)
        last = last_text(document, result) if carrier == "inline" else None
        if last:
            edit = _longer(last, text)
        else:
            structured = member(result, "structuredContent")
            beside = carrier == "auto" and structured is not None and structured.value is not None
            edit = content_edit(document, response, result, _resource(text) if beside else text_item(text))
    except UNREADABLE:
        return None
    return edited(document, [edit]).encode()


def content_edit(document: str, response: Part, result: list[Member], item: JsonValue) -> Edit:
    """The edit that adds an item to the content of a result, which is made if it is missing.

    Args:
        document: the line.
        response: the result in it.
        result: its members.
        item: to be added.
    """
    said = jsonvalue.dumps(item).decode()
    content = member(result, "content")
    return appended(document, content, said) if content else appended(document, response, f'"content":[{said}]')


def last_text(document: str, result: list[Member]) -> Part | None:
    """The text of the last text item of a result's content; None where there is none."""
    content = member(result, "content")
    for item in reversed(items(document, content.start) if content else []):
        if isinstance(item.value, dict) and item.value.get("type") == "text":
            text = member(members(document, item.start), "text")
            if text and isinstance(text.value, str):
                return text
    return None


def text_item(text: str) -> JsonValue:
    """A text as an item of content."""
    return {"type": "text", "text": text}


def _resource(text: str) -> JsonValue:
    return {"type": "resource", "resource": {"uri": _URI, "mimeType": "text/plain", "text": text}}


def _longer(last: Part, text: str) -> Edit:
    """A text within its quotes, and another one after a blank line."""
    more = f"\n\n{text}" if last.value else text
    return Edit(last.end - 1, last.end - 1, jsonvalue.dumps(more).decode()[1:-1])
