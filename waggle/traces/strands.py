"""Spans whose content is in their events, as Strands writes them, with the attributes that the conventions have for it.

What a message says stands there as a list of content blocks, as the model's service takes it; here it becomes the text
that the model reads. What Strands was told to hide is left out, as if it had not been recorded.

Not responsible for what spans mean: `waggle.traces.otel`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.traces import genai
from waggle.traces.shapes import value_of

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.spans import Span

__all__ = ["conventional"]

_SYSTEM: Final = "strands-agents"

#: What it writes in place of content that is not to be shown.
_HIDDEN: Final = "[REDACTED]"


def conventional(span: Span) -> Span:
    """The same span with its content in the attributes of the conventions, and without events.

    Args:
        span: with `genai.ATTRIBUTES`; one of another framework that has no events comes back as it is.
    """
    own = any(span.text(name) == _SYSTEM for name in genai.SYSTEMS)
    if not own and not span.events:
        return span
    attributes = dict(span.attributes)
    for name, given in span.events:
        if name == genai.DETAILS_EVENT:
            attributes |= given
    if span.text(genai.OPERATION) == genai.TOOL:
        attributes |= _call(span, attributes, own=own)
    else:
        attributes = _messages(span) | attributes
    return replace(span, events=(), attributes={k: v for k, v in attributes.items() if not (own and v == _HIDDEN)})


def _call(span: Span, attributes: JsonObject, *, own: bool) -> JsonObject:
    """Arguments and result: those of the attributes, else of the events; nothing of what is not there."""
    arguments = attributes.get(genai.CALL_ARGUMENTS, _first(span, genai.TOOL_EVENT, genai.EVENT_CONTENT))
    result = attributes.get(genai.CALL_RESULT)
    if result is None or own:
        result = result or _first(span, genai.CHOICE_EVENT, genai.EVENT_MESSAGE) or _response(attributes)
        text = _text(result)
        result = result if text is None else text
    found: JsonObject = {genai.CALL_ARGUMENTS: arguments, genai.CALL_RESULT: result}
    return {name: value for name, value in found.items() if value is not None}


def _messages(span: Span) -> JsonObject:
    """What the user said and the model answered, as messages of the conventions."""
    said = [given.get(genai.EVENT_CONTENT) for name, given in span.events if name == genai.USER_EVENT]
    reply = _first(span, genai.CHOICE_EVENT, genai.EVENT_MESSAGE)
    found: JsonObject = {}
    for name, role, contents in ((genai.INPUT, "user", said), (genai.OUTPUT, "assistant", [reply])):
        texts = [text for content in contents if (text := _text(content)) and text != _HIDDEN]
        if texts:
            found[name] = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]
    return found


def _first(span: Span, event: str, name: str) -> JsonValue:
    return next((given[name] for kind, given in span.events if kind == event and name in given), None)


def _response(attributes: JsonObject) -> JsonValue:
    """What a tool answered, of a failed call, which has no attribute for it."""
    output = attributes.get(genai.OUTPUT)
    messages = value_of(output) if isinstance(output, str) else output
    for message in messages if isinstance(messages, list) else []:
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and part.get("type") == "tool_call_response":
                return part.get("response")
    return None


def _text(content: JsonValue) -> str | None:
    """What content blocks say: their texts, a line each, or the one value in them; None when they say nothing.

    A text that is no list of blocks is itself.
    """
    blocks = value_of(content) if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return content if isinstance(content, str) else None
    texts = [text for block in blocks if isinstance(block, dict) and isinstance(text := block.get("text"), str)]
    if texts:
        return "\n".join(texts)
    values = [block["json"] for block in blocks if isinstance(block, dict) and "json" in block]
    return jsonvalue.dumps(values[0]).decode("utf-8") if len(values) == len(blocks) == 1 else None
