"""A scripted agent with one habit, working on one subject after the other, an MCP session each.

``python examples/scripted_agent.py [WORK FIRST-LAST [COMMAND...]]`` starts the server with the command, or the proxy in
front of it; the agent cannot tell them apart. A call whose result came with an earlier one is not made: that turn is
saved.

Of the kinds of work, ``shop`` is done with ``stretto-mcp-demo``: find a customer, read the customer's details and
every order, and cancel what is still pending. So is ``cancel``, with ``stretto-proxy --commit`` in front of it: read
the orders up to the first that is pending, and cancel that one and all after it in one call. ``offices`` is the work of
the shop with two such servers, ``people`` for customers and ``orders`` for orders; in the command, the word NAME stands
for the server's. ``notes`` is done with a server that reads files: search those of one day in the directory ``notes``,
and read them all.
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
#: are taken for ones that were decided together, which `promote` does not count. In the shop nobody has to wait, and
#: between the offices only for as long as the clocks of two recordings may differ.
THINKING = {"shop": 0.0, "cancel": 0.0, "offices": 0.1, "notes": 0.6}

#: A lookup in the text that the proxy adds, in either form: the tool, its server where it is another one, its
#: arguments, and what it returned.
LOOKED_UP = re.compile(r"^(?:<waggle-lookup>)?(\w+)(?: \(server (\w+)\))? (\{.*\}):?\n(.*)$", re.MULTILINE)


class Work:
    """What is done for one subject, over however many sessions: what is known, and what it took."""

    def __init__(self, thinking: float) -> None:
        self.thinking = thinking
        self.turns = 0
        self.known: dict[tuple[str, str, str], str] = {}
        self.used: list[str] = []


class Session:
    """An MCP session over the standard input and output of a server."""

    def __init__(self, command: list[str], work: Work, name: str = "") -> None:
        self.server = subprocess.Popen(  # noqa: S603 - the user's own command
            [name if word == "NAME" else word for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.work = work
        self.name = name
        self.requests = 0
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
        work, wanted = self.work, (self.name, tool, json.dumps(arguments))
        if wanted in work.known:
            work.used.append(tool)
            return work.known[wanted]
        work.turns += 1
        if work.turns > 1:
            time.sleep(work.thinking)
        first, *more = self.request("tools/call", name=tool, arguments=arguments)["content"]
        for block in more:
            for name, server, given, found in LOOKED_UP.findall(block.get("resource", block)["text"]):
                work.known[server or self.name, name, json.dumps(json.loads(given))] = found
        return str(first["text"])

    def close(self) -> None:
        """End the session."""
        self.server.communicate(timeout=10)


def serve(customer: str, people: Session, orders: Session) -> None:
    """What this agent does for every customer."""
    user_id = people.call("find_user_id_by_email", email=f"{customer}@example.com")
    user = json.loads(people.call("get_user_details", user_id=user_id))
    found = [json.loads(orders.call("get_order_details", order_id=order_id)) for order_id in user["orders"]]
    for order in found:
        if order["status"] == "pending":
            orders.call("cancel_order", order_id=order["order_id"], reason="no longer needed")


def cancel(customer: str, shop: Session) -> None:
    """Cancel a customer's orders from the first pending one on, all at once, and print what the proxy says."""
    user_id = shop.call("find_user_id_by_email", email=f"{customer}@example.com")
    orders = json.loads(shop.call("get_user_details", user_id=user_id))["orders"]
    while json.loads(shop.call("get_order_details", order_id=orders[0]))["status"] != "pending":
        orders.pop(0)
    calls = [
        {"name": "cancel_order", "arguments": {"order_id": order, "reason": "no longer needed"}} for order in orders
    ]
    shop.work.turns += 1
    print(shop.request("tools/call", name="stretto_commit", arguments={"calls": calls})["content"][0]["text"])


def read_up(day: str, notes: Session) -> None:
    """What it does for every day."""
    found = notes.call("search_files", path=str(Path("notes").resolve()), pattern=f"**/{day}.md")
    for path in found.splitlines():
        notes.call("read_text_file", path=path)


def main() -> None:
    """Do the work, and say what each subject took."""
    kind, numbers, *command = sys.argv[1:] or ("shop", f"1-{len(CUSTOMERS)}")
    first, last = map(int, numbers.split("-"))
    turns = saved = 0
    for subject in (DAYS if kind == "notes" else CUSTOMERS)[first - 1 : last]:
        work = Work(THINKING[kind])
        names = ("people", "orders") if kind == "offices" else ("",)
        sessions = [Session(command or [sys.executable, "-m", "stretto.proxy.demo_server"], work, n) for n in names]
        if kind == "notes":
            read_up(subject, *sessions)
        elif kind == "cancel":
            cancel(subject, *sessions)
        else:
            serve(subject, sessions[0], sessions[-1])
        for session in sessions:
            session.close()
        ahead = f", {len(work.used)} more were there already: {', '.join(work.used)}" if work.used else ""
        print(f"{subject}: {work.turns} calls{ahead}")
        turns, saved = turns + work.turns, saved + len(work.used)
    print(f"{turns} calls, {saved} saved")


if __name__ == "__main__":
    main()
