"""A LangGraph agent over a real MCP server, ``stretto-mcp-demo``: customers and their orders, over standard input.

``pip install 'waggle-stretto[langchain]' langchain-mcp-adapters``. The server says which of its tools only read;
nothing else is said of them. It prints the result in which the next read came along.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from waggle import Manager, ManagerConfig
from waggle.integrations.langchain import tool_wrappers

HABIT = [
    ("find_user_id_by_email", {"email": "ada.lovelace@example.com"}),
    ("get_user_details", {"user_id": "ada_lovelace_1000"}),
    ("get_order_details", {"order_id": "#W1000"}),
    ("cancel_order", {"order_id": "#W9999", "reason": "no longer needed"}),
] * 6


def model(state: Any) -> dict[str, Any]:
    """Ask for the calls of the habit, one after the other; a real model would stand here."""
    made = sum(isinstance(message, ToolMessage) for message in state["messages"])
    if made == len(HABIT):
        return {"messages": [AIMessage("done")]}
    tool, args = HABIT[made]
    return {"messages": [AIMessage("", tool_calls=[{"name": tool, "args": args, "id": str(made)}])]}


async def main() -> None:
    """Serve the same customer six times in one thread."""
    server = {"transport": "stdio", "command": sys.executable, "args": ["-m", "stretto.proxy.demo_server"]}
    client = MultiServerMCPClient({"shop": server})  # type: ignore[dict-item]  # a plain dictionary does
    manager = Manager(ManagerConfig(sweep_calls=1))  # in memory; Manager.for_project() keeps what is learned
    async with client.session("shop") as session:
        tools = await load_mcp_tools(session)
        graph = StateGraph(MessagesState)
        graph.add_node("model", model)
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=True, **tool_wrappers(manager)))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        done = await graph.compile().ainvoke(
            {"messages": [("user", "Serve Ada.")]},
            {"configurable": {"thread_id": "conversation-1"}, "recursion_limit": 200},
        )
    shown = [message.text for message in done["messages"] if isinstance(message, ToolMessage)]
    print(next(text for text in shown if "<waggle-fold>" in text))


if __name__ == "__main__":
    asyncio.run(main())
