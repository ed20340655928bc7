"""One session that a flow acts in: what happens in it, in order, and the run after each of the agent's calls.

Everything here happens on one thread of the session's own, which is told what crosses the wire and waits for nothing
but the next thing to happen. So no message waits for a decision, and none for a lookup. What the host is promised holds
whatever happens on this thread: the answer that is held is released by `stretto.proxy.held` if by nobody else.

Not responsible for which answers are held (`stretto.proxy.serving`) nor for deciding (`stretto.speculator`).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Protocol

from stretto.block import lookup_block
from stretto.proxy.carrier import is_final, with_text
from stretto.proxy.company import Company
from stretto.proxy.lending import Lending
from stretto.proxy.listed import ListedTools
from stretto.proxy.messages import Answered, Called, Dropped, Found, LookedUp, Returned, Said
from stretto.proxy.turns import LiveTurns
from stretto.sessions.episode import ToolCall
from stretto.sessions.importing import CallIds
from stretto.sessions.wire import content_of
from waggle import jsonvalue
from waggle._defaults import FOLD_BYTES
from waggle.calls import Outcome, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.context import Conversation
    from stretto.proxy.held import Held, Holder
    from stretto.proxy.mesh import Mesh, Peer
    from stretto.proxy.messages import Ask, Event, Told
    from stretto.proxy.names import Names
    from stretto.proxy.pending import HostCall, OwnCalls, Requests
    from stretto.speculator import Speculator
    from waggle.background import Faults
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["ServedSession", "Wire", "request_line"]

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
    lookup_id: str | None = None  # in the session
    lookup_until: float = math.inf
    made: list[Lookup] = field(default_factory=list)
    size_bytes: int = 0  # of their texts


class ServedSession:
    """One session under a flow.

    The first methods are for any thread, those for what happens are for the session's own: they are handed to `post`.

    Args:
        speculator: of this session.
        own: where calls are noted before they are sent.
        requests: of the host.
        holder: of the answers.
        faults: where what goes wrong is counted.
        conversation: what is said beside the calls, None where nobody hands it over.
        lookup_s: longest time for one lookup, seconds.
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
        speculator: Speculator,
        own: OwnCalls,
        requests: Requests,
        holder: Holder,
        faults: Faults,
        *,
        conversation: Conversation | None,
        lookup_s: float,
        names: Names,
        mesh: Mesh | None,
        lends: bool,
    ) -> None:
        self._speculator = speculator
        self._own = own
        self._requests = requests
        self._holder = holder
        self._faults = faults
        self._conversation = conversation
        self._lookup_s = lookup_s
        self._names = names
        self._lends = lends
        self._is_listed = False
        self._wire: Wire | None = None
        self._turns = LiveTurns()
        self._ids = CallIds()
        self._run: _Run | None = None
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="stretto-session", daemon=True)
        self.busy = False
        self.off = False
        learned = speculator.prepared.flow.manifest
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
        """Let something be done, after everything that was posted before; at once, where it is part of such work."""
        if threading.current_thread() is self._thread:
            work()
        else:
            self._tasks.put(work)

    def switch_off(self, reason: str, error: Exception | None = None) -> None:
        """Look nothing up any more; an answer that is held goes out as the server sent it."""
        self.off = True
        self._faults.note(f"the flow is switched off for this session: {reason}", error)
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
        """Take in the answer to a call, and run the flow where that is due.

        Args:
            call: the call.
            response: what the server answered.
            held: the answer, when it is held for lookups.
            at: when it came, on the clock of `time.monotonic`.
            runs: the flow is to be asked. When nothing is held for it, whatever it says is logged and not made.
        """
        if not is_final(response):
            self.asking.add(call.name)
            self.lend()
            self._company.happened(Dropped(at, call.id))
            return
        error, content = content_of(response)
        self._company.happened(Returned(at, call.id, error, content), late=True)
        if held is None:
            self._company.happened(Answered(at, call.id), late=True)
        run = None
        if held:
            run = self._run = _Run(call, held, held.until - _WRITE_OUT_S)
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
        self._speculator.listed(self._others.updated(listed) if self._names else listed)
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
                tuple(tool for tool in tools if not (self._own_refusal(tool) or self._speculator.refusal(tool, {})))
            )

    def send(self, raw: bytes) -> bool:
        """Send a line to the server; False when it is gone."""
        return self._wire is not None and self._wire.to_server(raw)

    def _hear(self, at: float, *, late: bool = False) -> None:
        for role, text in self._conversation.news() if self._conversation else ():
            self._company.said(role, text, at, late=late)

    # --- what happens in the company --------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """Take in what happened here or at another server, in order of time; see `stretto.proxy.company.Member`."""
        match event:
            case Called():
                if self._turns.call(event.id, event.arguments, event.at):
                    self._speculator.turn()
                self._speculator.call(ToolCall(event.id, event.tool, event.arguments))
            case LookedUp():
                self._speculator.lookup(ToolCall(event.id, event.tool, event.arguments))
            case Returned() | Found():
                self._speculator.result(event.id, error=event.error, content=event.text)
                self._turns.returned(event.text)
            case Answered():
                self._turns.answered(event.id, event.at)
            case Dropped():
                self._turns.dropped(event.id)
            case Said():
                reply = event.role == "assistant" and bool(event.text)
                self._turns.said(event.text, speaks=reply or event.role == "user")
                if reply:
                    self._speculator.reply(event.text)
                elif event.role == "user":
                    self._speculator.user(event.text)

    def asked(self, peer: Peer, ask: Ask) -> None:
        """Make a lookup for another proxy; see `stretto.proxy.company.Member`."""
        self._lending.asked(peer, ask)

    def left(self, peer: Peer, number: int | None, reason: str) -> None:
        """Know that another proxy waits for a lookup no more; see `stretto.proxy.company.Member`."""
        self._lending.left(peer, number, reason)

    def told(self, borrowed: str, told: Told) -> None:
        """Take in what another proxy has looked up; see `stretto.proxy.company.Member`."""
        run = self._run
        if run is None or run.waits != borrowed or run.lookup is None:
            return  # it was given up before
        if not told.reason:
            self._came(borrowed, Result(told.text, not told.error, outcome=_REFUSED if told.refused else None))
            return
        self._faults.note(f"{run.lookup.tool} is left to the agent: {told.reason[:_REASON_CHARS]}")
        run.waits = None
        if self._speculator.lookup_id == run.lookup_id:
            self._speculator.withdraw()
        self._finish(run)

    def _not_lent(self, tool: str, arguments: JsonObject) -> str:
        """Why a lookup for another proxy is not made; empty when it is."""
        if not self._lends:
            return "its server's flow only decides"
        if not self._is_listed or not self._names.is_own(tool):
            return "its server has not listed it"
        return self._speculator.lend(tool, arguments)

    # --- the run --------------------------------------------------------------------------------------------------

    def _begin(self, call: HostCall, run: _Run | None, at: float) -> None:
        """Decide after a call, from what had happened when its answer came."""
        if run is not None and self._run is not run:
            return  # it was given up before
        self._company.catch_up(at)
        begun = self._speculator.begin(call.id)
        if run is None:
            if begun and self._speculator.next():
                self._speculator.withdraw()
        elif begun:
            self._step(run)
        else:
            self._finish(run)

    def _came(self, call_id: str, result: Result | None) -> None:
        """Take in the result of a lookup; None when the server asks for something instead."""
        run = self._run
        if run is None or run.waits != call_id or run.lookup is None:
            return  # it was given up before
        lookup, run.waits, run.lookup = run.lookup, None, None
        self._company.catch_up()
        if result is None:
            self._speculator.end()
        elif run.lookup_id == self._speculator.lookup_id:
            run.size_bytes += result.size_bytes
            if run.size_bytes > FOLD_BYTES:
                self._faults.note(f"what was looked up with {lookup.tool} is too long to be added")
                self._speculator.end()
            else:
                self._speculator.settle(result)
                self._turns.returned(result.text)
                self._tell(Found, run, not result.ok, result.text)
                run.made.append(replace(lookup, tool=self._names.shown(lookup.tool), result=result))
        self._step(run)

    def _step(self, run: _Run) -> None:
        """Make the next lookup, or hand back."""
        lookup, lookup_id = self._speculator.next(), self._speculator.lookup_id
        if lookup is None or lookup_id is None:
            self._finish(run)
            return
        now = time.monotonic()
        if now >= run.until:
            self._speculator.withdraw()  # it was not sent
            self._finish(run)
            return
        run.lookup, run.lookup_id = lookup, lookup_id
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
        line = with_text(run.held.line, lookup_block(run.made)) if run.made else None
        self._holder.release(run.held, run.held.line if line is None else line)
        self._company.happened(Answered(time.monotonic(), run.call.id))
        self.busy = False

    def _give_up(self, run: _Run, reason: str = "") -> None:
        """Hand back without the lookup that is being made, and let whoever makes it know the reason."""
        waits, run.waits = run.waits, None
        self._speculator.end()
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

    def _check_time(self) -> None:
        """Give up what takes too long, also while there is always something else to do."""
        self._company.check()
        run = self._run
        if run and time.monotonic() >= run.lookup_until:
            self._give_up(run, "it took too long")


def request_line(method: str, params: JsonObject, number: str | None = None) -> bytes:
    """A request of the proxy's own, or without a number a notification, as a line."""
    message: JsonObject = {"jsonrpc": "2.0"}
    if number is not None:
        message["id"] = number
    return jsonvalue.dumps(message | {"method": method, "params": params}) + b"\n"


def _asks(response: JsonObject) -> bool:
    """Whether a server answers a call with a question, or with the promise of an answer."""
    error = response.get("error")
    return not is_final(response) or (isinstance(error, dict) and error.get("code") == _ASKS_CODE)


def _result(response: JsonObject) -> Result:
    failed, text = content_of(response)
    return Result(text, not failed, outcome=None if response.get("error") is None else _REFUSED)
