"""LangChain and LangGraph: `WaggleMiddleware` for ``create_agent``, and `tool_wrappers` for a graph's ``ToolNode``.

Both do the same, in sync and async code. A conversation is a thread; without one, it is told by its first message.

Not responsible for results that are commands to the graph, which are left as they are.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of, with_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WaggleMiddleware", "tool_wrappers"]


class WaggleMiddleware(AgentMiddleware[Any, Any]):
    """Observes the tool calls of each conversation, and adds what usually comes next to their results.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        super().__init__()
        self._watch = Watch(manager, answer=_answer, add=_with, steering=(GraphBubbleUp,))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run a tool; see `AgentMiddleware.wrap_tool_call`."""
        with self._watch.calling(lambda: self._begin(request)) as seen:
            result = handler(request)
        return seen.followed(result, functools.partial(_again, request, handler))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool from async code; see `AgentMiddleware.awrap_tool_call`."""
        with self._watch.calling(lambda: self._begin(request)) as seen:
            result = await handler(request)
        return await seen.afollowed(result, functools.partial(_again, request, handler))

    def _begin(self, request: Any) -> Watched:
        call, hint = request.tool_call, hint_of(getattr(request.tool, "metadata", None))
        return self._watch.begin(_conversation(request), call["name"], call["args"], call_id=call["id"], reads=hint)


def tool_wrappers(manager: Manager | None = None) -> dict[str, Any]:
    """The same for a graph of one's own: ``ToolNode(tools, **tool_wrappers())``; takes what the middleware takes."""
    middleware = WaggleMiddleware(manager)
    return {"wrap_tool_call": middleware.wrap_tool_call, "awrap_tool_call": middleware.awrap_tool_call}


def _conversation(request: Any) -> str | None:
    thread = (getattr(request.runtime, "config", None) or {}).get("configurable", {}).get("thread_id")
    if thread is not None:
        return str(thread)
    state = request.state
    messages = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    return getattr(messages[0], "id", None) if messages else None


def _again(request: Any, handler: Callable[[Any], Any], tool: str, args: dict[str, Any]) -> Any:
    known = next((each for each in request.runtime.tools if each.name == tool), None)
    if known is None:
        return NOT_HERE
    call = {"name": tool, "args": args, "id": f"waggle-{request.tool_call['id']}", "type": "tool_call"}
    return handler(request.override(tool_call=call, tool=known))


def _answer(result: Any) -> Result | None:
    """What a message says, and the structured value that an MCP server gave beside it; nothing of a command."""
    if not isinstance(result, ToolMessage):
        return None
    structured = result.artifact.get("structured_content") if isinstance(result.artifact, dict) else None
    return result_of(result.content, ok=result.status != "error", structured=structured)


def _with(result: Any, text: str) -> Any:
    content = with_text(result.content, text, lambda more: {"type": "text", "text": more})
    return result.model_copy(update={"content": content})
