"""The ceiling: the share of turns that any read-only flow binding from results could save.

A turn is in it when all of its calls read, and every value of their arguments was present in earlier results at a
moment at which a flow acts: after some result since the last write, that of the write included. With **the user's
words** the values may also have been written by the user before that moment; an agent that calls a tool right after the
user spoke may pass values that no flow has seen. What counts as present is said in `stretto.review.presence`; failed
calls hold no values.

The agent's own repeated reads are in the ceiling and are never saved, so a flow's share of it is understated by them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from stretto.review.presence import Heard, values_in
from stretto.review.record import Record
from stretto.sessions.episode import User

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stretto.review.record import RecordedTurn
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest

__all__ = ["CeilingScore", "Reach", "ceiling", "reaches"]


class Reach(IntEnum):
    """Whether a turn could have been saved."""

    NONE = 0  #: it could not
    WORDS = 1  #: with values that the user wrote
    RESULTS = 2  #: with values from results alone


@dataclass(frozen=True, slots=True)
class CeilingScore:
    """The turns of one session.

    Attributes:
        session: its id.
        unit: to resample by.
        turns: the agent's turns, replies included, the greeting left out.
        replies: of these, without calls.
        reads: with calls that all read.
        writes: with a call that writes.
        ceiling: in the ceiling.
        with_words: in the ceiling with the user's words.
    """

    session: str
    unit: str
    turns: int
    replies: int
    reads: int
    writes: int
    ceiling: int
    with_words: int


def reaches(record: Record) -> list[Reach]:
    """For each turn of a session, in order, whether it could have been saved."""
    found: list[Reach] = []
    results = Heard()
    words = Heard(loosely=True)
    unseen: list[str] = []  # said by the user since the last result: no flow has acted on it
    acted = False
    for step in record.steps:
        if isinstance(step, User):
            unseen.append(step.text)
            continue
        if step.number < 0:
            continue
        found.append(_reach(step, results, words) if acted else Reach.NONE)
        returned = [call.result for call in step.calls if call.result is not None]
        if not returned:
            continue
        acted = True
        for text in unseen:
            words.add(text)
        unseen.clear()
        for result in returned:
            if not result.error:
                results.add(result.content)
    return found


def _reach(turn: RecordedTurn, results: Heard, words: Heard) -> Reach:
    if not turn.calls or any(call.kind != "read" for call in turn.calls):
        return Reach.NONE
    reach = Reach.RESULTS
    for value in (value for call in turn.calls for value in values_in(call.call.arguments)):
        if results.holds(value):
            continue
        if not words.holds(value):
            return Reach.NONE
        reach = Reach.WORDS
    return reach


def ceiling(
    episodes: Iterable[Episode], manifest: Manifest, *, units: dict[str, str] | None = None
) -> Iterator[CeilingScore]:
    """Count the ceiling of sessions, one score each, in their order.

    Args:
        episodes: the sessions.
        manifest: tells which tools read.
        units: by session id, what to resample by; left out, its task.
    """
    for episode in episodes:
        record = Record(episode, manifest)
        found = Counter(reaches(record))
        kinds = Counter(_kind(turn) for turn in record.turns)
        yield CeilingScore(
            episode.id,
            (units or {}).get(episode.id, record.unit),
            len(record.turns),
            kinds["reply"],
            kinds["read"],
            kinds["write"],
            found[Reach.RESULTS],
            found[Reach.RESULTS] + found[Reach.WORDS],
        )


def _kind(turn: RecordedTurn) -> str:
    kinds = {call.kind for call in turn.calls}
    if not kinds:
        return "reply"
    return "write" if "write" in kinds else "read" if kinds == {"read"} else "generic"
