"""Scoring a replayed session: a walk through its record, with somebody beside the agent who makes lookups.

One walk serves every kind of actor, a flow as it is served or a whole `waggle.Manager`, so that their numbers can be
compared. The rules:

* A call that a lookup answers (`stretto.review.pool`) is skipped: the agent has its result. The agent's own repeats are
  no answers.
* Any other call is made, and the actor may make lookups after it. The calls of a turn are made one after another. A
  write makes all lookups stale that were not used.
* A **turn** is every assistant message but the greeting; it is **saved** when all of its calls were answered.
* A lookup made after a turn's first call may answer its second: it is used, and the turn is not saved.
* Every lookup that answers nothing is a **detour**.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from stretto.review.ceiling import Reach, reaches
from stretto.review.fanout import Element, Lists, elements
from stretto.review.pool import Lookup, Pool
from stretto.review.record import Record, key_of
from stretto.review.score import COUNTS, ReplayScore
from stretto.sessions.episode import User

if TYPE_CHECKING:
    from stretto.review.record import RecordedCall, RecordedTurn
    from waggle.jsonvalue import JsonObject

__all__ = ["Actor", "Walk", "play"]


class Actor(Protocol):
    """What makes lookups beside the agent. It is told what the agent sees, in order."""

    def user(self, text: str) -> None:
        """Take in a message of the user."""
        ...

    def reply(self, text: str) -> None:
        """Take in a turn of the agent without calls."""
        ...

    def turn(self) -> None:
        """Take in that a turn begins of whose calls at least one is made."""
        ...

    def called(self, call: RecordedCall, walk: Walk) -> None:
        """Take in a call that was made, with its result, and make lookups."""
        ...


class Walk:
    """Where a replay is in its record; what an actor makes lookups with.

    Args:
        record: the session.
        same_result: see `Pool`.

    Attributes:
        record: as given.
        pool: the lookups so far.
    """

    def __init__(self, record: Record, *, same_result: bool = False) -> None:
        self.record = record
        self.pool = Pool(same_result=same_result)
        self._lists = Lists()
        self._at: RecordedCall | None = None  # the call that was made last
        self._executed = 0  # turns of the agent that were not saved

    # --- for the actor ---

    def look_up(self, tool: str, arguments: JsonObject, source: str) -> Lookup:
        """Make a lookup after the call that was made last.

        Args:
            tool: of the lookup.
            arguments: of the lookup.
            source: what it comes from, for the score.
        """
        at = self._made_last()
        answer = self.record.answer(key := key_of(tool, arguments), at.place)
        element = self._lists.take(tool, arguments)
        if answer.output is not None:
            self._lists.show(answer.output)
        lookup = Lookup(key, arguments, answer, source, element, self.record.left(at.turn), self._executed + 1)
        self.pool.add(lookup)
        return lookup

    def own_call(self, tool: str, arguments: JsonObject) -> RecordedCall | None:
        """The call of the agent that a lookup made now would answer."""
        return self.record.own_call(key_of(tool, arguments), self._made_last().place)

    def next_place(self) -> int:
        """Place of the agent's next call that no lookup has the result of."""
        place = self._made_last().place + 1
        while place in self.pool.covered:
            place += 1
        return place

    def _made_last(self) -> RecordedCall:
        if self._at is None:
            raise ValueError("a lookup is made after a call of the agent")
        return self._at

    # --- for the score ---

    def take(self, turn: RecordedTurn, actor: Actor) -> int:
        """Go through one turn of the agent and return how many of its calls were answered."""
        skipped = 0
        opened = False
        for call in turn.calls:
            lookup = self.pool.answer(call)
            if lookup is not None:
                lookup.used_next = self._executed <= lookup.since
                skipped += 1
                continue
            if not opened:
                actor.turn()
                opened = True
            self._make(call)
            actor.called(call, self)
        self._executed += opened or not turn.calls
        return skipped

    def _make(self, call: RecordedCall) -> None:
        self._at = call
        if call.kind == "write":
            self.pool.wrote()
        self._lists.take(call.call.name, call.call.arguments)
        if (output := self.record.outputs.get(call.place)) is not None:
            self._lists.show(output)


def play(record: Record, actor: Actor, *, unit: str = "", same_result: bool = False) -> ReplayScore:
    """Replay a session with an actor beside the agent.

    Args:
        record: the session.
        actor: makes lookups; new for each session.
        unit: to resample by; empty for the session's task.
        same_result: see `Pool`.
    """
    walk = Walk(record, same_result=same_result)
    counts: Counter[str] = Counter()
    kinds = zip(reaches(record), elements(record), strict=True)
    for step in record.steps:
        if isinstance(step, User):
            actor.user(step.text)
            continue
        if not step.calls:
            actor.reply(step.text)
        if step.number >= 0:
            skipped = walk.take(step, actor)
            _count_turn(counts, step, *next(kinds), skipped=skipped, left=record.left(step.number))
    lookups = walk.pool.lookups
    for lookup in lookups:
        _count_lookup(counts, lookup)
    counts["spoiled"] = counts["used"] < counts["lookups"]
    made = Counter(lookup.source for lookup in lookups)
    used = Counter(lookup.source for lookup in lookups if lookup.used)
    numbers: dict[str, Any] = {count: int(counts[count]) for count in COUNTS}
    sources = {source: (made[source], used[source]) for source in sorted(made)}
    return ReplayScore(record.episode.id, unit or record.unit, **numbers, sources=sources)


def _count_turn(
    counts: Counter[str], turn: RecordedTurn, reach: Reach, element: Element, *, skipped: int, left: int
) -> None:
    saved = bool(turn.calls) and skipped == len(turn.calls)
    counts.update(
        turns=1,
        saved=saved,
        calls=len(turn.calls),
        skipped=skipped,
        ceiling=reach is Reach.RESULTS,
        ceiling_words=reach is not Reach.NONE,
        tokens=turn.read,
        tokens_saved=(turn.read + turn.made * left) * saved,
    )
    if len(turn.calls) > 1:
        counts.update(batched=1, batched_saved=saved)
    if element is not Element.NONE:
        counts.update({element.value: 1, f"{element}_saved": saved})


def _count_lookup(counts: Counter[str], lookup: Lookup) -> None:
    counts.update(lookups=1, used=lookup.used, used_next=lookup.used_next)
    if not lookup.used:
        counts.update(tokens_spent=lookup.answer.tokens * lookup.left)
    if lookup.element is not Element.NONE:
        counts.update({f"{lookup.element}_lookups": 1, f"{lookup.element}_used": lookup.used})
