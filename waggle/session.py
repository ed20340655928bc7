"""One conversation of an agent: what a host reports of it, and what it is offered in return.

Everything here runs on the host's thread and promises two things: it never raises into the host, and it never touches
the disk.
"""

from __future__ import annotations

import functools
import inspect
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from waggle import jsonvalue
from waggle._fork import renew_in_children
from waggle.calls import Call, Effect, Outcome, Result, Step
from waggle.incremental import IncrementalMiner
from waggle.recorder import Recorder, Started
from waggle.speculation import Speculation, is_following

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from waggle.background import Faults
    from waggle.config import ManagerConfig
    from waggle.jsonvalue import JsonObject
    from waggle.reach.replayer import ReachStudent
    from waggle.replay import Fold
    from waggle.speculation import AsyncRun, Follow, Run
    from waggle.tools import ToolTable

__all__ = ["Session"]

_F = TypeVar("_F", bound="Callable[..., Any]")
_SCALARS = frozenset({str, int, bool, type(None)})


class Session:
    """A conversation; made by `Manager.session`. Safe to use from several threads and from async code.

    Args:
        name: the host's id of the conversation.
        config: sizes.
        tools: what is known of the host's tools.
        speculation: the lookups of this conversation; None when nothing is replayed.
        faults: where faults are counted.
        on_sweep: called with the miner after every `ManagerConfig.sweep_calls` calls; None when nothing is learned.
        student: notes the calls whose reach is counted; None when it is not.
        on_study: called with the student as often as `on_sweep`, and with True at the end.
    """

    def __init__(
        self,
        name: str,
        *,
        config: ManagerConfig,
        tools: ToolTable,
        speculation: Speculation | None,
        faults: Faults,
        on_sweep: Callable[[IncrementalMiner], None] | None,
        student: ReachStudent | None = None,
        on_study: Callable[[ReachStudent, bool], None] | None = None,
    ) -> None:
        self.name = name
        self._sweep_calls = config.sweep_calls
        self._shell_forms = config.shell_forms
        self._tools = tools
        self._speculation = speculation
        self._faults = faults
        self._on_sweep = on_sweep
        self._student = student
        self._on_study = on_study
        self._lock = threading.Lock()
        self._recorder = Recorder(config.ring_steps)
        self._miner = IncrementalMiner(config.mine)
        self._started: dict[str | int, tuple[Call, Started]] = {}  # announced and not yet reported
        self._since_sweep = 0
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`."""
        self._lock = threading.Lock()

    # --- what the agent does ---

    def start(self, call: Call) -> None:
        """Announce a call that begins now. Needed only where calls overlap, so that their order is that of starting.

        `observe` recognises the call by its id, or, where it has none, by being the same object.
        """
        if is_following():
            return  # `observe` will not take it in either
        try:
            with self._lock:
                args, _ = _arguments(call.args)
                started = self._recorder.start(call.tool, args)
                self._started[call.id or id(call)] = (call, started)
                if len(self._started) > self._recorder.capacity:  # the host has lost the oldest
                    del self._started[next(iter(self._started))]
                if self._speculation:
                    self._speculation.start(started.seq, call.tool, self._tools.essential(call.tool, args))
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._faults.note("start", error)

    def observe(self, call: Call, result: Result | str = "") -> None:
        """Take in a call that has ended, and its result. Call it for every tool call, reads and writes.

        Never raises and never waits for the disk. Costs tens of microseconds, however long the session.
        """
        if is_following():
            return  # one of our own lookups, reported back by the host's hook
        try:
            with self._lock:
                answer = result if isinstance(result, Result) else Result(str(result))
                self._take(self._recorder.end(self._step(call, answer), answer))
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("observe", error)

    def _step(self, call: Call, result: Result) -> Step:
        args, replayable = _arguments(call.args)
        args = self._tools.essential(call.tool, args)
        form, values = (
            self._tools.spoken(call.tool, args) if self._shell_forms and call.reads is not False else ("", args)
        )
        announced = self._started.pop(call.id or id(call), None) if self._started else None
        started = announced[1] if announced else self._recorder.instant()
        if call.reads is None:
            effect = Effect.READ if form else self._tools.effect(call.tool, args)
        else:
            effect = Effect.READ if call.reads else Effect.WRITE
        return Step(
            started.seq,
            call.tool,
            values,
            result.outcome or Outcome.OK,
            effect,
            replayable,
            started.overlapped,
            form,
        )

    def _take(self, ended: list[tuple[Step, Result]]) -> None:
        for step, result in ended:
            full = self._recorder.record(step)
            if self._speculation:
                self._speculation.observe(step, result)
            if self._student:
                self._student.observe(step, result)
            if self._on_sweep:
                if full:
                    self._miner.evict()
                self._miner.append(step)
                self._since_sweep += 1
                if self._since_sweep >= self._sweep_calls:
                    self._since_sweep = 0
                    self._on_sweep(self._miner)
                    if self._student and self._on_study:
                        self._on_study(self._student, False)

    def close(self) -> None:
        """End the conversation: calls that never ended are recorded as aborted."""
        try:
            with self._lock:
                self._take(self._recorder.abort())
                self._started.clear()
                if self._on_sweep and self._since_sweep:
                    self._since_sweep = 0
                    self._on_sweep(self._miner)
                if self._speculation:
                    self._speculation.close()
                if self._student and self._on_study:
                    self._on_study(self._student, True)
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("close", error)

    def hear(self, text: str, role: str = "user") -> None:
        """Take in what was said in the conversation, in its place among the calls. Optional.

        Routes do not need it; strategies that bind what the user wrote, or that tell a reply from a call, do.

        Args:
            text: what was said.
            role: who said it, ``user`` or ``assistant``.
        """
        if self._speculation is None:
            return
        try:
            self._speculation.hear(role, text)
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("hear", error)

    def steps(self) -> list[Step]:
        """Copy of the ring, oldest first, without results."""
        with self._lock:
            return self._recorder.steps()

    # --- what is done for the agent ---

    def follow(self, run: Run) -> Fold | None:
        """Make the lookups the agent will probably ask for next. Call it after `observe`, with the result in hand.

        Args:
            run: ``run(tool, args)`` makes a call through the host's own tools and returns a `Result`, or its text.
                What it raises counts as a failed lookup.

        Returns:
            The text to append to the agent's result, with its lookups; None when nothing fires, when a cap is reached,
            or when this session is being followed already.
        """
        if self._speculation is None:
            return None
        try:
            return self._speculation.follow(run)
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("follow", error)
            return None

    async def afollow(self, run: AsyncRun) -> Fold | None:
        """Do what `follow` does from async code; lookups that do not depend on each other run at the same time.

        A lookup that outlasts `ManagerConfig.follow_seconds` is cancelled; that is no failure of its route.
        """
        if self._speculation is None:
            return None
        try:
            return await self._speculation.afollow(run)
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("follow", error)
            return None

    def open_follow(self) -> Follow | None:
        """Begin what `follow` does, for a host that makes lookups step by step instead of waiting for each.

        Returns:
            Gives the lookups and takes their results, until it is ended; None when this session is being followed
            already, or its lookups are used up.
        """
        if self._speculation is None:
            return None
        try:
            return self._speculation.open()
        except Exception as error:  # noqa: BLE001 - as in start
            self._faults.note("follow", error)
            return None

    # --- Python functions as tools ---

    def wrap(self, function: _F, *, reads: bool | None = None) -> _F:
        """Make a Python function report its calls here; it returns and raises exactly what it did before.

        Args:
            function: a plain or an async function; its name is the tool's name.
            reads: the host's word on whether it only reads; None asks the tool table.
        """
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                call = self._announced(function, args, kwargs, reads=reads)
                try:
                    value = await function(*args, **kwargs)
                except BaseException as error:
                    self._report(call, _failure(error))
                    raise
                self._report(call, value)
                return value

            return cast("_F", awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            call = self._announced(function, args, kwargs, reads=reads)
            try:
                value = function(*args, **kwargs)
            except BaseException as error:
                self._report(call, _failure(error))
                raise
            self._report(call, value)
            return value

        return cast("_F", called)

    def _announced(
        self,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
        *,
        reads: bool | None,
    ) -> Call | None:
        if is_following():
            return None
        try:
            call = replace(Call.of(function, *args, **kwargs), reads=reads)
        except Exception as error:  # noqa: BLE001 - the function itself will say that its arguments do not fit
            self._faults.note("wrap", error)
            return None
        self.start(call)
        return call

    def _report(self, call: Call | None, value: object) -> None:
        if call is None:
            return
        if not isinstance(value, (Result, str)):
            content, _ = jsonvalue.to_json(value)
            value = Result(jsonvalue.dumps(content).decode(), value=content)
        self.observe(call, value)


def _failure(error: BaseException) -> Result:
    outcome = Outcome.TOOL_ERROR if isinstance(error, Exception) else Outcome.CANCELLED
    return Result(type(error).__name__, ok=False, outcome=outcome)


def _arguments(args: Mapping[str, object]) -> tuple[JsonObject, bool]:
    """A copy of a call's arguments as JSON values, and whether they were kept exactly."""
    kept: dict[str, Any] = dict(args)
    exact = True
    for name, value in kept.items():
        if type(value) not in _SCALARS:
            kept[name], one_exact = jsonvalue.to_json(value)
            exact = exact and one_exact
    return kept, exact
