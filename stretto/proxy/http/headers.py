"""The headers that Streamable HTTP wants beside a message, taken from the message itself.

In the era of the handshake: the session's id and the protocol's version, from ``initialize`` on. In the later one: the
version, the method, the name of what is asked for, and every argument that a tool's schema marks with ``x-mcp-header``.

Not responsible for sending anything.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.sessions.wire import RESERVED, id_key, is_response, meta_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.sessions.wire import IdKey
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["SESSION_ID", "HeaderTable", "is_modern", "version_of"]

SESSION_ID: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_VERSION_KEY: Final = f"{RESERVED}protocolVersion"
_MARK: Final = "x-mcp-header"

#: What a request asks for by name, by its method.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

#: A header's name as HTTP allows it, RFC 9110, 5.6.2.
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

#: What needs no disguise in a header's value.
_PLAIN: Final = re.compile(r"[\x20-\x7E]*")
_DISGUISED: Final = re.compile(r"=\?base64\?.*\?=")

_DEEPEST: Final = 32  #: objects within objects of a schema that are looked at; arguments are hardly deeper than three


class _Marked(NamedTuple):
    """An argument that has a header: where it stands among the arguments, and the end of the header's name."""

    path: tuple[str, ...]
    token: str


def version_of(message: JsonObject) -> str:
    """The protocol's version that a request of the later era says it speaks; empty for any other message."""
    version = meta_of(message).get(_VERSION_KEY)
    return version if isinstance(version, str) and _PLAIN.fullmatch(version) else ""


def is_modern(message: JsonObject) -> bool:
    """Whether a message says of itself who sends it, so that it needs no session."""
    return bool(version_of(message))


class HeaderTable:
    """Follows one session, and knows the headers of each of its messages.

    Attributes:
        session_id: as the server gave it; empty while there is none.
        version: that the handshake has led to; empty before, and in the later era.
    """

    def __init__(self) -> None:
        self.session_id = ""
        self.version = ""
        self._opening: set[IdKey] = set()
        self._listing: set[IdKey] = set()
        self._marked: dict[str, list[_Marked]] = {}  # by tool

    def of(self, message: JsonObject | None) -> dict[str, str]:
        """The headers of a message of the client; of None, those of a request without a body."""
        version = version_of(message) if message else ""
        if message is None or not version:
            headers = {SESSION_ID: self.session_id, _VERSION: self.version}
            return {name: value for name, value in headers.items() if value}
        method, params = message.get("method"), message.get("params")
        headers = {_VERSION: version}
        if isinstance(method, str):
            headers["mcp-method"] = _encoded(method)
            name = params.get(_NAMED.get(method, "")) if isinstance(params, dict) else None
            if isinstance(name, str):
                headers["mcp-name"] = _encoded(name)
            if method == "tools/call" and isinstance(params, dict) and isinstance(name, str):
                headers |= self._arguments(name, params.get("arguments"))
        return headers

    def asked(self, message: JsonObject) -> None:
        """Take in a request of the client."""
        key = id_key(message.get("id"))
        if key is not None:
            noted = {"initialize": self._opening, "tools/list": self._listing}.get(str(message.get("method")))
            if noted is not None:
                noted.add(key)

    def answered(self, message: JsonObject) -> None:
        """Take in an answer of the server."""
        key = id_key(message.get("id"))
        if key is None or not is_response(message):
            return
        result = message.get("result")
        if key in self._opening:
            self._opening.discard(key)
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            if isinstance(version, str) and _PLAIN.fullmatch(version):
                self.version = version
        if key in self._listing:
            self._listing.discard(key)
            tools = result.get("tools") if isinstance(result, dict) else None
            for tool in tools if isinstance(tools, list) else ():
                if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                    self._marked[name] = list(_marked(tool.get("inputSchema"), ()))

    def _arguments(self, tool: str, arguments: JsonValue) -> dict[str, str]:
        headers: dict[str, str] = {}
        for path, token in self._marked.get(tool, ()):
            value = arguments
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, bool):
                headers[f"mcp-param-{token}"] = "true" if value else "false"
            elif isinstance(value, str | int | float):
                headers[f"mcp-param-{token}"] = _encoded(str(value))
        return headers


def _marked(schema: JsonValue, path: tuple[str, ...]) -> Iterator[_Marked]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) == _DEEPEST:
        return
    for name, property_schema in properties.items():
        if isinstance(property_schema, dict):
            token = property_schema.get(_MARK)
            if isinstance(token, str) and _TOKEN.fullmatch(token):
                yield _Marked((*path, name), token)
            yield from _marked(property_schema, (*path, name))


def _encoded(value: str) -> str:
    """A header's value: as it is where HTTP lets it through unchanged, else in base64, marked as such."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _DISGUISED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="
