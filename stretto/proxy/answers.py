"""Messages that the proxy sends itself, as lines: answers for the host, requests for the server.

Not responsible for when it does, nor for what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.sessions.wire import RESERVED, is_request, messages_of, meta_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["INVALID_REQUEST", "answers_to", "request_line", "result_to"]

INVALID_REQUEST: Final = -32600  #: JSON-RPC's code

_VERSION: Final = f"{RESERVED}protocolVersion"


def answers_to(message: JsonValue, answer: Callable[[JsonObject], JsonObject]) -> bytes | None:
    """Answer every request on a line.

    Args:
        message: of the line, a message or a batch.
        answer: gives the answer to a request.

    Returns:
        The line of the answers, a batch to a batch; None when nothing on the line asks for one.
    """
    answers = [answer(each) for each in messages_of(message) if is_request(each)]
    if not answers:
        return None
    said: JsonValue = [*answers] if isinstance(message, list) else answers[0]
    return jsonvalue.dumps(said) + b"\n"


def result_to(request: JsonObject, text: str, *, failed: bool) -> JsonObject:
    """The answer to a ``tools/call`` that is made here, in the form of the era that the request is of.

    Args:
        request: the call.
        text: for the agent.
        failed: whether it reports an error.
    """
    modern: JsonObject = {"resultType": "complete"} if _VERSION in meta_of(request) else {}
    result: JsonObject = {**modern, "content": [{"type": "text", "text": text}], "isError": failed}
    return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}


def request_line(method: str, params: JsonObject, number: str | None = None) -> bytes:
    """A request of the proxy's own, or without a number a notification, as a line."""
    message: JsonObject = {"jsonrpc": "2.0"}
    if number is not None:
        message["id"] = number
    return jsonvalue.dumps(message | {"method": method, "params": params}) + b"\n"
