"""Pydantic AI: `WaggleCapability` makes an agent remember what it looks up, with any toolset, local or MCP.

What is added stands at the end of a text, and after anything else as one more item, so that the tool's own value stays
whole and what tools said stays in the tool's message. Lookups go through the agent's other capabilities, and do not
count against the run's limit of tool calls.

Not responsible for output tools, which end a run, nor for tools that wait for an approval or are run elsewhere.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai import ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.usage import RunUsage

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of, with_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WaggleCapability"]

#: What a tool raises to steer the run: the call has no result yet, or has it from elsewhere.
_CONTROL: Final = (ApprovalRequired, CallDeferred, SkipToolExecution)


class WaggleCapability(AbstractCapability[Any]):
    """Observes the tool calls of each conversation, and adds what usually comes next to their results.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        self._watch = Watch(manager, answer=_answer, add=_with, steering=_CONTROL)

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any], handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Run a tool; see `AbstractCapability.wrap_tool_execute`."""
        with self._watch.calling(lambda: self._begin(ctx, call, tool_def)) as seen:
            result = await handler(args)
        return await seen.afollowed(result, functools.partial(_again, ctx))

    def _begin(self, ctx: Any, call: Any, tool_def: Any) -> Watched:
        notes, args = tool_def.metadata or {}, call.args_as_dict()
        reads = hint_of(notes.get("annotations"), notes)
        conversation = ctx.conversation_id or ctx.run_id
        return self._watch.begin(conversation, tool_def.name, args, call_id=call.tool_call_id, reads=reads)


async def _again(ctx: Any, tool: str, args: dict[str, Any]) -> Any:
    known = ctx.tools.get(tool)
    if known is None or known.kind != "function":
        return NOT_HERE
    spent = RunUsage()
    tools = dataclasses.replace(ctx.tool_manager, ctx=dataclasses.replace(ctx.tool_manager.ctx, usage=spent))
    try:
        return await tools.handle_call(ToolCallPart(tool, args), wrap_validation_errors=False)
    finally:
        ctx.usage.incr(dataclasses.replace(spent, tool_calls=0))


def _answer(result: Any) -> Result:
    value = result.return_value if isinstance(result, ToolReturn) else result
    return result_of(value, ok=not isinstance(result, ToolDenied))


def _with(result: Any, text: str) -> Any:
    if isinstance(result, ToolReturn):
        return dataclasses.replace(result, return_value=_with(result.return_value, text))
    return with_text(result if isinstance(result, str | list) else [result], text)
