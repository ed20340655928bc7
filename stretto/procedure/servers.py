"""MCP servers that a procedure runs against: over stdio or HTTP, through the official SDK's client.

Needs the extra ``mcp`` (2.x of the SDK). Not responsible for what is called.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from stretto.errors import UsageError
from stretto.procedure.contracts import contract_key, listed_contract
from stretto.procedure.exchange import Done
from stretto.procedure.running import done_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from stretto.procedure.exchange import Make
    from stretto.procedure.graph import Contract
    from waggle.jsonvalue import JsonObject

__all__ = ["Server", "Servers", "open_servers"]

_PAGES: Final = 1000  #: of a listing


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is reached.

    Attributes:
        name: as the procedure knows it; empty for the only one.
        command: that starts it, with its arguments; empty for one that is called over HTTP.
        url: of one that is called over HTTP.
        env: its environment beside what the SDK passes on.
        cwd: where it runs.
    """

    name: str = ""
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


@dataclass
class Servers:
    """Servers that are open.

    Attributes:
        contracts: of their tools, by ``server/tool``.
        schemas: of their tools' arguments, by the same.
    """

    contracts: dict[str, Contract] = field(default_factory=dict)
    schemas: dict[str, JsonObject] = field(default_factory=dict)
    clients: dict[str, Any] = field(default_factory=dict)
    seconds: float = 60

    async def call(self, make: Make) -> Done:
        """Make a call at the server it is for; one whose arguments do not fit the tool's schema is not made."""
        from stretto.procedure.conform import misfit  # noqa: PLC0415 - brings jsonschema, of an extra

        name = next(iter(self.clients)) if len(self.clients) == 1 else make.server
        client = self.clients.get(name)
        if client is None:
            return Done(ok=False, output=f"no server {make.server}")
        wrong = misfit(self.schemas.get(contract_key(name, make.tool), {}), make.args)
        if wrong:
            return Done(ok=False, output=f"not called, since its arguments do not fit its schema: {wrong}")
        if make.waits:
            await asyncio.sleep(_POLL_SECONDS)
        result = await client.call_tool(make.tool, dict(make.args), read_timeout_seconds=self.seconds)
        return _done(result)


def _done(result: Any) -> Done:
    """What came of a call: its structured content, else its texts, as JSON where they are some."""
    ok = not result.is_error
    structured = getattr(result, "structured_content", None)
    if structured is not None:
        alone = isinstance(structured, dict) and set(structured) == {"result"}  # how the SDK wraps what is no object
        return done_of(structured["result"] if alone else structured, ok=ok)
    texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
    return done_of("\n".join(texts), ok=ok)


_POLL_SECONDS: Final = 1.0


@asynccontextmanager
async def open_servers(servers: Sequence[Server], *, seconds: float = 60) -> AsyncIterator[Servers]:
    """Open servers and list their tools.

    Args:
        servers: with different names.
        seconds: longest wait for one call.

    Raises:
        UsageError: the SDK is not installed, or a server does not answer.
    """
    try:
        from mcp import Client  # noqa: PLC0415 - an extra
        from mcp.client.stdio import StdioServerParameters  # noqa: PLC0415 - as above
    except ImportError:
        raise UsageError("a server needs the MCP SDK: install waggle-stretto[mcp]") from None
    opened = Servers(seconds=seconds)
    async with AsyncExitStack() as stack:
        for server in servers:
            target: Any = server.url
            if server.command:
                words = [*server.command[1:]]
                target = StdioServerParameters(
                    command=server.command[0], args=words, env=dict(server.env) or None, cwd=server.cwd
                )
            try:
                async with asyncio.timeout(seconds):
                    client = await stack.enter_async_context(Client(target))
                    opened.clients[server.name] = client
                    await _list(opened, server.name, client)
            except TimeoutError:
                said = server.url or " ".join(server.command)
                raise UsageError(f"{said}: does not answer as a server within {seconds:g} s") from None
        yield opened


async def _list(opened: Servers, name: str, client: Any) -> None:
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            plain: Any = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            key = contract_key(name, tool.name)
            opened.contracts[key] = listed_contract(plain)
            opened.schemas[key] = plain.get("inputSchema") or {}
        cursor = getattr(page, "next_cursor", None)
        if not cursor:
            return
