"""A scripted agent that cancels orders by their numbers, and records each session as a canonical trace.

``python examples/desk_agent.py FIRST-LAST FILE COMMAND...`` starts the server with the command for each order, twice:
customers word their wish in two ways. What can no longer be cancelled it leaves as it is. Nobody speaks after the
ticket, so that all it does follows from the ticket and from results.
"""

from __future__ import annotations

import json
import sys

from clerk_agent import REASONS, Server  # type: ignore[import-not-found]  # beside this file

WORDINGS = ("Please cancel order {order}: {reason}.", "Order {order} was {reason}, so cancel it.")


def main(numbers: str, path: str, *command: str) -> int:
    """Work on some of the orders."""
    first, last = (int(number) for number in numbers.split("-"))
    cancelled = 0
    for number in range(first, last + 1):
        order, reason = f"#W{number}", REASONS[number // 2 % 2]
        for trial, wording in enumerate(WORDINGS):
            server = Server([*command], wording.format(order=order, reason=reason))
            found = json.loads(server.call("get_order_details", order_id=order))
            if found["status"] == "pending":
                server.call("cancel_order", order_id=found["order_id"], reason=reason)
                cancelled += 1
                server.say(f"Order {order} is cancelled.")
            else:
                server.say(f"Order {order} is {found['status']}.")
            server.record(
                path,
                session=f"desk-{number}-{trial}",
                source="examples/desk_agent.py",
                agent="desk-agent/scripted",
                domain="shop",
                task=f"cancel-{number}",
            )
    print(f"{len(WORDINGS) * (last + 1 - first)} sessions, in {cancelled} of them the order was cancelled")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:  # noqa: PLR2004 - three words at least
        print(__doc__)
        sys.exit()
    sys.exit(main(*sys.argv[1:]))
