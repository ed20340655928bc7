"""A server over Streamable HTTP that nobody here wrote: the official SDK's, with two tools, behind a key."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds that it may take to end.
PATIENCE = 30.0


class Shop:
    """The server, while it runs.

    Attributes:
        url: where it is.
        keys: what each request had as its ``Authorization``, in their order; None for one without.
    """

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.keys: list[str | None] = []
        self._key = key
        shop = MCPServer("http-shop", version="7")

        @shop.tool(annotations=ToolAnnotations(read_only_hint=True))
        def get_order(order_id: str) -> str:
            """Read an order."""
            return f"order {order_id}"

        @shop.tool(annotations=ToolAnnotations(read_only_hint=False))
        def cancel_order(order_id: str) -> str:
            """Cancel an order."""
            return f"cancelled {order_id}"

        self._app = shop.streamable_http_app()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let those in who have the key."""
        if scope["type"] == "http":
            sent = dict(scope["headers"]).get(b"authorization")
            self.keys.append(None if sent is None else sent.decode())
            if self.keys[-1] != self._key:
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


@contextmanager
def http_shop(key: str) -> Iterator[Shop]:
    """The server, running in a thread of this process.

    Args:
        key: the ``Authorization`` that every request needs.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        shop = Shop(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", key)
        server = uvicorn.Server(uvicorn.Config(shop, log_level="warning", ws="none", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield shop  # whoever calls before it is up waits in the socket's queue
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "it does not end"
