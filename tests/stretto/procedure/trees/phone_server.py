"""The phone company of `benchmarks.tree_world` as an MCP server; what is written goes into a file, a line each.

``python phone_server.py TASK FILE``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # a server is started anywhere

from mcp.server import MCPServer

from benchmarks.tree_world import World

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

server = MCPServer("phone")
world = World(int(sys.argv[1]))
book = Path(sys.argv[2])


def called(tool: str, **arguments: Any) -> str:
    given: JsonObject = arguments
    done = world.call(tool, given)
    with book.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(each)}\n" for each in world.written)
    world.written.clear()
    if not done.ok:
        raise ValueError(done.output)
    return done.output if isinstance(done.output, str) else json.dumps(done.output)


@server.tool()
def check_status() -> str:
    return called("check_status")


@server.tool()
def get_customer(phone_number: str) -> str:
    return called("get_customer", phone_number=phone_number)


@server.tool()
def get_line(line_id: str) -> str:
    return called("get_line", line_id=line_id)


@server.tool()
def get_bills(customer_id: str) -> str:
    return called("get_bills", customer_id=customer_id)


@server.tool()
def pay_bill(bill_id: str) -> str:
    return called("pay_bill", bill_id=bill_id)


@server.tool()
def resume_line(line_id: str) -> str:
    return called("resume_line", line_id=line_id)


@server.tool()
def enable_roaming(line_id: str) -> str:
    return called("enable_roaming", line_id=line_id)


@server.tool()
def refuel(line_id: str, gb: int) -> str:
    return called("refuel", line_id=line_id, gb=gb)


@server.tool()
def transfer(summary: str) -> str:
    return called("transfer", summary=summary)


if __name__ == "__main__":
    server.run()
