"""JSON-RPC messages as MCP sends them: whose answer is whose, and what a result says as text.

Not responsible for logs or turns. Messages come from anywhere, so nothing here expects one to be well formed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "ABORTED",
    "COMMIT_ID",
    "COMMIT_TOOL",
    "LOOKUP_ID",
    "RESERVED",
    "UNREACHED",
    "IdKey",
    "content_of",
    "error_to",
    "id_key",
    "id_text",
    "is_aborted",
    "is_request",
    "is_response",
    "json_text",
    "messages_of",
    "meta_of",
]

#: What the names begin with that the protocol reserves in ``_meta``.
RESERVED: Final = "io.modelcontextprotocol/"

#: Code of the error that a request gets whose server is gone, as MCP's own clients number a connection that was closed.
#: From a proxy it says that nothing is known of what came of the request.
ABORTED: Final = -32000

#: The same where the server is reached over HTTP, and the proxy's connection to it answers in its place.
UNREACHED: Final = -32090

#: A request's id as something hashable: equal exactly when the ids are equal as JSON texts, so ``1``, ``"1"``, ``1.0``
#: and ``true`` all differ.
IdKey: TypeAlias = int | str | tuple[str]

#: How the calls are named that are made on the agent's behalf; a number of the session follows.
LOOKUP_ID: Final = "stretto-"

#: The tool by which a proxy runs several calls for the agent, and how the ids begin of the calls that it makes then.
#: These are the agent's calls, unlike a flow's lookups; that of the tool itself is none of its steps.
COMMIT_TOOL: Final = "stretto_commit"
COMMIT_ID: Final = "stretto:commit-"

_TOO_DEEP: Final = "[nested too deeply to be shown]"


def messages_of(message: JsonValue) -> Iterator[JsonObject]:
    """The messages on a line: one, those of a batch, or none."""
    if isinstance(message, dict):
        yield message
    elif isinstance(message, list):
        for item in message:
            yield from messages_of(item) if isinstance(item, dict) else ()


def meta_of(message: JsonObject) -> JsonObject:
    """The ``_meta`` of a message's parameters; empty where it has none."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def id_key(value: JsonValue) -> IdKey | None:
    """The key of a message's id; None for what is no id: ``null``, an object or a list."""
    kind = type(value)
    if kind is int or kind is str:
        return value  # type: ignore[return-value] # the two types just compared
    return None if value is None or isinstance(value, dict | list) else (id_text(value),)


def id_text(value: JsonValue) -> str:
    """A message's id as text: a string itself, the JSON text of any other."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else jsonvalue.canonical(value).decode()


def is_response(message: JsonObject) -> bool:
    """Whether a message answers a request: an id, no method, and a ``result`` key or an error."""
    return (
        message.get("method") is None
        and message.get("id") is not None
        and ("result" in message or message.get("error") is not None)
    )


def is_request(message: JsonObject) -> bool:
    """Whether a message asks for an answer: it has a method and an id, whatever that is."""
    return "id" in message and message.get("method") is not None


def error_to(number: JsonValue, code: int, problem: str) -> JsonObject:
    """The answer to a request that is refused."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": problem}}


def is_aborted(response: JsonObject, *, own: bool) -> bool:
    """Whether a response stands in place of one of a server that was gone; `own` when the proxy gave it itself."""
    error = response.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code == UNREACHED or (own and code == ABORTED)


def content_of(response: JsonObject) -> tuple[bool, str]:
    """What a response says: whether it is an error, and its text.

    The text is that of all text items, joined by line feeds; without one the structured content as JSON, else the whole
    result as JSON. Of a JSON-RPC error it is the message, else the error as JSON.
    """
    error = response.get("error")
    if error is not None:
        said = error.get("message") if isinstance(error, dict) else None
        return True, said if isinstance(said, str) else json_text(error)
    result = response.get("result")
    if not isinstance(result, dict):
        return False, json_text(result)
    failed = result.get("isError") is True
    items = result.get("content")
    if isinstance(items, list):
        item = items[0] if len(items) == 1 else None  # nearly all results
        if isinstance(item, dict) and item.get("type") == "text" and isinstance(text := item.get("text"), str):
            return failed, text
        texts = [
            text
            for item in items
            if isinstance(item, dict) and item.get("type") == "text" and isinstance(text := item.get("text"), str)
        ]
        if texts:
            return failed, "\n".join(texts)
    structured = result.get("structuredContent")
    return failed, json_text(result if structured is None else structured)


def json_text(value: JsonValue) -> str:
    """A value as compact JSON with sorted keys, in which only what must be escaped is."""
    try:
        return _text(value)
    except (RecursionError, ValueError):  # no line of a log is read that deep by every decoder
        return _TOO_DEEP


def _text(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "{" + ",".join([f"{_text(key)}:{_text(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_text(item) for item in value]) + "]"
    return jsonvalue.dumps(value).decode()
