"""Microsoft Agent Framework with procedure memory: a scripted model looks up the same orders again and again.

`pip install 'waggle-stretto[agent-framework]'`, then run it anywhere. It prints the last round as the model saw it: the
second order is there before it is asked for.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

from waggle import Manager, ManagerConfig
from waggle.integrations.agent_framework import WaggleMiddleware

ROUND: list[tuple[str, dict[str, str]]] = [
    ("order", {"number": "7"}),
    ("customer", {"name": "ada"}),
    ("order", {"number": "8"}),
    ("ship", {"number": "7"}),
]


@tool(approval_mode="never_require", additional_properties={"read_only": True})
def order(number: str) -> str:
    """Look up an order."""
    return f"order {number}: two lamps"


@tool(approval_mode="never_require", additional_properties={"read_only": True})
def customer(name: str) -> str:
    """Look up a customer."""
    return f"customer {name}: pays in time"


@tool(approval_mode="never_require")
def ship(number: str) -> str:
    """Send an order."""
    return f"order {number} is on its way"


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Stands for a language model: asks for one call after the other, and keeps what it is shown."""

    def __init__(self, calls: list[tuple[str, dict[str, str]]]) -> None:
        super().__init__()
        self.calls = list(enumerate(calls))
        self.shown: list[str] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:  # noqa: ARG002 - the framework's names
        async def reply() -> ChatResponse:
            results = [one for message in messages for one in message.contents if one.type == "function_result"]
            self.shown = [str(one.result) for one in results]
            content = Content.from_text("done")
            if self.calls:
                one, (name, args) = self.calls.pop(0)
                content = Content.from_function_call(call_id=f"call-{one}", name=name, arguments=args)
            return ChatResponse(messages=[Message(role="assistant", contents=[content])])

        return reply()


def main() -> None:
    """Learn in one conversation; a `Manager.for_project()` would remember it for the next."""
    manager = Manager(ManagerConfig(sweep_calls=1))
    client = Scripted(ROUND * 6)
    agent = Agent(client=client, tools=[order, customer, ship], middleware=[WaggleMiddleware(manager)])
    asyncio.run(agent.run("send the orders"))
    print("\n\n".join(client.shown[-4:]))


if __name__ == "__main__":
    main()
