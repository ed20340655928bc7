"""FastMCP: `WaggleMiddleware` gives a server memory, `WaggleClient` whoever uses one.

Not responsible for telling apart who calls a server over HTTP without a session: there, every request is a conversation
of its own until the server's author says better.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from fastmcp import Client
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import InputRequiredToolResult
from mcp_types import EmbeddedResource, TextContent

from waggle.integrations.mcp_result import added_block, taken
from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waggle.calls import Result
    from waggle.manager import Manager
    from waggle.speculation import AsyncRun

__all__ = ["WaggleClient", "WaggleMiddleware"]


class WaggleMiddleware(Middleware):
    """Observes the calls of a server's tools, and adds what usually comes next to their results.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
        conversation: tells a conversation's id by the server's `Context`; left out, it is the session's id, and over
            standard input there is one conversation. Calls of different people must never share one: what the one saw
            would be looked up for the other.
    """

    def __init__(
        self, manager: Manager | None = None, *, conversation: Callable[[Any], str | None] | None = None
    ) -> None:
        self._watch = Watch(manager)
        self._conversation = conversation or _conversation

    async def on_call_tool(self, context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool; see `Middleware.on_call_tool`."""
        name, server, seen = context.message.name, context.fastmcp_context.fastmcp, None
        with self._watch.safely():
            tool = await server.get_tool(name)
            seen = self._watch.begin(
                self._conversation(context.fastmcp_context),
                name,
                context.message.arguments or {},
                reads=hint_of(getattr(tool, "annotations", None)),
            )

        async def look_up(other: str, args: dict[str, Any]) -> Result:
            if await server.get_tool(other) is None:
                return NOT_HERE
            return result_of(**taken(await server.call_tool(other, args)))

        return await _made(self._watch, seen, call_next(context), look_up)


class WaggleClient(Client[Any]):
    """The client, with memory; takes what `fastmcp.Client` takes.

    Args:
        args: the client's, as are `options`.
        manager: whose routes act and are learned; left out, those of the project in the present directory.
        conversation: the host's id of the conversation; left out, each client is one of its own.
    """

    def __init__(
        self, *args: Any, manager: Manager | None = None, conversation: str | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._watch = Watch(manager)
        self._conversation = conversation or uuid.uuid4().hex
        self._hints: dict[str, bool | None] | None = None  # of the tools that the server has listed

    def new(self) -> WaggleClient:
        """Make a client for another session, and another conversation; see `Client.new`."""
        client: WaggleClient = super().new()
        client._conversation = uuid.uuid4().hex
        return client

    async def list_tools_mcp(self, **options: Any) -> Any:
        """List tools, and take in what the server says of them; see `Client.list_tools_mcp`."""
        result = await super().list_tools_mcp(**options)
        self._hints = (self._hints or {}) | {tool.name: hint_of(tool.annotations) for tool in result.tools}
        return result

    async def call_tool_mcp(self, name: str, arguments: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Call a tool; see `Client.call_tool_mcp`."""
        seen: Watched | None = None
        with self._watch.safely():
            if self._hints is None:
                await self.list_tools()
            seen = self._watch.begin(self._conversation, name, arguments, reads=(self._hints or {}).get(name))
        plain = super().call_tool_mcp

        async def look_up(other: str, given: dict[str, Any]) -> Result:
            return result_of(**taken(await plain(other, given))) if other in (self._hints or {}) else NOT_HERE

        return await _made(self._watch, seen, plain(name, arguments, *args, **options), look_up)


def _conversation(context: Any) -> str:
    return "stdio" if context.transport == "stdio" else str(context.session_id)


async def _made(watch: Watch, seen: Watched | None, call: Awaitable[Any], look_up: AsyncRun) -> Any:
    """Make a call, report what comes of it, and add what usually comes next."""
    try:
        result = await call
    except BaseException as error:
        if seen:
            seen.raised(error)
        raise
    with watch.safely():
        if seen and isinstance(result, InputRequiredToolResult):  # a question to the user
            seen.unanswered()
        elif seen:
            seen.ended(**taken(result))
            if added := await seen.afollow(look_up):
                block = added_block(result, added)
                kind: Any = TextContent if block["type"] == "text" else EmbeddedResource
                return result.model_copy(update={"content": [*result.content, kind.model_validate(block)]})
    return result
