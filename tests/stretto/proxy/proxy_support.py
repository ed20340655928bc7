"""A relay in memory, with a host and a server that are the test itself."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self

from stretto.proxy.serving.tap import Serving
from stretto.proxy.streams import Line
from tests.stretto.shop import answer, shop_flow
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.flow.model import Flow
    from stretto.speculator import Prepared

WAIT_S = 5.0

LISTED: list[Any] = [
    {"name": "find_user", "annotations": {"readOnlyHint": True}},
    {"name": "get_user", "annotations": {"readOnlyHint": True}},
    {"name": "get_order", "annotations": {"readOnlyHint": True}},
    {"name": "cancel_order", "annotations": {"readOnlyHint": False}},
]


def line_of(message: Any) -> bytes:
    return message if isinstance(message, bytes) else jsonvalue.dumps(message) + b"\n"


def call(number: Any, tool: str, arguments: Any = None, **params: Any) -> dict[str, Any]:
    """A request of ``tools/call``."""
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments or {}} | params,
    }


def returned(number: Any, text: str | None, **result: Any) -> dict[str, Any]:
    """The answer to it."""
    content = {} if text is None else {"content": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": number, "result": content | result}


def shop_answer(request: Any) -> dict[str, Any]:
    """What the shop answers to a call."""
    params = request["params"]
    result = answer(params["name"], params["arguments"])
    return returned(request["id"], result.text, **({} if result.ok else {"isError": True}))


class Bench:
    """A flow at work between a host and a server.

    Attributes:
        host: lines that reached the host, in order.
        server: lines that reached the server, in order.
        own: those of either side that taps were told of as the proxy's own.
    """

    def __init__(self, flow: Flow | Prepared | None = None, **options: Any) -> None:
        self.host: list[bytes] = []
        self.server: list[bytes] = []
        self.own: list[bytes] = []
        self.log: list[Any] = []
        self.reply: Callable[[Any], None] | None = None
        self._changed = threading.Condition()
        given: dict[str, Any] = {"on_line": self.log.append, "held_s": WAIT_S} | options
        if flow is None and "memory" in options:
            del given["on_line"]  # there is nobody to log anything
        self.serving = Serving(shop_flow() if flow is None and "memory" not in options else flow, **given)
        self.serving.attach(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.serving.close()

    # --- the relay's side -----------------------------------------------------------------------------------------

    def to_host(self, raw: bytes, *, own: bool = True) -> bool:
        with self._changed:
            self.host.append(raw)
            if own:
                self.own.append(raw)
            self._changed.notify_all()
        return True

    def to_server(self, raw: bytes) -> bool:
        with self._changed:
            self.server.append(raw)
            self.own.append(raw)
            self._changed.notify_all()
        if self.reply:
            self.reply(jsonvalue.loads(raw))
        return True

    # --- the test's side ------------------------------------------------------------------------------------------

    def host_says(self, message: Any) -> None:
        raw = line_of(message)
        assert not self.serving.from_host(Line(raw))
        self.server.append(raw)

    def server_says(self, message: Any) -> bool:
        """Whether the line passed at once."""
        raw = line_of(message)
        if self.serving.from_server(Line(raw)):
            return False
        with self._changed:
            self.host.append(raw)
        return True

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to hold; bounded."""
        end = time.monotonic() + WAIT_S
        with self._changed:
            while not holds():
                left = end - time.monotonic()
                assert left > 0, (self.host, self.server)
                self._changed.wait(min(left, 0.02))

    def got(self, count: int) -> Any:
        """The last of so many lines that the host has, once it has them."""
        self.until(lambda: len(self.host) >= count)
        assert len(self.host) == count
        return jsonvalue.loads(self.host[-1])

    def asked(self, count: int) -> Any:
        """The last of so many lines that the server has, once it has them."""
        self.until(lambda: len(self.server) >= count)
        assert len(self.server) == count
        return jsonvalue.loads(self.server[-1])

    def answer_lookups(self, answers: Callable[[Any], Any] = shop_answer) -> None:
        """From now on, lookups are answered at once, as if by the server's thread."""

        def reply(request: Any) -> None:
            if "id" in request and request.get("method") == "tools/call":
                line = line_of(answers(request))
                threading.Thread(target=self.server_says, args=(line,), daemon=True).start()

        self.reply = reply

    @property
    def lookups(self) -> list[tuple[str, Any]]:
        """The calls that the flow has made."""
        calls: list[Any] = [jsonvalue.loads(raw) for raw in self.server]
        return [
            (item["params"]["name"], item["params"]["arguments"])
            for item in calls
            if isinstance(item, dict) and str(item.get("id")).startswith("stretto-") and "params" in item
        ]


def added(line: bytes) -> str:
    """The text of the item that was appended."""
    message: Any = jsonvalue.loads(line)
    item = message["result"]["content"][-1]
    text: str = item["resource"]["text"] if item["type"] == "resource" else item["text"]
    return text
