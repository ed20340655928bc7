"""What became of the lookups: each is used or a detour once the agent has made its next write, or its session ends.

A lookup is *used* when the agent, before or with its next write, asks for what the lookup covers, or writes to the file
it shows. An agent that reads a fold has no need to ask again, so an edit of the file that was just shown is what tells
that it was read. Where nobody knows what files a tool reads, two things tell it: a write that passes what the lookup
was called with, and any call that passes a value which only the lookup has shown. Everything else is a *detour*.

Lookups that were held back are settled in the same way: nobody answered them, so the agent asks by itself.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from waggle._defaults import BYTES_PER_TOKEN
from waggle.calls import Effect, Outcome
from waggle.extents import Coverage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waggle.calls import Step
    from waggle.extents import Extent, Extents
    from waggle.jsonvalue import JsonObject
    from waggle.replay import Lookup

__all__ = ["Settled", "Settling", "Window"]


@dataclass(frozen=True, slots=True)
class Settled:
    """One lookup, settled.

    Attributes:
        lookup: which.
        used: the agent would have asked for it.
        held: it was held back, so it was never made.
        saved_tokens: when used, the context that the saved turn would have read again, estimated.
        spent_tokens: when not, its result in every turn that is still to come, estimated.
    """

    lookup: Lookup
    used: bool
    held: bool = False
    saved_tokens: int = 0
    spent_tokens: int = 0


@dataclass(slots=True)
class Window:
    """What an agent did from a result with lookups to its next write.

    Attributes:
        lookup: the first of the lookups.
        held: they were held back.
        calls: calls made since, those that ran beside an earlier one left out.
    """

    lookup: Lookup
    held: bool
    calls: int = 0


@dataclass(slots=True)
class _Pending:
    lookup: Lookup
    extents: tuple[Extent, ...]
    paths: tuple[str, ...]
    held: bool
    values: frozenset[str] = frozenset()  # of its arguments, where nobody knows which are paths
    shown: str = ""  # its text, in that case


class Settling:
    """The lookups of one session that are not settled yet.

    Args:
        extents: tells what calls cover.
        turns_left: how many calls a session with so many calls still has before it.
        on_settled: called with the lookups that one call of the agent settles, and the windows it ends.
    """

    def __init__(
        self,
        extents: Extents,
        turns_left: Callable[[int], float],
        on_settled: Callable[[Sequence[Settled], Sequence[Window]], None],
    ) -> None:
        self._extents = extents
        self._turns_left = turns_left
        self._on_settled = on_settled
        self._pending: dict[int, _Pending] = {}
        self._coverage = Coverage()
        self._windows: list[Window] = []
        self._texts: deque[str] = deque(maxlen=_TEXTS)  # latest results of the agent's own calls
        self._number = 0
        self._calls = 0
        self._chars = 0  # of the conversation so far, lookups included

    def made(self, lookups: Sequence[Lookup], *, held: bool = False) -> None:
        """Note the lookups of one result: answered, or held back."""
        if not lookups:
            return
        self._windows.append(Window(lookups[0], held))
        for lookup in lookups:
            self._number += 1
            form, args = self._extents.tools.spoken(lookup.tool, lookup.args)
            extents = self._extents.of(lookup.tool, form, args)
            pending = _Pending(lookup, extents, self._spellings(lookup.tool, form, args), held)
            if not form and self._is_plain(lookup.tool):
                pending.values = frozenset(_strings(args))
                pending.shown = lookup.result.text[:_SHOWN_CHARS] if lookup.result and not held else ""
            self._pending[self._number] = pending
            self._coverage.add(extents, self._number)
            if not held and lookup.result:
                self._chars += len(lookup.result.text)

    def _spellings(self, tool: str, form: str, args: JsonObject) -> tuple[str, ...]:
        """How a write may name the files that a lookup shows: as the lookup does, and from the session's directory."""
        names = [name for name in args if name.startswith("path")] if form else self._extents.tools.spec(tool).paths
        paths = [path for name in names if isinstance(path := args.get(name), str)]
        inside = f"{self._extents.directory}/"
        found = [*paths, *(path.removeprefix(inside) for path in paths)]
        return tuple(path for path in found if len(path) >= _LEAST_PATH)

    def _is_plain(self, tool: str) -> bool:
        """Whether nobody knows what files a tool reads."""
        spec = self._extents.tools.spec(tool)
        return not spec.paths and not spec.command

    def observe(self, step: Step, size: int, text: str = "") -> None:
        """Take in a call of the agent, before it is answered by anything new.

        Args:
            step: the call.
            size: characters of its result.
            text: of its result.
        """
        self._calls += 1
        self._chars += size + _CALL_CHARS
        if self._windows or self._pending:
            self._observe(step)
        if len(text) <= _SHOWN_CHARS:
            self._texts.append(text)

    def _observe(self, step: Step) -> None:
        if not step.overlapped:
            for window in self._windows:
                window.calls += 1
        passed = _strings(step.args)
        settled = [each for number in self._shown_by_lookups(passed) for each in self._settle(number, used=True)]
        if step.effect is Effect.READ and step.outcome is Outcome.OK:
            for number in self._coverage.find(self._extents.of_step(step)) or ():
                settled += self._settle(number, used=True)
        ended: list[Window] = []
        if step.effect is Effect.WRITE:
            text = "\n".join(value for value in step.args.values() if isinstance(value, str))[:_TEXT_CHARS]
            for number, pending in list(self._pending.items()):
                used = any(path in text for path in pending.paths) or not pending.values.isdisjoint(passed)
                settled += self._settle(number, used=used)
            ended, self._windows = self._windows, []
            self._coverage.clear()
        if settled or ended:
            self._on_settled(settled, ended)

    def _shown_by_lookups(self, passed: Sequence[str]) -> list[int]:
        """The lookups that alone have shown a value that is passed."""
        return [
            number
            for number, pending in self._pending.items()
            if pending.shown
            and any(
                value in pending.shown
                and value not in pending.values
                and not any(value in text for text in self._texts)
                for value in passed
            )
        ]

    def close(self) -> None:
        """Settle what is left: the session has ended."""
        settled = [each for number in list(self._pending) for each in self._settle(number, used=False)]
        ended, self._windows = self._windows, []
        if settled or ended:
            self._on_settled(settled, ended)

    def _settle(self, number: int, *, used: bool) -> list[Settled]:
        pending = self._pending.pop(number, None)
        if pending is None:  # settled by an earlier call; what it covers stays until the next write
            return []
        result = pending.lookup.result
        left = self._turns_left(self._calls)
        spent = 0 if used or pending.held or result is None else round(result.est_tokens * left)
        saved = self._chars // BYTES_PER_TOKEN if used and not pending.held else 0
        return [Settled(pending.lookup, used, pending.held, saved, spent)]


def _strings(args: JsonObject) -> list[str]:
    """The texts that a call passes, also in lists, that are long enough to mean something."""
    found = [each for value in args.values() for each in (value if isinstance(value, list) else [value])]
    return [value for value in found if isinstance(value, str) and len(value) >= _LEAST_PATH]


_CALL_CHARS: Final = 120  # characters of an ordinary call
_TEXT_CHARS: Final = 4000  # of a write's arguments that are searched for a path
_TEXTS: Final = 8  # results that are searched for a value, which an agent mostly has from the latest
_SHOWN_CHARS: Final = 64 * 1024  # of each; a longer one is not searched
_LEAST_PATH: Final = 4  # characters: a shorter argument is found in any text
