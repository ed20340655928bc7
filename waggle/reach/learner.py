"""Counts one session: what was read between each call and the next write, and where its values had come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from waggle.calls import Effect, Outcome
from waggle.reach.counts import LENGTH_STEP, NO_CELL, ReachCounts, ToolSums, offer_key
from waggle.reach.sites import WHOLE_LINES, Seen
from waggle.reach.targets import LinesTarget, call_target, lines_targets, may_be_kept, offers, read_target

if TYPE_CHECKING:
    from waggle.calls import Result, Step
    from waggle.extents import Extents, Shown
    from waggle.reach.targets import Cell, Target

__all__ = ["ReachLearner"]


@dataclass(slots=True)
class _Window:
    """One call, and what was read since."""

    seen: Seen
    offers: set[str]  # what it offered to read that was not known yet
    reached: dict[Target, Cell] = field(default_factory=dict)


class ReachLearner:
    """Counts of one session. Bounded: only the latest calls since the last write are looked back at.

    Args:
        extents: tells what calls show.
    """

    def __init__(self, extents: Extents) -> None:
        self._extents = extents
        self._windows: list[_Window] = []
        self._offered: dict[tuple[str, str], list[int]] = {}  # lines by file and kind, since the last write
        self._counts = ReachCounts()
        self._by_target: dict[Target, dict[str, Counter[Cell]]] = {}
        self._digest = blake2b(digest_size=8)
        self._calls = 0
        self._chars = 0  # of the windows' results

    def observe(self, step: Step, result: Result) -> Seen:
        """Take in a completed call; gives it back as a site."""
        if step.effect is Effect.WRITE:
            self._close_windows()
        elif step.effect is Effect.READ and step.replayable and step.outcome is Outcome.OK:
            self._reach(step, result)
        self._calls += 1
        self._digest.update(repr((step.shape, step.parts)).encode("utf-8", "surrogatepass"))
        seen = Seen(step, result, self._extents)
        if step.effect is not Effect.NOTE:
            self._windows.append(_Window(seen, self._fresh(seen)))
            self._chars += seen.size
            while len(self._windows) > _WINDOWS or self._chars > _WINDOW_CHARS:
                self._close(self._windows.pop(0))
        return seen

    def answered(self, seq: int, target: str) -> None:
        """Note that a lookup made after the call with this `Step.seq` was used; its range was long enough."""
        described = read_target(target)
        has_range = isinstance(described, LinesTarget) and described.around != "whole"
        for window in self._windows:
            if window.seen.step.seq == seq:
                window.reached.setdefault(described, (0, 0) if has_range else NO_CELL)

    def _fresh(self, seen: Seen) -> set[str]:
        """What a call offers that no call since the last write has offered."""
        fresh: set[str] = set()
        if len(self._offered) > _OFFERED:  # reading on and on without a write
            self._offered.clear()
        for target, path, line in offers(seen):
            near = self._offered.setdefault((path, target.around), [])
            if all(abs((line or 0) - other) > _NEAR for other in near):
                near.append(line or 0)
                fresh.add(target.offer)
        return fresh

    def _reach(self, step: Step, result: Result) -> None:
        spec = self._extents.tools.spec(step.tool)
        if not spec.repeatable or spec.metered or spec.sensitive:
            return
        shown = self._extents.shown(step)
        is_file = shown.kind == "lines" and bool(shown.path)
        if is_file:
            self._note_reading(step, shown, result)
        paths = [name for name in step.args if name.startswith(("path", "dir"))] if step.form else spec.paths
        for number, window in enumerate(self._windows, -len(self._windows)):
            if step.overlapped and window.seen.step.seq >= step.seq - 1:
                continue
            linked = is_file and self._link(step, shown, window)
            if not linked and number >= -_CALL_WINDOWS:
                window.reached.setdefault(call_target(step, window.seen, paths), NO_CELL)

    def _link(self, step: Step, shown: Shown, window: _Window) -> bool:
        """Note the lines of a file that a call named; False when it named no such file."""
        linked = False
        for target, cell in lines_targets(shown, step, window.seen, self._path_arg(step)):
            linked = True
            if target.offer in window.offers:
                window.reached.setdefault(target, cell or NO_CELL)
        return linked

    def _path_arg(self, step: Step) -> str:
        """The argument with the path of the file that is read; empty for a shell command."""
        return (
            "" if step.form else next(name for name in self._extents.tools.spec(step.tool).paths if name in step.args)
        )

    def _note_reading(self, step: Step, shown: Shown, result: Result) -> None:
        lines = max(result.text.count("\n"), 1)
        whole = shown.first == 1 and shown.last >= WHOLE_LINES
        sums = ToolSums(*((0, 0, lines, 1) if whole else (lines, 1, 0, 0)), len(result.text), int(shown.numbered))
        self._counts.tools[step.tool] = self._counts.sums(step.tool).plus(sums)
        if step.form and set(step.args) == ({"path"} if whole else {"path", "first", "last"}):
            self._counts.forms[step.tool, step.form] += 1

    def _close_windows(self) -> None:
        while self._windows:
            self._close(self._windows.pop(0))
        self._offered.clear()

    def _close(self, window: _Window) -> None:
        self._chars -= window.seen.size
        levels = window.seen.site.levels()
        seen = self._counts.seen
        for level in levels:
            seen[level] += 1
            for offer in window.offers:
                seen[offer_key(level, offer)] += 1
        for target, cell in window.reached.items():
            by_site = self._by_target.get(target)
            if by_site is None:
                if len(self._by_target) >= _TARGETS:
                    continue
                by_site = self._by_target[target] = {}
            for level in levels:
                cells = by_site.get(level)
                if cells is None:
                    cells = by_site[level] = Counter()
                cells[cell] += 1

    def close(self) -> ReachCounts:
        """End the session and give its counts."""
        self._close_windows()
        counts, self._counts = self._counts, ReachCounts()
        by_target, self._by_target = self._by_target, {}
        for target, by_site in by_target.items():
            if may_be_kept(target):
                counts.reached[target.key] = by_site
                for site in by_site:
                    if site.count(" | ") == 1:  # the coarsest level
                        counts.sessions[target.key, site] = 1
        if self._calls:
            counts.digests[self._digest.hexdigest()] = None
            counts.lengths[-(-self._calls // LENGTH_STEP)] += 1
        self._calls = 0
        return counts


#: Calls since the last write that a read is traced to.
_WINDOWS: Final = 16
#: Characters of their results that are held.
_WINDOW_CHARS: Final = 512 * 1024
#: Of these, the latest that a read is traced to which is no read of a file they name.
_CALL_WINDOWS: Final = 3
#: Targets counted in one session, and files whose offers are remembered since the last write.
_TARGETS: Final = 5000
_OFFERED: Final = 1000
#: Lines between two offers in one file that are one: what is read around either shows the other.
_NEAR: Final = 20
