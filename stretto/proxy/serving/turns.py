"""Which calls an agent decided on at once, told while its session goes on.

The rule is that of `stretto.sessions.turns`, which reads whole records: a call that comes while another one of the turn
is unanswered joins the turn. So does one within 500 ms of the turn's last answer, if nothing was said in between and it
passes nothing that the turn's results were the first to hold. Anything else begins a new turn.

Two things differ. Lookups belong to the turn of the call they follow, and so do their results, which the agent gets
with that call's. And only the latest texts of a session are held, so that memory does not grow with it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from stretto._defaults import TURN_GAP_MS
from stretto.sessions.turns import telling
from stretto.sessions.wire import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonValue

__all__ = ["LiveTurns"]

#: Characters of a session's texts that are held, twice: what is older tells little, and is long to search. A session of
#: τ-bench has 20,000.
_HELD_CHARS: Final = 256 * 1024
_BLOCK_CHARS: Final = 32 * 1024


class LiveTurns:
    """The turns of one session."""

    def __init__(self) -> None:
        self._open: set[str] = set()  # calls that hold the turn open
        self._answered_s: float | None = None
        self._said = False  # since the turn began
        self._returned = _Texts()  # by the turn's calls
        self._known = _Texts()  # before that

    def said(self, text: str, *, speaks: bool) -> None:
        """Take in a text of the conversation; `speaks` when it is an event of the session."""
        self._known.add(text)
        self._said |= speaks

    def call(self, call_id: str, arguments: JsonValue, now_s: float) -> bool:
        """Take in a call of the agent.

        Args:
            call_id: unique in the session.
            arguments: as JSON.
            now_s: seconds, on the clock that the answers' times are of.

        Returns:
            Whether it begins a new turn.
        """
        begins = not self._open and not self._continues(arguments, now_s)
        if begins:
            for text in self._returned:
                self._known.add(text)
            self._returned = _Texts()
            self._answered_s = None
            self._said = False
        self._known.add(json_text(arguments))
        self._open.add(call_id)
        return begins

    def returned(self, text: str) -> None:
        """Take in what a call of the turn, or a lookup, has returned."""
        self._returned.add(text)

    def answered(self, call_id: str, now_s: float) -> None:
        """Know that the agent has a call's answer."""
        if call_id in self._open:
            self._open.discard(call_id)
            if not self._open:
                self._answered_s = now_s

    def dropped(self, call_id: str) -> None:
        """Know that a call gets no answer."""
        self._open.discard(call_id)

    def _continues(self, arguments: JsonValue, now_s: float) -> bool:
        answered = self._answered_s
        if answered is None or (now_s - answered) * 1000 > TURN_GAP_MS or self._said:
            return False
        return not any(self._returned.hold(text) and not self._known.hold(text) for text in telling(arguments))


class _Texts:
    """The latest texts of a session, in few blocks: many short texts take long to search."""

    def __init__(self) -> None:
        self._blocks: deque[str] = deque()
        self._chars = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def add(self, text: str) -> None:
        if self._blocks and len(self._blocks[-1]) < _BLOCK_CHARS:
            self._blocks[-1] += f"\n{text}"
            self._chars += 1
        else:
            self._blocks.append(text)
        self._chars += len(text)
        while self._chars > _HELD_CHARS and self._blocks:
            self._chars -= len(self._blocks.popleft())

    def hold(self, part: str) -> bool:
        return any(part in block for block in self._blocks)
