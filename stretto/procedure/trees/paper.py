"""Plays a tree procedure against a recorded session, whose calls answer. Pure.

What the recording cannot answer ends the replay: nothing is made up. So a record says for certain where a procedure
does what was done, and where it changes something else; not what would have become of a read that nobody made.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from stretto.procedure.exchange import Done
from stretto.procedure.trees.demonstrations import demonstrated, ticket_of
from stretto.procedure.trees.running import play_trees
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.procedure.exchange import Make
    from stretto.procedure.trees.demonstrations import Demonstrated
    from stretto.procedure.trees.model import TreeProcedure
    from stretto.sessions.episode import Episode
    from waggle.jsonvalue import JsonObject

__all__ = ["TreeReplay", "TreeResult", "replay_trees"]


class TreeResult(StrEnum):
    """What a replay came to."""

    SAME = "same"  #: exactly the recorded calls, in their order
    SAME_WRITES = "same writes"  #: all recorded writes in their order and no other; reads left out, or in another order
    SHORT = "short"  #: it stopped before that, and had made none but recorded calls
    UNKNOWN = "unknown"  #: it read what was not read there between the same two writes; no write but recorded ones
    WRONG = "wrong"  #: it made another write than the next recorded one


@dataclass(frozen=True, slots=True)
class TreeReplay:
    """One session, replayed.

    Attributes:
        session: its id.
        result: what it came to.
        calls: that were made, the last one among them which had no answer.
        last: the last of them, as tool and arguments; None where none was made.
    """

    session: str
    result: TreeResult
    calls: int
    last: tuple[str, JsonObject] | None = None


def replay_trees(procedure: TreeProcedure, episode: Episode) -> TreeReplay:
    """Play a procedure on a session's ticket, answered by what was recorded there.

    A read gets the result that the same call had between the same two writes; a write has to be the next recorded
    write. The probe of a check is not made: recordings seldom have it.

    Args:
        procedure: with the tools of the session.
        episode: a solo session.

    Raises:
        ValueError: a call's arguments are no object, or nested too deeply.
    """
    record = _Record(procedure, demonstrated(episode))
    made: list[Make] = []
    play = play_trees(procedure, ticket_of(episode))
    request = next(play, None)
    while request is not None and request.makes[0].id != "check":
        (make,) = request.makes
        made.append(make)
        answer = record.answer(make)
        if answer is None:
            return _ended(episode, TreeResult.WRONG if make.changes else TreeResult.UNKNOWN, made)
        try:
            request = play.send([Done(answer.ok, answer.output)])
        except StopIteration:
            break
    return _ended(episode, record.result(made), made)


class _Record:
    """What was recorded, and which of it was played."""

    def __init__(self, procedure: TreeProcedure, recorded: Sequence[Demonstrated]) -> None:
        self._all = [(call.tool, jsonvalue.canonical(call.arguments)) for call in recorded]
        self._writes = [call for call in recorded if call.tool not in procedure.reads]
        self._written = 0
        self._reads: dict[tuple[int, str, bytes], Demonstrated] = {}  # by how many writes came before
        era = 0
        for call, (tool, arguments) in zip(recorded, self._all, strict=True):
            if call.tool in procedure.reads:
                self._reads.setdefault((era, tool, arguments), call)
            else:
                era += 1

    def answer(self, make: Make) -> Demonstrated | None:
        """What a call returned; None where that is not known, or where the call was not made."""
        if not make.changes:
            return self._reads.get((self._written, *_key(make)))
        following = self._writes[self._written] if self._written < len(self._writes) else None
        if following is None or (following.tool, jsonvalue.canonical(following.arguments)) != _key(make):
            return None
        self._written += 1
        return following

    def result(self, made: Sequence[Make]) -> TreeResult:
        """What a replay came to in which every call had an answer."""
        keys = [*map(_key, made)]
        if keys == self._all:
            return TreeResult.SAME
        # Where nothing is written, what was read is what was done.
        done = bool(self._writes) or {*keys} == {*self._all}
        return TreeResult.SAME_WRITES if done and self._written == len(self._writes) else TreeResult.SHORT


def _key(make: Make) -> tuple[str, bytes]:
    return make.tool, jsonvalue.canonical(make.args)


def _ended(episode: Episode, result: TreeResult, made: Sequence[Make]) -> TreeReplay:
    return TreeReplay(episode.id, result, len(made), (made[-1].tool, made[-1].args) if made else None)
