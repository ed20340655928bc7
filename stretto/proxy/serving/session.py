"""One session that is looked ahead in: what happens in it, in order, and the run after each of the agent's calls.

Everything here happens on one thread of the session's own, which is told what crosses the wire and waits for nothing
but the next thing to happen. So no message waits for a decision, and none for a lookup. What the host is promised holds
whatever happens on this thread: the answer that is held is released by `stretto.proxy.serving.held` if by nobody else.

Not responsible for which answers are held (`stretto.proxy.serving.tap`) nor for deciding
(`stretto.proxy.serving.engine`).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from stretto.proxy.answers import request_line
from stretto.proxy.carrier import is_final, with_text
from stretto.proxy.peers.company import Company
from stretto.proxy.peers.lending import Lending
from stretto.proxy.peers.messages import Answered, Called, Dropped, Found, LookedUp, Returned
from stretto.proxy.serving.listed import ListedTools
from stretto.sessions.importing import CallIds
from stretto.sessions.wire import content_of
from waggle.calls import Outcome, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.carrier import Carrier
    from stretto.proxy.context import Conversation
    from stretto.proxy.peers.mesh import Mesh, Peer
    from stretto.proxy.peers.messages import Ask, Event, Told
    from stretto.proxy.peers.names import Names
    from stretto.proxy.serving.engine import Engine
    from stretto.proxy.serving.held import Held, Holder
    from stretto.proxy.serving.pending import HostCall, OwnCalls, Requests
    from stretto.sessions.manifest import Manifest
    from waggle.background import Faults
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["ServedSession", "Wire"]

#: Seconds that are left of an answer's time when its lookups are given up: to write it out, with those that are there.
_WRITE_OUT_S: Final = 0.05

#: A server asks the user for something through an error with this code, in one version of the protocol.
_ASKS_CODE: Final = -32042

_REFUSED: Final = Outcome.PROTOCOL_ERROR

#: Longest reason of another proxy that is reported, characters.
_REASON_CHARS: Final = 200


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
    waits: str | None = None  # id of the lookup that is being made: of the call, or of the one that was asked for
    borrowed: bool = False  # it is another server's
    lookup: Lookup | None = None
    lookup_id: str = ""  # in the session, where others are to know of it
    lookup_until: float = math.inf


class ServedSession:
    """One session under one engine.

    The first methods are for any thread, those for what happens are for the session's own: they are handed to `post`.

    Args:
        engine: of this session.
        learned: the tools, as far as they are known before the server lists them.
        own: where calls are noted before they are sent.
        requests: of the host.
        holder: of the answers.
        faults: where what goes wrong is counted.
        conversation: what is said beside the calls, None where nobody hands it over.
        lookup_s: longest time for one lookup, seconds.
        carrier: where what was looked up goes.
        names: what the server's tools are called in the flow.
        mesh: the proxies of the other servers that the flow knows; None where it knows one.
        lends: lookups are made for them.

    Attributes:
        busy: a run is in progress, or an answer is held for one.
        listed: the tools of the server.
        asking: the tools that may have made the server ask its client for something, as the wire has them.
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
        requests: Requests,
        conversation: Conversation | None,
        lookup_s: float,
        carrier: Carrier = "auto",
        names: Names,
        mesh: Mesh | None,
        lends: bool,
    ) -> None:
        self._engine = engine
        self._own = own
        self._requests = requests
        self._holder = holder
        self._faults = faults
        self._conversation = conversation
        self._lookup_s = lookup_s
        self._carrier = carrier
        self._names = names
        self._lends = lends
        self._is_listed = False
        self._wire: Wire | None = None
        self._ids = CallIds()
        self._run: _Run | None = None
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stretto-session", daemon=True)
        self.busy = False
        self.off = False
        self._others = names.others_tools(learned)  # what other servers list is for their proxies to know
        self.listed = ListedTools(names.own_tools(learned))
        self.asking: set[str] = set()
        self._company = Company(names.server, mesh, self, self.post, faults)
        self._lending = Lending(
            refusal=self._not_lent, call=self._call, leave=self._leave_call, reply=self._company.reply
        )

    # --- from any thread ------------------------------------------------------------------------------------------

    def start(self, wire: Wire) -> None:
        """Begin to work."""
        self._wire = wire
        self._thread.start()
        self._company.enter()

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
        self._company.leave()

    def may_call(self, tool: str) -> bool:
        """Whether a lookup of this tool can be made without asking anybody anything; why not is reported once."""
        reason = self._own_refusal(tool) if self._names.is_own(tool) else self._company.refusal(tool)
        if reason:
            self._faults.note(f"{tool} is left to the agent: {reason}")
        return not reason

    def _own_refusal(self, tool: str) -> str:
        if self.listed.stale:
            return "its server has said that its tools changed, and they were not listed since"
        if self._names.on_wire(tool) in self.asking:
            return "a call of it has led to a question, or to the promise of a result"
        return "it can be called as a task only" if tool in self.listed.tasks else ""

    # --- what happens ---------------------------------------------------------------------------------------------

    def called(self, call: HostCall) -> None:
        """Take in a call of the agent."""
        self._hear(call.at)
        call.id = self._ids.new(self._names.in_flow(call.id))
        self._company.happened(Called(call.at, call.id, self._names.in_flow(call.name), call.arguments))

    def answered(self, call: HostCall, response: JsonObject, held: Held | None, *, at: float, runs: bool) -> None:
        """Take in the answer to a call, and look things up where that is due.

        Args:
            call: the call.
            response: what the server answered.
            held: the answer, when it is held for lookups.
            at: when it came, on the clock of `time.monotonic`.
            runs: the engine is to be asked. When nothing is held for it, whatever it says is not made.
        """
        if not is_final(response):
            self.asking.add(call.name)
            self.lend()
            self._company.happened(Dropped(at, call.id))
            return
        result = _result(response)
        refused = result.outcome is _REFUSED
        self._company.happened(Returned(at, call.id, not result.ok, refused, result.text), late=True)
        if held is None:
            self._company.happened(Answered(at, call.id), late=True)
        run = None
        if held:
            until = min(held.until - _WRITE_OUT_S, time.monotonic() + self._engine.longest_s)
            run = self._run = _Run(call, held, until)
        if runs:
            self._hear(at, late=True)
            self._company.agreed(partial(self._begin, call, run, at), held=held is not None)

    def looked_up(self, call_id: str, response: JsonObject) -> None:
        """Take in the answer to a call of the proxy's own."""
        asks = _asks(response)
        if asks:
            self.asking.add(self._own.tool(call_id))
            self.lend()
        result = None if asks else _result(response)
        if not self._lending.answered(call_id, result):
            self._came(call_id, result)

    def committed(self, call: HostCall) -> None:
        """Know that a commit has its answer: its turn goes on no longer."""
        self._company.happened(Answered(time.monotonic(), call.id))

    def cancelled(self, call: HostCall) -> None:
        """Know that the host no longer waits for a call; a run after it ends, and so does its lookup."""
        self._company.happened(Dropped(time.monotonic(), call.id))
        if self._run and self._run.call is call:
            self._give_up(self._run, "the call it was made for was cancelled")

    def give_up(self, reason: str) -> None:
        """End what is under way at the server for the run in progress, and for other proxies."""
        self._lending.give_up(reason)
        if self._run and not self._run.borrowed:
            self._give_up(self._run, reason)

    def page(self, result: JsonObject, *, first: bool) -> None:
        """Take in a page of what the server lists."""
        listed = self.listed.page(self._names.listed(result), first=first)
        self._engine.listed(self._others.updated(listed) if self._names else listed)
        self._is_listed = True
        self.lend()

    def changed(self) -> None:
        """Know that the server's tools have changed."""
        self.listed.changed()
        self.lend()

    def lend(self) -> None:
        """Let the proxies of other servers know which tools they may have looked up here."""
        if self._names and self._lends and self._is_listed:
            tools = self.listed.known.reads
            self._company.lend(
                tuple(tool for tool in tools if not (self._own_refusal(tool) or self._engine.refusal(tool, {})))
            )

    def send(self, raw: bytes) -> bool:
        """Send a line to the server; False when it is gone."""
        return self._wire is not None and self._wire.to_server(raw)

    def _hear(self, at: float, *, late: bool = False) -> None:
        for role, text in self._conversation.news() if self._conversation else ():
            self._company.said(role, text, at, late=late)

    # --- what happens in the company --------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """Take in what happened here or at another server, in order of time; see `Member`."""
        self._engine.take(event)

    def asked(self, peer: Peer, ask: Ask) -> None:
        """Make a lookup for another proxy; see `stretto.proxy.peers.company.Member`."""
        self._lending.asked(peer, ask)

    def left(self, peer: Peer, number: int | None, reason: str) -> None:
        """Know that another proxy waits for a lookup no more; see `stretto.proxy.peers.company.Member`."""
        self._lending.left(peer, number, reason)

    def told(self, borrowed: str, told: Told) -> None:
        """Take in what another proxy has looked up; see `stretto.proxy.peers.company.Member`."""
        run = self._run
        if run is None or run.waits != borrowed or run.lookup is None:
            return  # it was given up before
        if not told.reason:
            self._came(borrowed, Result(told.text, not told.error, outcome=_REFUSED if told.refused else None))
            return
        self._faults.note(f"{run.lookup.tool} is left to the agent: {told.reason[:_REASON_CHARS]}")
        run.waits = None
        self._engine.withdraw()
        self._finish(run)

    def _not_lent(self, tool: str, arguments: JsonObject) -> str:
        """Why a lookup for another proxy is not made; empty when it is."""
        if not self._lends:
            return "its server's flow only decides"
        if not self._is_listed or not self._names.is_own(tool):
            return "its server has not listed it"
        return self._engine.lend(tool, arguments)

    # --- the run --------------------------------------------------------------------------------------------------

    def _begin(self, call: HostCall, run: _Run | None, at: float) -> None:
        """Decide after a call, from what had happened when its answer came."""
        if run is not None and self._run is not run:
            return  # it was given up before
        self._company.catch_up(at)
        if run is None:
            self._engine.glance(call.id)
            return
        self._engine.begin(call.id)
        self._step(run)

    def _came(self, call_id: str, result: Result | None) -> None:
        """Take in the result of a lookup; None when the server asks for something instead."""
        run = self._run
        if run is None or run.waits != call_id or run.lookup is None:
            return  # it was given up before
        run.waits, run.lookup = None, None
        self._company.catch_up()
        if result is None:
            self._engine.give_up()
        elif self._engine.settle(result):
            self._tell(Found, run, not result.ok, result.text)
        self._step(run)

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
        run.lookup, run.lookup_id = lookup, self._engine.lookup_id
        run.lookup_until = min(now + self._lookup_s, run.until)
        run.borrowed = not self._names.is_own(lookup.tool)
        make = self._company.borrow if run.borrowed else self._call
        run.waits = make(lookup.tool, lookup.args)
        if run.waits is None:
            self._give_up(run)
            return
        self._tell(LookedUp, run, lookup.tool, lookup.args)

    def _tell(self, kind: Callable[..., Event], run: _Run, *fields: object) -> None:
        """Let other proxies know of a lookup."""
        if self._names and run.lookup_id:
            self._company.tell(kind(time.monotonic(), self._names.in_flow(run.lookup_id), *fields))

    def _call(self, tool: str, arguments: JsonObject) -> str | None:
        """Send a call of the proxy's own; its id, None when the server is gone."""
        name = self._names.on_wire(tool)
        call_id = self._own.add(name)
        params: JsonObject = {"name": name, "arguments": arguments}
        meta = self._run.call.meta if self._run and self._run.call.meta else self._requests.meta
        if meta:
            params["_meta"] = meta
        if self.send(request_line("tools/call", params, call_id)):
            return call_id
        self._own.given_up(call_id)
        return None

    def _leave_call(self, call_id: str, reason: str) -> None:
        """Wait for a call of the proxy's own no more, and let the server know the reason, if there is one."""
        self._own.given_up(call_id)
        if reason:
            self.send(request_line("notifications/cancelled", {"requestId": call_id, "reason": reason}))

    def _finish(self, run: _Run) -> None:
        """Hand back: release the answer with what was looked up."""
        self._run = None
        text = self._engine.text()
        line = with_text(run.held.line, text, self._carrier) if text else run.held.line
        self.busy = False  # before the answer is out, since the next one may come at once
        sent = self._holder.release(run.held, run.held.line if line is None else line)
        self._engine.end(delivered=sent and line is not None)
        self._company.happened(Answered(time.monotonic(), run.call.id))

    def _give_up(self, run: _Run, reason: str = "") -> None:
        """Hand back without the lookup that is being made, and let whoever makes it know the reason."""
        waits, run.waits = run.waits, None
        self._engine.give_up()
        self._finish(run)
        if waits and run.borrowed:
            self._company.give_back(waits, reason)
        elif waits:
            self._leave_call(waits, reason)

    # --- the thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            until = min(self._run.lookup_until if self._run else math.inf, self._company.until)
            left = None if until == math.inf else max(0.0, until - time.monotonic())
            try:
                task = self._tasks.get(timeout=left)
            except Empty:
                task = self._check_time
            if task is None:
                self._close()
                return
            if self.off:
                self._run = None
                self._company.leave()
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
        """Give up what takes too long, also while there is always something else to do."""
        self._company.check()
        run = self._run
        if run and time.monotonic() >= run.lookup_until:
            self._give_up(run, "it took too long")


def _asks(response: JsonObject) -> bool:
    """Whether a server answers a call with a question, or with the promise of an answer."""
    error = response.get("error")
    return not is_final(response) or (isinstance(error, dict) and error.get("code") == _ASKS_CODE)


def _result(response: JsonObject) -> Result:
    failed, text = content_of(response)
    return Result(text, not failed, outcome=None if response.get("error") is None else _REFUSED)
