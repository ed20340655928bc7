"""Pydantic AI: `WaggleCapability` makes an agent remember what it looks up, with any toolset, local or MCP.

What is added stands at the end of a text, and after anything else as one more item, so that the tool's own value stays
whole and what tools said stays in the tool's message. Lookups go through the agent's other capabilities, and do not
count against the run's limit of tool calls.

Not responsible for output tools, which end a run, nor for tools that wait for an approval or are run elsewhere.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai import ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.usage import RunUsage

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

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
        self._watch = Watch(manager)

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any], handler: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """Run a tool; see `AbstractCapability.wrap_tool_execute`."""
        seen: Watched | None = None
        with self._watch.safely():
            notes = tool_def.metadata or {}
            seen = self._watch.begin(
                ctx.conversation_id or ctx.run_id,
                tool_def.name,
                call.args_as_dict(),
                call_id=call.tool_call_id,
                reads=hint_of(notes.get("annotations"), notes),
            )
        try:
            result = await handler(args)
        except _CONTROL:
            if seen:
                seen.unanswered()
            raise
        except BaseException as error:
            if seen:
                seen.raised(error)
            raise
        added = ""
        with self._watch.safely():
            if seen:
                seen.ended(_value(result))
                added = await seen.afollow(lambda tool, given: _look_up(ctx, tool, given))
        if not added:
            return result
        if isinstance(result, ToolReturn):
            return dataclasses.replace(result, return_value=_with(result.return_value, added))
        return _with(result, added)


async def _look_up(ctx: Any, tool: str, args: dict[str, Any]) -> Result:
    known = ctx.tools.get(tool)
    if known is None or known.kind != "function":
        return NOT_HERE
    spent = RunUsage()
    tools = dataclasses.replace(ctx.tool_manager, ctx=dataclasses.replace(ctx.tool_manager.ctx, usage=spent))
    try:
        result = await tools.handle_call(ToolCallPart(tool, args), wrap_validation_errors=False)
    finally:
        ctx.usage.incr(dataclasses.replace(spent, tool_calls=0))
    return result_of(_value(result), ok=not isinstance(result, ToolDenied))


def _value(result: Any) -> Any:
    return result.return_value if isinstance(result, ToolReturn) else result


def _with(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return f"{value}\n\n{text}"
    return [*value, text] if isinstance(value, list) else [value, text]
