"""LangChain and LangGraph: `WaggleMiddleware` for ``create_agent``, and `tool_wrappers` for a graph's ``ToolNode``.

Both do the same, in sync and async code. A conversation is a thread; without one, it is told by its first message.

Not responsible for results that are commands to the graph, which are left as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

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
        self._watch = Watch(manager)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run a tool; see `AgentMiddleware.wrap_tool_call`."""
        seen = self._begin(request)
        try:
            result = handler(request)
        except BaseException as error:
            _raised(seen, error)
            raise
        added = ""
        with self._watch.safely():
            if seen and _ended(seen, result):
                added = seen.follow(lambda tool, args: _taken(_asked(request, tool, args, handler)))
        return _with(result, added) if added else result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run a tool from async code; see `AgentMiddleware.awrap_tool_call`."""
        seen = self._begin(request)
        try:
            result = await handler(request)
        except BaseException as error:
            _raised(seen, error)
            raise

        async def look_up(tool: str, args: dict[str, Any]) -> Result:
            asked = _asked(request, tool, args, handler)
            return _taken(await asked if asked is not None else None)

        added = ""
        with self._watch.safely():
            if seen and _ended(seen, result):
                added = await seen.afollow(look_up)
        return _with(result, added) if added else result

    def _begin(self, request: Any) -> Watched | None:
        seen: Watched | None = None
        with self._watch.safely():
            call = request.tool_call
            hint = hint_of(getattr(request.tool, "metadata", None))
            seen = self._watch.begin(_conversation(request), call["name"], call["args"], call_id=call["id"], reads=hint)
        return seen  # noqa: RET504 - None where the block was ended


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


def _raised(seen: Watched | None, error: BaseException) -> None:
    if seen and isinstance(error, GraphBubbleUp):
        seen.unanswered()
    elif seen:
        seen.raised(error)


def _ended(seen: Watched, result: Any) -> bool:
    """Take in a result, and know whether text can be added to it."""
    if not isinstance(result, ToolMessage):
        seen.unanswered()
        return False
    seen.ended(result.content, ok=result.status != "error", structured=_artifact(result))
    return bool(result.status != "error")


def _asked(request: Any, tool: str, args: dict[str, Any], handler: Callable[[Any], Any]) -> Any:
    """What the framework makes of another call; None where this agent has no such tool."""
    known = next((each for each in request.runtime.tools if each.name == tool), None)
    if known is None:
        return None
    call = {"name": tool, "args": args, "id": f"waggle-{request.tool_call['id']}", "type": "tool_call"}
    return handler(request.override(tool_call=call, tool=known))


def _taken(result: Any) -> Result:
    if not isinstance(result, ToolMessage):
        return NOT_HERE
    return result_of(result.content, ok=result.status != "error", structured=_artifact(result))


def _artifact(result: ToolMessage) -> Any:
    """The structured value that an MCP server gave beside its text."""
    return result.artifact.get("structured_content") if isinstance(result.artifact, dict) else None


def _with(result: Any, text: str) -> Any:
    own = result.content
    content = f"{own}\n\n{text}" if isinstance(own, str) else [*own, {"type": "text", "text": text}]
    return result.model_copy(update={"content": content})
