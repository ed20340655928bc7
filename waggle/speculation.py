"""The loop between a result and the agent's next turn: ask the strategies, make their lookups, fold what came of them.

One `Speculation` belongs to one session. It holds the strategies, the caps, and what is known since the last write, so
that no lookup is made twice. It is pure but for the clock and the host's ``run``.
"""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from waggle import jsonvalue
from waggle._fork import renew_in_children
from waggle.calls import Effect, Outcome, Result, Step
from waggle.known import KnownLookups
from waggle.replay import Fold, Lookup, ReplayStrategy, fold

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from waggle.background import Faults
    from waggle.config import ManagerConfig
    from waggle.extents import Extents
    from waggle.jsonvalue import JsonObject
    from waggle.settling import Settling

__all__ = ["AsyncRun", "Follow", "Run", "Speculation", "is_following"]

#: How a host makes a call: ``run(tool, args)``, through its own permissions, truncation and logging.
Run: TypeAlias = "Callable[[str, dict[str, Any]], Result | str]"
AsyncRun: TypeAlias = "Callable[[str, dict[str, Any]], Awaitable[Result | str]]"

_T = TypeVar("_T")

#: Set while lookups are made: a host that reports them back through its own hook must not be followed again.
_following: ContextVar[bool] = ContextVar("waggle_following", default=False)


def is_following() -> bool:
    """Whether the caller is inside a lookup that is made on the agent's behalf."""
    return _following.get()


@dataclass(slots=True)
class _Round:
    """What one follow may still do, and what it has done."""

    lookups_left: int
    began: float  # on the monotonic clock
    until: float
    bytes_left: int
    asked: int = 0
    chosen: bool = False  # whether its lookups are held back is decided
    over: bool = False  # it has ended
    made: list[Lookup] = field(default_factory=list)
    proposed: list[tuple[Lookup, int]] = field(default_factory=list)  # and not settled; the writes seen before each

    def seconds_left(self) -> float:
        return max(self.until - time.monotonic(), 0.0)

    def is_open(self) -> bool:
        return not self.over and self.lookups_left > 0 and self.bytes_left > 0 and self.seconds_left() > 0

    def took(self, lookup: Lookup) -> int | None:
        """Take a proposal out: the writes that were seen before it; None when it is none of this round's."""
        for place, (other, writes) in enumerate(self.proposed):
            if other is lookup:
                del self.proposed[place]
                return writes
        return None


class Follow:
    """The lookups after one result, for a host that makes them step by step; see `Session.open_follow`.

    Ask for the `next` lookup, make it, `settle` it, and ask again; once there is none, or whenever the host has to go
    on, `end`. Nothing here raises or waits. Not to be used from two threads at once.
    """

    def __init__(self, speculation: Speculation, this: _Round, faults: Faults) -> None:
        self._speculation = speculation
        self._round = this
        self._faults = faults

    def next(self) -> Lookup | None:
        """The lookup to make now; None when there is none, or none as long as the last ones are not settled.

        Asked again before that, it names only what does not depend on them, which may run at the same time.
        """
        return self._safely(None, self._speculation.next, self._round)

    def settle(self, lookup: Lookup, result: Result) -> None:
        """Take in what came of a lookup that `next` gave.

        One that was given up, so that nobody knows what came of it, has the outcome `Outcome.CANCELLED`: that is no
        failure of its source.
        """
        self._safely(None, self._speculation.settle, self._round, lookup, result)

    def drop(self, lookup: Lookup) -> None:
        """Know that a lookup that `next` gave is not made: it counts towards no cap."""
        self._safely(None, self._speculation.drop, self._round, lookup)

    def seconds_left(self) -> float:
        """For how long this follow may still take, in seconds, at least 0."""
        return self._round.seconds_left()

    def fold(self) -> Fold | None:
        """What the lookups made so far become; None when none of them was answered."""
        return self._safely(None, self._speculation.fold, self._round)

    def end(self, *, delivered: bool = True) -> Fold | None:
        """End this follow; what was not settled is dropped. The session can be followed anew.

        Args:
            delivered: the agent gets the fold. Where it does not, nothing is logged, and what was looked up does not
                count as known.

        Returns:
            The text to append to the agent's result, with its lookups; None when there is nothing to append. It is
            what `fold` gave last.
        """
        return self._safely(None, self._speculation.end, self._round, delivered)

    def _safely(self, otherwise: _T, work: Callable[..., _T], *args: object) -> _T:
        try:
            return work(*args)
        except Exception as error:  # noqa: BLE001 - a fault of ours never becomes a fault of the host
            self._faults.note("follow", error)
            return otherwise


