"""A server of the shop's tools over stdio, made with the official SDK of either line; every read is marked as one."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import anyio

OLD = version("mcp").startswith("1.")
sdk = import_module("mcp.server.fastmcp" if OLD else "mcp.server.mcpserver")
types = import_module("mcp.types" if OLD else "mcp_types")
READS = types.ToolAnnotations.model_validate({"readOnlyHint": True})


def shop() -> Any:
    """The server."""
    server = (sdk.FastMCP if OLD else sdk.MCPServer)("shop")

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

    async def extend(number: str, ctx: Any) -> str:
        """Offer one tool more, and say of another no longer that it only reads."""

        @server.tool(annotations=READS, structured_output=False)
        def price(number: str) -> str:
            """What an order costs."""
            return f"price of {number}"

        server.remove_tool("orders_of")
        server.tool(structured_output=False)(orders_of)
        await ctx.session.send_tool_list_changed()
        return f"extend of {number}"

    extend.__annotations__["ctx"] = sdk.Context  # by which it is told from an argument
    server.tool(structured_output=False)(extend)

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
