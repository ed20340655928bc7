"""A flow as a strategy of `waggle.Manager`: beside the routes, under the same caps, settled in the same ledger.

Not responsible for deciding (`stretto.speculator`) nor for making lookups, which is the manager's loop. What a session
did can be kept as an episode and handed over when it ends, to be learned from like any recorded one.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from stretto._defaults import COUNTED_CHARS
from stretto.block import text_of
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, User
from stretto.speculator import Prepared, Speculator
from waggle.calls import Outcome, Result
from waggle.tools import ToolTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.flow.model import Flow
    from stretto.sessions.episode import Event
    from stretto.sessions.manifest import Manifest
    from waggle.calls import Step
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["FlowReplayer", "flow_strategy", "hint_tools"]

#: Stands for a text of which a part is missing: JSON that holds no value, so that nothing is bound from it.
_INCOMPLETE: Final = "null"

_NEVER_ANSWERED: Final = frozenset({Outcome.CANCELLED, Outcome.ABORTED})


def flow_strategy(
    flow: Flow | Prepared,
    *,
    name: str = "",
    tools: ToolTable | None = None,
    server: str = "",
    name_call: Callable[[int], str] = "c{}".format,
    on_episode: Callable[[Episode], None] | None = None,
    on_line: Callable[[str, JsonObject], None] | None = None,
    **options: Any,
) -> Callable[[str], FlowReplayer]:
    """Make a flow a strategy: ``Manager(strategies=[flow_strategy(flow, tools=table)], tools=table)``.

    The conversation reaches it through `waggle.Session.hear`. Without it, nothing is bound from what the user said, and
    every record counts as one that they did not name.

    Args:
        flow: what was learned, or what its sessions share. It must not change afterwards.
        name: of the flow, for the ledger; left out, its domain.
        tools: the manager's table. What it does not let be made is left to the agent; a lookup that the manager refuses
            would end the flow for the session. See `hint_tools`.
        server: whose tools the flow knows, where the manager knows each as ``server::tool``. All others pass unseen.
        name_call: gives the id of a call, for the flow log, when it begins; it is told the call's `Step.seq`.
        on_episode: called with each session when it ends, as it was served; the session's success is not known, so it
            is taken for one. Left out, nothing is kept. It runs while the session is closed and must not wait.
        on_line: called with the session's name and each line of its flow log.
        options: those of `stretto.speculator.Speculator`.

    Returns:
        A function that makes the strategy of one session, given its name.

    Raises:
        BadFlow: the flow cannot serve the decider.
        UsageError: there is no such decider, or it needs an oracle.
    """
    prepared = flow if isinstance(flow, Prepared) else Prepared(flow, name)
    prefix = f"{server}::" if server else ""
    if tools:
        options.setdefault("may_call", lambda tool, args: tools.may_repeat(f"{prefix}{tool}", args))
    table = tools or ToolTable()
    Speculator(prepared, **options)  # what cannot be served is refused now, and not by every session

    def make(session: str) -> FlowReplayer:
        log = functools.partial(on_line, session) if on_line else None
        speculator = Speculator(prepared, **{"task": session, "on_line": log, **options})
        keeper = _Keeper(session, prepared, on_episode) if on_episode else None
        return FlowReplayer(speculator, table, keeper, prefix=prefix, name_call=name_call)

    return make


def hint_tools(table: ToolTable, manifest: Manifest) -> None:
    """Tell a tool table what a manifest says: which tools read, and which write. Others are left as they are.

    The table takes it as a server's hint, so that what the user says, and what is known to write, goes before it.
    """
    for name, kind in sorted(manifest.tools.items()):
        if kind != "generic":
            table.hint(name, read_only=kind == "read")


class FlowReplayer:
    """One session under a flow; a `waggle.replay.ReplayStrategy` that also listens. Made by `flow_strategy`.

    Calls that ran beside each other are one turn. An assistant's text stands with the calls that come next; it is a
    reply when anything else does. One that begins the session is a greeting, which no model was asked for: no turn. A
    user who speaks after calls was replied to, whether or not the host passes the reply on.

    Args:
        speculator: of this session.
        tools: to see a shell command as the host's tool takes it.
        keeper: keeps the session; None when it is not counted.
        prefix: what the names of the flow's tools begin with in the manager; others pass unseen.
        name_call: see `flow_strategy`.
    """

    name = "flow"

    def __init__(
        self,
        speculator: Speculator,
        tools: ToolTable,
        keeper: _Keeper | None = None,
        *,
        prefix: str = "",
        name_call: Callable[[int], str] = "c{}".format,
    ) -> None:
        self._speculator = speculator
        self._tools = tools
        self._keeper = keeper
        self._prefix = prefix
        self._name_call = name_call
        self._running: dict[int, str] = {}  # announced calls, by number: their ids
        self._said: str | None = None  # by the assistant, and not known yet whether it is a reply
        self._begun = False  # anything but a greeting has happened
        self._acted = False  # the agent has made calls, and nothing was said since
        self._asked: Lookup | None = None

    # --- what the agent does --------------------------------------------------------------------------------------

    def start(self, seq: int, tool: str, args: JsonObject) -> None:
        """See `waggle.replay.Listener.start`: from now on the call's values have been passed."""
        if not tool.startswith(self._prefix):
            return
        if not self._running:
            self._speculator.turn()
            if self._keeper:
                self._keeper.turn(self._said)
            self._said = None
            self._begun = self._acted = True
        call = ToolCall(self._name_call(seq), tool.removeprefix(self._prefix), args)
        self._running[seq] = call.id
        self._speculator.call(call)
        if self._keeper:
            self._keeper.call(call)

    def observe(self, step: Step, result: Result) -> None:
        """See `ReplayStrategy.observe`."""
        if not step.tool.startswith(self._prefix):
            return
        for seq in [seq for seq in self._running if seq < step.seq]:
            del self._running[seq]  # lost: steps come in the order of starting
        if step.seq not in self._running:
            self.start(step.seq, step.tool, self._tools.said(step.tool, step.form, step.args))
        call_id = self._running.pop(step.seq)
        if result.outcome in _NEVER_ANSWERED:
            return
        content = _INCOMPLETE if result.cut else text_of(result)
        if self._keeper:
            self._keeper.result(ToolResult(call_id, step.tool.removeprefix(self._prefix), not result.ok, content))
        self._speculator.result(call_id, error=not result.ok, content=content)
        if result.outcome is not Outcome.PROTOCOL_ERROR:
            self._speculator.begin(call_id)

    def hear(self, role: str, text: str) -> None:
        """See `waggle.replay.Listener.hear`."""
        if role == "assistant" and text:
            self._reply()
            self._said = text
        elif role == "user":
            if self._acted and self._said is None:
                self._said = ""
            self._reply()
            self._begun = True
            self._speculator.user(text)
            if self._keeper:
                self._keeper.add(User(text), len(text))

    def _reply(self) -> None:
        text, self._said = self._said, None
        self._acted = self._acted and text is None
        if text is None or not self._begun:
            return
        self._speculator.reply(text)
        if self._keeper:
            self._keeper.add(Assistant(text), len(text))

    def close(self) -> None:
        """See `waggle.replay.Listener.close`."""
        self._reply()
        self._speculator.end()
        keeper, self._keeper = self._keeper, None
        if keeper:
            keeper.hand_over()

    # --- what is looked up ----------------------------------------------------------------------------------------

    def propose(self) -> Lookup | None:
        """See `ReplayStrategy.propose`; each lookup depends on the one before, so there is never a second one."""
        if self._asked is None:
            lookup = self._speculator.next()
            self._asked = replace(lookup, tool=f"{self._prefix}{lookup.tool}") if lookup else None
            return self._asked
        return None

    def glance(self) -> None:
        """Decide what would be looked up now, for the flow log, and look nothing up. Not to be called in a follow."""
        if self._asked is None and self._speculator.next():
            self._speculator.withdraw()

    def listed(self, manifest: Manifest) -> None:
        """Take in what the server lists now; see `Speculator.listed`."""
        self._speculator.listed(manifest)

    def settle(self, lookup: Lookup, result: Result) -> None:
        """See `ReplayStrategy.settle`. Of an answer whose text is cut, only that it came is taken in."""
        if lookup is not self._asked:
            return  # of another flow
        self._asked = None
        if result.outcome in _NEVER_ANSWERED:
            self._speculator.end()
            return
        known = replace(result, text=_INCOMPLETE) if result.cut else result
        if self._keeper and (call_id := self._speculator.lookup_id):
            self._keeper.lookup(ToolCall(call_id, lookup.tool.removeprefix(self._prefix), lookup.args), known)
        self._speculator.settle(known)

    def drop(self, lookup: Lookup) -> None:
        """See `waggle.replay.Listener.drop`."""
        if lookup is self._asked:
            self._asked = None
            self._speculator.withdraw()


