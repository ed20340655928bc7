"""Where a session log holds values: each of its lines, taken apart and put together again.

Kept are times, senders, ids, methods, the names of the tools called, and everything of ``initialize`` and
``tools/list``. All else is given to a treatment, also in messages that nobody knows yet: arguments, results, structured
content, parameters and unknown fields as records, a result's text as an answer, errors, the conversation and lines that
are no JSON as speech. What those words mean is said in `stretto.sessions.pseudonyms`. Not responsible for files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from stretto.sessions.wire import id_key
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from stretto.sessions.log import Entry, Sender
    from stretto.sessions.pseudonyms import Treatment
    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["PROTOCOL", "LogRewriter"]

#: Names of the protocol's own fields and types: they say nothing of anybody.
PROTOCOL: Final = (
    *("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "name", "arguments", "_meta"),
    *("content", "structuredContent", "isError", "type", "text", "image", "audio", "resource", "resource_link", "uri"),
    *("mimeType", "blob", "annotations", "audience", "priority", "title", "description", "contents", "role"),
    *("requestId", "reason", "progressToken", "progress", "total", "level", "logger", "messages"),
)

_KEPT_METHODS: Final = frozenset({"initialize", "tools/list"})

#: How one part of a message is rewritten.
_Part: TypeAlias = "Callable[[Treatment, JsonValue], JsonValue]"


class LogRewriter:
    """The lines of one log, in order, each given to a treatment part by part.

    Args:
        treatment: what happens to values.
        declare: takes the names that an answer to ``tools/list`` states.
    """

    def __init__(self, treatment: Treatment, declare: Callable[[Iterator[str]], None] | None = None) -> None:
        self._treatment = treatment
        self._declare = declare
        self._asked: dict[tuple[bool, IdKey], str] = {}  # whether the server asked, and the id -> the method

    def entry(self, entry: Entry) -> Entry:
        """The line as it is in the copy."""
        message = entry.message
        if message is None:
            return entry._replace(raw=self._treatment.speech(entry.raw or ""))
        if isinstance(message, list):
            items = [
                self._message(item, entry.sender) if isinstance(item, dict) else self._treatment.record(item)
                for item in message
            ]
            return entry._replace(message=items)
        return entry._replace(message=self._message(message, entry.sender))

    def _message(self, message: JsonObject, sender: Sender) -> JsonObject:
        if sender == "context":
            return _parts(self._treatment, message, {"content": _speech}, kept=("role",))
        method, key = message.get("method"), id_key(message.get("id"))
        if isinstance(method, str):
            if key is not None:
                self._asked[sender == "server", key] = method
            if method in _KEPT_METHODS and sender != "server":
                return message
            parts = {"params": _PARAMETERS.get(method, _record)}
            return _parts(self._treatment, message, parts, kept=("jsonrpc", "id", "method"))
        asked = self._asked.get((sender == "client", key)) if key is not None else None
        if asked in _KEPT_METHODS and sender != "client" and message.get("error") is None:
            if asked == "tools/list" and self._declare is not None:
                self._declare(_declared(message.get("result")))
            return message
        parts = {"result": _result if asked == "tools/call" else _record, "error": _error}
        return _parts(self._treatment, message, parts, kept=("jsonrpc", "id"))


def _parts(treatment: Treatment, value: JsonValue, parts: Mapping[str, _Part], *, kept: Container[str]) -> JsonObject:
    """An object of the protocol: fields that are kept, fields that are read in their own way, and records."""
    if not isinstance(value, dict):
        return cast("JsonObject", treatment.record(value))
    new: JsonObject = {}
    for name, item in value.items():
        if name in parts:
            new[name] = parts[name](treatment, item)
        elif name in kept and not isinstance(item, (dict, list)):
            new[name] = item
        else:
            new |= cast("JsonObject", treatment.record({name: item}))
    return new


def _record(treatment: Treatment, value: JsonValue) -> JsonValue:
    return treatment.record(value)


def _speech(treatment: Treatment, value: JsonValue) -> JsonValue:
    return treatment.speech(value) if isinstance(value, str) else treatment.record(value)


def _answer(treatment: Treatment, value: JsonValue) -> JsonValue:
    return treatment.answer(value) if isinstance(value, str) else treatment.record(value)


def _failure(treatment: Treatment, value: JsonValue) -> JsonValue:
    return treatment.failure(value) if isinstance(value, str) else treatment.record(value)


def _call(treatment: Treatment, value: JsonValue) -> JsonValue:
    return _parts(treatment, value, {"arguments": _record}, kept=("name",))


def _cancelled(treatment: Treatment, value: JsonValue) -> JsonValue:
    return _parts(treatment, value, {"reason": _speech}, kept=("requestId",))


def _error(treatment: Treatment, value: JsonValue) -> JsonValue:
    return _parts(treatment, value, {"message": _speech}, kept=("code",))


def _result(treatment: Treatment, value: JsonValue) -> JsonValue:
    failed = isinstance(value, dict) and value.get("isError") is True
    return _parts(treatment, value, {"content": _failed_items if failed else _items}, kept=("isError",))


def _items(treatment: Treatment, value: JsonValue, text: _Part = _answer) -> JsonValue:
    if not isinstance(value, list):
        return treatment.record(value)
    return [
        _parts(treatment, item, {"text": text}, kept=("type",))
        if isinstance(item, dict) and item.get("type") == "text"
        else treatment.record(item)
        for item in value
    ]


def _failed_items(treatment: Treatment, value: JsonValue) -> JsonValue:
    return _items(treatment, value, _failure)


#: How the parameters of a method are read; those of all others are records.
_PARAMETERS: Final[Mapping[str, _Part]] = {"tools/call": _call, "notifications/cancelled": _cancelled}


def _declared(result: JsonValue) -> Iterator[str]:
    """Names of tools and properties, and values that are enumerated, in an answer to ``tools/list``."""
    tools = result.get("tools") if isinstance(result, dict) else None
    left: list[JsonValue] = []
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            left += [tool.get("inputSchema"), tool.get("outputSchema")]
            yield from _texts([tool.get("name")])
    for schema in left:  # grows while it is walked: a schema may be nested deeply
        if isinstance(schema, list):
            left += schema
        elif isinstance(schema, dict):
            properties, values = schema.get("properties"), schema.get("enum")
            yield from properties if isinstance(properties, dict) else ()
            yield from _texts([*(values if isinstance(values, list) else []), schema.get("const")])
            left += [item for name, item in schema.items() if name not in ("properties", "enum", "const")]
            left += properties.values() if isinstance(properties, dict) else ()


def _texts(values: list[JsonValue]) -> Iterator[str]:
    """What of some values is text or number, as it is counted."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield jsonvalue.canonical(value).decode("ascii")
