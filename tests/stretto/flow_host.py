"""A host with the shop's tools and a manager that serves a flow, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.replayer import flow_strategy, hint_tools
from tests.stretto.shop import ORDERS, answer, shop_flow
from waggle import Call, Manager, Result, Store, ToolTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.flow.model import Flow

FIND = Call("find_user", {"email": "ada@example.com"})
ALL_ORDERS = [("get_order", {"order_id": name}) for name in ORDERS]
EVERYTHING = [("get_user", {"user_id": "u1"}), *ALL_ORDERS]


def table(flow: Flow | None = None) -> ToolTable:
    made = ToolTable()
    hint_tools(made, (flow or shop_flow()).manifest)
    return made


class Host:
    """A host with the shop's tools, whose lookups are noted."""

    def __init__(self, manager: Manager, tools: Callable[[str, Any], Result] = answer) -> None:
        self.manager = manager
        self.tools = tools
        self.asked: list[tuple[str, Any]] = []

    def run(self, tool: str, args: dict[str, Any]) -> Result:
        self.asked.append((tool, args))
        return self.tools(tool, args)

    def call(self, call: Call, result: Result | None = None) -> list[tuple[str, Any]]:
        """A call of the agent and what follows it; gives the lookups folded into its result."""
        self.manager.observe(call, result or self.tools(call.tool, dict(call.args)))
        fold = self.manager.follow(self.run)
        return [(one.tool, one.args) for one in fold.lookups] if fold else []


def serve(flow: Flow | None = None, *, store: Store | None = None, **options: Any) -> Host:
    flow = flow or shop_flow()
    tools, config = options.pop("tools", None) or table(flow), options.pop("config", None)
    routes = options.pop("routes", ())
    strategy = flow_strategy(flow, tools=tools, **options)
    return Host(Manager(config, store=store, strategies=[strategy], tools=tools, routes=routes))
