"""The page: tables and sentences, all made from the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.results import words
from benchmarks.results.commands import commands_by_group, refusals
from benchmarks.results.jobs import FOLDS
from benchmarks.results.rows import ABLATION, COUNTED, DEFAULT, FLOOR, MAIN, SWEEP, TOKENS
from benchmarks.results.tables import HEAD, as_json, between, cells, net, of_ceiling, percent, precision, table, tokens
from waggle.evaluate import Score, bootstrap
from waggle.skillfile import render_skill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.results.rows import Row
    from benchmarks.results.study import Study
    from waggle.evaluate import Interval, Report
    from waggle.jsonvalue import JsonObject

__all__ = ["page", "results_json"]


def page(study: Study, collection: str) -> str:
    """Write the page.

    Args:
        study: with everything measured that it was asked for.
        collection: which sessions, in words.
    """
    sections = {
        "main": (_short, _by_group, _halves, _nothing),
        "floor": (_floor,),
        "ablation": (_ablation,),
        "curve": (_curve,),
        "commands": (_commands,),
        "skills": (_skills,),
    }
    blocks = ["# Results", words.INTRODUCTION.format(collection=collection, sessions=_sessions(study)), words.METHOD]
    blocks += [block for part, write in sections.items() if part in study.only for one in write for block in one(study)]
    return "\n\n".join(blocks) + "\n"


def _sessions(study: Study) -> str:
    traces = [trace for group in study.place.groups.values() for trace in group]
    calls = sum(len(trace.steps) for trace in traces)
    return f"{len(traces):,} sessions with {calls:,} calls"


# --- sections -----------------------------------------------------------------------------------------------------


def _short(study: Study) -> Iterator[str]:
    yield "## In short"
    lines: list[str] = []
    for row, how in ((DEFAULT, "With the default rules"), (TOKENS, "At θ\\* by tokens"), (COUNTED, "At θ\\* counted")):
        report = study.report(row.name)
        gain = net(report)
        sign = f"and gains {tokens(gain)} tokens net" if gain > 0 else f"and costs {tokens(-gain)} tokens net"
        lines.append(
            f"- {how} the library saves {report.total('saved'):,} of {report.total('turns'):,} turns "
            f"({percent(report.saved.value)}, {between(report.saved)}; {of_ceiling(report)} of the ceiling) at a "
            f"precision of {precision(report)}, with {report.detours_per_session:.2f} detours a session, {sign}."
        )
    original = study.report(MAIN[0].name)
    lines.append(
        f"- {MAIN[0].title[:1].upper()}{MAIN[0].title[1:]} saves {original.total('saved'):,} turns, with "
        f"{original.total('lookups'):,} lookups."
    )
    yield "\n".join(lines)


def _commands(study: Study) -> Iterator[str]:
    yield "## Shell commands"
    yield words.COMMANDS
    yield commands_by_group(study.place.groups)
    yield refusals(study.place.groups)


def _by_group(study: Study) -> Iterator[str]:
    yield f"## By agent and repository: {FOLDS} parts, each replayed with what was learned from the others"
    yield words.BY_GROUP
    for group in (None, *study.groups):
        first = study.report(MAIN[0].name, group)
        tasks = len({score.task for score in first.scores})
        name = group or "All groups together"
        counted = "" if group is None else f" θ\\* counted is {study.thresholds(group):.2f}."
        yield f"### {name}"
        yield (
            f"{len(first.scores):,} sessions of {tasks:,} tasks, {first.total('turns'):,} turns; the ceiling is "
            f"{first.total('ceiling'):,}.{counted}"
        )
        reports = [study.report(row.name, group) for row in MAIN]
        yield table(("rule", *HEAD), ([row.title, *cells(r)] for row, r in zip(MAIN, reports, strict=True)))


def _halves(study: Study) -> Iterator[str]:
    yield "## First half of the tasks learned, the rest replayed"
    rows: list[list[str]] = []
    shown = [row for row in MAIN if row.name != "bound"]
    for group in (*study.groups, None):
        reports = [study.report(row.name, group, "half") for row in shown]
        learned = sum(
            study.report(DEFAULT.name, each, "half").learned_on for each in study.groups if group in (each, None)
        )
        first = reports[0]
        saved = [f"{r.total('saved'):,} ({percent(r.saved.value)}), {precision(r)}" for r in reports]
        rows.append([group or "all", f"{learned:,} / {len(first.scores):,}", f"{first.total('turns'):,}", *saved])
    yield "Turns saved, their share, and precision."
    yield table(("group", "learned / replayed", "turns", *(row.title for row in shown)), rows)


def _floor(study: Study) -> Iterator[str]:
    yield "## The floor"
    yield words.FLOOR
    floors = [(row, study.report(row.name)) for row in FLOOR]
    library = [(row, study.report(row.name)) for row in SWEEP]
    named = [(f"library, θ = {row.config.threshold}", report) for row, report in library]
    named += [(f"floor, {row.title}", report) for row, report in floors]
    yield table(("rule", *HEAD), ([name, *cells(report)] for name, report in named))
    yield "What the library saves more than each floor, at the same θ and at no lower precision:"
    rows: list[list[str]] = []
    for row, report in floors:
        same = [(at, other) for at, other in library if at.config.threshold == row.config.threshold]
        precise = [(at, other) for at, other in library if (other.precision or 0.0) >= (report.precision or 0.0)]
        rows.append([row.title, *_beside(same, report), *_beside(precise, report)])
    head = ("floor", "θ", "precision", "turns saved", "more, % of turns")
    yield table((*head, *head[1:]), rows)


def _beside(library: Sequence[tuple[Row, Report]], floor: Report) -> list[str]:
    """The row of the library that saves most, beside a floor."""
    if not library:
        return ["-", "-", "-", "-"]
    row, report = max(library, key=lambda pair: pair[1].total("saved"))
    saved, others = report.total("saved"), floor.total("saved")
    times = f", {saved / others:.1f} times" if others else ""
    more = _difference(report, floor)
    return [
        f"{row.config.threshold}",
        f"{precision(report)} to {precision(floor)}",
        f"{saved:,} to {others:,}{times}",
        f"{100 * more.value:+.1f} ({between(more)})",
    ]


def _ablation(study: Study) -> Iterator[str]:
    yield "## Ablation"
    yield words.ABLATION
    whole = study.report(DEFAULT.name)
    rows = [["nothing: the whole", *_ablated(whole), "", ""]]
    for row in ABLATION:
        report = study.report(row.name)
        change = _difference(whole, report)
        rows.append(
            [
                row.title,
                *_ablated(report),
                f"{100 * change.value:+.1f} ({between(change)})",
                _verdict(change, whole, report),
            ]
        )
    yield table(
        ("left out", "turns saved", "precision", "net tokens", "it brings, % of turns", "so it is one that"), rows
    )


def _ablated(report: Report) -> list[str]:
    return [f"{report.total('saved'):,} ({percent(report.saved.value)})", precision(report), tokens(net(report))]


def _difference(whole: Report, without: Report) -> Interval:
    others = {score.session: score for score in without.scores}
    return bootstrap([Score(s.session, s.task, s.turns, s.saved - others[s.session].saved) for s in whole.scores])


def _verdict(change: Interval, whole: Report, without: Report) -> str:
    if change.low > 0:
        return "saves turns"
    tokens = " but saves tokens" if net(whole) > net(without) else ""
    if change.high < 0:
        return f"**costs turns**{tokens}"
    return f"**brings nothing**{tokens}"


def _curve(study: Study) -> Iterator[str]:
    yield "## Learning over time"
    yield words.CURVE
    yield "![Turns saved over sessions learned on](learning-curve.svg)"
    curves = {group: {point.learned_on: point for point in study.curve(group)} for group in study.curve_groups()}
    sizes = sorted({size for points in curves.values() for size in points})
    rows = [
        [
            str(size),
            *(
                f"{percent(p.saved.value)} ({between(p.saved)})" if (p := points.get(size)) else ""
                for points in curves.values()
            ),
        ]
        for size in sizes
    ]
    yield table(("sessions learned on", *curves), rows)


def _nothing(study: Study) -> Iterator[str]:
    yield "## Where there is something to save, and where not"
    yield "\n".join(f"- **{group}**: {_worth(study, group)}." for group in study.groups)


def _worth(study: Study, group: str) -> str:
    """What a group gives, in one sentence."""
    default, careful = study.report(DEFAULT.name, group), study.report(TOKENS.name, group)
    counts = f"{default.total('saved'):,} of {default.total('turns'):,} turns in {len(default.scores):,} sessions"
    if default.saved.low <= 0:
        ceiling = default.total("ceiling")
        return f"nothing to save is shown: {counts}, and the interval reaches 0; the ceiling is {ceiling:,}"
    if net(default) > 0:
        return f"turns and tokens: {counts} with the default rules, which gains {tokens(net(default))} tokens net"
    counts += f" with the default rules, which costs {tokens(-net(default))} tokens net"
    at_tokens = f"at θ\\* by tokens {careful.total('saved'):,}"
    if net(careful) > 0:
        return f"turns at a price: {counts}; {at_tokens}, which gains {tokens(net(careful))}"
    return f"turns, but no tokens: {counts}; {at_tokens}, which gains nothing"


def _skills(study: Study) -> Iterator[str]:
    yield "## The most useful routes"
    yield words.SKILLS
    for skill in study.skills():
        yield f"### {skill.group}"
        yield f"Alone it saves {skill.saved:,} turns: of {skill.lookups:,} lookups {skill.used:,} were used."
        yield f"````markdown\n{render_skill(skill.route, has_script=False).rstrip()}\n````"


# --- for programs -------------------------------------------------------------------------------------------------


def results_json(study: Study) -> JsonObject:
    """Every table's numbers, by row and group; ``all`` is all groups together."""
    parts = {"main": MAIN, "floor": (*SWEEP, *FLOOR), "ablation": (DEFAULT, *ABLATION)}
    names = dict.fromkeys(row.name for part, rows in parts.items() if part in study.only for row in rows)
    found: JsonObject = {
        "rows": {
            name: {group or "all": as_json(study.report(name, group)) for group in (None, *study.groups)}
            for name in names
        }
    }
    if "curve" in study.only:
        found["curve"] = {
            group: [
                [point.learned_on, point.saved.value, point.saved.low, point.saved.high] for point in study.curve(group)
            ]
            for group in study.curve_groups()
        }
    return found
