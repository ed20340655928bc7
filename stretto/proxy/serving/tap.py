"""Looking ahead in the proxy: which lines are kept, and what the session is told of all others.

Of all that passes, three things are kept: the answer to a call of the host, until the lookups after it are there or its
time is over; the answers to the proxy's own calls; and a question to the user that only such a call can have led to.
Everything else passes at once, as it came.

Not responsible for the run (`stretto.proxy.serving.session`) nor for deciding (`stretto.proxy.serving.engine`).
Everything here happens on the relay's pumping threads, and does nothing but sort.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stretto._defaults import HELD_SECONDS, LOOKUP_SECONDS
from stretto.proxy.carrier import can_carry
from stretto.proxy.context import Conversation
from stretto.proxy.peers.names import Names
from stretto.proxy.serving.held import Holder
from stretto.proxy.serving.pending import HostCall, Listing, OwnCalls, Requests
from stretto.proxy.serving.session import ServedSession
from stretto.sessions.manifest import Manifest
from stretto.sessions.wire import COMMIT_TOOL, LOOKUP_ID, id_key, is_response, messages_of
from waggle import jsonvalue
from waggle.background import Faults

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.proxy.carrier import Carrier
    from stretto.proxy.peers.mesh import Mesh
    from stretto.proxy.relay import Side
    from stretto.proxy.serving.engine import Engine
    from stretto.proxy.serving.held import Held
    from stretto.proxy.serving.memory import Memory
    from stretto.proxy.serving.session import Wire
    from stretto.proxy.streams import Line
    from stretto.speculator import Prepared
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Serving"]

#: A larger answer is never held, and is looked at after it has passed. No agent reads as much, let alone more.
_LARGEST_HELD: Final = 2**20  # bytes

#: What a server may ask its client during a call. The first two concern the user.
_SAMPLING: Final = "sampling/createMessage"
_ELICITATION: Final = "elicitation/create"
_QUESTIONS: Final = frozenset({_SAMPLING, _ELICITATION, "roots/list"})

_REJECTED: Final = -1  #: the protocol's code for a user who does not want a sampling
_STOP_SECONDS: Final = 1.0  #: for what is still to be decided and logged when the session is over


class Serving:
    """A tap that lets a flow act, or the routes of a project, or both; see `stretto.proxy.relay.Tap`. One session's.

    Args:
        flow: what was learned, or what its sessions share; None for no flow.
        memory: the routes, where they are to act; a flow acts beside them then.
        session: its name, for the memory; no other session of this proxy has it.
        context: the file in which the host hands over the conversation.
        held_s: longest time for which an answer is held, seconds.
        lookup_s: longest time for one lookup, seconds; the former ends it, too.
        carrier: where what was looked up goes.
        shadow: let the flow decide and log, and look nothing up; a memory acts all the same.
        names: what the server's tools are called in the flow; left out, as on the wire.
        mesh: connects to the proxies of the other servers that the flow knows; None for none.
        allowed_tools: the only tools that are looked up, another server's by its name in the flow; None for all.
        options: those of `stretto.speculator.Speculator`.

    Raises:
        BadFlow: the flow cannot serve the decider.
        UsageError: there is no such decider, or it needs an oracle.
    """

    def __init__(
        self,
        flow: Flow | Prepared | None = None,
        *,
        memory: Memory | None = None,
        session: str = "",
        context: Path | None = None,
        held_s: float = HELD_SECONDS,
        lookup_s: float = LOOKUP_SECONDS,
        carrier: Carrier = "auto",
        shadow: bool = False,
        names: Names | None = None,
        mesh: Mesh | None = None,
        allowed_tools: Collection[str] | None = None,
        **options: Any,
    ) -> None:
        prepared = _prepared(flow) if flow is not None else None
        self.faults = prepared.faults if prepared else Faults()
        self._names = names or Names()
        if prepared and allowed_tools is not None:
            options["allowed_tools"] = self._names.allowed(allowed_tools, prepared.flow.manifest)
        self._requests = Requests()
        self._own = OwnCalls()
        self._holder = Holder(self._to_host, held_s)
        self._held: tuple[HostCall, Held] | None = None  # that was held last
        self._wire: Wire | None = None
        options |= {"shadow": shadow, "may_call": self._may_call}
        self._engine = _engine(prepared, memory, session, self._names, options)
        self._session = ServedSession(
            self._engine,
            prepared.flow.manifest if prepared else Manifest(),
            self._own,
            self._holder,
            self.faults,
            requests=self._requests,
            conversation=Conversation(context, self.faults) if context else None,
            lookup_s=lookup_s,
            carrier=carrier,
            names=self._names,
            mesh=mesh,
            lends=not shadow and memory is None,
        )

    def attach(self, wire: Wire) -> None:
        """Begin to serve: what is held and what is looked up is sent over this wire."""
        self._wire = wire
        self._session.start(wire)

    def _may_call(self, tool: str, _: JsonObject) -> bool:
        return self._session.may_call(tool)

    def _to_host(self, raw: bytes, own: bool) -> None:  # noqa: FBT001 - as the holder calls it
        if self._wire:
            self._wire.to_host(raw, own=own)

    # --- the tap --------------------------------------------------------------------------------------------------

    def from_host(self, line: Line) -> bool:
        """See `stretto.proxy.relay.Tap`; every line passes."""
        try:
            for message in messages_of(line.message):
                self._host_said(message, alone=message is line.message)
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._session.switch_off("something failed", error)
        return False

    def from_server(self, line: Line) -> bool:
        """See `stretto.proxy.relay.Tap`; keeps what is held, and what concerns nobody but the proxy."""
        try:
            if len(line.raw) > _LARGEST_HELD and not self._own.due:
                self._session.post(lambda: self._passed(line))
                return False
            message = line.message
            if isinstance(message, list):
                return self._batch(message)
            return isinstance(message, dict) and self._server_said(message, line)
        except Exception as error:  # noqa: BLE001 - as above
            self._session.switch_off("something failed", error)
            return False

    def sent(self, raw: bytes, to: Side) -> None:
        """Take in what other taps do for the host: calls that they make, and answers that they give."""
        try:
            for message in messages_of(jsonvalue.loads(raw)):
                if to == "server" and self._own.owner(message.get("id")) is None:
                    self._host_said(message, alone=False)
                elif to == "host" and is_response(message):
                    self._answered_by_others(message.get("id"))
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._session.switch_off("something failed", error)

    def ended(self, reason: str) -> bool:
        """Let an answer that is held go out with what was looked up before the server was gone."""
        self._session.post(partial(self._session.give_up, ""))
        del reason
        return False

    def close(self) -> None:
        """Release what is held, and end; what was not looked up by now is not."""
        self._holder.close()
        self._session.stop(_STOP_SECONDS)

    # --- what the host says ---------------------------------------------------------------------------------------

    def _host_said(self, message: JsonObject, *, alone: bool) -> None:
        method, params = message.get("method"), message.get("params")
        if method is None:
            return  # an answer to the server
        if method == "notifications/cancelled" and isinstance(params, dict):
            self._cancelled(params.get("requestId"))
        key = id_key(message.get("id"))
        if key is None:
            return
        if isinstance(key, str) and key.startswith(LOOKUP_ID):
            self._own.forget(key)
            self._session.switch_off("the host numbers its requests as the flow would; another proxy may be in front")
        new, before = self._requests.add(key, message, alone=alone)
        if isinstance(before, HostCall):
            self._session.post(partial(self._session.cancelled, before))
        if isinstance(new, HostCall):
            self._session.post(partial(self._session.called, new))

    def _cancelled(self, number: JsonValue) -> None:
        key = id_key(number)
        call = self._requests.take(key) if key is not None else None
        held = self._held
        if held and held[0].key == key and self._holder.take(held[1]):
            call = held[0]  # its answer is not sent any more
        if isinstance(call, HostCall):
            self._session.post(partial(self._session.cancelled, call))

    def _answered_by_others(self, number: JsonValue) -> None:
        key = id_key(number)
        request = self._requests.take(key) if key is not None else None
        if isinstance(request, HostCall):
            ends = self._session.committed if request.name == COMMIT_TOOL else self._session.cancelled
            self._session.post(partial(ends, request))

    # --- what the server says -------------------------------------------------------------------------------------

    def _server_said(self, message: JsonObject, line: Line | None) -> bool:
        """Sort one message; whether it is kept.

        Args:
            message: the message.
            line: the line it came on, if nothing else is on it, and it has not passed yet.
        """
        method = message.get("method")
        if method is not None:
            if method in _QUESTIONS and message.get("id") is not None:
                return self._asked(message)
            if method == "notifications/tools/list_changed":
                self._session.post(self._session.changed)
            return False
        own = self._own.owner(message.get("id"))
        if own is not None:
            self._own.answered(own)
            self._session.post(partial(self._session.looked_up, own, message))
            return True
        key = id_key(message.get("id"))
        request = self._requests.take(key) if key is not None and is_response(message) else None
        if isinstance(request, HostCall):
            return self._answered(request, message, line)
        result = message.get("result")
        if isinstance(request, Listing) and isinstance(result, dict):
            self._session.post(partial(self._session.page, result, first=request.first))
        return False

    def _answered(self, call: HostCall, response: JsonObject, line: Line | None) -> bool:
        """Hold an answer if lookups can follow it: not while another run is in progress, whose answer is held.

        Where there is no lookup to offer the engine is asked all the same, for its log, and nothing waits for that.
        """
        session, held = self._session, None
        if call.name == COMMIT_TOOL:  # a server's own tool of that name is none of a flow's, either
            session.post(partial(session.committed, call))
            return False
        runs = line is not None and call.plain and can_carry(response) and not session.busy
        if runs and line is not None and not session.off and self._offers(call.name, response):
            held = self._holder.hold(line.raw, own=line.own)
            runs = held is not None
        if held:
            session.busy = True
            self._held = (call, held)
        session.post(partial(session.answered, call, response, held, at=time.monotonic(), runs=runs))
        return held is not None

    def _offers(self, tool: str, response: JsonObject) -> bool:
        result = response.get("result")
        failed = isinstance(result, dict) and result.get("isError") is True
        return self._engine.offers(self._names.in_flow(tool), failed=failed)

    def _asked(self, message: JsonObject) -> bool:
        """Know that the server asks for something, which any open call can have led to; decline where none of the host.

        A question for roots is the host's to answer, from its settings; declined, a server would have none.
        """
        self._session.asking |= self._requests.tools | self._own.tools
        self._session.post(self._session.lend)
        if not self._own or self._session.off:
            return False
        self._session.post(partial(self._session.give_up, "its server asks for something"))
        if self._requests or message.get("method") not in (_SAMPLING, _ELICITATION):
            return False
        answer: JsonObject = {"jsonrpc": "2.0", "id": message.get("id")}
        if message.get("method") == _ELICITATION:
            answer["result"] = {"action": "decline"}
        else:
            answer["error"] = {"code": _REJECTED, "message": "User rejected sampling request"}
        line = jsonvalue.dumps(answer) + b"\n"
        self._session.post(lambda: self._session.send(line))
        return True

    def _batch(self, messages: list[JsonValue]) -> bool:
        """Sort the messages of a batch, in which no answer is held; what is the proxy's own is taken out."""
        rest = [item for item in messages if not (isinstance(item, dict) and self._server_said(item, None))]
        if len(rest) == len(messages):
            return False
        if rest:
            self._to_host(jsonvalue.dumps(rest) + b"\n", own=True)
        return True

    def _passed(self, line: Line) -> None:
        """Look at a line that has passed."""
        for message in messages_of(line.message):
            self._server_said(message, None)


def _prepared(flow: Flow | Prepared) -> Prepared:
    from stretto.speculator import Prepared  # noqa: PLC0415 - routes alone need nothing of flows

    return flow if isinstance(flow, Prepared) else Prepared(flow)


def _engine(
    flow: Prepared | None, memory: Memory | None, session: str, names: Names, options: dict[str, Any]
) -> Engine:
    if memory:
        from stretto.proxy.serving.remembering import MemoryEngine  # noqa: PLC0415 - a flow alone does not need it

        return MemoryEngine(memory, session, flow, **options)
    from stretto.proxy.serving.flowing import FlowEngine  # noqa: PLC0415 - see `_prepared`
    from stretto.speculator import Speculator  # noqa: PLC0415

    if flow is None:
        raise ValueError("there is neither a flow nor a memory to serve")
    return FlowEngine(Speculator(flow, **options), shadow=options["shadow"], names=names)
