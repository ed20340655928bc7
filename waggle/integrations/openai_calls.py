"""Calls of function tools of the OpenAI Agents SDK, of which it is known whether they failed.

The SDK turns what a tool raises, and what an MCP server reports as an error, into the text that the model is shown.
Here it is heard where it is still an error, and nothing that the SDK does is changed.

Not responsible for who is told of a call: `waggle.integrations.openai_agents`.
"""

from __future__ import annotations

import copy
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from waggle.integrations.mcp_result import taken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents import FunctionTool

__all__ = ["Answer", "answering", "derived", "invoked_by", "listened"]

#: What went wrong in the tool that runs here, also in tasks and threads of its own.
_failures: ContextVar[list[object] | None] = ContextVar("waggle_failures", default=None)


class Answer(NamedTuple):
    """What a tool gives back.

    Attributes:
        output: what the SDK shows.
        ok: that is its result, and not the text of an error.
    """

    output: Any
    ok: bool


def answering(tool: FunctionTool) -> Callable[[Any, str], Awaitable[Answer]]:
    """A tool as a function of its context and its arguments, as JSON, that tells whether it failed."""
    twin = _listening(tool)

    async def call(ctx: Any, arguments: str) -> Answer:
        token = _failures.set([])
        try:
            output = await twin.on_invoke_tool(ctx, arguments)
            failed = _failures.get() or getattr(ctx, "_function_tool_default_failure_handled", False)
            return Answer(output, not failed)
        finally:
            _failures.reset(token)

    return call


def listened(server: Any) -> Any:
    """The same MCP server, of whose calls those that fail are heard: one state, whoever connects it."""
    own: Any = type(server)

    async def call_tool(self: Any, *args: Any, **options: Any) -> Any:
        """See `MCPServer.call_tool`."""
        result = await own.call_tool(self, *args, **options)
        if not taken(result).ok:
            _failed(result)
        return result

    twin = object.__new__(derived(own, call_tool=call_tool))
    twin.__dict__ = server.__dict__
    return twin


def invoked_by(tool: FunctionTool, invoke: Callable[[Any, str], Awaitable[Any]]) -> FunctionTool:
    """A copy of a tool that is run by `invoke`, which stands around the tool's own invoker.

    Where the SDK looks in the invoker for how a policy of approval sees the arguments, the new one is of the same kind.
    """
    twin, invoker = copy.copy(tool), tool.on_invoke_tool
    twin.on_invoke_tool = invoke
    if hasattr(invoker, "__agents_bind_function_tool__"):
        twin.on_invoke_tool = copy.copy(invoker)
        twin.on_invoke_tool.__class__ = derived(
            type(invoker),
            __call__=lambda _self, ctx, arguments: invoke(ctx, arguments),
            __agents_bind_function_tool__=lambda self, _tool: self,
        )
    return twin


def derived(own: type, **methods: Any) -> Any:
    """A class that does something more than another, and is it in everything else."""
    return type(own.__name__, (own,), {**methods, "__doc__": own.__doc__, "__module__": own.__module__})


def _listening(tool: FunctionTool) -> FunctionTool:
    """A copy of a tool whose own wording of an error, where it has one, says that there was one."""
    twin: Any = copy.copy(tool)
    wording = getattr(tool, "_failure_error_function", None)
    if wording:

        def worded(ctx: Any, error: Exception) -> Any:
            _failed(error)
            return wording(ctx, error)

        twin._failure_error_function = worded  # noqa: SLF001 - what is set there makes no difference to the run
    return twin


def _failed(error: object) -> None:
    failures = _failures.get()
    if failures is not None:
        failures.append(error)
