"""A project's memory at work between a host and a server that are the test itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from stretto.proxy.serving.memory import Memory, tool_table
from tests.stretto.proxy.proxy_support import LISTED, Bench, call, returned, shop_answer
from waggle import Manager, ManagerConfig, Route, Store
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WAIT_S = 5.0


def reads(*orders: str, server: str = "") -> tuple[RouteStep, ...]:
    prefix = f"{server}::" if server else ""
    return tuple(RouteStep(f"{prefix}get_order", {"order_id": order}) for order in orders)


#: After two orders, the third.
ROUTE = Route("look-around", reads("#W1", "#W2", "#W3"))


def memory_of(place: Path, *routes: Route, server: str = "", **knobs: Any) -> Memory:
    """The memory of a project at a place."""
    store = Store(place / "skills", place / "ledger.jsonl")
    config = ManagerConfig(**({"sweep_calls": 1} | knobs))
    return Memory(Manager(config, store=store, routes=routes, tools=tool_table(server)), server)


class Shop(Bench):
    """A bench in which the server is the shop of the tests, and answers at once whatever it is asked."""

    def __init__(
        self, memory: Memory, flow: Any = None, *, session: str = "one", listed: bool = True, **options: Any
    ) -> None:
        super().__init__(flow, memory=memory, session=session, **options)
        self.memory = memory
        self.number = 0
        self.answer_lookups()
        if listed:
            self.list_tools()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.serving._session._thread.join(WAIT_S)
        assert not self.serving._session._thread.is_alive()

    def done(self) -> None:
        """Wait until everything that has happened is taken in."""
        reached = threading.Event()
        self.serving._session.post(reached.set)
        assert reached.wait(WAIT_S)

    def list_tools(self, tools: Sequence[Any] = LISTED) -> None:
        """The host asks what there is."""
        self.number += 1
        self.host_says({"jsonrpc": "2.0", "id": self.number, "method": "tools/list"})
        self.server_says({"jsonrpc": "2.0", "id": self.number, "result": {"tools": list(tools)}})

    def ask(self, tool: str, **arguments: Any) -> str:
        """A call of the agent, answered: everything the host gets, or nothing when its answer passed as it was."""
        self.number += 1
        before = len(self.host)
        request = call(self.number, tool, arguments)
        self.host_says(request)
        answer = shop_answer(request) if tool.startswith(("find", "get")) else returned(self.number, "done")
        self.server_says(answer)
        message = self.got(before + 1)
        return "\n".join(item["text"] for item in message["result"]["content"][1:])

    def orders(self, *names: str) -> list[str]:
        """Calls for these orders, one after another: what came with each."""
        return [self.ask("get_order", order_id=name) for name in names]
