"""``stretto-mcp-demo``: a small MCP server with a shop world, over stdio, to try flows on and to test against.

Speaks both eras of the protocol: the handshake of 2024-11-05 to 2025-11-25, and 2026-07-28, in which every request says
its version. The first request decides which one a connection is in. Not responsible for the shop (`demo_shop`). Nothing
but the standard library: the server starts at once, and is no client's library talking to itself.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final

import stretto
from stretto._defaults import EXIT_INTERRUPTED, EXIT_OK
from stretto.proxy.demo_shop import TOOLS, Shop, UnknownToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["DemoServer", "main"]

_HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MODERN: Final = ("2026-07-28",)

_META: Final = "io.modelcontextprotocol/"
_INFO: Final[JsonObject] = {"name": "stretto-mcp-demo", "version": stretto.__version__}
_CAPABILITIES: Final[JsonObject] = {"tools": {"listChanged": False}}

#: Error codes: JSON-RPC's, and the one that 2026-07-28 adds.
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_UNSUPPORTED_VERSION: Final = -32022

#: Longest ``--slow``: what waits longer is a server that hangs, which is another test.
_MAX_SLOW_MS: Final = 60_000

_MS_PER_S: Final = 1_000


class _RefusedError(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        super().__init__(message)
        self.error: JsonObject = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class DemoServer:
    """One connection.

    Args:
        send: takes each message to the client, from any thread but never from two at once.
        page_size: tools on one page of ``tools/list``, at least 1; all by default.
        slow: seconds until a call is answered. Calls wait beside each other, and one that the client cancels while it
            waits is neither made nor answered.
    """

    def __init__(self, send: Callable[[JsonObject], None], *, page_size: int = len(TOOLS), slow: float = 0.0) -> None:
        self._send = send
        self._page_size = page_size
        self._slow = slow
        self._shop = Shop()
        self._modern: bool | None = None
        self._lock = Lock()
        self._waiting: dict[str, Timer] = {}

    def take(self, line: bytes) -> None:
        """Take one line from the client: one message as JSON. A blank one is passed over.

        Raises:
            OSError: an answer cannot be sent.
        """
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, _RefusedError(_PARSE_ERROR, "Parse error"))
            return
        if not isinstance(message, dict):
            self._refuse(None, _RefusedError(_INVALID_REQUEST, "A message is one object"))
        elif "id" not in message:
            self._notified(message)
        elif "method" in message:
            self._requested(message)

    def close(self) -> None:
        """Forget the calls that still wait: the client is gone."""
        with self._lock:
            for timer in self._waiting.values():
                timer.cancel()
            self._waiting.clear()

    def _notified(self, message: JsonObject) -> None:
        params = message.get("params")
        if message.get("method") == "notifications/cancelled" and isinstance(params, dict):
            with self._lock:
                timer = self._waiting.pop(_key(params.get("requestId")), None)
            if timer is not None:
                timer.cancel()

    def _requested(self, message: JsonObject) -> None:
        request_id, method, params = message["id"], message["method"], message.get("params", {})
        if isinstance(request_id, bool) or not isinstance(request_id, int | str):
            self._refuse(None, _RefusedError(_INVALID_REQUEST, "An id is a string or an integer"))
            return
        if not isinstance(method, str) or not isinstance(params, dict):
            refused = _RefusedError(_INVALID_REQUEST, "A request has a method, and its params are an object")
            self._refuse(request_id, refused)
            return
        try:
            self._enter_era(method, params)
        except _RefusedError as refused:
            self._refuse(request_id, refused)
            return
        if method == "tools/call" and self._slow:
            key = _key(request_id)
            timer = Timer(self._slow, self._answer_late, (key, request_id, method, params))
            timer.daemon = True
            with self._lock:
                self._waiting[key] = timer
            timer.start()
        else:
            with self._lock:
                self._answer(request_id, method, params)

    def _enter_era(self, method: str, params: JsonObject) -> None:
        """Let the first request decide the era, and refuse what belongs to the other one."""
        meta = params.get("_meta")
        version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
        if version is None:
            if self._modern and method == "initialize":
                raise _unsupported(params.get("protocolVersion"))
            if self._modern:
                raise _RefusedError(_INVALID_PARAMS, f"params._meta needs {_META}protocolVersion")
            self._modern = False
            return
        if self._modern is False:
            raise _RefusedError(_INVALID_REQUEST, "This connection began with a handshake")
        if version not in _MODERN or method == "initialize":
            raise _unsupported(version)
        if isinstance(meta, dict) and not isinstance(meta.get(f"{_META}clientCapabilities"), dict):
            raise _RefusedError(_INVALID_PARAMS, f"params._meta needs {_META}clientCapabilities")
        self._modern = True

    def _answer_late(self, key: str, request_id: int | str, method: str, params: JsonObject) -> None:
        with self._lock:
            if self._waiting.pop(key, None) is None:
                return
            try:
                self._answer(request_id, method, params)
            except OSError:  # the client is gone; whoever reads from it finds out, too
                return

    def _answer(self, request_id: int | str, method: str, params: JsonObject) -> None:
        try:
            result = self._result(method, params)
        except _RefusedError as refused:
            self._send({"jsonrpc": "2.0", "id": request_id, "error": refused.error})
            return
        if self._modern:
            result = {**result, "resultType": "complete", "_meta": {f"{_META}serverInfo": _INFO}}
            if method != "tools/call":
                result |= {"ttlMs": 0, "cacheScope": "public"}
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _refuse(self, request_id: int | str | None, refused: _RefusedError) -> None:
        with self._lock:
            self._send({"jsonrpc": "2.0", "id": request_id, "error": refused.error})

    def _result(self, method: str, params: JsonObject) -> JsonObject:
        match method, self._modern:
            case "tools/list", _:
                return self._page(params.get("cursor"))
            case "tools/call", _:
                return self._call(params)
            case "server/discover", True:
                return {"supportedVersions": [*_MODERN], "capabilities": _CAPABILITIES}
            case "initialize", False:
                asked = params.get("protocolVersion")
                version = asked if asked in _HANDSHAKE else _HANDSHAKE[-1]
                return {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": _INFO}
            case "ping", False:
                return {}
        raise _RefusedError(_METHOD_NOT_FOUND, f"Method not found: {method}")

    def _page(self, cursor: JsonValue) -> JsonObject:
        starts = {str(start): start for start in range(self._page_size, len(TOOLS), self._page_size)}
        if cursor is None:
            start = 0
        elif isinstance(cursor, str) and cursor in starts:
            start = starts[cursor]
        else:
            raise _RefusedError(_INVALID_PARAMS, "No such cursor")
        end = str(start + self._page_size)
        page: JsonObject = {"tools": [*TOOLS[start : int(end)]]}
        return {**page, "nextCursor": end} if end in starts else page

    def _call(self, params: JsonObject) -> JsonObject:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise _RefusedError(_INVALID_PARAMS, "A call has a name, and its arguments are an object")
        try:
            return self._shop.call(name, arguments)
        except UnknownToolError:
            raise _RefusedError(_INVALID_PARAMS, f"Unknown tool: {name}") from None


def _key(request_id: JsonValue) -> str:
    """Tell ids apart by value and type: 1 and "1" are two."""
    return f"{type(request_id).__name__} {request_id}"


def _unsupported(requested: JsonValue) -> _RefusedError:
    data: JsonObject = {"supported": [*_MODERN]}
    if isinstance(requested, str):
        data["requested"] = requested
    return _RefusedError(_UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _write(message: JsonObject) -> None:
    """Write one message to standard output, past Python's buffer: what a client did not take is not flushed at exit."""
    data = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    while data:
        data = data[os.write(1, data) :]


def _between(low: int, high: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not low <= (number := int(text)) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return number

    return whole_number


def main(argv: Sequence[str] | None = None) -> int:
    """Serve standard input until it ends.

    Args:
        argv: the arguments, those of the process by default.

    Returns:
        The exit code: 0 when the client is gone, 130 after Ctrl-C. A wrong argument ends the process with 2.
    """
    parser = argparse.ArgumentParser(
        prog="stretto-mcp-demo", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument(
        "--page-size",
        type=_between(1, len(TOOLS)),
        default=len(TOOLS),
        metavar="N",
        help="tools on one page of tools/list (default: all)",
    )
    parser.add_argument(
        "--slow",
        type=_between(0, _MAX_SLOW_MS),
        default=0,
        metavar="MS",
        help="milliseconds until a call is answered (default: 0)",
    )
    options = parser.parse_args(argv)
    server = DemoServer(_write, page_size=options.page_size, slow=options.slow / _MS_PER_S)
    try:
        for line in sys.stdin.buffer:
            server.take(line)
    except BrokenPipeError:
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        server.close()
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
