"""A session of the shop as a speculator serves it, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.sessions.episode import ToolCall
from stretto.speculator import Prepared, Speculator
from tests.stretto.shop import answer
from waggle import Result, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.flow.model import Flow


class Served:
    """A session in the shop, with its lookups made and its log."""

    def __init__(self, flow: Flow | Prepared, tools: Callable[[str, Any], Result] = answer, **options: Any) -> None:
        self.lines: list[Any] = []
        self.tools = tools
        self.speculator = Speculator(flow, on_line=self.lines.append, clock=lambda: 0.0, **options)
        self.number = 0

    def call(self, tool: str, result: Result | None = None, **arguments: Any) -> list[tuple[str, Any]]:
        """A turn of one call; gives the lookups made after it."""
        self.number += 1
        name = f"c{self.number}"
        self.speculator.turn()
        self.speculator.call(ToolCall(name, tool, arguments))
        result = result or self.tools(tool, arguments)
        self.speculator.result(name, error=not result.ok, content=result.text)
        self.speculator.begin(name)
        return self.follow()

    def follow(self) -> list[tuple[str, Any]]:
        made: list[tuple[str, Any]] = []
        while lookup := self.speculator.next():
            made.append((lookup.tool, lookup.args))
            self.speculator.settle(self.tools(lookup.tool, lookup.args))
        return made

    @property
    def decisions(self) -> list[Any]:
        return [line for line in self.lines if "action" in line]

    @property
    def runs(self) -> list[Any]:
        return [line["run"] for line in self.lines if "run" in line]


def orders_of(count: int) -> Callable[[str, Any], Result]:
    """A shop whose user has so many orders."""

    def tools(tool: str, arguments: Any) -> Result:
        if tool == "get_user":
            return Result(jsonvalue.dumps({"orders": [f"#W{n}" for n in range(count)]}).decode())
        return Result("{}") if tool == "get_order" else answer(tool, arguments)

    return tools
