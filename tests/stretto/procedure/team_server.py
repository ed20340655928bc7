"""An MCP server of a team, which books in its name; every call is written into a file."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("org")
calls = Path(sys.argv[1])


def made(line: str) -> None:
    with calls.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@server.tool()
def get_team(of: str) -> dict[str, str]:
    made(f"get_team {of}")
    return {"team_id": "T-99"}


@server.tool()
def book(team: str, seats: int) -> str:
    made(f"book {team} {seats}")
    return f"booked {seats}"


if __name__ == "__main__":
    server.run()
