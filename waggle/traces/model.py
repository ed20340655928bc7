"""A recorded session as a value: what was called, what came back, what was said, in which order.

Not responsible for files; `waggle.traces.read` reads them. Everything in a trace is data: texts that speak to an agent
are kept as they are and are never followed.

The order of a session is kept as positions: its events, which are messages, starts of calls and ends of calls, are
numbered 0, 1, 2, … and each number stands at exactly one of them. `TraceBuilder` makes traces for which that holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.calls import Call, Result

__all__ = ["CallIds", "Ended", "Event", "Kind", "Message", "Role", "Started", "Trace", "TraceBuilder", "TraceStep"]

#: What a trace says of a tool: it changes nothing, it changes something, or its name does not tell.
Kind: TypeAlias = Literal["read", "write", "generic"]

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """What the user or the assistant said, tool calls and reasoning apart.

    Attributes:
        role: who said it.
        text: what was said; an image stands in it as ``[image]``.
        at: position among the trace's events.
    """

    role: Role
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One call of a recorded session with its own result.

    A call can have used an earlier one's result only when its `turn` is another one and it started after that one
    ended: calls of one turn were all decided before any of them answered.

    Attributes:
        call: tool, arguments and the recording's id of the call.
        result: the answer, or None when none was recorded: interrupted, or the recording ends.
        turn: which of the assistant messages that call tools it came from, from 0.
        started: position of the call among the trace's events.
        ended: position of its result, always after `started`, or None without a result.
        args_cut: an argument was shortened when it was recorded, so the call cannot be made again.
    """

    call: Call
    result: Result | None
    turn: int
    started: int
    ended: int | None
    args_cut: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """The moment a call was made."""

    step: TraceStep


@dataclass(frozen=True, slots=True)
class Ended:
    """The moment a call's result arrived."""

    step: TraceStep


Event: TypeAlias = "Message | Started | Ended"


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded session of one agent. A sub-agent's work is a trace of its own: it has a context of its own.

    Attributes:
        session: the session's id.
        agent: host and model, ``claude-code/claude-opus-4-6``.
        source: where it was recorded or read: repository, path and commit, or a file's name.
        steps: the calls, in order of starting.
        messages: what was said, in order.
        task: the benchmark's id of the task, None for interactive work. Several sessions may solve one task.
        domain: the field of work, None if it is not known.
        success: the benchmark's verdict, None where there is none.
        parent: the session that this one was started by (a sub-agent) or split off from, or None.
        cwd: the session's directory when it started, None if it was not recorded.
        kinds: what the recording says of its tools, by name; empty when it says nothing.
    """

    session: str
    agent: str
    source: str
    steps: tuple[TraceStep, ...] = ()
    messages: tuple[Message, ...] = ()
    task: str | None = None
    domain: str | None = None
    success: bool | None = None
    parent: str | None = None
    cwd: str | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def split_key(self) -> str:
        """The unit to split by: what is learned on one trace is never measured on another with an equal key.

        That is the task, else the parent session, else the session.
        """
        return self.task or self.parent or self.session

    @property
    def turns(self) -> int:
        """Number of assistant messages that call tools."""
        return len({step.turn for step in self.steps})

    def events(self) -> Iterator[Event]:
        """Messages, starts and ends of calls in the order they were recorded. Costs O(events)."""
        order: list[Event | None] = [None] * (len(self.messages) + 2 * len(self.steps))
        for message in self.messages:
            order[message.at] = message
        for step in self.steps:
            order[step.started] = Started(step)
            if step.ended is not None:
                order[step.ended] = Ended(step)
        return (event for event in order if event is not None)


class CallIds:
    """Ids for the calls of one session. Recordings repeat ids; a session cannot, since a result is found by its id."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # id -> the highest number that was put behind it

    def new(self, wanted: str) -> str:
        """The id itself, or with ``#2``, ``#3``, … behind it when an earlier call has it."""
        name, number = wanted, self._last.get(wanted, 0)
        while name in self._last:
            number = max(number + 1, 2)
            name = f"{wanted}#{number}"
        self._last[wanted] = number
        self._last.setdefault(name, 0)
        return name


class TraceBuilder:
    """Takes the events of one session in order, pairs results with calls by id, and makes the trace.

    A result that was recorded before its call ends right after the call. What cannot belong anywhere is refused, and
    the method says so: a second call under one id, a second result for one call.
    """

    __slots__ = ("_at", "_calls", "_early", "_index", "_messages", "_results")

    def __init__(self) -> None:
        self._at = 0
        self._messages: list[Message] = []
        self._calls: list[tuple[Call, int, int, bool]] = []
        self._results: list[tuple[Result, int] | None] = []
        self._index: dict[str, int] = {}  # id of a call -> its place in the two lists above
        self._early: dict[str, Result] = {}

    def message(self, role: Role, text: str) -> None:
        """Add what was said."""
        self._messages.append(Message(role, text, self._at))
        self._at += 1

    def call(self, call: Call, turn: int, *, args_cut: bool = False) -> bool:
        """Add the start of a call. False when a call with this id is already there.

        Raises:
            ValueError: the call has no id, so its result could not be told.
        """
        name = call.id
        if name is None:
            raise ValueError(f"a recorded call of {call.tool!r} needs an id")
        if name in self._index:
            return False
        self._index[name] = len(self._calls)
        self._calls.append((call, turn, self._at, args_cut))
        self._results.append(None)
        self._at += 1
        if name in self._early:
            self.result(name, self._early.pop(name))
        return True

    def result(self, name: str, result: Result) -> bool:
        """Add the result of the call with this id. False when that call already has one."""
        place = self._index.get(name)
        if place is None:
            return self._early.setdefault(name, result) is result
        if self._results[place] is not None:
            return False
        self._results[place] = (result, self._at)
        self._at += 1
        return True

    @property
    def orphans(self) -> tuple[str, ...]:
        """Ids of the results whose call has not been seen, in order of their arrival; `build` leaves them out."""
        return tuple(self._early)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to make a trace of."""
        return self._at == 0

    def build(
        self,
        session: str,
        agent: str,
        source: str,
        *,
        task: str | None = None,
        domain: str | None = None,
        success: bool | None = None,
        parent: str | None = None,
        cwd: str | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> Trace:
        """Make the trace of all that was added; the arguments are the attributes of `Trace`."""
        steps = tuple(
            TraceStep(call, None, turn, started, None, args_cut)
            if ended is None
            else TraceStep(call, ended[0], turn, started, ended[1], args_cut)
            for (call, turn, started, args_cut), ended in zip(self._calls, self._results, strict=True)
        )
        return Trace(
            session, agent, source, steps, tuple(self._messages), task, domain, success, parent, cwd, kinds or {}
        )
