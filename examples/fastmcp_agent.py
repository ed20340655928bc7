"""A FastMCP server with memory, and a client that asks it for the same things for every customer.

``pip install 'waggle-stretto[fastmcp]'``. It prints the result in which the next read came along. `WaggleClient` does
the same for a host whose servers know nothing of it.
"""

from __future__ import annotations

import asyncio

from fastmcp import Client, FastMCP

from waggle import Manager, ManagerConfig
from waggle.integrations.fastmcp import WaggleMiddleware

HABIT = [("orders_of", "ada"), ("order", "7"), ("order", "8"), ("ship", "7")] * 6

manager = Manager(ManagerConfig(sweep_calls=1))  # in memory; Manager.for_project() keeps what is learned
server = FastMCP("shop", middleware=[WaggleMiddleware(manager)])


@server.tool(annotations={"readOnlyHint": True})
def orders_of(key: str) -> str:
    """List the orders of a customer."""
    return f"{key} has ordered 7 and 8"


@server.tool(annotations={"readOnlyHint": True})
def order(key: str) -> str:
    """Look at an order."""
    return f"order {key} is packed"


@server.tool
def ship(key: str) -> str:
    """Send an order."""
    return f"order {key} is on its way"


async def main() -> None:
    """Serve the same customer six times in one session."""
    async with Client(server, mode="legacy") as client:
        for tool, key in HABIT:
            result = await client.call_tool(tool, {"key": key})
            more = [block.resource.text for block in result.content if block.type == "resource"]
            if more:
                print(result.data, *more, sep="\n\n")
                return


if __name__ == "__main__":
    asyncio.run(main())
