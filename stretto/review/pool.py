"""The lookups that were made in a replayed session, and which of them answers a call of the agent.

A call is answered by the first lookup made earlier that answered none yet, got the agent's own result (no stand-in),
has the same tool and exactly the same arguments, and is not stale, or stale and still equal to what the call returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.review.fanout import Element
    from stretto.review.record import Answer, CallKey, RecordedCall
    from waggle.jsonvalue import JsonValue

__all__ = ["Lookup", "Pool"]


@dataclass(slots=True)
class Lookup:
    """A lookup that was made.

    Attributes:
        key: its identity.
        arguments: its arguments.
        answer: what it returned.
        source: what it comes from, for the score.
        element: which element of a list it passes.
        left: turns after the one it was made in.
        since: turns that the agent had taken at the end of the one it was made in.
        stale: something was written since.
        used: it answered a call.
        used_next: the agent took no turn between the two.
    """

    key: CallKey
    arguments: JsonValue
    answer: Answer
    source: str
    element: Element
    left: int
    since: int
    stale: bool = False
    used: bool = False
    used_next: bool = False


class Pool:
    """The lookups of one session, and which of them can still answer a call.

    Args:
        same_result: a lookup also answers a call of the same tool that agrees on every argument both pass and returned
            the same.
    """

    def __init__(self, *, same_result: bool = False) -> None:
        self._same_result = same_result
        self._open: dict[str, list[Lookup]] = {}  # by tool
        #: Every lookup, in order.
        self.lookups: list[Lookup] = []
        #: Places of the agent's calls that a lookup has the result of.
        self.covered: set[int] = set()

    def add(self, lookup: Lookup) -> None:
        """Take in a lookup."""
        self.lookups.append(lookup)
        if lookup.answer.own is not None:
            self.covered.add(lookup.answer.own.place)
            self._open.setdefault(lookup.key[0], []).append(lookup)

    def hide(self, lookup: Lookup) -> None:
        """Note that the agent was not shown a lookup's result, so that it answers nothing."""
        if lookup.answer.own is not None:
            self.covered.discard(lookup.answer.own.place)
            self._open[lookup.key[0]].remove(lookup)

    def wrote(self) -> None:
        """Note that the agent wrote something."""
        for lookups in self._open.values():
            for lookup in lookups:
                lookup.stale = True

    def answer(self, call: RecordedCall) -> Lookup | None:
        """The lookup that answers a call; from now on it is used."""
        candidates = self._open.get(call.key[0], [])
        for lookup in candidates:
            if self._answers(lookup, call):
                candidates.remove(lookup)
                lookup.used = True
                return lookup
        return None

    def _answers(self, lookup: Lookup, call: RecordedCall) -> bool:
        if lookup.key == call.key:
            return not lookup.stale or _same_result(lookup, call)
        return self._same_result and _agree(lookup.arguments, call.call.arguments) and _same_result(lookup, call)


def _same_result(lookup: Lookup, call: RecordedCall) -> bool:
    if call.result is None or call.result.error != lookup.answer.error:
        return False
    ours, theirs = lookup.answer.content, call.result.content
    return ours.strip() == theirs.strip() or _parsed(ours) == _parsed(theirs) is not None


def _parsed(text: str) -> bytes | None:
    try:
        return jsonvalue.canonical(jsonvalue.loads(text))
    except ValueError:
        return None


def _agree(ours: JsonValue, theirs: JsonValue) -> bool:
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    return all(jsonvalue.canonical(ours[name]) == jsonvalue.canonical(theirs[name]) for name in ours.keys() & theirs)
