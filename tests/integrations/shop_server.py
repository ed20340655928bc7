"""A server of the shop's tools over stdio, made with the official SDK of either line; every read says that it is one."""

from __future__ import annotations

from typing import Any

import anyio

try:
    from mcp.server.mcpserver import Context, MCPServer  # 2.x
    from mcp_types import ToolAnnotations

    READS = ToolAnnotations(read_only_hint=True)
except ImportError:
    from mcp.server.fastmcp import Context  # 1.x
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.types import ToolAnnotations

    READS = ToolAnnotations(readOnlyHint=True)


def shop() -> Any:
    """The server."""
    server = MCPServer("shop")

    @server.tool(annotations=READS, structured_output=False)
    def orders_of(who: str) -> str:
        """The orders of a customer."""
        return f"orders_of of {who}"

    @server.tool(annotations=READS, structured_output=False)
    def order(number: str) -> str:
        """One order."""
        return f"order of {number}"

    @server.tool(structured_output=False)
    def ship(number: str) -> str:
        """Send an order."""
        return f"ship of {number}"

    @server.tool(annotations=READS)
    def record(number: str) -> dict[str, str]:
        """One order as a record."""
        return {"record": number}

    @server.tool(structured_output=False)
    async def extend(number: str, ctx: Context) -> str:
        """Offer one tool more."""

        @server.tool(annotations=READS, structured_output=False)
        def price(number: str) -> str:
            """What an order costs."""
            return f"price of {number}"

        await ctx.session.send_tool_list_changed()
        return f"extend of {number}"

    @server.tool(annotations=READS, structured_output=False)
    async def silent(number: str) -> str:
        """Never answer."""
        await anyio.sleep_forever()
        return f"silent of {number}"

    @server.tool(annotations=READS)
    def broken(number: str) -> str:
        """Fail."""
        raise ValueError(number)

    return server


if __name__ == "__main__":
    shop().run()