class _Keeper:
    """Keeps one session as an episode, as a log of it would be read."""

    def __init__(self, session: str, prepared: Prepared, on_episode: Callable[[Episode], None]) -> None:
        self._session = session
        self._domain = prepared.flow.manifest.domain or "mcp"
        self._on_episode = on_episode
        self._events: list[Event | list[ToolCall]] = []  # a list of calls is a turn that may still grow
        self._texts: dict[int, str | None] = {}  # of turns, by their place
        self._turn: list[ToolCall] = []
        self._open: set[str] = set()
        self._left = COUNTED_CHARS

    def add(self, event: Event, size: int) -> None:
        """Keep an event, as long as there is room; the beginning of a session is a session."""
        self._left -= size
        if self._left >= 0:
            self._events.append(event)

    def turn(self, text: str | None = None) -> None:
        """Begin a turn."""
        self._turn = []
        if self._left >= 0:
            self._texts[len(self._events)] = text
            self._events.append(self._turn)

    def call(self, call: ToolCall) -> None:
        """Keep a call of the turn."""
        self._turn.append(call)
        self._open.add(call.id)

    def result(self, result: ToolResult) -> None:
        """Keep a result."""
        self._open.discard(result.call_id)
        self.add(result, len(result.content))

    def lookup(self, call: ToolCall, result: Result) -> None:
        """Keep a lookup and its result; it is a turn of its own unless calls of the agent are still running."""
        if not self._open:
            self.turn()
        self._turn.append(call)
        content = text_of(result)
        self.add(ToolResult(call.id, call.name, not result.ok, content), len(content))

    def hand_over(self) -> None:
        """Give the episode away; nothing is given for a session in which nothing happened."""
        events: list[Event] = []
        for place, event in enumerate(self._events):
            if isinstance(event, list):
                events.append(Assistant(self._texts[place], tuple(event)))
            else:
                events.append(event)
        if events:
            self._on_episode(Episode(self._session, tuple(events), domain=self._domain, reward=1.0))
