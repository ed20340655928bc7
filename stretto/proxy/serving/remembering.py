"""The routes of a project as the engine of one session, and a flow beside them: one manager, one ledger, one fold.

Not responsible for the loop (`waggle.speculation`), nor for the project (`stretto.proxy.serving.memory`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from stretto.proxy.peers.messages import Called, Dropped, Returned, Said
from stretto.sessions.turns import commits
from waggle.calls import Call, Outcome, Result
from waggle.replay import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.proxy.peers.messages import Event
    from stretto.proxy.serving.memory import Memory
    from stretto.replayer import FlowReplayer
    from stretto.sessions.manifest import Manifest
    from stretto.speculator import Prepared
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup
    from waggle.speculation import Follow

__all__ = ["MemoryEngine"]

#: What is known of a call that nobody waits for any more.
_GIVEN_UP: Final = Result(ok=False, outcome=Outcome.CANCELLED)


class MemoryEngine:
    """An engine that asks a manager; see `stretto.proxy.serving.engine.Engine`. Routes are asked first, then the flow.

    Args:
        memory: of the project.
        session: its name; no other session of this process has it.
        flow: what acts beside the routes; None for nothing.
        may_call: asked last, whether a lookup of a tool, with these arguments, can be made.
        shadow: the flow decides and logs, and looks nothing up; the routes do.
        options: those of `stretto.speculator.Speculator`, and its log as ``on_line``.
    """

    name: Final = "waggle"
    lookup_id: Final = ""  # nobody else is to know

    def __init__(
        self,
        memory: Memory,
        session: str,
        flow: Prepared | None = None,
        *,
        may_call: Callable[[str, JsonObject], bool],
        shadow: bool = False,
        **options: Any,
    ) -> None:
        self._memory = memory
        self._manager = memory.manager
        self._name = session
        self._may_call = may_call
        self._begins = ""  # id of the call that begins now
        self._sites = None if flow is None or shadow else flow.flow.sites
        self._flow = self._strategy(flow, {"shadow": shadow, **options}) if flow else None
        self._session = self._manager.session(
            session, directory=memory.directory, strategies=[self._flow] if self._flow else []
        )
        self.longest_s = self._manager.config.follow_seconds
        self._open: dict[str, Call] = {}  # calls without an answer, by id
        self._waiting: frozenset[str] = frozenset()  # tools with an answer that waits for those of earlier calls
        self._follow: Follow | None = None
        self._lookup: Lookup | None = None

    def _strategy(self, flow: Prepared, options: dict[str, Any]) -> FlowReplayer:
        from stretto.replayer import flow_strategy  # noqa: PLC0415 - routes alone need nothing of flows

        self._memory.listed(flow.flow.manifest)
        on_line = options.pop("on_line", None)
        return flow_strategy(
            flow,
            tools=self._manager.tools,
            server=self._memory.server,
            name_call=lambda _: self._begins,
            on_line=(lambda _, line: on_line(line)) if on_line else None,
            may_call=self._may_look_up,
            **options,
        )(self._name)

    def _may_look_up(self, tool: str, args: JsonObject) -> bool:
        return self._manager.tools.may_repeat(self._memory.inner(tool), args) and self._may_call(tool, args)

    def offers(self, tool: str, *, failed: bool) -> bool:
        """See `Engine.offers`. Of calls beside each other the last answer lets all of them count."""
        if self._sites and self._sites.options((tool, failed)):
            return True
        return any(map(self._manager.may_follow, (self._memory.inner(tool), *self._waiting)))

    # --- what happens ---------------------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """See `Engine.take`; of other servers nothing is known here."""
        match event:
            case Called():
                self._called(event)
            case Returned():
                outcome = Outcome.PROTOCOL_ERROR if event.refused else None
                self._answered(event.id, Result(event.text, not event.error, outcome=outcome))
            case Dropped():  # nobody knows what came of the call
                self._answered(event.id, _GIVEN_UP)
            case Said():
                self._session.hear(event.text, event.role)

    def _called(self, call: Called) -> None:
        """What has no arguments by name is no call that could be made again."""
        if commits(call.tool):
            return  # the calls that it leads to are the agent's
        args = call.arguments if isinstance(call.arguments, dict) else None
        made = Call(self._memory.inner(call.tool), args or {}, call.id, reads=None if args is not None else False)
        self._open[call.id] = made
        self._begins = call.id
        self._session.start(made)

    def _answered(self, call_id: str, result: Result) -> None:
        made = self._open.pop(call_id, None)
        if made is None:
            return
        self._waiting = self._waiting | {made.tool} if self._open else frozenset()
        self._session.observe(made, result)

    def listed(self, manifest: Manifest) -> None:
        """See `Engine.listed`."""
        self._memory.listed(manifest)
        if self._flow:
            self._flow.listed(manifest)

    def close(self) -> None:
        """See `Engine.close`. What was learned is written in the background."""
        self._manager.end(self._name)

    # --- lookups for others ---------------------------------------------------------------------------------------

    def refusal(self, tool: str, arguments: JsonObject) -> str:
        """See `Engine.refusal`; the routes of a project are those of one server."""
        del arguments
        return f"{tool} is looked up for nobody else"

    lend = refusal

    # --- the run --------------------------------------------------------------------------------------------------

    def glance(self, call_id: str) -> None:
        """See `Engine.glance`; routes have nothing to record."""
        del call_id
        if self._flow:
            self._flow.glance()

    def begin(self, call_id: str) -> None:
        """See `Engine.begin`."""
        del call_id
        self._follow = self._session.open_follow()

    def next(self) -> Lookup | None:
        """See `Engine.next`."""
        while self._follow and (lookup := self._follow.next()):
            tool = self._memory.outer(lookup.tool)
            if self._may_call(tool, lookup.args):
                self._lookup = lookup
                return replace(lookup, tool=tool)
            self._follow.drop(lookup)
        return None

    def settle(self, result: Result) -> bool:
        """See `Engine.settle`."""
        lookup, self._lookup = self._lookup, None
        if self._follow is None or lookup is None:
            return False
        self._follow.settle(lookup, result)
        return True

    def give_up(self) -> None:
        """See `Engine.give_up`."""
        self.settle(_GIVEN_UP)

    def withdraw(self) -> None:
        """See `Engine.withdraw`."""
        if self._follow and self._lookup:
            self._follow.drop(self._lookup)
        self._lookup = None

    def text(self) -> str:
        """See `Engine.text`: the manager's fold, with the tools named as the agent knows them."""
        folded = self._follow.fold() if self._follow else None
        if folded is None:
            return ""
        shown = [replace(lookup, tool=self._memory.outer(lookup.tool)) for lookup in folded.lookups]
        named = fold(shown, limit=self._manager.config.fold_bytes)
        return named.text.lstrip("\n") if named else ""

    def end(self, *, delivered: bool) -> None:
        """See `Engine.end`."""
        follow, self._follow, self._lookup = self._follow, None, None
        if follow:
            follow.end(delivered=delivered)
