"""FastMCP: `WaggleMiddleware` gives a server memory, `WaggleClient` whoever uses one.

Not responsible for telling apart who calls a server over HTTP without a session: there, every request is a conversation
of its own until the server's author says better.
"""

from __future__ import annotations

import functools
import uuid
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp import Client
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import InputRequiredToolResult

from waggle.integrations.mcp_result import ListedTools, taken, with_block
from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waggle.calls import Result
    from waggle.manager import Manager

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
        self._watch = _watch(manager)
        self._conversation = conversation or _conversation

    async def on_call_tool(self, context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool; see `Middleware.on_call_tool`."""
        server, tool = context.fastmcp_context.fastmcp, None
        with self._watch.safely():
            tool = await server.get_tool(context.message.name)
        with self._watch.calling(lambda: self._begin(context, tool)) as seen:
            result = await call_next(context)
        return await seen.afollowed(result, functools.partial(_served, server))

    def _begin(self, context: Any, tool: Any) -> Watched:
        name, args = context.message.name, context.message.arguments or {}
        reads = hint_of(getattr(tool, "annotations", None))
        return self._watch.begin(self._conversation(context.fastmcp_context), name, args, reads=reads)


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
        self._watch = _watch(manager)
        self._conversation = conversation or uuid.uuid4().hex
        self._tools = ListedTools()
        self._listed = False

    def new(self) -> WaggleClient:
        """Make a client for another session, and another conversation; see `Client.new`."""
        client: WaggleClient = super().new()
        client._conversation = uuid.uuid4().hex
        return client

    async def list_tools_mcp(self, **options: Any) -> Any:
        """List tools, and take in what the server says of them; see `Client.list_tools_mcp`."""
        result = await super().list_tools_mcp(**options)
        with self._watch.safely():
            self._tools.take(result.tools)
            self._listed = True
        return result

    async def call_tool_mcp(self, name: str, arguments: dict[str, Any], *args: Any, **options: Any) -> Any:
        """Call a tool; see `Client.call_tool_mcp`."""
        with self._watch.safely():
            if not self._listed:
                await self.list_tools()
        call = super().call_tool_mcp
        with self._watch.calling(lambda: self._begin(name, arguments)) as seen:
            result = await call(name, arguments, *args, **options)
        return await seen.afollowed(result, lambda tool, given: call(tool, given) if tool in self._tools else NOT_HERE)

    def _begin(self, name: str, args: dict[str, Any]) -> Watched:
        return self._watch.begin(self._conversation, name, args, reads=self._tools.get(name))


def _watch(manager: Manager | None) -> Watch:
    return Watch(manager, answer=_answer, add=functools.partial(with_block, mcp_types))


def _conversation(context: Any) -> str:
    return "stdio" if context.transport == "stdio" else str(context.session_id)


async def _served(server: Any, name: str, args: dict[str, Any]) -> Any:
    return NOT_HERE if await server.get_tool(name) is None else await server.call_tool(name, args)


def _answer(result: Any) -> Result | None:
    return None if isinstance(result, InputRequiredToolResult) else taken(result)  # that one is a question to the user
