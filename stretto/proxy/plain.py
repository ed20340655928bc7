"""The ``plain`` carrier: no tool's result is structured any more, for hosts that show nothing else of one that is.

A tap in front of the flow. ``outputSchema`` is taken out of the tools that the server lists, and ``structuredContent``
out of the results of just those tools, never one without the other: a host fails a call whose result lacks what the
tool's schema promises. A result that has no text besides gets its structured content as text. Every other byte stays as
it was. What is in a batch is left as it is, and so is a tool that such a batch lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.proxy.carrier import content_edit, last_text, text_item
from stretto.proxy.inplace import UNREADABLE, edited, items, member, members, without
from stretto.proxy.serving.pending import HostCall, Listing, Requests
from stretto.proxy.streams import Line
from stretto.sessions.wire import id_key, is_request, is_response, messages_of

if TYPE_CHECKING:
    from stretto.proxy.relay import Side
    from waggle.jsonvalue import JsonObject

__all__ = ["Plain", "without_schemas", "without_structure"]

_SCHEMA = "outputSchema"
_STRUCTURE = "structuredContent"


class Plain:
    """A tap that makes results plain; see `stretto.proxy.relay.Tap`."""

    def __init__(self) -> None:
        self._requests = Requests()
        self._plain: set[str] = set()  # tools whose schema the host has not seen

    def from_host(self, line: Line) -> bool:
        """Take note of what is asked; every line passes."""
        for message in messages_of(line.message):
            key = id_key(message.get("id")) if is_request(message) else None
            if key is not None:
                self._requests.add(key, message, alone=message is line.message)
        return False

    def from_server(self, line: Line) -> bool | Line:
        """Change lists of tools, and results of those that had a schema; all else passes as it is."""
        new: bytes | None = None
        for message in messages_of(line.message):
            key = id_key(message.get("id"))
            asked = self._requests.take(key) if key is not None and is_response(message) else None
            result = message.get("result")
            if not isinstance(result, dict):
                continue
            alone = message is line.message
            if isinstance(asked, Listing):
                new = self._list(line.raw, result, alone=alone)
            elif alone and isinstance(asked, HostCall) and asked.name in self._plain and _STRUCTURE in result:
                new = without_structure(line.raw)
        return False if new is None else Line(new, own=True)

    def sent(self, raw: bytes, to: Side) -> None:
        """What other taps say has no structure."""

    def ended(self, reason: str) -> bool:
        """Nobody waits for this tap."""
        del reason
        return False

    def close(self) -> None:
        """Nothing is open."""

    def _list(self, raw: bytes, result: JsonObject, *, alone: bool) -> bytes | None:
        tools = result.get("tools")
        named = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
        with_schema = {name for tool in named if _SCHEMA in tool and isinstance(name := tool.get("name"), str)}
        new = without_schemas(raw) if alone and with_schema else None
        self._plain.difference_update(name for tool in named if isinstance(name := tool.get("name"), str))
        if new is not None:
            self._plain |= with_schema
        return new


def without_schemas(line: bytes) -> bytes | None:
    """Take the output schemas out of a list of tools.

    Args:
        line: a response to ``tools/list``.

    Returns:
        The line without them; None when their place is not found.
    """
    try:
        document = line.decode("utf-8")
        response = member(members(document), "result")
        tools = member(members(document, response.start), "tools") if response else None
        if tools is None:
            return None
        edits = [
            edit
            for tool in items(document, tools.start)
            if isinstance(tool.value, dict)
            for edit in without(members(document, tool.start), _SCHEMA)
        ]
    except UNREADABLE:
        return None
    return edited(document, edits).encode()


def without_structure(line: bytes) -> bytes | None:
    """Take the structured content out of a result; where there is no text, its JSON text becomes one.

    Args:
        line: a response to ``tools/call``.

    Returns:
        The line without it; None when its place is not found.
    """
    try:
        document = line.decode("utf-8")
        response = member(members(document), "result")
        if response is None:
            return None
        result = members(document, response.start)
        structured = member(result, _STRUCTURE)
        edits = without(result, _STRUCTURE)
        if structured and last_text(document, result) is None:
            said = text_item(document[structured.start : structured.end])
            kept = [each for each in result if each.key != _STRUCTURE]
            edits.append(content_edit(document, response, result, said))
            if not kept:  # nothing stands before it any more
                edits[-1] = edits[-1]._replace(text=edits[-1].text.removeprefix(","))
    except UNREADABLE:
        return None
    return edited(document, edits).encode()
