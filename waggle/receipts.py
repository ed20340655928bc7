"""Receipts: where a route's values come from, which occurrences agreed, and why it fired or did not at a given call.

Both walk recorded sessions with the same parts that learn and replay live, and report instead of counting. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from waggle._defaults import BYTES_PER_TOKEN
from waggle.calls import Effect, Outcome, Result, Step
from waggle.config import ManagerConfig
from waggle.extents import Coverage, Extents
from waggle.playback import arguments_of, directory_of
from waggle.reach.counts import Economy
from waggle.reach.replayer import ReachReplayer
from waggle.reach.routes import target_key
from waggle.reach.sites import Seen
from waggle.reach.spoken import spoken_site
from waggle.reach.targets import LinesTarget, lines_targets, read_target
from waggle.replayer import Replayer, RouteIndex
from waggle.routes import in_checkout, patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from waggle.reach.counts import Choice
    from waggle.reach.table import ReachTable
    from waggle.reach.targets import Target
    from waggle.replay import Lookup, ReplayStrategy
    from waggle.routes import After, Pattern, Route
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
    CAPPED = "cap reached"  #: the session has had all its lookups
    HELD = "held back"  #: `ManagerConfig.control_share` holds back everything
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


def why_not(
    route: Route, trace: Trace, tools: ToolTable, table: ReachTable, config: ManagerConfig | None = None
) -> list[WhyNot]:
    """What a route did after each call of a recorded session, and why; one answer a call.

    Args:
        route: the route.
        trace: the session.
        tools: what is known of the host's tools.
        table: counts, threshold and routes; a reach route that is not in it is answered as switched off.
        config: how many lookups a session has, and which share is held back. Other routes draw on the same lookups in
            a live session, which plays no part here.
    """
    after, config = route.after, config or ManagerConfig()
    if route.disabled:
        return [WhyNot(index, Answer.DISABLED, route.disabled.reason) for index in range(len(trace.steps))]
    if after and not table.route(after.site, target_key(after)):
        return [WhyNot(index, Answer.DISABLED, "it is not followed") for index in range(len(trace.steps))]
    extents = Extents(tools, directory_of(trace))
    steps = _steps(trace, tools)
    answers = _reach_answers(after, steps, extents, table) if after else _mined_answers(route, steps, extents)
    return list(_within_limits(answers, config))


def _within_limits(answers: Iterable[WhyNot], config: ManagerConfig) -> Iterator[WhyNot]:
    """What of it the limits of a session leave."""
    left = config.lookups_per_session
    share = config.control_share
    for answer in answers:
        if answer.answer is not Answer.FIRES:
            yield answer
        elif left <= 0:
            yield replace(
                answer, answer=Answer.CAPPED, detail=f"the session's {config.lookups_per_session} are used up"
            )
        elif share >= 1:
            yield replace(answer, answer=Answer.HELD, detail="control_share is 1: every lookup is held back")
        else:
            left -= 1
            held = f"; held back in {share:.0%} of cases" if share else ""
            yield replace(answer, detail=f"{answer.detail}{held}")


class _Heard:
    """What a strategy is told of a session, and which of its proposals would be made."""

    def __init__(self, strategy: ReplayStrategy, extents: Extents) -> None:
        self._strategy = strategy
        self._extents = extents
        self._known = Coverage()  # read or looked up since the last write

    def made_after(self, step: Step, result: Result) -> list[Lookup]:
        """Take in a call; gives the lookups that are made after it."""
        if step.effect is Effect.WRITE:
            self._known.clear()
        elif step.reads and step.ok:
            self._known.add(self._extents.of_step(step), 0)
        self._strategy.observe(step, result)
        made: list[Lookup] = []
        while lookup := self._strategy.propose():
            extents = self._extents.of(lookup.tool, *self._extents.tools.spoken(lookup.tool, lookup.args))
            if self._known.find(extents) is None:
                self._known.add(extents, 0)
                made.append(lookup)
            self._strategy.settle(lookup, Result())
        return made


def _reach_answers(
    after: After, steps: Iterable[tuple[Step, Result]], extents: Extents, table: ReachTable
) -> Iterator[WhyNot]:
    key = target_key(after)
    name = table.route(after.site, key)
    heard = _Heard(ReachReplayer(table, extents), extents)
    context = 0
    for step, result in steps:
        made = [lookup for lookup in heard.made_after(step, result) if lookup.source == name]
        context += (len(result.text) + _CALL_CHARS) // BYTES_PER_TOKEN
        seen = Seen(step, result, extents)
        levels = seen.site.levels()
        if step.effect is Effect.NOTE or levels[0] != after.site:
            yield WhyNot(
                step.seq, Answer.NO_MATCH, f"this was {spoken_site(levels[0])}, it follows {spoken_site(after.site)}"
            )
            continue
        economy = Economy(context, table.counts.turns_left(step.seq + 1)) if table.threshold is None else None
        choice = table.counts_for(key, levels[0]).best(key, levels, table.threshold or 0.0, economy)
        yield _reach_answer(choice, seen, extents, table, made=bool(made))


def _reach_answer(choice: Choice, seen: Seen, extents: Extents, table: ReachTable, *, made: bool) -> WhyNot:
    number, named = seen.step.seq, _named(choice.target, seen)
    if made:
        return WhyNot(number, Answer.FIRES, f"the chance is {choice.chance:.0%}: {named}")
    if not named:
        return WhyNot(number, Answer.OPEN, "the result names no such value")
    if choice.worth <= 0:
        least = f", and must be {table.threshold:.0%}" if table.threshold is not None else ""
        return WhyNot(number, Answer.UNLIKELY, f"the chance is {choice.chance:.0%}{least}")
    if ReachReplayer(table, extents).lookup_for(choice, seen) is None:
        return WhyNot(number, Answer.OPEN, "the value cannot be said in a command")
    return WhyNot(number, Answer.KNOWN, "what it would read is known since the last write")


def _mined_answers(route: Route, steps: Iterable[tuple[Step, Result]], extents: Extents) -> Iterator[WhyNot]:
    index = RouteIndex(extents.tools, root=extents.directory or None)
    can_fire = index.add(route)
    heard = _Heard(Replayer(index), extents)
    wanted = _wanted(route, extents.directory or None)
    needed = route.fires_from(index.min_prefix) or len(wanted)
    past: list[Step] = []
    for step, result in steps:
        made = heard.made_after(step, result)
        past.append(step)
        matched, written = _matched(wanted[:needed], past)
        if not can_fire:
            yield WhyNot(step.seq, Answer.OPEN, "a value after its leading calls is not known from them")
        elif made:
            yield WhyNot(step.seq, Answer.FIRES, f"{made[0].tool} comes next")
        elif not step.ok:
            yield WhyNot(step.seq, Answer.FAILED, "a failed call is part of no route")
        elif not step.reads:
            yield WhyNot(step.seq, Answer.NO_MATCH, "this was no read, and a route has no others")
        elif matched < needed:
            yield WhyNot(step.seq, Answer.NO_MATCH, f"{matched} of its {needed} leading calls were just made")
        elif written:
            yield WhyNot(step.seq, Answer.STALE, "a write stands among its leading calls")
        else:
            yield WhyNot(step.seq, Answer.KNOWN, "since the last write it was followed, or what it reads was read")


def _wanted(route: Route, directory: str | None) -> tuple[Pattern, ...]:
    """A route's calls as they are spelled in a session of this directory."""
    steps = tuple(
        replace(step, args={name: in_checkout(value, directory) for name, value in step.args.items()})
        for step in route.steps
    )
    return patterns(replace(route, steps=steps))


def _matched(wanted: Sequence[Pattern], past: list[Step]) -> tuple[int, bool]:
    """How many of a route's leading calls were just made, and whether a write stands among them."""
    reads = [step for step in past[-_LOOKED_BACK:] if step.reads]
    for size in range(len(wanted), 0, -1):
        latest = reads[-size:]
        if len(latest) == size and all(map(_fits, latest, wanted)):
            return size, any(step.effect is not Effect.READ for step in past[past.index(latest[0]) :])
    return 0, False


def _fits(step: Step, pattern: Pattern) -> bool:
    return step.shape == pattern.shape and tuple(step.parts[i] for i in pattern.fixed) == pattern.parts


_CALL_CHARS: Final = 120  # characters of an ordinary call
_LOOKED_BACK: Final = 64  # calls among which the leading ones of a route are looked for
