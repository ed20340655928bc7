"""LangGraph over a real MCP server; runs where LangChain's tests do."""

from __future__ import annotations

from tests.integrations.routines import check_example


def test_a_graph_finds_the_next_read_of_a_real_server_in_a_result_of_its() -> None:
    check_example("langgraph_mcp_agent.py")
