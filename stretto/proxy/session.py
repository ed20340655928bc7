"""One session that a flow acts in: what happens in it, in order, and the run after each of the agent's calls.

Everything here happens on one thread of the session's own, which is told what crosses the wire and waits for nothing
but the next thing to happen. So no message waits for a decision, and none for a lookup. What the host is promised holds
whatever happens on this thread: the answer that is held is released by `stretto.proxy.held` if by nobody else.

Not responsible for which answers are held (`stretto.proxy.serving`) nor for deciding (`stretto.speculator`).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from stretto.block import lookup_block
from stretto.proxy.answers import request_line
from stretto.proxy.carrier import is_final, with_text
from stretto.proxy.listed import ListedTools
from stretto.proxy.turns import LiveTurns
from stretto.sessions.episode import ToolCall
from stretto.sessions.importing import CallIds
from stretto.sessions.wire import COMMIT_TOOL, content_of
from waggle._defaults import FOLD_BYTES
from waggle.calls import Outcome, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.carrier import Carrier
    from stretto.proxy.context import Conversation
    from stretto.proxy.held import Held, Holder
    from stretto.proxy.pending import HostCall, OwnCalls
    from stretto.speculator import Speculator
    from waggle.background import Faults
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["ServedSession", "Wire"]

#: Seconds that are left of an answer's time when its lookups are given up: to write it out, with those that are there.
_WRITE_OUT_S: Final = 0.05

#: A server asks the user for something through an error with this code, in one version of the protocol.
_ASKS_CODE: Final = -32042


class Wire(Protocol):
    """Both sides; `stretto.proxy.relay.Relay` is one."""

    def to_host(self, raw: bytes, *, own: bool = True) -> bool:
        """Send a whole line to the host; `own` when it is not what the server said."""

    def to_server(self, raw: bytes) -> bool:
        """Send a whole line to the server."""


@dataclass(slots=True)
class _Run:
    """A run in progress, after one call of the agent."""

    call: HostCall
    held: Held
    until: float  # lookups are made as long as there is time
    waits: str | None = None  # id of the lookup that is being made
    lookup: Lookup | None = None
    lookup_until: float = 0.0
    made: list[Lookup] = field(default_factory=list)
    size_bytes: int = 0  # of their texts


class ServedSession:
    """One session under a flow.

    The first methods are for any thread, those for what happens are for the session's own: they are handed to `post`.

    Args:
        speculator: of this session.
        own: where calls are noted before they are sent.
        holder: of the answers.
        faults: where what goes wrong is counted.
        conversation: what is said beside the calls, None where nobody hands it over.
        lookup_s: longest time for one lookup, seconds.
        carrier: where what was looked up goes.

    Attributes:
        busy: a run is in progress, or an answer is held for one.
        listed: the tools of the server.
        asking: the tools that may have made the server ask its client for something.
        off: nothing is looked up any more.
    """

    def __init__(
        self,
        speculator: Speculator,
        own: OwnCalls,
        holder: Holder,
        faults: Faults,
        *,
        conversation: Conversation | None,
        lookup_s: float,
        carrier: Carrier = "auto",
    ) -> None:
        self._speculator = speculator
        self._own = own
        self._holder = holder
        self._faults = faults
        self._conversation = conversation
        self._lookup_s = lookup_s
        self._carrier = carrier
        self._wire: Wire | None = None
        self._turns = LiveTurns()
        self._ids = CallIds()
        self._begins = False  # a turn has begun, and its first call is still to come
        self._run: _Run | None = None
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stretto-session", daemon=True)
        self.busy = False
        self.off = False
        self.listed = ListedTools(speculator.prepared.flow.manifest)
        self.asking: set[str] = set()

    # --- from any thread ------------------------------------------------------------------------------------------

    def start(self, wire: Wire) -> None:
        """Begin to work."""
        self._wire = wire
        self._thread.start()

    def post(self, work: Callable[[], object]) -> None:
        """Let something be done, after everything that was posted before."""
        self._tasks.put(work)

    def switch_off(self, reason: str, error: Exception | None = None) -> None:
        """Look nothing up any more; an answer that is held goes out as the server sent it."""
        self.off = True
        self._faults.note(f"the flow is switched off for this session: {reason}", error)
        self._holder.close()
        self.post(lambda: None)  # to be noticed

    def stop(self, timeout_s: float) -> None:
        """Do what was posted and end, waiting for as long as `timeout_s`, seconds."""
        self._tasks.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def may_call(self, tool: str) -> bool:
        """Whether a lookup of this tool can be made without asking anybody anything; why not is reported once."""
        reason = (
            "its server has said that its tools changed, and they were not listed since"
            if self.listed.stale
            else "a call of it has led to a question, or to the promise of a result"
            if tool in self.asking
            else "it can be called as a task only"
            if tool in self.listed.tasks
            else ""
        )
        if reason:
            self._faults.note(f"{tool} is left to the agent: {reason}")
        return not reason

    # --- what happens ---------------------------------------------------------------------------------------------

    def called(self, call: HostCall) -> None:
        """Take in a call of the agent."""
        self._hear()
        call.id = self._ids.new(call.id)
        self._begins |= self._turns.call(call.id, call.arguments, time.monotonic())
        if call.name == COMMIT_TOOL:
            return  # the calls that it leads to are the agent's, and belong to its turn
        if self._begins:
            self._begins = False
            self._speculator.turn()
        self._speculator.call(ToolCall(call.id, call.name, call.arguments))

    def answered(self, call: HostCall, response: JsonObject, held: Held | None, *, runs: bool) -> None:
        """Take in the answer to a call, and run the flow where that is due.

        Args:
            call: the call.
            response: what the server answered.
            held: the answer, when it is held for lookups.
            runs: the flow is to be asked. When nothing is held for it, whatever it says is logged and not made.
        """
        if not is_final(response):
            self.asking.add(call.name)
            self._turns.dropped(call.id)
            return
        error, content = content_of(response)
        self._speculator.result(call.id, error=error, content=content)
        self._turns.returned(content)
        if runs:
            self._hear()
        begun = runs and self._speculator.begin(call.id)
        if held is None:
            self._turns.answered(call.id, time.monotonic())
            if begun and self._speculator.next():
                self._speculator.withdraw()
            return
        self._run = _Run(call, held, held.until - _WRITE_OUT_S)
        if begun:
            self._step(self._run)
        else:
            self._finish(self._run)

    def looked_up(self, call_id: str, response: JsonObject) -> None:
        """Take in the answer to a lookup."""
        run = self._run
        if run is None or run.waits != call_id or run.lookup is None:
            return  # it was given up before
        lookup, run.waits, run.lookup = run.lookup, None, None
        if _asks(response):
            self.asking.add(lookup.tool)
            self._speculator.end()
        elif call_id == self._speculator.lookup_id:
            result = _result(response)
            run.size_bytes += result.size_bytes
            if run.size_bytes > FOLD_BYTES:
                self._faults.note(f"what was looked up with {lookup.tool} is too long to be added")
                self._speculator.end()
            else:
                self._speculator.settle(result)
                self._turns.returned(result.text)
                run.made.append(replace(lookup, result=result))
        self._step(run)

    def committed(self, call: HostCall) -> None:
        """Know that a commit has its answer: its turn goes on no longer."""
        self._turns.answered(call.id, time.monotonic())

    def cancelled(self, call: HostCall) -> None:
        """Know that the host no longer waits for a call; a run after it ends, and so does its lookup."""
        self._turns.dropped(call.id)
        if self._run and self._run.call is call:
            self._give_up(self._run, "the call it was made for was cancelled")

    def give_up(self, reason: str) -> None:
        """End the run in progress, and the lookup that is being made."""
        if self._run:
            self._give_up(self._run, reason)

    def page(self, result: JsonObject, *, first: bool) -> None:
        """Take in a page of what the server lists."""
        self._speculator.listed(self.listed.page(result, first=first))

    def changed(self) -> None:
        """Know that the server's tools have changed."""
        self.listed.changed()

    def send(self, raw: bytes) -> bool:
        """Send a line to the server; False when it is gone."""
        return self._wire is not None and self._wire.to_server(raw)

    def _hear(self) -> None:
        for role, text in self._conversation.news() if self._conversation else ():
            reply = role == "assistant" and bool(text)
            self._turns.said(text, speaks=reply or role == "user")
            if reply:
                self._speculator.reply(text)
            elif role == "user":
                self._speculator.user(text)

    # --- the run --------------------------------------------------------------------------------------------------

    def _step(self, run: _Run) -> None:
        """Make the next lookup, or hand back."""
        lookup = self._speculator.next()
        call_id = self._speculator.lookup_id
        if lookup is None or call_id is None:
            self._finish(run)
            return
        now = time.monotonic()
        if now >= run.until:
            self._speculator.withdraw()  # it was not sent
            self._finish(run)
            return
        run.waits, run.lookup = call_id, lookup
        run.lookup_until = min(now + self._lookup_s, run.until)
        self._own.add(call_id, lookup.tool)
        params: JsonObject = {"name": lookup.tool, "arguments": lookup.args}
        if run.call.meta:
            params["_meta"] = run.call.meta
        if not self.send(request_line("tools/call", params, call_id)):
            self._give_up(run)

    def _finish(self, run: _Run) -> None:
        """Hand back: release the answer with what was looked up."""
        self._run = None
        line = with_text(run.held.line, lookup_block(run.made), self._carrier) if run.made else None
        self._holder.release(run.held, run.held.line if line is None else line)
        self._turns.answered(run.call.id, time.monotonic())
        self.busy = False

    def _give_up(self, run: _Run, reason: str = "") -> None:
        """Hand back without the lookup that is being made, and let the server know the reason."""
        waits, run.waits = run.waits, None
        self._speculator.end()
        self._finish(run)
        if waits:
            self._own.given_up(waits)
            if reason:
                self.send(request_line("notifications/cancelled", {"requestId": waits, "reason": reason}))

    # --- the thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            run = self._run
            left = max(0.0, run.lookup_until - time.monotonic()) if run else None
            try:
                task = self._tasks.get(timeout=left)
            except Empty:
                task = partial(self.give_up, "it took too long")
            if task is None:
                return
            if self.off:
                self._run = None
                continue
            try:
                task()
                self._check_time()
            except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
                self.switch_off("something failed", error)

    def _check_time(self) -> None:
        """Give a lookup up whose time is over while there is always something else to do."""
        run = self._run
        if run and time.monotonic() >= run.lookup_until:
            self._give_up(run, "it took too long")


def _asks(response: JsonObject) -> bool:
    """Whether a server answers a call with a question, or with the promise of an answer."""
    error = response.get("error")
    return not is_final(response) or (isinstance(error, dict) and error.get("code") == _ASKS_CODE)


def _result(response: JsonObject) -> Result:
    failed, text = content_of(response)
    refused = response.get("error") is not None
    return Result(text, not failed, outcome=Outcome.PROTOCOL_ERROR if refused else None)
