"""One session that is looked ahead in: what happens in it, in order, and the run after each of the agent's calls.

Everything here happens on one thread of the session's own, which is told what crosses the wire and waits for nothing
but the next thing to happen. So no message waits for a decision, and none for a lookup. What the host is promised holds
whatever happens on this thread: the answer that is held is released by `stretto.proxy.held` if by nobody else.

Not responsible for which answers are held (`stretto.proxy.serving`) nor for deciding (`stretto.proxy.engine`).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from stretto.proxy.answers import request_line
from stretto.proxy.carrier import is_final, with_text
from stretto.proxy.listed import ListedTools
from stretto.sessions.importing import CallIds
from stretto.sessions.wire import LOOKUP_ID, content_of
from waggle.calls import Outcome, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.carrier import Carrier
    from stretto.proxy.context import Conversation
    from stretto.proxy.engine import Engine
    from stretto.proxy.held import Held, Holder
    from stretto.proxy.pending import HostCall, OwnCalls
    from stretto.sessions.manifest import Manifest
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


class ServedSession:
    """One session under one engine.

    The first methods are for any thread, those for what happens are for the session's own: they are handed to `post`.

    Args:
        engine: of this session.
        learned: the tools, as far as they are known before the server lists them.
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
        engine: Engine,
        learned: Manifest,
        own: OwnCalls,
        holder: Holder,
        faults: Faults,
        *,
        conversation: Conversation | None,
        lookup_s: float,
        carrier: Carrier = "auto",
    ) -> None:
        self._engine = engine
        self._own = own
        self._holder = holder
        self._faults = faults
        self._conversation = conversation
        self._lookup_s = lookup_s
        self._carrier = carrier
        self._wire: Wire | None = None
        self._ids = CallIds()
        self._made = 0  # lookups that were sent
        self._run: _Run | None = None
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stretto-session", daemon=True)
        self.busy = False
        self.off = False
        self.listed = ListedTools(learned)
        self.asking: set[str] = set()

    # --- from any thread ------------------------------------------------------------------------------------------

    def start(self, wire: Wire) -> None:
        """Begin to work."""
        self._wire = wire
        self._thread.start()

    def post(self, work: Callable[[], object]) -> None:
        """Let something be done, after everything that was posted before; what a task posts is part of that task."""
        if threading.current_thread() is self._thread:
            work()
        else:
            self._tasks.put(work)

    def switch_off(self, reason: str, error: Exception | None = None) -> None:
        """Look nothing up any more; an answer that is held goes out as the server sent it."""
        self.off = True
        self._faults.note(f"{self._engine.name} is switched off for this session: {reason}", error)
        self._holder.close()
        self._tasks.put(lambda: None)  # to be noticed

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
        self._engine.called(call)

    def answered(self, call: HostCall, response: JsonObject, held: Held | None, *, runs: bool) -> None:
        """Take in the answer to a call, and look things up where that is due.

        Args:
            call: the call.
            response: what the server answered.
            held: the answer, when it is held for lookups.
            runs: the engine is to be asked. When nothing is held for it, whatever it says is not made.
        """
        if not is_final(response):
            self.asking.add(call.name)
            self._engine.dropped(call)
            return
        self._engine.answered(call, _result(response))
        if runs:
            self._hear()
        if held is None:
            self._engine.delivered(call)
            if runs:
                self._engine.glance(call)
            return
        until = min(held.until - _WRITE_OUT_S, time.monotonic() + self._engine.longest_s)
        self._run = _Run(call, held, until)
        self._engine.begin(call)
        self._step(self._run)

    def looked_up(self, call_id: str, response: JsonObject) -> None:
        """Take in the answer to a lookup."""
        run = self._run
        if run is None or run.waits != call_id or run.lookup is None:
            return  # it was given up before
        lookup, run.waits, run.lookup = run.lookup, None, None
        if _asks(response):
            self.asking.add(lookup.tool)
            self._engine.give_up()
        else:
            self._engine.settle(_result(response))
        self._step(run)

    def committed(self, call: HostCall) -> None:
        """Know that a commit has its answer: its turn goes on no longer."""
        self._engine.delivered(call)

    def cancelled(self, call: HostCall) -> None:
        """Know that the host no longer waits for a call; a run after it ends, and so does its lookup."""
        self._engine.dropped(call)
        if self._run and self._run.call is call:
            self._give_up(self._run, "the call it was made for was cancelled")

    def give_up(self, reason: str) -> None:
        """End the run in progress, and the lookup that is being made."""
        if self._run:
            self._give_up(self._run, reason)

    def page(self, result: JsonObject, *, first: bool) -> None:
        """Take in a page of what the server lists."""
        self._engine.listed(self.listed.page(result, first=first))

    def changed(self) -> None:
        """Know that the server's tools have changed."""
        self.listed.changed()

    def send(self, raw: bytes) -> bool:
        """Send a line to the server; False when it is gone."""
        return self._wire is not None and self._wire.to_server(raw)

    def _hear(self) -> None:
        for role, text in self._conversation.news() if self._conversation else ():
            self._engine.said(role, text)

    # --- the run --------------------------------------------------------------------------------------------------

    def _step(self, run: _Run) -> None:
        """Make the next lookup, or hand back."""
        lookup = self._engine.next()
        if lookup is None:
            self._finish(run)
            return
        now = time.monotonic()
        if now >= run.until:
            self._engine.withdraw()
            self._finish(run)
            return
        call_id = f"{LOOKUP_ID}{self._made}"
        self._made += 1
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
        text = self._engine.text()
        line = with_text(run.held.line, text, self._carrier) if text else run.held.line
        self.busy = False  # before the answer is out, since the next one may come at once
        sent = self._holder.release(run.held, run.held.line if line is None else line)
        self._engine.end(delivered=sent and line is not None)
        self._engine.delivered(run.call)

    def _give_up(self, run: _Run, reason: str = "") -> None:
        """Hand back without the lookup that is being made, and let the server know the reason."""
        waits, run.waits = run.waits, None
        self._engine.give_up()
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
                self._close()
                return
            if self.off:
                self._run = None
                continue
            try:
                task()
                self._check_time()
            except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
                self.switch_off("something failed", error)

    def _close(self) -> None:
        try:
            self._engine.close()
        except Exception as error:  # noqa: BLE001 - as above
            self._faults.note("the session could not be closed", error)

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
