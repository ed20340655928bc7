"""OpenAI Agents SDK: `watch_agent` makes an agent remember what it looks up, with its own tools and its MCP servers'.

What is added is one more text of the output, which the model is shown whatever the server's settings are. An output
with a declared schema, and one that a program takes instead of the model, is left as it is.

Not responsible for the agents that this one hands over to: each is watched by itself. One manager for all of them makes
them one conversation.
"""

from __future__ import annotations

import copy
import json
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from agents import Agent, FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from waggle.integrations.mcp_result import taken
from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

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
    tools = _Tools(Watch(manager), conversation or _conversation)
    own: Any = type(agent)

    async def get_mcp_tools(self: Any, run_context: Any) -> Any:
        """See `Agent.get_mcp_tools`."""
        return [tools.watched(tool) for tool in await own.get_mcp_tools(self, run_context)]

    twin = copy.copy(agent)
    twin.__class__ = _derived(own, get_mcp_tools=get_mcp_tools)
    twin.tools = [tools.watched(tool) for tool in agent.tools]
    twin.mcp_servers = [_listened(server) for server in agent.mcp_servers]
    return twin


class _Tools:
    """The tools of one agent."""

    def __init__(self, watch: Watch, conversation: Callable[[Any], str | None]) -> None:
        self._watch = watch
        self._conversation = conversation
        self._inner: dict[str, FunctionTool] = {}  # those that may be called unasked

    def watched(self, tool: Any) -> Any:
        """A copy of a tool that reports its calls; what is no function tool runs elsewhere and is left as it is."""
        if not isinstance(tool, FunctionTool):
            return tool
        twin, inner = copy.copy(tool), _listening(tool)
        if tool.needs_approval is False and not tool.tool_input_guardrails and not tool.tool_output_guardrails:
            self._inner[tool.name] = inner

        async def invoke(ctx: Any, arguments: str) -> Any:
            seen: Watched | None = None
            with self._watch.safely():
                given, hint = json.loads(arguments or "{}"), hint_of(tool.mcp_annotations)
                seen = self._watch.begin(
                    self._conversation(ctx), tool.name, given, call_id=ctx.tool_call_id, reads=hint
                )
            try:
                output, ok = await _invoked(inner, ctx, arguments)
            except BaseException as error:
                if seen:
                    seen.raised(error)
                raise
            added = ""
            with self._watch.safely():
                if seen:
                    seen.ended(_shown(output), ok=ok)
                    if _is_open(tool, ctx):
                        added = await seen.afollow(lambda name, args: self._look_up(ctx, name, args))
            return _with(output, added) if added else output

        twin.on_invoke_tool = _like(tool.on_invoke_tool, invoke)
        return twin

    async def _look_up(self, ctx: Any, name: str, args: dict[str, Any]) -> Result:
        tool = self._inner.get(name)
        if tool is None:
            return NOT_HERE
        given = json.dumps(args)
        own = ToolContext(
            ctx.context,
            ctx.usage,
            name,
            f"waggle-{ctx.tool_call_id}",
            given,
            agent=ctx.agent,
            run_config=ctx.run_config,
        )
        output, ok = await _invoked(tool, own, given)
        return result_of(_shown(output), ok=ok)


def _conversation(ctx: Any) -> str:
    """The group of the run; without one the run, whose usage is one object from its beginning to its end."""
    group = getattr(ctx.run_config, "group_id", None)
    return str(group or vars(ctx.usage).setdefault("_waggle_run", uuid.uuid4().hex))


# --- errors, which the SDK turns into texts ---------------------------------------------------------------------------

#: What went wrong in the tool that runs here, also in tasks and threads of its own.
_failures: ContextVar[list[object] | None] = ContextVar("waggle_failures", default=None)


async def _invoked(tool: FunctionTool, ctx: Any, arguments: str) -> tuple[Any, bool]:
    """What a tool gives back, and whether that is its result and not the text of an error."""
    token = _failures.set([])
    try:
        output = await tool.on_invoke_tool(ctx, arguments)
        return output, not _failures.get() and not getattr(ctx, "_function_tool_default_failure_handled", False)
    finally:
        _failures.reset(token)


def _failed(error: object) -> None:
    failures = _failures.get()
    if failures is not None:
        failures.append(error)


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


def _listened(server: Any) -> Any:
    """The same server, of whose calls those that fail are told: one state, whoever connects it."""
    own: Any = type(server)

    async def call_tool(self: Any, *args: Any, **options: Any) -> Any:
        """See `MCPServer.call_tool`."""
        result = await own.call_tool(self, *args, **options)
        if not taken(result)["ok"]:
            _failed(result)
        return result

    twin = object.__new__(_derived(own, call_tool=call_tool))
    twin.__dict__ = server.__dict__
    return twin


def _like(invoker: Any, invoke: Any) -> Any:
    """An invoker of the same kind as another: the SDK looks in it for how a policy of approval sees the arguments."""
    if not hasattr(invoker, "__agents_bind_function_tool__"):
        return invoke
    twin = copy.copy(invoker)
    twin.__class__ = _derived(
        type(invoker),
        __call__=lambda _self, ctx, arguments: invoke(ctx, arguments),
        __agents_bind_function_tool__=lambda self, _tool: self,
    )
    return twin


def _derived(own: type, **methods: Any) -> Any:
    """A class that does something more than another, and is it in everything else."""
    return type(own.__name__, (own,), {**methods, "__doc__": own.__doc__, "__module__": own.__module__})


# --- outputs ----------------------------------------------------------------------------------------------------------


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


def _shown(output: Any) -> Any:
    return _items(output) or output


def _with(output: Any, text: str) -> Any:
    items = _items(output)
    return [*items, ToolOutputText(text=text)] if items else f"{output}\n\n{text}"
