"""A Pydantic AI agent that looks up the same things for every customer, with the framework's own fake model.

``pip install 'waggle-stretto[pydantic-ai]'``. It prints the result in which the next read came along. A real model
stands where `FunctionModel` does.
"""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from waggle import Manager, ManagerConfig
from waggle.integrations.pydantic_ai import WaggleCapability

HABIT = [("orders_of", "ada"), ("order", "7"), ("order", "8"), ("ship", "7")] * 6


def orders_of(key: str) -> str:
    """List the orders of a customer."""
    return f"{key} has ordered 7 and 8"


def order(key: str) -> str:
    """Look at an order."""
    return f"order {key} is packed"


def ship(key: str) -> str:
    """Send an order."""
    return f"order {key} is on its way"


def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Ask for the calls of the habit, one after the other."""
    made = sum(isinstance(message, ModelResponse) for message in messages)
    if made == len(HABIT):
        return ModelResponse(parts=[TextPart("done")])
    tool, key = HABIT[made]
    return ModelResponse(parts=[ToolCallPart(tool, {"key": key})])


def main() -> None:
    """Serve the same customer six times in one conversation."""
    manager = Manager(ManagerConfig(sweep_calls=1))  # in memory; Manager.for_project() keeps what is learned
    manager.tools.allow("orders_of", "order")
    agent = Agent(FunctionModel(model), tools=[orders_of, order, ship], capabilities=[WaggleCapability(manager)])
    done = agent.run_sync("Serve Ada.", conversation_id="conversation-1")
    shown = [
        str(part.content)
        for message in done.all_messages()
        for part in message.parts
        if part.part_kind == "tool-return"
    ]
    print(next(text for text in shown if "<waggle-fold>" in text))


if __name__ == "__main__":
    main()
