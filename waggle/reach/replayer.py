"""The reach strategy: after a call, propose the reads that agents make after what was just seen."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle._defaults import BYTES_PER_TOKEN, CONTENT_CHARS
from waggle._fork import renew_in_children
from waggle.calls import Effect, Outcome
from waggle.extents import Coverage
from waggle.reach.counts import Economy
from waggle.reach.sites import Seen
from waggle.reach.targets import LinesTarget, lines_call
from waggle.replay import Lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.calls import Result, Step
    from waggle.extents import Extents
    from waggle.jsonvalue import JsonObject
    from waggle.reach.counts import Choice, ReachCounts
    from waggle.reach.learner import ReachLearner
    from waggle.reach.table import ReachTable

__all__ = ["ReachReplayer", "ReachStudent"]


class ReachReplayer:
    """One session's place among the reach routes; a `waggle.replay.ReplayStrategy`.

    After the agent's latest calls, everything that pays at their sites is proposed, worth most first: of one file one
    range, and nothing around a line that is known since the last write. Proposals do not depend on each other.

    Args:
        table: counts and routes.
        extents: tells what calls show.
        student: is told which lookups were used.
    """

    name = "reach"

    def __init__(self, table: ReachTable, extents: Extents, student: ReachStudent | None = None) -> None:
        self._table = table
        self._extents = extents
        self._student = student
        self._fresh: deque[tuple[Step, Result]] = deque(maxlen=_FRESH)
        self._reads: deque[Step] = deque(maxlen=_READS)  # since the last write, not yet in `_known`
        self._known = Coverage()
        self._plan: deque[Lookup] | None = None
        self._made: dict[tuple[str, bytes], tuple[int, str]] = {}  # lookups by call: the site's step, the target
        self._chars = 0  # of the conversation so far
        self._calls = 0

    def observe(self, step: Step, result: Result) -> None:
        """See `ReplayStrategy.observe`."""
        if step.effect is Effect.WRITE:
            self._known.clear()
            self._reads.clear()
            self._made.clear()  # what was made is settled by now; the rest never was made
        elif step.effect is Effect.READ and step.outcome is Outcome.OK and step.replayable:
            self._reads.append(step)
        if step.effect is not Effect.NOTE:
            self._fresh.append((step, result if len(result.text) <= CONTENT_CHARS else shortened(result)))
        self._plan = None
        self._calls += 1
        self._chars += len(result.text) + _CALL_CHARS

    def propose(self) -> Lookup | None:
        """See `ReplayStrategy.propose`."""
        if self._plan is None:
            self._plan = deque(self._planned()) if len(self._table) else deque()
            self._fresh.clear()
        return self._plan.popleft() if self._plan else None

    def settle(self, lookup: Lookup, result: Result) -> None:
        """See `ReplayStrategy.settle`."""
        if result.ok:
            form, args = self._extents.tools.spoken(lookup.tool, lookup.args)
            self._known.add(self._extents.of(lookup.tool, form, args), 0)

    def settled(self, lookup: Lookup, *, used: bool) -> None:
        """Take in whether a lookup was used; see `waggle.speculation.Speculation`."""
        made = self._made.pop(_call_key(lookup), None)
        if used and made and self._student:
            self._student.answered(*made)

    def _planned(self) -> list[Lookup]:
        while self._reads:
            self._known.add(self._extents.of_step(self._reads.popleft()), 0)
        economy = None
        if self._table.threshold is None:
            economy = Economy(self._chars / BYTES_PER_TOKEN, self._table.turns_left(self._calls))
        found: list[tuple[Choice, Seen]] = []
        for step, result in self._fresh:
            seen = Seen(step, result, self._extents)
            found += [(choice, seen) for choice in self._table.choices(seen.site.levels(), economy)]
        found.sort(key=lambda pair: -pair[0].worth)
        return list(self._lookups(found))

    def _lookups(self, found: list[tuple[Choice, Seen]]) -> Iterator[Lookup]:
        files: set[str] = set()
        for choice, seen in found:
            path = choice.target.path(seen) if isinstance(choice.target, LinesTarget) else ""
            if path and path in files:
                continue
            lookup = self.lookup_for(choice, seen)
            if lookup is None:
                continue
            if path:
                files.add(path)
            self._made[_call_key(lookup)] = (seen.step.seq, choice.key)
            yield lookup

    def lookup_for(self, choice: Choice, seen: Seen) -> Lookup | None:
        """The lookup that a choice comes to at a site; None when it names nothing there, or what it names is known."""
        path = choice.target.path(seen) if isinstance(choice.target, LinesTarget) else ""
        args = None if path is None else self._arguments(choice, seen, path)
        if args is None or not self._extents.tools.may_repeat(choice.target.tool, args):
            return None  # the route of a host with other tools, or of a server that was not heard yet
        route = self._table.route(seen.site.levels()[0], choice.key)
        return Lookup(choice.target.tool, args, self.name, route, choice.chance)

    def _arguments(self, choice: Choice, seen: Seen, path: str) -> JsonObject | None:
        """The arguments of a lookup as the host takes them; None when there is nothing to read, or it is known."""
        target, tools = choice.target, self._extents.tools
        try:
            if not isinstance(target, LinesTarget):
                args = target.bind(seen)
                return None if args is None else tools.said(target.tool, target.form, args)
            line = target.line(seen)
            if line is None:
                return None
            whole = target.around == "whole"
            form = self._table.form_for(target.tool, whole=whole) if not target.arg else ""
            first, last = max(1, line - choice.before), line + choice.after
            if not whole:
                near = lines_call(target, tools, path, line, min(last, line + _NEAR))
                if self._known.find(self._extents.of(target.tool, form, near)) is not None:
                    return None
            return tools.said(target.tool, form, lines_call(target, tools, path, first, None if whole else last))
        except ValueError:  # a path that would be an option of the command
            return None


class ReachStudent:
    """Feeds a session's calls to its learner, away from the thread of the call. Thread-safe.

    Args:
        learner: counts.
    """

    def __init__(self, learner: ReachLearner) -> None:
        self._learner = learner
        self._unread: deque[tuple[Step, Result] | tuple[int, str]] = deque()
        self._unread_chars = 0
        self._lock = threading.Lock()
        renew_in_children(self)

    def renew(self) -> None:
        """See `waggle._fork.Renewable`."""
        self._lock = threading.Lock()

    def observe(self, step: Step, result: Result) -> None:
        """Note a completed call; cheap, unless nobody has studied for so long that it takes up memory."""
        size = len(result.text)
        if size > CONTENT_CHARS:
            result, size = shortened(result), CONTENT_CHARS
        self._unread.append((step, result))
        self._unread_chars += size + _STEP_CHARS
        if self._unread_chars > _UNREAD_CHARS:
            self.study()

    def answered(self, seq: int, target: str) -> None:
        """Note that a lookup made after the call with this number was used."""
        self._unread.append((seq, target))

    def study(self) -> None:
        """Count what was noted."""
        with self._lock:
            while self._unread:
                first, second = self._unread.popleft()
                if isinstance(first, int):
                    assert isinstance(second, str)  # noqa: S101 - pairs come in two kinds; this tells the type checker
                    self._learner.answered(first, second)
                else:
                    assert not isinstance(second, str)  # noqa: S101 - as above
                    self._unread_chars -= min(len(second.text), CONTENT_CHARS) + _STEP_CHARS
                    self._learner.observe(first, second)

    def close(self) -> ReachCounts:
        """Count the rest and give the session's counts."""
        self.study()
        with self._lock:
            return self._learner.close()


def shortened(result: Result) -> Result:
    """A long result without the text that nobody looks into, so that it is not held."""
    return replace(result, text=result.text[:CONTENT_CHARS], cut=True)


def _call_key(lookup: Lookup) -> tuple[str, bytes]:
    return lookup.tool, jsonvalue.canonical(lookup.args)


_FRESH: Final = 16  # latest calls whose sites are looked at: more than a model makes in one turn
_READS: Final = 256  # reads since the last write that are remembered
_UNREAD_CHARS: Final = 16 * 1024 * 1024  # characters of calls noted before they are counted on the spot
_STEP_CHARS: Final = 1000  # of a step without its result
_NEAR: Final = 10  # lines: when a line and what follows it so far are known, nothing is read around it
_CALL_CHARS: Final = 120  # characters of an ordinary call