class Speculation:
    """The lookups of one session.

    Args:
        strategies: asked in this order.
        config: the caps.
        extents: tells what calls cover, and by its tool table which proposals are reads that may be repeated.
        faults: where faults are counted.
        on_fold: called after each follow with the lookups that were made, failed ones included, the fold, and how long
            it took, in seconds.
        settling: told of the lookups that were folded or held back, and of the agent's calls.
        held_back: asked once for each eligible result, whether its lookups are held back.
    """

    def __init__(
        self,
        strategies: Sequence[ReplayStrategy],
        *,
        config: ManagerConfig,
        extents: Extents,
        faults: Faults,
        on_fold: Callable[[Sequence[Lookup], Fold | None, float], None],
        settling: Settling | None = None,
        held_back: Callable[[], bool] = lambda: False,
    ) -> None:
        self._strategies = list(strategies)
        self._config = config
        self._tools = extents.tools
        self._extents = extents
        self._faults = faults
        self._on_fold = on_fold
        self._settling = settling
        self._held_back = held_back
        self._known = KnownLookups(extents.of_step, config.known_bytes)
        self._writes = 0  # seen so far
        self._left = config.lookups_per_session
        self._lock = threading.Lock()
        self._busy = False
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`: a follow of another thread goes on in the parent alone."""
        self._lock = threading.Lock()
        self._busy = False

    def observe(self, step: Step, result: Result) -> None:
        """Take in a completed call of the agent."""
        with self._lock:
            if self._settling:
                self._settling.observe(step, len(result.text), result.text)
            if step.effect is Effect.WRITE:
                self._writes += 1
                self._known.clear()
            elif step.effect is Effect.READ and step.outcome is Outcome.OK and step.replayable:
                self._known.add(step, result)
            for strategy in self._strategies:
                try:
                    strategy.observe(step, result)
                except Exception as error:  # noqa: BLE001 - a strategy may be anybody's code
                    self._switch_off(strategy, error)

    def start(self, seq: int, tool: str, args: JsonObject) -> None:
        """Take in a call of the agent that has begun."""
        self._tell("start", seq, tool, args)

    def hear(self, role: str, text: str) -> None:
        """Take in what was said in the conversation."""
        self._tell("hear", role, text)

    def close(self) -> None:
        """Settle what is left: the session has ended."""
        with self._lock:
            if self._settling:
                self._settling.close()
        self._tell("close")

    def _tell(self, name: str, *args: object) -> None:
        """Call a method of `waggle.replay.Listener` of the strategies that have it."""
        with self._lock:
            for strategy in list(self._strategies):
                self._call(strategy, name, *args)

    def _tell_proposer(self, name: str, lookup: Lookup, *args: object) -> None:
        for strategy in list(self._strategies):
            if strategy.name == lookup.strategy:
                self._call(strategy, name, lookup, *args)

    def _call(self, strategy: ReplayStrategy, name: str, *args: object) -> None:
        method = getattr(strategy, name, None)
        if method is not None:
            self._ask(strategy, method, *args)

    def follow(self, run: Run) -> Fold | None:
        """See `Session.follow`."""
        this = self.open()
        if this is None:
            return None
        token, whole = _following.set(True), False
        try:
            while lookup := this.next():
                this.settle(lookup, _answer(run, lookup))
            whole = True
        finally:
            _following.reset(token)
            folded = this.end(delivered=whole)
        return folded

    async def afollow(self, run: AsyncRun) -> Fold | None:
        """See `Session.afollow`."""
        import asyncio  # noqa: PLC0415 - who calls this has it; who does not is spared a third of the start

        this = self.open()
        if this is None:
            return None
        token, whole = _following.set(True), False
        try:
            while lookup := this.next():
                lookups = [lookup]
                while another := this.next():
                    lookups.append(another)
                answers = (_answer_async(run, one, this.seconds_left()) for one in lookups)
                for one, result in zip(lookups, await asyncio.gather(*answers), strict=True):
                    this.settle(one, result)
            whole = True
        finally:
            _following.reset(token)
            folded = this.end(delivered=whole)
        return folded

    def open(self) -> Follow | None:
        """Open a follow, or None: inside a lookup, beside another follow, or with nothing left to do."""
        with self._lock:
            if _following.get() or self._busy or not self._strategies or self._left <= 0:
                return None
            self._busy = True
            lookups = min(self._config.lookups_per_result, self._left)
            now = time.monotonic()
            this = _Round(lookups, now, now + self._config.follow_seconds, self._config.fold_bytes)
            return Follow(self, this, self._faults)

    # --- the steps of a follow --------------------------------------------------------------------------------------

    def next(self, this: _Round) -> Lookup | None:
        """See `Follow.next`. Whether lookups are held back is decided with the first; then all are noted at once."""
        with self._lock:
            lookup = self._propose(this)
            if lookup is None or this.chosen:
                return lookup
            this.chosen = True
            if not self._held_back():
                return lookup
            held = [lookup]
            while another := self._propose(this):
                held.append(another)
            if self._settling:
                self._settling.made(held, held=True)
            this.lookups_left = 0
            return None

    def _propose(self, this: _Round) -> Lookup | None:
        """The next lookup to make. One whose answer is known is settled with it and asked about no further."""
        for strategy in list(self._strategies):
            while this.is_open() and this.asked < _ASKED_PER_LOOKUP * self._config.lookups_per_result:
                this.asked += 1
                lookup = self._ask(strategy, strategy.propose)
                if lookup is None:
                    break
                if not self._tools.may_repeat(lookup.tool, lookup.args):
                    self._switch_off(strategy, ValueError(f"it proposed {lookup.tool}, no read that may be repeated"))
                    break
                known = self._known.find(self._extents.of(lookup.tool, *self._tools.spoken(lookup.tool, lookup.args)))
                if known is None:
                    this.lookups_left -= 1
                    self._left -= 1
                    this.proposed.append((lookup, self._writes))
                    return lookup
                self._ask(strategy, strategy.settle, lookup, known)
        return None

    def settle(self, this: _Round, lookup: Lookup, result: Result) -> None:
        """See `Follow.settle`. What was asked before a write may be as it was before it, so it is not known then."""
        with self._lock:
            writes = this.took(lookup)
            if writes is None:
                return
            this.made.append(replace(lookup, result=result))
            if result.ok:
                this.bytes_left -= result.size_bytes
                if writes == self._writes:
                    form, args = self._tools.spoken(lookup.tool, lookup.args)
                    self._known.add(Step(0, lookup.tool, args, form=form), result)
            self._tell_proposer("settle", lookup, result)

    def drop(self, this: _Round, lookup: Lookup) -> None:
        """See `Follow.drop`."""
        with self._lock:
            if this.took(lookup) is not None:
                this.lookups_left += 1
                self._left += 1
                self._tell_proposer("drop", lookup)

    def fold(self, this: _Round) -> Fold | None:
        """See `Follow.fold`."""
        answered = [lookup for lookup in this.made if lookup.result and lookup.result.ok]
        return fold(answered, limit=self._config.fold_bytes)

    def end(self, this: _Round, delivered: bool) -> Fold | None:  # noqa: FBT001 - `Follow.end` names it
        """See `Follow.end`."""
        with self._lock:
            if this.over:
                return None
            this.over = True
            for lookup, _ in this.proposed:
                self._tell_proposer("drop", lookup)
            this.proposed.clear()
            self._busy = False
            if this.made and not delivered:
                self._known.clear()
        if not this.made or not delivered:
            return None
        folded = self.fold(this)
        self._on_fold(this.made, folded, time.monotonic() - this.began)
        with self._lock:
            if self._settling and folded:
                self._settling.made(folded.lookups)
        return folded

    def _ask(self, strategy: ReplayStrategy, method: Callable[..., _T], *args: object) -> _T | None:
        """Call a strategy; one that raises is switched off for this session."""
        try:
            return method(*args)
        except Exception as error:  # noqa: BLE001 - a strategy may be anybody's code
            self._switch_off(strategy, error)
            return None

    def _switch_off(self, strategy: ReplayStrategy, error: Exception) -> None:
        if not any(other is strategy for other in self._strategies):
            return  # it raised once more, while it was closed
        self._strategies = [other for other in self._strategies if other is not strategy]
        self._faults.note(f"strategy {getattr(strategy, 'name', type(strategy).__name__)!r} switched off", error)
        self._call(strategy, "close")


#: Proposals per lookup a round may hear, so that a strategy that names only what is known does not go on for ever.
_ASKED_PER_LOOKUP: Final = 8


def _answer(run: Run, lookup: Lookup) -> Result:
    """Make a lookup through the host; whatever goes wrong there is a failed lookup."""
    try:
        return _as_result(run(lookup.tool, _host_args(lookup)))
    except Exception as error:  # noqa: BLE001 - the host's tool may raise anything
        return Result(f"{type(error).__name__}", ok=False)


async def _answer_async(run: AsyncRun, lookup: Lookup, seconds: float) -> Result:
    import asyncio  # noqa: PLC0415 - as in `Speculation.afollow`

    try:
        async with asyncio.timeout(seconds):
            return _as_result(await run(lookup.tool, _host_args(lookup)))
    except TimeoutError:
        return Result("took too long", ok=False, outcome=Outcome.CANCELLED)
    except Exception as error:  # noqa: BLE001 - as above
        return Result(f"{type(error).__name__}", ok=False)


def _host_args(lookup: Lookup) -> dict[str, Any]:
    return {name: jsonvalue.from_json(value) for name, value in lookup.args.items()}


def _as_result(answer: Result | str) -> Result:
    return answer if isinstance(answer, Result) else Result(str(answer))
