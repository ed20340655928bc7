"""The MCP SDK's client, 2.x and 1.x: `WaggleSession` is its `ClientSession`, `WaggleClient` the `Client` of 2.x.

What is added to a result goes where hosts show it to their model: a text block, or an embedded resource beside
structured content, which is itself never touched.

Not responsible for what the host makes of the result.
"""

from __future__ import annotations

import functools
import uuid
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp
from mcp import ClientSession

from waggle.integrations.mcp_result import ListedTools, taken, with_block
from waggle.integrations.watch import NOT_HERE, Watch, Watched

if TYPE_CHECKING:
    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WaggleClient", "WaggleSession"]

try:
    types: Any = import_module("mcp_types")  # 2.x
except ImportError:
    types = import_module("mcp.types")  # 1.x

#: Longest wait for the list of tools before the first call, in seconds.
_LIST_SECONDS: Final = 5.0


class _Watching:
    """What `call_tool` and `list_tools` do beside what the SDK's do; everything else is the SDK's.

    Args:
        args: the SDK's, with its names for all that follow the first two; the same for `options`.
        manager: whose routes act and are learned; left out, those of the project in the present directory.
        conversation: the host's id of the conversation; left out, each client is one of its own.
        prefix: what the host puts before the names of this server's tools, where several servers share a manager.
    """

    def __init__(
        self,
        *args: Any,
        manager: Manager | None = None,
        conversation: str | None = None,
        prefix: str = "",
        **options: Any,
    ) -> None:
        self._host_handler = options.get("message_handler")
        super().__init__(*args, **options | {"message_handler": self._hear})
        self._watch = Watch(manager, answer=_answer, add=functools.partial(with_block, types))
        self._conversation = conversation or uuid.uuid4().hex
        self._owned = not conversation  # and so it ends with the client
        self._prefix = prefix
        self._tools = ListedTools()
        self._listed = False  # since they changed last
        self._listing = anyio.Lock()

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any) -> Any:
        """Call a tool; takes, returns and raises what the SDK's does."""
        with self._watch.safely():
            await self._learn()
        with self._watch.calling(lambda: self._begin(name, arguments or {})) as seen:
            result = await self._plain().call_tool(name, arguments, *args, **options)
        return await seen.afollowed(result, self._again)

    async def list_tools(self, *args: Any, **options: Any) -> Any:
        """List tools as the SDK's does, and take in what the server says of them."""
        result = await self._plain().list_tools(*args, **options)
        with self._watch.safely():
            self._tools.take(result.tools)
        return result

    async def __aexit__(self, *error: object) -> Any:
        if self._owned:
            with self._watch.safely():
                self._watch.end(self._conversation)
        return await self._plain().__aexit__(*error)

    def _plain(self) -> Any:
        return super()

    def _begin(self, name: str, args: dict[str, Any]) -> Watched:
        return self._watch.begin(self._conversation, self._prefix + name, args, reads=self._tools.get(name))

    async def _again(self, name: str, args: dict[str, Any]) -> Any:
        own = name.removeprefix(self._prefix)
        if self._prefix + own != name or own not in self._tools:
            return NOT_HERE
        return await self._plain().call_tool(own, args)

    async def _learn(self) -> None:
        """Have the server's word on its tools, once and again when it says that they have changed."""
        async with self._listing:
            if self._listed:
                return
            self._listed = True
            with anyio.fail_after(_LIST_SECONDS):
                page = await self.list_tools()
                while cursor := getattr(page, "next_cursor", None) or getattr(page, "nextCursor", None):
                    page = await self.list_tools(**self._page(cursor))

    def _page(self, cursor: str) -> dict[str, Any]:
        return {"params": types.PaginatedRequestParams(cursor=cursor)}

    async def _hear(self, message: Any) -> None:
        notification = getattr(message, "root", message)
        if getattr(notification, "method", None) == "notifications/tools/list_changed":
            self._listed = False
        if self._host_handler:
            await self._host_handler(message)
        else:
            await anyio.lowlevel.checkpoint()  # as the SDK's own handler does


class WaggleSession(_Watching, ClientSession):
    """The SDK's `ClientSession`, of either era, with memory; see `_Watching` for what it takes in addition."""


if hasattr(mcp, "Client"):

    class WaggleClient(_Watching, mcp.Client):
        """The `Client` of 2.x, with memory; see `_Watching` for what it takes in addition."""

        def _page(self, cursor: str) -> dict[str, Any]:
            return {"cursor": cursor}


def _answer(result: Any) -> Result | None:
    """What a result says; nothing of a question, or a task."""
    return taken(result) if getattr(result, "result_type", "complete") == "complete" else None
