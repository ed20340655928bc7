"""What a session has shown so far, for binding: results, values passed before, and what the user said.

Not responsible for turns or symbols (`stretto.live`), nor for choosing a value (`stretto.bindings.binder`). Bounded
where it matters for time: the latest `OUTPUTS_HELD` results are looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

from stretto._defaults import OUTPUTS_HELD
from stretto.bindings.results import Output, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from stretto.bindings.model import Source
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["SessionValues", "bare_name"]

_T = TypeVar("_T")
_V = TypeVar("_V")

_DIGIT: Final = re.compile("[0-9]")
_LEAST_GIVEN: Final = 4  # characters of a value that says which record is meant


@lru_cache(maxsize=65536)
def bare_name(value: str) -> str:
    """A value as people write it: lower-cased, trimmed, without ``#`` in front."""
    return value.strip().lower().lstrip("#")


class SessionValues:
    """The values of one session.

    Attributes:
        site: tool of the latest successful result; None before the first.
        heard: number of messages of the user so far; whatever depends on what they said is as old as this number.
        said: what the user said, lower-cased, a line end after each message.
        messages: the same as it was written.
    """

    def __init__(self) -> None:
        self.site: str | None = None
        self.heard = 0
        self.said = ""
        self.messages: list[str] = []
        self._outputs: deque[Output] = deque(maxlen=OUTPUTS_HELD)
        self._by_tool: defaultdict[str, deque[Output]] = defaultdict(lambda: deque(maxlen=OUTPUTS_HELD))
        self._number = 0
        self._passed: defaultdict[tuple[str, str], dict[str, Output | None]] = defaultdict(dict)
        self._calls: defaultdict[str, list[JsonObject]] = defaultdict(list)
        self._given: dict[str, int] = {}  # values that calls passed -> results there were before
        self._mentions: dict[str, bool] = {}
        self._kept: dict[Hashable, tuple[tuple[int, ...], object]] = {}
        self._undo: list[Callable[[], object]] | None = None  # during a trial

    # --- what happens ---

    def hear(self, text: str) -> None:
        """Take in a message of the user."""
        self.messages.append(text)
        self.said += text.lower() + "\n"
        self.heard += 1
        self._mentions.clear()

    def call(self, tool: str, arguments: JsonValue) -> None:
        """Take in a call that is made: from now on its values have been passed, whether or not it returns."""
        if not isinstance(arguments, dict):
            arguments = {}
        self._append(self._calls[tool], arguments)
        for name, value in arguments.items():
            text = as_text(value)
            passed = self._passed[tool, name]
            if text not in passed:
                self._set(passed, text, None)
            text = text.lower().strip()
            if isinstance(value, (str, int, float)) and _identifies(text) and text not in self._given:
                self._set(self._given, text, self._number)

    def result(self, tool: str, arguments: JsonValue, text: str) -> Output:
        """Take in a successful result."""
        output = Output(self._number, tool, text, arguments if isinstance(arguments, dict) else None)
        self._number += 1
        self._append(self._outputs, output)
        self._append(self._by_tool[tool], output)
        self.site = tool
        for name, value in (output.arguments or {}).items():
            passed = self._passed[tool, name]
            if passed.get(key := as_text(value)) is None:
                self._set(passed, key, output)
        return output

    @contextmanager
    def trial(self) -> Iterator[None]:
        """For the time of a ``with`` block: whatever is taken in meanwhile is forgotten at its end.

        Cost: what was taken in.
        """
        site = self.site
        undo: list[Callable[[], object]] = []
        self._undo = undo
        try:
            yield
        finally:
            self._undo = None
            for step in reversed(undo):
                step()
            self.site = (
                site  # results are numbered on, so that what is kept of those forgotten is not taken for later ones
            )

    def _append(self, to: deque[_T] | list[_T], item: _T) -> None:
        if self._undo is not None:
            dropped = to[0] if isinstance(to, deque) and len(to) == to.maxlen else None
            if isinstance(to, deque) and dropped is not None:
                self._undo.append(partial(to.appendleft, dropped))
            self._undo.append(to.pop)
        to.append(item)

    def _set(self, table: dict[str, _V], key: str, value: _V) -> None:
        if self._undo is not None:
            if key in table:
                self._undo.append(partial(table.__setitem__, key, table[key]))
            else:
                self._undo.append(partial(table.__delitem__, key))
        table[key] = value

    # --- what can be asked ---

    @property
    def count(self) -> int:
        """Successful results so far."""
        return self._number

    def outputs(self) -> Iterator[Output]:
        """The results held, the latest first."""
        return reversed(self._outputs)

    def outputs_of(self, tool: str) -> Sequence[Output]:
        """The results of one tool, in order of arrival."""
        return self._by_tool.get(tool, ())

    def calls_of(self, tool: str) -> Sequence[JsonObject]:
        """The arguments of every call of a tool so far, in order of being made."""
        return self._calls.get(tool, ())

    def passed(self, tool: str, argument: str) -> Mapping[str, Output | None]:
        """The values that were passed before as this argument, as text, each with what the call returned."""
        return self._passed.get((tool, argument), {})

    def kept(self, key: Hashable, sources: Iterable[Source], make: Callable[[], _T]) -> _T:
        """What was made of the results of sources and of what the user said; made anew when either changes."""
        latest = [outputs[-1].number if (outputs := self._by_tool.get(tool)) else -1 for tool, _ in sources]
        stamp = (self.heard, *latest)
        known = self._kept.get(key)
        if known is None or known[0] != stamp:
            known = self._kept[key] = (stamp, make())
        return known[1]  # type: ignore[return-value]  # the key says what was made

    def mentions(self, value: str) -> bool:
        """Whether the user wrote this value, ``#`` in front and case apart."""
        known = self._mentions.get(value)
        if known is None:
            bare = bare_name(value)
            known = self._mentions[value] = bool(bare) and bare in self.said
        return known

    def gave(self, value: str) -> bool:
        """Whether the user brought this value up: they wrote it, or the agent passed it before any result held it.

        Args:
            value: lower-cased and trimmed. One without a digit, or of less than 4 characters, was never given.
        """
        if not _identifies(value):
            return False
        if self.mentions(value):
            return True
        before = self._given.get(value)
        return before is not None and not any(
            output.number < before and value in output.text.lower() and value in output.leaves
            for output in self._outputs
        )

    def tools(self) -> AbstractSet[str]:
        """Tools that returned something."""
        return self._by_tool.keys()


def _identifies(text: str) -> bool:
    return len(text) >= _LEAST_GIVEN and _DIGIT.search(text) is not None
