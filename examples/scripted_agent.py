"""A scripted agent with one habit, working on one subject after the other, an MCP session each.

``python examples/scripted_agent.py [WORK FIRST-LAST [COMMAND...]]`` starts the server with the command, or the proxy in
front of it; the agent cannot tell them apart. A call whose result came with an earlier one is not made: that turn is
saved.

Of the kinds of work, ``shop`` is done with ``stretto-mcp-demo``: find a customer, read the customer's details and
every order, and cancel what is still pending. So is ``cancel``, with ``stretto-proxy --commit`` in front of it: read
the orders up to the first that is pending, and cancel that one and all after it in one call. ``notes`` is done with a
server that reads files: search those of one day in the directory ``notes``, and read them all.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CUSTOMERS = (
    "ada.lovelace",
    "alan.turing",
    "barbara.liskov",
    "claude.shannon",
    "donald.knuth",
    "edsger.dijkstra",
    "frances.allen",
    "grace.hopper",
    "hedy.lamarr",
    "john.backus",
    "katherine.johnson",
    "margaret.hamilton",
)
DAYS = tuple(f"{day:02}" for day in range(1, 31))

#: Seconds of thought between a result and the next call. A model takes longer; calls that follow within half a second
#: are taken for ones that were decided together, which `promote` does not count. In the shop nobody has to wait.
THINKING = {"shop": 0.0, "cancel": 0.0, "notes": 0.6}

#: A lookup in the text that the proxy adds, in either form: the tool, its arguments, and what it returned.
LOOKED_UP = re.compile(r"^(?:<waggle-lookup>)?(\w+) (\{.*\}):?\n(.*)$", re.MULTILINE)


class Session:
    """An MCP session over the standard input and output of a server."""

    def __init__(self, command: list[str], thinking: float) -> None:
        self.server = subprocess.Popen(  # noqa: S603 - the user's own command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.thinking = thinking
        self.requests = 0
        self.turns = 0
        self.known: dict[str, str] = {}
        self.used: list[str] = []
        client = {"name": "scripted-agent", "version": "1"}
        self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send({"method": "notifications/initialized"})
        self.request("tools/list")

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self.server.stdin  # noqa: S101 - it is a pipe
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def request(self, method: str, **params: Any) -> Any:
        """Send a request and wait for its answer: nothing else is under way."""
        assert self.server.stdout  # noqa: S101 - it is a pipe
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        return json.loads(self.server.stdout.readline())["result"]

    def call(self, tool: str, **arguments: str) -> str:
        """The text of a tool's result: from an earlier result if it was there, otherwise for a turn."""
        wanted = f"{tool} {json.dumps(arguments)}"
        if wanted in self.known:
            self.used.append(tool)
            return self.known[wanted]
        self.turns += 1
        if self.turns > 1:
            time.sleep(self.thinking)
        first, *more = self.request("tools/call", name=tool, arguments=arguments)["content"]
        for block in more:
            for name, given, found in LOOKED_UP.findall(block.get("resource", block)["text"]):
                self.known[f"{name} {json.dumps(json.loads(given))}"] = found
        return str(first["text"])

    def close(self) -> None:
        """End the session."""
        self.server.communicate(timeout=10)


def serve(session: Session, customer: str) -> None:
    """What this agent does for every customer."""
    user_id = session.call("find_user_id_by_email", email=f"{customer}@example.com")
    user = json.loads(session.call("get_user_details", user_id=user_id))
    orders = [json.loads(session.call("get_order_details", order_id=order_id)) for order_id in user["orders"]]
    for order in orders:
        if order["status"] == "pending":
            session.call("cancel_order", order_id=order["order_id"], reason="no longer needed")


def cancel(session: Session, customer: str) -> None:
    """Cancel a customer's orders from the first pending one on, all at once, and print what the proxy says."""
    user_id = session.call("find_user_id_by_email", email=f"{customer}@example.com")
    orders = json.loads(session.call("get_user_details", user_id=user_id))["orders"]
    while json.loads(session.call("get_order_details", order_id=orders[0]))["status"] != "pending":
        orders.pop(0)
    calls = [
        {"name": "cancel_order", "arguments": {"order_id": order, "reason": "no longer needed"}} for order in orders
    ]
    session.turns += 1
    print(session.request("tools/call", name="stretto_commit", arguments={"calls": calls})["content"][0]["text"])


def read_up(session: Session, day: str) -> None:
    """What it does for every day."""
    found = session.call("search_files", path=str(Path("notes").resolve()), pattern=f"**/{day}.md")
    for path in found.splitlines():
        session.call("read_text_file", path=path)


def main() -> None:
    """Do the work, and say what each subject took."""
    work, numbers, *command = sys.argv[1:] or ("shop", f"1-{len(CUSTOMERS)}")
    subjects, do = {"shop": (CUSTOMERS, serve), "cancel": (CUSTOMERS, cancel), "notes": (DAYS, read_up)}[work]
    first, last = map(int, numbers.split("-"))
    turns = saved = 0
    for subject in subjects[first - 1 : last]:
        session = Session(command or [sys.executable, "-m", "stretto.proxy.demo_server"], THINKING[work])
        do(session, subject)
        session.close()
        ahead = f", {len(session.used)} more were there already: {', '.join(session.used)}" if session.used else ""
        print(f"{subject}: {session.turns} calls{ahead}")
        turns, saved = turns + session.turns, saved + len(session.used)
    print(f"{turns} calls, {saved} saved")


if __name__ == "__main__":
    main()
