"""A model endpoint on loopback that says what a script says, so that Claude Code runs without a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Endpoint", "Tool", "Turn"]

Tool = tuple[str, dict[str, Any]]  #: a tool, and its arguments
Turn = list[Tool] | Callable[[], list[Tool]]  #: the calls of one turn, which may be made when it is asked for


class Endpoint(ThreadingHTTPServer):
    """Answers each request of the agent with the next turn of a script, and then with a last word.

    Args:
        script: the turns.

    Attributes:
        requests: what was asked, in order, as it was asked.
    """

    daemon_threads = True

    def __init__(self, script: list[Turn]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self._script = iter(script)
        self._calls = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base of its URLs."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of one streamed message."""
        calls: list[Tool] = []
        with self._lock:
            if request.get("tools"):  # what names a conversation, or sums it up, has none
                self.requests.append(request)
                turn = next(self._script, [])
                calls = turn() if callable(turn) else turn
            first = self._calls + 1
            self._calls += len(calls)
        message = {
            "id": f"msg_{first}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        yield {"type": "message_start", "message": message}
        if not calls:
            yield from _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})
        for at, (name, args) in enumerate(calls):
            block = {"type": "tool_use", "id": f"toolu_{first + at:03}", "name": name, "input": {}}
            yield from _block(at, block, {"type": "input_json_delta", "partial_json": json.dumps(args)})
        why = "tool_use" if calls else "end_turn"
        yield {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 1}}
        yield {"type": "message_stop"}


def _block(index: int, block: dict[str, Any], delta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.partition("?")[0] != "/v1/messages":
            self._send("application/json", b'{"input_tokens":1}')
            return
        events = self.server.answer(json.loads(body))
        text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        self._send("text/event-stream", text.encode())

    def do_HEAD(self) -> None:
        self._send("text/plain", b"")

    def do_GET(self) -> None:
        self.do_HEAD()

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
