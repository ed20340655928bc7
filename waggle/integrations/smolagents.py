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

from waggle.integrations.watch import NOT_HERE, Watch, Watched, hint_of, result_of

if TYPE_CHECKING:
    from waggle.calls import Result
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
        inner = watched.forward
        spelled = inspect.signature(inner).parameters.values()
        names = [each.name for each in spelled if each.kind is each.POSITIONAL_OR_KEYWORD] or list(tool.inputs)

        @functools.wraps(inner)
        def forward(*args: Any, **kwargs: Any) -> Any:
            seen: Watched | None = None
            with self._watch.safely():
                given = {**dict(zip(names, args, strict=False)), **kwargs}
                seen = self._watch.begin(self._here(), tool.name, given, reads=hint_of(tool))
            try:
                value = inner(*args, **kwargs)
            except BaseException as error:
                self._ended(seen, error=error)
                raise
            self._ended(seen, value)
            return value

        watched.forward = forward
        return watched

    def _here(self) -> str:
        """The conversation of the agent's memory as it is now."""
        steps = self._agent.memory.steps
        with self._lock:
            if not self._conversation or (steps and steps[0] is not self._first):
                self._first, over = steps[0] if steps else None, self._conversation
                self._conversation = uuid.uuid4().hex
                if over:
                    self._watch.end(over)
            return self._conversation

    def _ended(self, seen: Watched | None, value: object = None, *, error: BaseException | None = None) -> None:
        if seen is None:
            return
        with self._watch.safely():
            if error is not None:
                seen.raised(error)
            else:
                seen.ended(value)
            with self._lock:
                self._last = seen

    def step_ended(self, step: Any) -> None:
        """Add to the observations of a step what usually comes next."""
        with self._watch.safely():
            with self._lock:
                last, self._last = self._last, None
            added = last.follow(self._look_up) if last else ""
            if added:
                step.observations = f"{step.observations or ''}\n\n{added}".lstrip("\n")

    def _look_up(self, name: str, args: dict[str, Any]) -> Result:
        tool = self._agent.tools.get(name)
        return result_of(tool(**args)) if tool else NOT_HERE
