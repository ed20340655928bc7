"""An MCP server whose one tool writes a line into a file; where a file ``hangs`` lies beside, it never answers."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("ledger")
book = Path(sys.argv[1])


@server.tool()
def post(entry: str) -> str:
    with book.open("a", encoding="utf-8") as file:
        file.write(entry + "\n")
    while entry == "second" and (book.parent / "hangs").exists():
        time.sleep(0.05)
    return f"posted {entry}"


if __name__ == "__main__":
    server.run()
