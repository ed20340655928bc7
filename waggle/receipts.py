"""Receipts: where a route's values come from, which occurrences agreed, and why it fired or did not at a given call.

Both walk recorded sessions with the same parts that learn and replay live, and report instead of counting. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from waggle.calls import Effect, Outcome, Result, Step
from waggle.extents import Coverage, Extents
from waggle.playback import arguments_of, directory_of
from waggle.reach.replayer import ReachReplayer
from waggle.reach.routes import target_key
from waggle.reach.sites import Seen
from waggle.reach.spoken import spoken_site
from waggle.reach.targets import LinesTarget, lines_targets, read_target
from waggle.replayer import Replayer, RouteIndex
from waggle.routes import patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.reach.counts import Choice
    from waggle.reach.table import ReachTable
    from waggle.reach.targets import Target
    from waggle.routes import Pattern, Route
    from waggle.tools import ToolTable
    from waggle.traces import Trace

__all__ = ["Answer", "Occurrence", "WhyNot", "occurrences", "why_not"]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time at which a reach route could have been made.

    Attributes:
        session: the trace's id.
        call: number of the call in the trace, from 0.
        would_read: what the route names there; empty when it names nothing.
        read: what the agent read instead or indeed, before its next write; empty when it read nothing of the kind.
        agreed: the agent read what the route names.
    """

    session: str
    call: int
    would_read: str
    read: str
    agreed: bool


