"""OpenAI Agents SDK: `watch_agent` makes an agent remember what it looks up, with its own tools and its MCP servers'.

What is added is one more text of the output, which the model is shown whatever the server's settings are. An output
with a declared schema, and one that a program takes instead of the model, is left as it is.

Not responsible for the agents that this one hands over to: each is watched by itself. One manager for all of them makes
them one conversation. How a failed call is told from one that has a result: `waggle.integrations.openai_calls`.
"""

from __future__ import annotations

import copy
import functools
import json
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from agents import Agent, FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from waggle.integrations.openai_calls import Answer, answering, derived, invoked_by, listened
from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of, with_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["watch_agent"]

_A = TypeVar("_A", bound=Agent[Any])


def watch_agent(
    agent: _A, manager: Manager | None = None, *, conversation: Callable[[Any], str | None] | None = None
) -> _A:
    """Make a copy of an agent that reports its calls and finds the next reads in their outputs.

    Args:
        agent: left as it is; its `tools` are those of now.
        manager: whose routes act and are learned; left out, those of the project in the present directory.
        conversation: tells a conversation's id by a tool's context; left out, it is ``RunConfig(group_id=...)``, and
            without one every run is a conversation.

    Returns:
        The copy, of a class of its own that derives from the agent's.
    """
    tools = _Tools(Watch(manager, answer=_answer, add=_with), conversation or _conversation)
    own: Any = type(agent)

    async def get_mcp_tools(self: Any, run_context: Any) -> Any:
        """See `Agent.get_mcp_tools`."""
        return [tools.watched(tool) for tool in await own.get_mcp_tools(self, run_context)]

    twin = copy.copy(agent)
    twin.__class__ = derived(own, get_mcp_tools=get_mcp_tools)
    twin.tools = [tools.watched(tool) for tool in agent.tools]
    twin.mcp_servers = [listened(server) for server in agent.mcp_servers]
    return twin


class _Tools:
    """The tools of one agent."""

    def __init__(self, watch: Watch, conversation: Callable[[Any], str | None]) -> None:
        self._watch = watch
        self._conversation = conversation
        self._free: dict[str, Callable[[Any, str], Any]] = {}  # those that may be called unasked

    def watched(self, tool: Any) -> Any:
        """A copy of a tool that reports its calls; what is no function tool runs elsewhere and is left as it is."""
        if not isinstance(tool, FunctionTool):
            return tool
        call = answering(tool)
        if tool.needs_approval is False and not tool.tool_input_guardrails and not tool.tool_output_guardrails:
            self._free[tool.name] = call

        async def invoke(ctx: Any, arguments: str) -> Any:
            with self._watch.calling(lambda: self._begin(tool, ctx, arguments)) as seen:
                answer = await call(ctx, arguments)
            again = functools.partial(self._again, ctx) if _is_open(tool, ctx) else None
            return (await seen.afollowed(answer, again)).output

        return invoked_by(tool, invoke)

    def _begin(self, tool: FunctionTool, ctx: Any, arguments: str) -> Watched:
        args, reads = json.loads(arguments or "{}"), hint_of(tool.mcp_annotations)
        return self._watch.begin(self._conversation(ctx), tool.name, args, call_id=ctx.tool_call_id, reads=reads)

    async def _again(self, ctx: Any, name: str, args: dict[str, Any]) -> Any:
        call, given, one = self._free.get(name), json.dumps(args), f"waggle-{ctx.tool_call_id}"
        if call is None:
            return NOT_HERE
        own = ToolContext(ctx.context, ctx.usage, name, one, given, agent=ctx.agent, run_config=ctx.run_config)
        return await call(own, given)


def _conversation(ctx: Any) -> str:
    """The group of the run; without one the run, whose usage is one object from its beginning to its end."""
    group = getattr(ctx.run_config, "group_id", None)
    return str(group or vars(ctx.usage).setdefault("_waggle_run", uuid.uuid4().hex))


def _is_open(tool: FunctionTool, ctx: Any) -> bool:
    """Whether the output is the model's to read, and of no declared form."""
    return tool.output_json_schema is None and getattr(ctx.tool_call, "caller", None) is None


def _items(output: Any) -> list[Any]:
    """The items of an output that has items; none of one that the model is shown as a text."""
    items = list(output) if isinstance(output, list | tuple) else [output]
    kinds = ("text", "image", "file")
    models = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
    whole = all(isinstance(one, models) or (isinstance(one, dict) and one.get("type") in kinds) for one in items)
    return items if whole else []


def _answer(answer: Answer) -> Result:
    return result_of(_items(answer.output) or answer.output, ok=answer.ok)


def _with(answer: Answer, text: str) -> Answer:
    shown = _items(answer.output) or str(answer.output)
    return answer._replace(output=with_text(shown, text, lambda more: ToolOutputText(text=more)))
