"""A scripted agent that does what customers ask of a shop, and records each session as a canonical trace.

``python examples/clerk_agent.py FIRST-LAST FILE COMMAND...`` starts the server with the command for one customer after
the other, does the customer's task, and adds the session to the file. It works as agents do: it looks at more than it
needs, and now and then a call fails and is made again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripted_agent import CUSTOMERS  # type: ignore[import-not-found]  # beside this file

REASONS = ("no longer needed", "ordered by mistake")


class Server:
    """An MCP server over its standard input and output, whose calls are written down."""

    def __init__(self, command: list[str], request: str) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the user's own command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.events: list[dict[str, Any]] = [{"type": "user", "text": request}]
        self.requests = 0
        client = {"name": "clerk-agent", "version": "1"}
        self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send({"method": "notifications/initialized"})
        listed = self.request("tools/list")["tools"]
        self.tools = {
            tool["name"]: {"kind": "read" if tool["annotations"]["readOnlyHint"] else "write"} for tool in listed
        }

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its result."""
        assert self.process.stdout is not None  # noqa: S101 - a pipe
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        while (said := json.loads(self.process.stdout.readline())).get("id") != self.requests:
            pass
        result: dict[str, Any] = said["result"]
        return result

    def call(self, tool: str, **args: Any) -> str:
        """Call a tool; its text."""
        name = f"c{len(self.events)}"
        turn = sum(event["type"] == "call" for event in self.events)
        self.events.append({"type": "call", "id": name, "turn": turn, "tool": tool, "args": args})
        result = self.request("tools/call", name=tool, arguments=args)
        text = "\n".join(block["text"] for block in result["content"])
        self.events.append({"type": "result", "id": name, "ok": not result.get("isError", False), "content": text})
        return text

    def say(self, text: str) -> None:
        """Answer the customer."""
        self.events.append({"type": "assistant", "text": text})

    def record(self, path: str, **about: str) -> None:
        """End the session, and add it to a file.

        Args:
            path: of the file; one canonical trace a line.
            about: which session it is: ``session``, ``source``, ``agent``, ``domain``, ``task``.
        """
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        self.process.stdin.close()
        self.process.wait()
        trace = {**about, "success": True, "tools": self.tools, "events": self.events}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(trace) + "\n")


def cancel(server: Server, number: int, email: str, reason: str) -> None:
    """Cancel the order that is pending."""
    if number % 4 == 1:  # a typing error, and the same once more
        server.call("find_user_id_by_email", email=email.replace("@", "@@"))
    user = server.call("find_user_id_by_email", email=email)
    if number % 3 == 0:  # a look that nothing needs
        server.call("get_user_details", user_id=user)
    orders = json.loads(server.call("list_orders", user_id=user))["orders"]
    pending = next(order["order_id"] for order in orders if order["status"] == "pending")
    done = json.loads(server.call("cancel_order", order_id=pending, reason=reason))
    server.say(f"Order {done['order_id']} is cancelled.")


def main(numbers: str, path: str, *command: str) -> int:
    """Work for some of the customers."""
    first, last = (int(number) for number in numbers.split("-"))
    for number in range(first, last + 1):
        email, reason = f"{CUSTOMERS[number - 1]}@example.com", REASONS[number % 2]
        server = Server([*command], f"Please cancel the order I have just placed, it was {reason}. I am {email}")
        cancel(server, number, email, reason)
        server.record(
            path,
            session=f"clerk-{number:02}",
            source="examples/clerk_agent.py",
            agent="clerk-agent/scripted",
            domain="shop",
            task=f"cancel-{number:02}",
        )
        print(f"{email}: {sum(event['type'] == 'call' for event in server.events)} calls")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:  # noqa: PLR2004 - three words at least
        print(__doc__)
        sys.exit()
    sys.exit(main(*sys.argv[1:]))