class Answer(StrEnum):
    """Why a route was or was not made after a call."""

    FIRES = "fires"  #: it is made
    DISABLED = "switched off"
    NO_MATCH = "prefix not matched"  #: the calls before are others
    OPEN = "parameter open"  #: the result names no value for it
    KNOWN = "already made"  #: what it would read is known since the last write
    STALE = "stale after a write"  #: its leading calls were made, with a write among them
    UNLIKELY = "chance too small"
    FAILED = "call failed"  #: a failed call is part of no route


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What a route did after one call.

    Attributes:
        call: number of the call in the trace, from 0.
        answer: the reason.
        detail: in words, with the numbers.
    """

    call: int
    answer: Answer
    detail: str


def _steps(trace: Trace, tools: ToolTable) -> Iterator[tuple[Step, Result]]:
    """The calls of a trace as steps."""
    for index, step in enumerate(trace.steps):
        args = arguments_of(step.call, tools)
        form, values = ("", args) if step.args_cut else tools.spoken(step.call.tool, args)
        effect = Effect.WRITE if step.args_cut else tools.effect(step.call.tool, args)
        result = step.result or Result(ok=False, outcome=Outcome.ABORTED)
        yield Step(index, step.call.tool, values, result.outcome or Outcome.OK, effect, form=form), result


# --- why ------------------------------------------------------------------------------------------------------------


def occurrences(route: Route, traces: Iterable[Trace], tools: ToolTable) -> list[Occurrence]:
    """Every time a reach route's site was met in recorded sessions, and whether the agent then read what it names.

    Raises:
        ValueError: the route follows no kind of call; a mined route says itself what it repeats.
    """
    if route.after is None:
        raise ValueError(
            f"{route.name} repeats the same calls; only routes that follow a kind of call have occurrences"
        )
    target = read_target(target_key(route.after))
    found: list[Occurrence] = []
    for trace in traces:
        extents = Extents(tools, directory_of(trace))
        steps = list(_steps(trace, tools))
        for index, (step, result) in enumerate(steps):
            seen = Seen(step, result, extents)
            if step.effect is Effect.NOTE or seen.site.levels()[0] != route.after.site:
                continue
            would, agreed, read = _named(target, seen), False, ""
            for later, _ in steps[index + 1 :]:
                if later.effect is Effect.WRITE:
                    break
                if not agreed and later.reads and later.ok and later.tool == target.tool:
                    agreed = bool(would) and _agrees(route, seen, later, extents)
                    read = _told(later, extents) if agreed or not read else read
            found.append(Occurrence(trace.session, index, would, read, agreed))
    return found


def _named(target: Target, seen: Seen) -> str:
    """What a target names at a site; empty for nothing."""
    if isinstance(target, LinesTarget):
        path, line = target.path(seen), target.line(seen)
        if path is None or line is None:
            return ""
        return path if target.around == "whole" else f"{path}:{line}"
    args = target.bind(seen)
    return "" if args is None else " ".join(str(value) for value in args.values())


def _agrees(route: Route, seen: Seen, later: Step, extents: Extents) -> bool:
    assert route.after is not None  # noqa: S101 - `occurrences` looked; this tells the type checker
    target = read_target(target_key(route.after))
    if isinstance(target, LinesTarget):
        shown = extents.shown(later)
        if shown.kind != "lines":
            return False
        return any(one.offer == target.offer for one, _ in lines_targets(shown, later, seen, target.arg))
    args = target.bind(seen)
    return args == later.args and later.form == target.form


def _told(step: Step, extents: Extents) -> str:
    shown = extents.shown(step)
    if shown.kind == "lines" and shown.path:
        last = "" if shown.last == float("inf") else int(shown.last)
        return f"{shown.path}:{shown.first}-{last}"
    return " ".join(str(value) for value in step.args.values())


# --- why not --------------------------------------------------------------------------------------------------------


def why_not(route: Route, trace: Trace, tools: ToolTable, table: ReachTable) -> list[WhyNot]:
    """What a route did after each call of a recorded session, and why; one answer a call.

    Args:
        route: the route.
        trace: the session.
        tools: what is known of the host's tools.
        table: counts, threshold and routes; a reach route that is not in it is answered as switched off.
    """
    if route.disabled:
        return [WhyNot(index, Answer.DISABLED, route.disabled.reason) for index in range(len(trace.steps))]
    extents = Extents(tools, directory_of(trace))
    steps = _steps(trace, tools)
    return list(_reach_answers(route, steps, extents, table) if route.after else _mined_answers(route, steps, tools))


def _reach_answers(
    route: Route, steps: Iterable[tuple[Step, Result]], extents: Extents, table: ReachTable
) -> Iterator[WhyNot]:
    assert route.after is not None  # noqa: S101 - the caller looked; this tells the type checker
    key = target_key(route.after)
    known = Coverage()
    for step, result in steps:
        if step.effect is Effect.WRITE:
            known.clear()
        seen = Seen(step, result, extents)
        levels = seen.site.levels()
        if step.effect is Effect.NOTE or levels[0] != route.after.site:
            yield WhyNot(
                step.seq,
                Answer.NO_MATCH,
                f"this was {spoken_site(levels[0])}, it follows {spoken_site(route.after.site)}",
            )
        else:
            choice = table.counts_for(key, levels[0]).best(key, levels, table.threshold or 0.0)
            yield _reach_answer(choice, seen, extents, table, known)
        if step.reads and step.ok:
            known.add(extents.of_step(step), step.seq)


def _reach_answer(choice: Choice, seen: Seen, extents: Extents, table: ReachTable, known: Coverage) -> WhyNot:
    number = seen.step.seq
    if not _named(choice.target, seen):
        return WhyNot(number, Answer.OPEN, "the result names no such value")
    if choice.worth <= 0:
        least = f", and must be {table.threshold:.0%}" if table.threshold is not None else ""
        return WhyNot(number, Answer.UNLIKELY, f"the chance is {choice.chance:.0%}{least}")
    lookup = ReachReplayer(table, extents).lookup_for(choice, seen)
    if lookup is None:
        return WhyNot(number, Answer.OPEN, "the value cannot be said in a command")
    if known.find(extents.of(lookup.tool, *extents.tools.spoken(lookup.tool, lookup.args))) is not None:
        return WhyNot(number, Answer.KNOWN, "what it would read is known since the last write")
    return WhyNot(number, Answer.FIRES, f"the chance is {choice.chance:.0%}: {_named(choice.target, seen)}")


def _mined_answers(route: Route, steps: Iterable[tuple[Step, Result]], tools: ToolTable) -> Iterator[WhyNot]:
    index = RouteIndex(tools)
    can_fire = index.add(route)
    replayer = Replayer(index)
    heard: list[Step] = []
    for step, result in steps:
        replayer.observe(step, result)
        heard.append(step)
        if not can_fire:
            yield WhyNot(step.seq, Answer.OPEN, "a value after its leading calls is not known from them")
            continue
        lookup = replayer.propose()
        if lookup:
            yield WhyNot(step.seq, Answer.FIRES, f"{lookup.tool} comes next")
            continue
        matched, needed, written = _matched(route, heard, index.min_prefix)
        if not step.ok:
            yield WhyNot(step.seq, Answer.FAILED, "a failed call is part of no route")
        elif matched >= needed and written:
            yield WhyNot(step.seq, Answer.STALE, "a write stands among its leading calls")
        elif matched >= needed:
            yield WhyNot(step.seq, Answer.KNOWN, "it was followed already since the last write")
        else:
            yield WhyNot(step.seq, Answer.NO_MATCH, f"{matched} of its {needed} leading calls were just made")


def _matched(route: Route, heard: list[Step], min_prefix: int) -> tuple[int, int, bool]:
    """How many of a route's leading calls were just made, how many it needs, and whether a write stands among them."""
    wanted = patterns(route)
    needed = route.fires_from(min_prefix) or len(wanted)
    for size in range(needed, 0, -1):
        reads = [step for step in heard if step.reads][-size:]
        if len(reads) == size and all(_fits(step, pattern) for step, pattern in zip(reads, wanted[:size], strict=True)):
            between = heard[heard.index(reads[0]) :]
            return size, needed, any(step.effect is not Effect.READ for step in between)
    return 0, needed, False


def _fits(step: Step, pattern: Pattern) -> bool:
    return step.shape == pattern.shape and tuple(step.parts[i] for i in pattern.fixed) == pattern.parts
