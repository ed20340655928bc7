"""An episode: one recorded session of one agent, as what was said, called and answered, in order.

Not responsible for where it came from: session logs, spans, benchmark results and transcripts all become this one type.
Everything in an episode is data: texts that speak to an agent are kept as they are and are never followed. Nothing
changes an event once it is made; the events are not frozen only because that takes a tenth of the time of reading logs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = ["Assistant", "Episode", "Event", "ToolCall", "ToolResult", "Usage", "User"]


@dataclass(slots=True)
class ToolCall:
    """One request to a tool.

    Attributes:
        id: of the call within its episode. Calls the proxy made itself have ``stretto-<n>``.
        name: the tool's name.
        arguments: as JSON; nothing but an object can be bound.
    """

    id: str
    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class Usage:
    """What one model turn cost, in tokens and dollars."""

    prompt_tokens: int
    completion_tokens: int
    cost: float = 0.0


@dataclass(slots=True)
class User:
    """What the user said."""

    text: str


@dataclass(slots=True)
class Assistant:
    """One turn of the agent: a reply to the user when it makes no calls."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None


@dataclass(slots=True)
class ToolResult:
    """What a call returned.

    Attributes:
        call_id: of the call.
        name: the tool's name.
        error: the tool reported an error, or the call never reached it.
        content: as text.
    """

    call_id: str
    name: str
    error: bool
    content: str


Event: TypeAlias = User | Assistant | ToolResult

_FULL_REWARD: Final = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Episode:
    """One recorded session.

    Attributes:
        id: of the session.
        events: in order. A result follows its call; the calls of one `Assistant` were decided at once.
        task_id: of the task it solves; empty where none is known.
        trial: which attempt at the task, from 0.
        domain: field of work.
        agent_model: the agent.
        reward: 1 for success, less for failure.
        started_ms: when it began, ms since the epoch; 0 where that is not known.
        sent_after: for a call id, how many results of its turn were back when it was sent; a call that is not named was
            sent before any.
    """

    id: str
    events: tuple[Event, ...] = ()
    task_id: str = ""
    trial: int = 0
    domain: str = "mcp"
    agent_model: str = "unknown"
    reward: float = 0.0
    started_ms: int = 0
    sent_after: Mapping[str, int] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether it got the full reward."""
        return self.reward >= _FULL_REWARD

    @property
    def task(self) -> str:
        """The unit to split and resample by: the task, else the session itself."""
        return self.task_id or self.id

    def turns(self) -> Iterator[Assistant]:
        """The agent's turns, replies to the user included, in order."""
        return (event for event in self.events if isinstance(event, Assistant))

    def results(self) -> dict[str, ToolResult]:
        """Each call's result by the call's id; calls without one are left out."""
        return {event.call_id: event for event in self.events if isinstance(event, ToolResult)}
