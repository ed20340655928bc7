"""smolagents: `watch_agent` makes a `ToolCallingAgent` or a `CodeAgent` remember what it looks up.

A tool's result is left as it is, because the code of a `CodeAgent` computes with it; a model sees results only when its
step is over, so what usually comes next is looked up then, once, and stands at the end of the step's observations.

Not responsible for managed agents: each is an agent of its own.
"""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from smolagents import ActionStep, MultiStepAgent, Tool

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of

if TYPE_CHECKING:
    from waggle.manager import Manager

__all__ = ["watch_agent"]

_A = TypeVar("_A", bound=MultiStepAgent)


def watch_agent(agent: _A, manager: Manager | None = None) -> _A:
    """Make an agent report its calls and find the next reads in its observations.

    Its tools are replaced by copies; those that the caller holds stay as they are, and may serve other agents, too.
    A run that resets the agent's memory begins a new conversation.

    Args:
        agent: it may have run already.
        manager: whose routes act and are learned; left out, those of the project in the present directory.

    Returns:
        The same agent.
    """
    calls = _Calls(agent, Watch(manager))
    for name, tool in agent.tools.items():
        if name != "final_answer":  # the answer, which nothing is added to
            agent.tools[name] = calls.watched(tool)
    agent.step_callbacks.register(ActionStep, calls.step_ended)
    return agent


class _Calls:
    """The calls of one agent."""

    def __init__(self, agent: Any, watch: Watch) -> None:
        self._agent = agent
        self._watch = watch
        self._lock = threading.Lock()  # tools that are asked for at once run in threads
        self._first: object = None  # the first step of the memory that the conversation lives in
        self._conversation = ""
        self._last: Watched | None = None  # of the calls of this step, the one that ended last

    def watched(self, tool: Tool) -> Tool:
        """A copy of a tool that reports its calls."""
        watched = copy.copy(tool)
        inner = watched.forward  # of the copy, which may set itself up
        spelled = inspect.signature(inner).parameters.values()
        names = [each.name for each in spelled if each.kind is each.POSITIONAL_OR_KEYWORD] or list(tool.inputs)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Watched:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            return self._watch.begin(self._here(), tool.name, given, reads=hint_of(tool))

        @functools.wraps(inner)
        def forward(*args: Any, **kwargs: Any) -> Any:
            with self._watch.calling(lambda: begin(args, kwargs)) as seen:
                try:
                    value = inner(*args, **kwargs)
                    seen.ended(value)
                    return value
                finally:
                    self._last = seen

        watched.forward = forward
        return watched

    def _here(self) -> str:
        """The conversation of the agent's memory as it is now."""
        first = next(iter(self._agent.memory.steps), None)
        with self._lock:
            if not self._conversation or (first is not None and first is not self._first):
                over, self._conversation, self._first = self._conversation, uuid.uuid4().hex, first
                if over:
                    self._watch.end(over)
            return self._conversation

    def step_ended(self, step: Any) -> None:
        """Add to the observations of a step what usually comes next."""
        last, self._last = self._last, None
        with self._watch.safely():
            if last and (added := last.follow(self._again)):
                step.observations = f"{step.observations or ''}\n\n{added}".lstrip("\n")

    def _again(self, name: str, args: dict[str, Any]) -> Any:
        tool = self._agent.tools.get(name)
        return tool(**args) if tool else NOT_HERE
