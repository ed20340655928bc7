"""smolagents with procedure memory: a scripted model looks up the same two orders again and again, then ships one.

`pip install 'waggle-stretto[smolagents]'`, then run it anywhere. It prints the last round as the model saw it: the
second order is there before it is asked for.
"""

from __future__ import annotations

from typing import Any

from smolagents import Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from waggle import Manager, ManagerConfig
from waggle.integrations.smolagents import watch_agent

ROUND: list[tuple[str, dict[str, str]]] = [
    ("order", {"number": "7"}),
    ("customer", {"name": "ada"}),
    ("order", {"number": "8"}),
    ("ship", {"number": "7"}),
]


@tool
def order(number: str) -> str:
    """Look up an order.

    Args:
        number: its number
    """
    return f"order {number}: two lamps"


@tool
def customer(name: str) -> str:
    """Look up a customer.

    Args:
        name: how they are called
    """
    return f"customer {name}: pays in time"


@tool
def ship(number: str) -> str:
    """Send an order.

    Args:
        number: its number
    """
    return f"order {number} is on its way"


class Scripted(Model):
    """Stands for a language model: asks for one call after the other, and keeps what it is shown."""

    def __init__(self, calls: list[tuple[str, dict[str, str]]]) -> None:
        super().__init__(model_id="scripted")
        self.calls = iter([*calls, ("final_answer", {"answer": "done"})])
        self.shown: list[str] = []

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        """Ask for the next call."""
        self.shown.append(messages[-1].content[0]["text"])
        name, arguments = next(self.calls)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call-{len(self.shown)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def main() -> None:
    """Learn in one conversation; a `Manager.for_project()` would remember it for the next."""
    manager = Manager(ManagerConfig(sweep_calls=1))
    manager.tools.allow("order", "customer")  # the user's word that these only read
    model = Scripted(ROUND * 6)
    agent = ToolCallingAgent(tools=[order, customer, ship], model=model, verbosity_level=0, max_steps=30)
    watch_agent(agent, manager).run("send the orders")
    print("\n\n".join(model.shown[-4:]))


if __name__ == "__main__":
    main()
