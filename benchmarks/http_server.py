"""The demo server over Streamable HTTP, with as little as can be between it and the wire.

What proxies that speak HTTP are measured against: the time a call takes when nobody stands between.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from stretto.proxy.demo_server import DemoServer

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

_SESSION: Final = "Mcp-Session-Id"


class _Session:
    """One client of the server."""

    def __init__(self) -> None:
        self._said: list[JsonObject] = []
        self._server = DemoServer(self._said.append)

    def take(self, body: bytes) -> bytes | None:
        """The answer to a message; None for one that gets none."""
        self._server.take(body)
        return json.dumps(self._said.pop(), separators=(",", ":")).encode() if self._said else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body of an answer leave together
    sessions: Final[dict[str, _Session]] = {}

    def do_POST(self) -> None:
        """Take a message."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.headers[_SESSION] or uuid4().hex
        if name not in self.sessions:
            self.sessions[name] = _Session()
        answer = self.sessions[name].take(body)
        self.send_response(202 if answer is None else 200)
        self.send_header(_SESSION, name)
        if answer is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")

    def do_DELETE(self) -> None:
        """End a session."""
        self.sessions.pop(self.headers[_SESSION] or "", None)
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        """There is no stream of notices."""
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the standard library
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
