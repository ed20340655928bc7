"""Google ADK: `WagglePlugin`, to be given to the runner as the first of its plugins; a session of it is a conversation.

A plugin that returns something keeps all later plugins and the agent's own callbacks from being asked. This one never
does: it adds to the event that holds the responses, after all of them have made of a result what the model sees. A
lookup passes the same callbacks.

Not responsible for live runs, whose responses do not wait for an event.
"""

from __future__ import annotations

import functools
import inspect
import uuid
from typing import TYPE_CHECKING, Any, Final

from google.adk.plugins.base_plugin import BasePlugin

from waggle.integrations.watch import NOT_HERE, Recent, Watch, Watched, hint_of, result_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WagglePlugin"]

#: Calls that have begun and may still end; a runner that has lost more than these is broken.
_OPEN: Final = 1024


class WagglePlugin(BasePlugin):
    """Adds to an agent's responses, under the key ``waggle``, the reads that usually come next.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        super().__init__(name="waggle")
        self._watch = Watch(manager, answer=_answer, add=_with)
        self._open: Recent[str, tuple[Watched, Any]] = Recent(_OPEN)  # with their contexts, by the ids of calls

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        """Hear what the user says."""
        with self._watch.safely():
            for part in user_message.parts or ():
                if part.text:
                    self._watch.hear(invocation_context.session.id, part.text)

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> None:
        """Know that a call begins."""
        with self._watch.safely():
            reads = hint_of(getattr(getattr(tool, "raw_mcp_tool", None), "annotations", None), tool.custom_metadata)
            conversation, one = tool_context.session.id, tool_context.function_call_id
            seen = self._watch.begin(conversation, tool.name, tool_args, call_id=one, reads=reads)
            if not seen.nobodys:
                self._open[one] = (seen, tool_context)

    async def on_tool_error_callback(self, *, tool_context: Any, error: BaseException, **_: Any) -> None:
        """Know that a tool has raised, or was cancelled."""
        with self._watch.safely():
            if found := self._open.pop(tool_context.function_call_id, None):
                found[0].raised(error)

    async def on_event_callback(self, *, event: Any, **_: Any) -> None:
        """Add to the responses of one turn what usually comes next, before they are stored and shown."""
        with self._watch.safely():
            responses = [response for response in event.get_function_responses() if response.id in self._open]
            for number, response in enumerate(responses, 1):
                seen, context = self._open.pop(response.id)
                again = functools.partial(_again, context) if number == len(responses) else None
                shown = await seen.afollowed(response.response, again)
                if shown is not response.response:
                    response.response = shown


async def _again(context: Any, name: str, args: dict[str, Any]) -> Any:
    """Call a tool of the agent whose call a context is of, past the same callbacks."""
    invocation = context.get_invocation_context()
    agent, plugins = invocation.agent, invocation.plugin_manager
    tool = {tool.name: tool for tool in await agent.canonical_tools(context)}.get(name)
    if tool is None or tool.is_long_running:
        return NOT_HERE
    own = type(context)(invocation, function_call_id=f"waggle-{uuid.uuid4().hex}")
    call = {"tool": tool, "tool_context": own}
    answered = await plugins.run_before_tool_callback(tool_args=args, **call)
    if answered is None:
        answered = await _first(agent.canonical_before_tool_callbacks, args=args, **call)
    if answered is not None or await tool.check_require_confirmation(args, own):
        return NOT_HERE  # refused, or not to be had without a person
    found = await tool.run_async(args=args, tool_context=own)
    changed = await plugins.run_after_tool_callback(tool_args=args, result=found, **call)
    if changed is None:
        changed = await _first(agent.canonical_after_tool_callbacks, args=args, tool_response=found, **call)
    return found if changed is None else changed


async def _first(callbacks: Iterable[Any], **about: Any) -> Any:
    """What the first callback returns that returns anything."""
    for callback in callbacks:
        answer = callback(**about)
        answer = await answer if inspect.isawaitable(answer) else answer
        if answer is not None:
            return answer
    return None


def _answer(response: Any) -> Result:
    """What a response says: what a tool returned, as itself or as its server's content."""
    if not isinstance(response, dict):
        return result_of(response)
    ok = not (response.get("error") or response.get("isError") or response.get("is_error"))
    if isinstance(blocks := response.get("content"), list):
        return result_of(blocks, ok=ok, structured=response.get("structuredContent"))
    return result_of(response["result"] if response.keys() == {"result"} else response, ok=ok)


def _with(response: Any, text: str) -> Any:
    return response if "waggle" in response else {**response, "waggle": text}
