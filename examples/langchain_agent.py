"""A LangChain agent that looks up the same things for every customer, with the framework's own fake model.

``pip install 'waggle-stretto[langchain]'``. It prints the result in which the next read came along.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from waggle import Manager, ManagerConfig
from waggle.integrations.langchain import WaggleMiddleware

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


class Model(GenericFakeChatModel):
    """The framework's fake model, which is content with any tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - the framework's own names
        """Take the tools as they are."""
        return self


def main() -> None:
    """Serve the same customer six times in one thread."""
    manager = Manager(ManagerConfig(sweep_calls=1))  # in memory; Manager.for_project() keeps what is learned
    manager.tools.allow("orders_of", "order")
    calls = [{"name": tool, "args": {"key": key}, "id": str(at)} for at, (tool, key) in enumerate(HABIT)]
    model = Model(messages=iter([*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("done")]))
    agent = create_agent(model, tools=[orders_of, order, ship], middleware=[WaggleMiddleware(manager)])
    done = agent.invoke(
        {"messages": [("user", "Serve Ada.")]},
        {"configurable": {"thread_id": "conversation-1"}, "recursion_limit": 200},
    )
    shown = [message.text for message in done["messages"] if isinstance(message, ToolMessage)]
    print(next(text for text in shown if "<waggle-fold>" in text))


if __name__ == "__main__":
    main()
