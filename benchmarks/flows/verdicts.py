"""Sentences that say what the numbers mean: whether a bar is met, and what a part brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.flows import tables
from benchmarks.flows.frontier import alike
from benchmarks.flows.jobs import MANAGED
from benchmarks.flows.measures import ece_difference, measures
from benchmarks.flows.published import PUBLISHED, TEN_SESSIONS
from benchmarks.flows.study import DEFAULT_AT
from benchmarks.flows.systems import DEFAULT, PLAIN, STAR, THRESHOLDS, WEIGHED
from stretto._defaults import CURVE_SIZES
from stretto.review.page import count, percent
from stretto.review.score import shares, total
from stretto.review.summary import compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.flows.study import Study
    from stretto.review.summary import Comparison

__all__ = ["brings", "frontier", "in_short"]


def in_short(study: Study) -> list[str]:
    """The headline numbers, each with what it says."""
    lines: list[str] = []
    for part, write in (
        ("main", _saved),
        ("frontier", _frontier),
        ("main", _marks),
        ("calibration", _calibration),
        ("curve", _ten),
        ("main", _lists),
        ("together", _together),
        ("coding", _coding),
    ):
        if part in study.only:
            lines += write(study)
    return lines


def _saved(study: Study) -> Iterator[str]:
    plain = study.better("plain")
    for at, named in ((DEFAULT_AT, f"At θ = {DEFAULT_AT}"), (STAR, "At each domain's own θ\\*")):
        ours, theirs = study.scores(DEFAULT.name, at), study.scores(plain.name, at)
        sums, share = total(ours), tables.share(shares(ours, "saved", "turns"))
        of_ceiling = percent(shares(ours, "saved", "ceiling").value)
        mine, other = (tables.mean(shares(scores, "detours")) for scores in (ours, theirs))
        yield (
            f"{named} flows save {sums.saved:,} of {sums.turns:,} turns ({share}; {of_ceiling} of the ceiling) with "
            f"{mine} detours a session. The original's `reach`, on the flow that suits it better, saves "
            f"{total(theirs).saved:,} with {other}. The difference is {_difference(compared(ours, theirs))}."
        )


def _difference(found: Comparison) -> str:
    """One system less another, and whether more turns are saved at no more detours."""
    numbers = f"{tables.points(found.saved)} points of all turns and {tables.signed(found.detours)} detours a session"
    if found.saved.value <= 0:
        return f"{numbers}: **no more turns, so the bar is missed**"
    said = "more turns at no more detours" if found.detours.value <= 0 else "**more turns at more detours**"
    return f"{numbers}: {said}{'' if found.saved.low > 0 else ', and the interval of the turns holds 0'}"


def _marks(study: Study) -> Iterator[str]:
    parts: list[str] = []
    for family, published in PUBLISHED.items():
        if family in study.families:
            scores = study.scores(DEFAULT.name, DEFAULT_AT, study.families[family])
            saved, detours = shares(scores, "saved", "turns").value, shares(scores, "detours").value
            mark = f"{'above' if saved > published.saved else 'below'} {percent(published.saved)}"
            beside = "" if published.detours is None else f" with {published.detours:.2f}"
            parts.append(f"{family} {percent(saved)} with {detours:.2f} detours a session ({mark}{beside})")
    if parts:
        yield f"Beside what the original published, from other agents and more sessions: {'; '.join(parts)}."


def _calibration(study: Study) -> Iterator[str]:
    habit, plain = WEIGHED[0], PLAIN
    parts: list[str] = []
    for family, domains in study.shown:
        said = {system.name: study.weighed(system.name, domains) for system in (habit, plain, DEFAULT)}
        published = PUBLISHED.get(family)
        if not all(said.values()) or (domains is not study.tools and not (published and published.ece)):
            continue
        error = {name: measures(each).ece.value for name, each in said.items()}
        less = ece_difference(said[plain.name], said[habit.name])
        sure = "" if less.high < 0 else " (worse)" if less.low > 0 else " (the interval of the difference holds 0)"
        mark = f", published {published.ece:.2f} and {published.habit_ece:.2f}" if published and published.ece else ""
        numbers = f"{error[plain.name]:.2f} against {error[habit.name]:.2f}{sure}{mark}"
        parts.append(f"{family} {numbers}; by uses {error[DEFAULT.name]:.2f}")
    if parts:
        yield f"Calibration error of `reach` against `habit`: {'. '.join(parts)}."


def _ten(study: Study) -> Iterator[str]:
    low, high = TEN_SESSIONS
    parts: list[str] = []
    for curve in study.curves:
        found = [curve.share(system, CURVE_SIZES[0]) for system in (PLAIN, DEFAULT)]
        if curve.stands_for_own and curve.domain in PUBLISHED and all(found):
            plain, ours = (tables.share(each) for each in found if each)
            parts.append(f"{curve.domain} {ours} (`reach` {plain})")
    if parts:
        yield (
            f"With ten of an agent's own sessions, so much of what all of them save is there: {'; '.join(parts)}. The "
            f"original published {percent(low)} to {percent(high)} in retail and airline."
        )


def _lists(study: Study) -> Iterator[str]:
    scores = study.scores(DEFAULT.name)
    first, later, batched = (
        tables.share(shares(scores, f"{part}_saved", part)) for part in ("first", "later", "batched")
    )
    yield (
        f"Of the turns that start a list {first} are saved, of those that continue one {later}; of turns of several "
        f"calls {batched}."
    )


def _together(study: Study) -> Iterator[str]:
    found = [study.scores(name) for name in MANAGED]
    parts = [
        f"{name} {total(scores).saved:,} with {count(total(scores).detours, 'detour')}"
        for name, scores in zip(MANAGED, found, strict=True)
    ]
    _, flow, both = found
    yield (
        f"Turns saved on the same sessions: {', '.join(parts)}. Both less the flow alone is "
        f"{_difference(compared(both, flow))}."
    )


def _coding(study: Study) -> Iterator[str]:
    if study.coding:
        ours, routes = (total(study.scores(name, DEFAULT_AT, study.coding)) for name in (DEFAULT.name, MANAGED[0]))
        yield (
            f"Of {ours.turns:,} turns of coding agents flows save {ours.saved:,} with {count(ours.detours, 'detour')}; "
            f"routes, by the same rules, {routes.saved:,} with {routes.detours:,}."
        )


def frontier(study: Study) -> str:
    """At which thresholds ours saves more at no more detours."""
    plain = study.better("plain")
    better: list[str] = []
    for at in THRESHOLDS:
        ours, theirs = total(study.scores(DEFAULT.name, f"{at}")), total(study.scores(plain.name, f"{at}"))
        if ours.saved > theirs.saved and ours.detours <= theirs.detours:
            better.append(f"{at}")
    if not better:
        return f"At no θ does ours save more turns than {plain.title} at no more detours."
    return f"Ours saves more turns than {plain.title} at no more detours at θ = {', '.join(better)}."


def _frontier(study: Study) -> Iterator[str]:
    found = [each for each in alike(study) if each.more]
    parts: list[str] = []
    for sign, name in ((1, "more turns"), (-1, "**fewer turns**")):
        places = [
            f"{each.detours / len(study.scores(DEFAULT.name)):.2f} ({tables.points(each.more)} points)"
            for each in found
            if each.more and sign * each.more.value > 0
        ]
        if places:
            parts.append(f"{name} at {', '.join(places)}")
    if parts:
        yield f"At as many detours a session as `reach` makes at other θ, flows save {'; '.join(parts)}."


def brings(found: Comparison) -> str:
    """What a part brings, in words.

    Args:
        found: the whole less the whole without it.
    """
    turns = "saves turns" if found.saved.low > 0 else "**costs turns**" if found.saved.high < 0 else ""
    detours = "saves detours" if found.detours.high < 0 else "**costs detours**" if found.detours.low > 0 else ""
    return " and ".join(each for each in (turns, detours) if each) or "**shows no effect**"
