"""Recorded sessions as `waggle.traces` reads them, canonical traces and Claude Code transcripts, as episodes.

Not responsible for reading files. A trace keeps the order of every message, call and result; an episode keeps turns.
This is how one becomes the other:

* Calls of one turn become one `Assistant` event, at the place of the first of them. Results stay in order of arrival.
* A text of the assistant directly before a call belongs to the call's message, so both are **one** turn. Any other text
  of the assistant is a reply, a turn of its own: also one that another text follows, since a model that speaks twice
  without a call in between was asked twice.
* A text of the assistant that begins the session and is answered by the user is the scripted greeting of a simulation;
  it is no turn and left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, cast

from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from stretto.sessions.manifest import Manifest
from waggle.calls import Effect
from waggle.tools import ToolTable
from waggle.traces import Ended, Message, Started

if TYPE_CHECKING:
    from stretto.sessions.episode import Event
    from stretto.sessions.manifest import Kind
    from waggle.jsonvalue import JsonValue
    from waggle.traces import Trace

__all__ = ["episode_of", "manifest_of"]

_KNOWN: Final = ToolTable()


def episode_of(trace: Trace) -> Episode:
    """The episode of a trace.

    Its task is the trace's task, else the session that started it: what must not be split (`Trace.split_key`). Its
    reward is 1 unless the benchmark's verdict is that it failed. Costs O(events).
    """
    gathered = _Gathered()
    for event in trace.events():
        gathered.add(event)
    return Episode(
        id=trace.session,
        events=gathered.events(),
        task_id=trace.task or trace.parent or "",
        domain=trace.domain or "mcp",
        agent_model=trace.agent,
        reward=0.0 if trace.success is False else 1.0,
        sent_after=gathered.sent_after,
    )


class _Turn:
    """An assistant's turn while its calls come in."""

    __slots__ = ("calls", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[ToolCall] = []


class _Gathered:
    """Takes the events of a trace in order and makes those of an episode."""

    def __init__(self) -> None:
        self.sent_after: dict[str, int] = {}
        self._order: list[User | ToolResult | _Turn] = []
        self._turns: dict[int, _Turn] = {}
        self._returned: Counter[int] = Counter()  # results by turn
        self._text: str | None = None  # of the assistant, as long as a call may follow that belongs to it

    def add(self, event: Message | Started | Ended) -> None:
        if isinstance(event, Started):
            self._call(event)
            return
        begins = not self._order
        text, self._text = self._text, None
        if text is not None and not (begins and isinstance(event, Message) and event.role == "user"):
            self._reply(text)
        if isinstance(event, Ended):
            self._result(event)
        elif event.role == "user":
            self._order.append(User(event.text))
        else:
            self._text = event.text

    def events(self) -> tuple[Event, ...]:
        if self._text is not None:
            self._reply(self._text)
        return tuple(
            Assistant("\n".join(part.texts) or None, tuple(part.calls)) if isinstance(part, _Turn) else part
            for part in self._order
        )

    def _reply(self, text: str) -> None:
        turn = _Turn()
        turn.texts.append(text)
        self._order.append(turn)

    def _call(self, event: Started) -> None:
        step = event.step
        turn = self._turns.get(step.turn)
        if turn is None:
            turn = self._turns[step.turn] = _Turn()
            self._order.append(turn)
        if self._text is not None:
            turn.texts.append(self._text)
            self._text = None
        name = step.call.id or f"c{step.started}"
        turn.calls.append(ToolCall(name, step.call.tool, cast("JsonValue", dict(step.call.args))))
        if returned := self._returned[step.turn]:
            self.sent_after[name] = returned

    def _result(self, event: Ended) -> None:
        step = event.step
        if step.result is not None:
            name = step.call.id or f"c{step.started}"
            self._order.append(ToolResult(name, step.call.tool, not step.result.ok, step.result.text))
            self._returned[step.turn] += 1


def manifest_of(trace: Trace) -> Manifest:
    """What the tools of a trace do: as the recording says, else as waggle's table of known tools says.

    By the table, a tool is a read when its calls may be made unasked: one whose calls cost money, move a cursor or are
    better not made unasked is generic, as are tools that do several things (every shell), those that touch only the
    agent's own notes, and those the table does not know.

    Returns:
        The tools that the recording lists, else those that it called, sorted.
    """
    if trace.kinds:
        tools: dict[str, Kind] = dict(trace.kinds)
    else:
        tools = {tool: _kind(tool) for tool in {step.call.tool for step in trace.steps}}
    return Manifest(trace.domain or "", dict(sorted(tools.items())))


def _kind(tool: str) -> Kind:
    spec = _KNOWN.spec(tool)
    if spec.command or spec.read_values or spec.effect is Effect.NOTE:
        return "generic"
    if spec.effect is Effect.READ:
        return "read" if _KNOWN.may_repeat(tool, {}) else "generic"
    return "write" if spec.name else "generic"  # the table takes a tool that nobody speaks for as a write
