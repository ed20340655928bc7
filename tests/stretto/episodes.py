"""Episodes written by hand, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.sessions.episode import Event


def called(tool: str, arguments: dict[str, Any], content: Any = None, *, error: bool = False) -> list[Event]:
    """A turn of one call and its result; anything but a text is written as JSON."""
    return together((tool, arguments, content), error=error)


def together(*calls: tuple[str, dict[str, Any], Any], error: bool = False) -> list[Event]:
    """A turn of several calls, answered in order."""
    made: list[tuple[ToolCall, str]] = []
    for tool, arguments, content in calls:
        written = content if isinstance(content, str) else jsonvalue.dumps(content).decode()
        made.append((ToolCall("", tool, arguments), written))
    return [
        Assistant(calls=tuple(call for call, _ in made)),
        *(ToolResult(call.id, call.name, error, content) for call, content in made),
    ]


def episode(*events: Event | list[Event], name: str = "e", reward: float = 1.0, task: str = "") -> Episode:
    """An episode of these events, in order; every call gets an id of its own."""
    flat: list[Event] = []
    for event in events:
        flat += event if isinstance(event, list) else [event]
    number = 0
    numbered: list[Event] = []
    waiting: list[str] = []
    for event in flat:
        if isinstance(event, Assistant) and event.calls:
            ids = [f"c{number + place}" for place in range(len(event.calls))]
            number += len(ids)
            waiting += ids
            calls = tuple(ToolCall(key, call.name, call.arguments) for key, call in zip(ids, event.calls, strict=True))
            numbered.append(Assistant(event.text, calls, event.usage))
        elif isinstance(event, ToolResult):
            numbered.append(ToolResult(waiting.pop(0), event.name, event.error, event.content))
        else:
            numbered.append(event)
    return Episode(name, tuple(numbered), task_id=task, reward=reward)


def said(text: str) -> User:
    """A message of the user."""
    return User(text)


def replied(text: str = "Done.") -> Assistant:
    """A reply of the agent."""
    return Assistant(text)
