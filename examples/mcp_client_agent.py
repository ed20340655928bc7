"""A client of an MCP server with procedure memory: it looks up the same two orders again and again, then ships one.

`pip install 'waggle-stretto[mcp]'`, then run it anywhere. It prints the last round as a model would see it: the second
order is there before it is asked for.
"""

from __future__ import annotations

import asyncio

from mcp.server.mcpserver import MCPServer
from mcp_types import TextContent, ToolAnnotations

from waggle import Manager, ManagerConfig
from waggle.integrations.mcp_client import WaggleClient

ROUND: list[tuple[str, dict[str, str]]] = [
    ("order", {"number": "7"}),
    ("customer", {"name": "ada"}),
    ("order", {"number": "8"}),
    ("ship", {"number": "7"}),
]
READS = ToolAnnotations(read_only_hint=True)
server = MCPServer("shop")


@server.tool(annotations=READS, structured_output=False)
def order(number: str) -> str:
    """Look up an order."""
    return f"order {number}: two lamps"


@server.tool(annotations=READS, structured_output=False)
def customer(name: str) -> str:
    """Look up a customer."""
    return f"customer {name}: pays in time"


@server.tool(structured_output=False)
def ship(number: str) -> str:
    """Send an order."""
    return f"order {number} is on its way"


async def main() -> None:
    """Learn in one conversation; a `Manager.for_project()` would remember it for the next."""
    manager = Manager(ManagerConfig(sweep_calls=1))
    async with WaggleClient(server, manager=manager) as client:  # a URL or a command would do as well
        shown = [await client.call_tool(name, arguments) for name, arguments in ROUND * 6]
    for result in shown[-4:]:
        print("\n".join(block.text for block in result.content if isinstance(block, TextContent)), end="\n\n")


if __name__ == "__main__":
    asyncio.run(main())
