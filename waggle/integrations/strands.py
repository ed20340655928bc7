"""Strands: `WaggleHooks`, to be given to an agent as the first of its ``hooks``; its messages are one conversation.

A lookup goes through all of the agent's hooks, as its own calls do: what cancels, asks or redacts does so there, too.

Not responsible for tools that run in the background: what they return is taken in, when they return it.
"""

from __future__ import annotations

import functools
import uuid
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, MessageAddedEvent

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

if TYPE_CHECKING:
    from waggle.calls import Result
    from waggle.manager import Manager

__all__ = ["WaggleHooks"]


class WaggleHooks(HookProvider):
    """Adds to an agent's results the reads that usually come next.

    One object may serve many agents: each that registers it is a conversation of its own.

    Args:
        manager: whose routes act and are learned; left out, those of the project in the present directory.
    """

    def __init__(self, manager: Manager | None = None) -> None:
        self._watch = Watch(manager, answer=_answer, add=_with)

    def register_hooks(self, registry: Any, **_: Any) -> None:
        """Listen to an agent; it calls this when it is made."""
        conversation = uuid.uuid4().hex
        for event, callback in (
            (BeforeToolCallEvent, self._before),
            (AfterToolCallEvent, self._after),
            (MessageAddedEvent, self._heard),
        ):
            registry.add_callback(event, functools.partial(callback, conversation))

    def _before(self, conversation: str, event: Any) -> None:
        with self._watch.safely():
            self._seen(conversation, event).start()

    async def _after(self, conversation: str, event: Any) -> None:
        with self._watch.safely():
            seen = self._seen(conversation, event)
            if event.retry:
                seen.unanswered()  # nobody will see this one
            elif event.exception is not None:
                seen.raised(event.exception)
            else:
                event.result = await seen.afollowed(event.result, functools.partial(_again, event))

    def _heard(self, conversation: str, event: Any) -> None:
        with self._watch.safely():
            for block in event.message["content"]:
                if "text" in block:
                    self._watch.hear(conversation, block["text"], event.message["role"])

    def _seen(self, conversation: str, event: Any) -> Watched:
        use, tool = event.tool_use, event.selected_tool
        served = getattr(getattr(tool, "mcp_tool", None), "annotations", None)
        args = use["input"] if isinstance(use["input"], dict) else None
        return self._watch.begun(conversation, use["name"], args, call_id=use["toolUseId"], reads=hint_of(served, tool))


async def _again(event: Any, name: str, args: dict[str, Any]) -> Any:
    """Call a tool of the agent that an event is of, in the same state, past the same hooks."""
    tool = event.agent.tool_registry.registry.get(name)
    if tool is None:
        return NOT_HERE
    use = {"toolUseId": f"waggle-{uuid.uuid4().hex}", "name": name, "input": args}
    call = {"agent": event.agent, "tool_use": use, "invocation_state": event.invocation_state}
    before, asked = await event.agent.hooks.invoke_callbacks_async(BeforeToolCallEvent(selected_tool=tool, **call))
    if asked or before.cancel_tool or before.selected_tool is not tool or before.tool_use is not use:
        return NOT_HERE
    events = [each async for each in tool.stream(use, event.invocation_state)]
    found = getattr(events[-1], "tool_result", events[-1])  # the last one is the result, or holds it
    after = AfterToolCallEvent(selected_tool=tool, result=found, **call)
    after, _ = await event.agent.hooks.invoke_callbacks_async(after)
    return after.result


def _answer(result: Any) -> Result:
    """The texts of a result, and the value of its one JSON block where it has one."""
    values = [block["json"] for block in result["content"] if "json" in block]
    structured = values[0] if len(values) == 1 else None
    return result_of(result["content"], ok=result["status"] == "success", structured=structured)


def _with(result: Any, text: str) -> Any:
    return {**result, "content": [*result["content"], {"text": text}]}
