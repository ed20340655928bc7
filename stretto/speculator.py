"""The run after each call: decide, make the lookup, take its result in, decide again, until it hands back.

A `Speculator` serves one session. Whoever drives it feeds it what happens, begins a run when a result is there, makes
the lookups it is given, and brings their results. It makes no call itself, and offers none but a lookup the flow
learned for its site, of a tool that the flow's manifest says reads and whose server has not said otherwise since.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from types import EllipsisType
from typing import TYPE_CHECKING

from stretto._defaults import LOOKUPS_PER_CALL, LOOKUPS_PER_SESSION, QUESTIONS_PER_SESSION, THRESHOLD
from stretto.block import text_of
from stretto.deciders.decide import decide, decider_named
from stretto.deciders.explore import Explorer
from stretto.deciders.gate import SurpriseGate, step_surprise
from stretto.errors import BadFlow, FlowError
from stretto.flow.chances import HAND_BACK, Chances, ToolNumbers
from stretto.flow.interpreter import Draw, Inputs, Run, Scalar, run
from stretto.flow.model import site_name
from stretto.flowlog import RunSite, decision_line, run_line
from stretto.live import LiveSession, binder_of
from stretto.permits import Permits
from stretto.sessions.episode import ToolCall
from stretto.sessions.wire import LOOKUP_ID
from waggle.background import Faults
from waggle.replay import Lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from stretto.deciders.model import Decider, Decision
    from stretto.deciders.oracle import Oracle
    from stretto.flow.model import Flow, Gate, Site
    from stretto.live import Situation
    from stretto.sessions.manifest import Manifest
    from waggle.calls import Result
    from waggle.jsonvalue import JsonObject

__all__ = ["Prepared", "Speculator"]


class Prepared:
    """What all sessions of one flow share. The flow must not change afterwards.

    Args:
        flow: what was learned.
        name: of the flow, for people; left out, its domain.
    """

    def __init__(self, flow: Flow, name: str = "") -> None:
        self.flow = flow
        self.name = name or flow.manifest.domain or "flow"
        self.binder = binder_of(flow)
        self.numbers = ToolNumbers(flow)
        self.chances = Chances(flow)
        #: What went wrong, and which tools were left to the agent; each is logged once.
        self.faults = Faults()


@dataclass(slots=True)
class _Run:
    """A run in progress."""

    after: str
    site: Site
    program: Generator[Draw, tuple[Scalar, float], Run]
    draw: Draw | None = None  # what the program asks for next; None when it has ended
    chosen: Decision | None = None  # decided, and not looked up yet
    waits: ToolCall | None = None  # the lookup that is being made
    made: int = 0
    sites: list[RunSite] = field(default_factory=list)


class Speculator:
    """One session under one flow.

    Not thread-safe; whoever drives it locks.

    Args:
        flow: what was learned, or what its sessions share.
        decider: who weighs the lookups, or its name; None for the flow's own (`Flow.default_decider`).
        threshold: score from which on a lookup is made, 0 to 1; the flow's own threshold of a site goes before it.
        per_call: lookups after one result.
        per_session: lookups in the session.
        questions: requests to the oracle in the session.
        allowed_tools: the only tools that are looked up; None for all that may be.
        may_call: asked last, whether the host lets this lookup be made.
        shadow: decide and log, and look nothing up.
        explore: chance of taking another lookup than the decider's, 0 to 1.
        explore_seed: of these draws.
        task: what the session works on, for the log and for the fold of an arbiter.
        gate: the surprise gate; None for none, left out for the flow's own.
        on_line: called with every line of the flow log, a JSON object; must not raise. See `stretto.flowlog.FlowLog`.
        oracle: whom the arbiter asks.
        clock: seconds, for how long a decision took.

    Attributes:
        prepared: the flow and what goes with it.
        session: the session so far.
        made: lookups made so far.
        lent: those made for somebody else.
        asked: requests to the oracle so far.

    Raises:
        BadFlow: the flow cannot serve this decider.
        UsageError: there is no such decider, or it needs an oracle.
    """

    def __init__(
        self,
        flow: Flow | Prepared,
        *,
        decider: str | Decider | None = None,
        threshold: float = THRESHOLD,
        per_call: int = LOOKUPS_PER_CALL,
        per_session: int = LOOKUPS_PER_SESSION,
        questions: int = QUESTIONS_PER_SESSION,
        allowed_tools: Collection[str] | None = None,
        may_call: Callable[[str, JsonObject], bool] | None = None,
        shadow: bool = False,
        explore: float = 0.0,
        explore_seed: int = 0,
        task: str = "",
        gate: Gate | EllipsisType | None = ...,
        on_line: Callable[[JsonObject], None] | None = None,
        oracle: Oracle | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.prepared = flow if isinstance(flow, Prepared) else Prepared(flow)
        self._flow = self.prepared.flow
        if decider is None:
            decider = self._flow.default_decider
        self._decider = decider_named(decider, oracle, task=task) if isinstance(decider, str) else decider
        _check(self._flow, self._decider)
        self._threshold = threshold
        self._per_call = per_call
        self._per_session = per_session
        self._questions = questions
        self._permits = Permits(self._flow.manifest, allowed_tools, may_call)
        self._shadow = shadow
        self._explorer = Explorer(explore, explore_seed, task) if explore > 0 else None
        served = self._flow.surprise if isinstance(gate, EllipsisType) else gate
        self._gate = SurpriseGate(served) if served else None
        self._on_line = on_line
        self._clock = clock
        self._returned = False  # the latest event is a result
        self._before: Situation | None = None  # where the agent stood when its turn began
        self._run: _Run | None = None
        self.session = LiveSession(self._flow, self.prepared.binder)
        self.made = 0
        self.lent = 0
        self.asked = 0

    # --- what happens -------------------------------------------------------------------------------------------

    def user(self, text: str) -> None:
        """Take in a message of the user."""
        self._did(self._stands(), None)
        self._note({"user": text})
        self.session.user(text)

    def reply(self, text: str = "") -> None:
        """Take in a turn of the agent without calls."""
        self.end()
        self._did(self._stands(), None)
        self._note({"assistant": text})
        self.session.reply()

    def turn(self) -> None:
        """Begin a turn of the agent with calls. A run that still goes on ends."""
        self.end()
        self._before = self._stands()
        self.session.turn()

    def call(self, call: ToolCall) -> None:
        """Take in a call of the agent in its current turn; it is in flight until its result."""
        if self._before:
            self._did(self._before, call.name)
            self._before = None
        self._note({"call": call.name, "arguments": call.arguments})
        self.session.call(call)

    def result(self, call_id: str, *, error: bool, content: str) -> None:
        """Take in the result of a call of the agent, without beginning a run."""
        self._take(call_id, error=error, content=content)

    def _take(self, call_id: str, *, error: bool, content: str) -> None:
        self._returned = True
        self._note({"error": error, "content": content})
        self.session.result(call_id, error=error, content=content)

    def lookup(self, call: ToolCall) -> None:
        """Take in a lookup that another proxy makes on the agent's behalf; its result is taken in like any other."""
        self._make(call)

    def refusal(self, tool: str, arguments: JsonObject) -> str:
        """Why a lookup is left to the agent, whoever wants to make it, in words; empty when it may be made."""
        return self._permits.refusal(tool, arguments)

    def lend(self, tool: str, arguments: JsonObject) -> str:
        """The same of a lookup that is made for somebody else if it may be; as many of these as of one's own are."""
        reason = self.refusal(tool, arguments)
        if not reason and self.lent >= self._per_session:
            reason = "as many lookups were made for others as a session may have"
        self.lent += not reason
        return reason

    def listed(self, manifest: Manifest) -> None:
        """Take in what the server lists now; tools it no longer lists, or lists as changed, are left to the agent."""
        self._permits.listed = manifest

    def _stands(self) -> Situation | None:
        """Where the agent stands before its next step; None when that does not follow a result, or is not scored."""
        returned, self._returned = self._returned, False
        return self.session.situation() if returned and self._gate else None

    def _did(self, before: Situation | None, tool: str | None) -> None:
        """Score the agent's step."""
        surprise = step_surprise(self._flow, before, tool) if before else None
        if surprise is not None and self._gate:
            self._gate.step(surprise)

    def _note(self, event: JsonObject) -> None:
        if self._explorer:
            self._explorer.tell(event)

    # --- the run ------------------------------------------------------------------------------------------------

    @property
    def lookup_id(self) -> str | None:
        """Id of the lookup that is being made, ``stretto-<n>``; None when none is."""
        return self._run.waits.id if self._run and self._run.waits else None

    def begin(self, call_id: str) -> bool:
        """Begin the run after a result, which has been taken in.

        Args:
            call_id: of the agent's call that returned.

        Returns:
            Whether a run began: not while a lookup of another run is being made, nor when the session's lookups or
            questions are used up, nor when the result belongs to an earlier turn.
        """
        if self._run and self._run.waits:
            return False
        self.end()
        site = self.session.situation().site
        if site is None or self._is_spent():
            return False
        tool, failed = site
        inputs = Inputs(self.prepared.numbers.number(tool), failed, self._per_call)
        self._run = _Run(call_id, site, run(self._flow.program, inputs))
        self._advance(self._run, None)
        return self._run is not None

    def next(self) -> Lookup | None:
        """The lookup to make now; None when there is no run, while one is being made, or to hand back.

        Its result goes to `settle`. A decision that fails is noted among the faults and hands back without a line.
        """
        this = self._run
        if this is None or this.waits:
            return None
        try:
            lookup = self._next(this)
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._fail(error)
            return None
        if lookup is None:
            self.end()
        return lookup

    def settle(self, result: Result) -> None:
        """Take in the result of the lookup that `next` gave; it becomes part of the session.

        A failed one does not end the run.
        """
        this = self._run
        if this is None or this.waits is None:
            return
        lookup, this.waits = this.waits, None
        self._make(lookup)
        self._take(lookup.id, error=not result.ok, content=text_of(result))
        chance = self.prepared.chances.succeeds(lookup.name)
        logp = math.log(chance if result.ok else 1 - chance)
        if this.draw:
            this.sites.append(RunSite(this.draw.address, result.ok, logp))
        self._advance(this, (result.ok, logp))

    def withdraw(self) -> None:
        """Know that the lookup that `next` gave was not made, and end its run; it is as if it had not been decided."""
        this, self._run = self._run, None
        if this and this.waits:
            self.made -= 1

    def end(self) -> None:
        """End the run, if there is one, and log its line.

        A lookup that is still being made stays without an answer: its values count as passed, and there is no line.
        """
        this, self._run = self._run, None
        if this and this.waits:
            self._make(this.waits)
        elif this and this.sites and self._on_line:
            self._on_line(run_line(this.after, this.site, self._per_call, this.sites))

    def _make(self, lookup: ToolCall) -> None:
        """Let a lookup be part of the session."""
        self._note({"call": lookup.name, "arguments": lookup.arguments})
        self.session.call(lookup, own=False)

    def _is_spent(self) -> bool:
        return self.made >= self._per_session or self.asked >= self._questions

    def _advance(self, this: _Run, answer: tuple[Scalar, float] | None) -> None:
        """Run the program to its next draw."""
        this.draw = None
        try:
            this.draw = next(this.program) if answer is None else this.program.send(answer)
        except StopIteration:
            pass
        except FlowError as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Drop the run, without a line."""
        self.prepared.faults.note(f"flow {self.prepared.name}: a decision failed", error)
        self._run = None

    def _next(self, this: _Run) -> Lookup | None:
        while (draw := this.draw) is not None:
            if draw.given is not None:
                self._advance(this, (draw.given, 0.0))
            elif draw.dist == "Decide":
                if this.made >= self._per_call or self._is_spent():
                    return None
                option = self._decided(this, draw)
                this.sites.append(RunSite(draw.address, option, 0.0))
                if option == HAND_BACK:
                    return None
                self._advance(this, (option, 0.0))
            else:
                return self._made(this, draw)
        return None

    def _decided(self, this: _Run, draw: Draw) -> int:
        """Decide; the number of the lookup to make, or `HAND_BACK`."""
        situation = self.session.situation()
        site = situation.site
        if this.chosen:
            raise BadFlow("the flow's program decides anew before it has looked up")
        if site is None or draw.args != (self.prepared.numbers.number(site[0]), site[1]):
            raise BadFlow("the flow's program asks about another call than the one that has just returned")
        began = self._clock()
        decision = decide(self._flow, situation, self._decider, self._threshold, gate=self._gate)
        self.asked += decision.key is not None
        policy: JsonObject | None = None
        if self._explorer and decision.probs:
            threshold = self._flow.thresholds.get(site_name(site), self._threshold)
            decision, policy = self._explorer.explore(
                self._flow, situation, decision, decider=self._decider.name, threshold=threshold
            )
        withheld = "" if self._shadow else self._withheld(decision)
        if self._on_line:
            line = decision_line(
                decision,
                after=this.after,
                address=draw.address,
                ms=(self._clock() - began) * 1000,
                policy=policy,
                shadow=self._shadow,
                withheld=withheld,
            )
            self._on_line(line)
        if not decision.looks_up or decision.tool is None or withheld or self._shadow:
            return HAND_BACK
        this.chosen = decision
        return self.prepared.numbers.number(decision.tool)

    def _made(self, this: _Run, draw: Draw) -> Lookup:
        """The lookup that has been decided, as a call that is under way."""
        decision, this.chosen = this.chosen, None
        if decision is None or decision.tool is None or decision.bound is None or decision.site is None:
            raise BadFlow("the flow's program looks up what it has not decided")
        if draw.args != (self.prepared.numbers.number(decision.tool),):
            raise BadFlow("the flow's program looks up another tool than it has decided")
        tool, arguments = decision.tool, dict(decision.bound.arguments)
        this.waits = ToolCall(f"{LOOKUP_ID}{self.made}", tool, arguments)
        this.made += 1
        self.made += 1
        source = f"{self.prepared.name}: {site_name(decision.site)}"
        return Lookup(tool, arguments, "flow", source, decision.score)

    def _withheld(self, decision: Decision) -> str:
        """Why the lookup that was chosen is left to the agent; empty when it is made. Said once a tool and flow."""
        if not decision.looks_up or decision.tool is None or decision.bound is None:
            return ""
        reason = self._permits.refusal(decision.tool, decision.bound.arguments)
        if reason:
            self.prepared.faults.note(f"flow {self.prepared.name}: {decision.tool} is left to the agent: {reason}")
        return reason


def _check(flow: Flow, decider: Decider) -> None:
    """Refuse at the start what every decision would fail on."""
    if decider.name == "reach" and flow.reach is None:
        raise BadFlow("the flow has no reach counts, so it cannot serve the decider reach: learn it anew, or use habit")
    if decider.name == "arbiter" and flow.arbiter is None:
        raise BadFlow("the flow has no arbiter: learn it with one, or use reach or habit")
