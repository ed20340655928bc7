"""Strands with procedure memory: a scripted model looks up the same two orders again and again, then ships one.

`pip install 'waggle-stretto[strands]'`, then run it anywhere. It prints the last round as the model saw it: the second
order is there before it is asked for.
"""

from __future__ import annotations

import json
from typing import Any

from strands import Agent, tool
from strands.models import Model

from waggle import Manager, ManagerConfig
from waggle.integrations.strands import WaggleHooks

ROUND: list[tuple[str, dict[str, str]]] = [
    ("order", {"number": "7"}),
    ("customer", {"name": "ada"}),
    ("order", {"number": "8"}),
    ("ship", {"number": "7"}),
]


@tool
def order(number: str) -> str:
    """Look up an order."""
    return f"order {number}: two lamps"


@tool
def customer(name: str) -> str:
    """Look up a customer."""
    return f"customer {name}: pays in time"


@tool
def ship(number: str) -> str:
    """Send an order."""
    return f"order {number} is on its way"


class Scripted(Model):
    """Stands for a language model: asks for one call after the other, and keeps what it is shown."""

    def __init__(self, calls: list[tuple[str, dict[str, str]]]) -> None:
        self.calls = list(enumerate(calls))
        self.shown: list[str] = []

    def update_config(self, **_: Any) -> None:
        """It has no configuration."""

    def get_config(self) -> dict[str, Any]:
        """It has no configuration."""
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        """It has none."""
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Ask for the next call, or say that all is done."""
        blocks = [block["toolResult"]["content"] for block in messages[-1]["content"] if "toolResult" in block]
        self.shown += ["\n".join(each["text"] for each in content) for content in blocks]
        yield {"messageStart": {"role": "assistant"}}
        if self.calls:
            one, (name, args) = self.calls.pop(0)
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call-{one}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
            stop = "tool_use"
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            stop = "end_turn"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}


def main() -> None:
    """Learn in one conversation; a `Manager.for_project()` would remember it for the next."""
    manager = Manager(ManagerConfig(sweep_calls=1))
    manager.tools.allow("order", "customer")  # the user's word that these only read
    model = Scripted(ROUND * 6)
    agent = Agent(model=model, tools=[order, customer, ship], hooks=[WaggleHooks(manager)], callback_handler=None)
    agent("send the orders")
    print("\n\n".join(model.shown[-4:]))


if __name__ == "__main__":
    main()
