"""Sections of the page: calibration, learning curves, lists, routes beside flows, parts left out, coding agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.flows import tables, verdicts, words
from benchmarks.flows.jobs import LOWER, MANAGED
from benchmarks.flows.measures import measures
from benchmarks.flows.published import PUBLISHED
from benchmarks.flows.study import DEFAULT_AT
from benchmarks.flows.systems import ABLATION, DEFAULT, PLAIN, WEIGHED
from stretto._defaults import CURVE_SIZES
from stretto.review.bootstrap import Row, ratio
from stretto.review.page import number, percent, table
from stretto.review.score import shares, total
from stretto.review.summary import compared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.flows.jobs import Said
    from benchmarks.flows.study import Curve, Study
    from benchmarks.flows.systems import System
    from stretto.review.score import ReplayScore

__all__ = ["ablation", "calibration", "coding", "curve", "fan_out", "together"]

#: Agents with fewer turns of several calls are not listed.
_LEAST_BATCHED: Final = 10


def calibration(study: Study) -> Iterator[str]:
    """How well scores say what is used."""
    yield "## Calibration"
    yield words.CALIBRATION
    rows: list[list[str]] = []
    for family, domains in study.shown:
        rows += [[family, each.title, *_measures(study.weighed(each.name, domains))] for each in WEIGHED]
        published = PUBLISHED.get(family)
        if published and published.ece is not None:
            rows.append([family, "reach, the original, published", "", "", number(published.ece), "", ""])
            rows.append([family, "habit, the original, published", "", "", number(published.habit_ece), "", ""])
    yield table(("", "", "weighed", "used", "ECE", "Brier", "AUC"), rows, words=2)
    yield words.SUCCEEDED
    yield table(("", "", "weighed", "used", "ECE", "Brier", "AUC"), _by_success(study), words=2)
    small = [domain for domain in study.tools if domain.family != domain.name]
    if small:
        yield "The domains of the families one by one, ECE and lookups weighed:"
        cells = [[each.name, *(_ece(study.weighed(one.name, [each])) for one in WEIGHED)] for each in small]
        yield table(("", *(system.title for system in WEIGHED)), cells)


def _by_success(study: Study) -> list[list[str]]:
    rows: list[list[str]] = []
    for family, domains in study.shown:
        for system in (PLAIN, DEFAULT):
            said = study.weighed(system.name, domains)
            for succeeded, name in ((True, "that succeeded"), (False, "that failed")):
                some = [each for each in said if each.succeeded == succeeded]
                if some:
                    rows.append([f"{family}, {name}", system.title, *_measures(some)])
    return rows


def _measures(said: Sequence[Said]) -> list[str]:
    if not said:
        return ["0", "-", "-", "-", "-"]
    found = measures(said)
    return [
        f"{found.of.count:,}",
        percent(found.of.used),
        tables.mean(found.ece, 3),
        tables.mean(found.brier, 3),
        tables.mean(found.auc, 3) if found.auc else "-",
    ]


def _ece(said: Sequence[Said]) -> str:
    return f"{tables.mean(measures(said).ece)} of {len(said):,}" if said else "-"


def curve(study: Study) -> Iterator[str]:
    """What is saved after ten sessions, thirty, a hundred, all."""
    yield "## Learning curve"
    yield words.CURVE
    yield "![Turns saved over sessions learned from](flows-learning-curve.svg)"
    rows = [row for curve in study.curves for system in (PLAIN, DEFAULT) for row in _curve_rows(curve, system)]
    sizes = [f"{size} sessions" for size in CURVE_SIZES]
    head = ("", "", *sizes, "all", "which are", "10 to all", "detours a session with 10", "with all")
    yield table(head, rows, words=2)
    missing = study.short_of_sessions()
    if missing:
        yield f"Without a curve, for want of successful sessions: {', '.join(missing)}."


def _curve_rows(curve: Curve, system: System) -> Iterator[list[str]]:
    last, ten = curve.at(system, None), curve.at(system, CURVE_SIZES[0])
    of_last = curve.share(system, CURVE_SIZES[0])
    if last is None or ten is None or of_last is None:
        return
    found = [curve.at(system, size) for size in (*CURVE_SIZES, None)]
    yield [
        curve.title,
        system.title,
        *(tables.share(point.saved) if point else "" for point in found),
        f"{last.learned_on:,.0f}",
        tables.share(of_last),
        tables.mean(ten.detours),
        tables.mean(last.detours),
    ]


def fan_out(study: Study) -> Iterator[str]:
    """Lists whose elements are read one after another, and turns of several calls."""
    yield "## Fan-out"
    yield words.FANOUT
    systems = (study.better("plain"), DEFAULT)
    rows = [
        [family, system.title, *_lists(study.scores(system.name, DEFAULT_AT, domains))]
        for family, domains in study.shown
        for system in systems
    ]
    turns = ("turns that start a list", "saved", "turns that continue one", "saved")
    lookups = ("lookups that start one", "used", "lookups that continue one", "used")
    yield table(("", "", *turns, *lookups), rows, words=2)
    yield "### Several calls in a turn"
    yield words.BATCHERS
    head = ("", "", "turns", "with several calls", "at most", "of these saved", "of the others saved")
    yield table(head, _batchers(study, systems), words=2)


def _lists(scores: Sequence[ReplayScore]) -> list[str]:
    sums = total(scores)
    cells: list[str] = []
    for whole, part in (
        ("first", "first_saved"),
        ("later", "later_saved"),
        ("first_lookups", "first_used"),
        ("later_lookups", "later_used"),
    ):
        count = getattr(sums, whole)
        cells += [f"{count:,}", tables.share(shares(scores, part, whole)) if count else "-"]
    return cells


def _batchers(study: Study, systems: Sequence[System]) -> list[list[str]]:
    """The agents that make turns of several calls, those with most of them first."""
    found: list[tuple[int, list[list[str]]]] = []
    for domain in study.tools:
        scores = {system.title: study.scores(system.name, DEFAULT_AT, [domain]) for system in systems}
        for agent in domain.agents:
            episodes = domain.of(agent).episodes
            names = {episode.id for episode in episodes}
            own = {title: [each for each in these if each.session in names] for title, these in scores.items()}
            batched = total(own[DEFAULT.title]).batched
            if batched >= _LEAST_BATCHED:
                most = max(len(turn.calls) for each in episodes for turn in each.turns())
                head = f"{domain.name}, {agent}"
                found.append((batched, [[head, title, *_batched(these, most)] for title, these in own.items()]))
    found.sort(key=lambda one: (-one[0], one[1]))
    return [row for _, rows in found for row in rows]


def _batched(scores: Sequence[ReplayScore], most: int) -> list[str]:
    sums = total(scores)
    others = [Row(each.unit, each.saved - each.batched_saved, each.turns - each.batched) for each in scores]
    saved = tables.share(shares(scores, "batched_saved", "batched"))
    return [f"{sums.turns:,}", f"{sums.batched:,}", f"{most} calls", saved, tables.share(ratio(others))]


def together(study: Study) -> Iterator[str]:
    """Routes alone, flows alone, both."""
    yield "## Routes and flows on the same sessions"
    yield words.TOGETHER
    rows = [
        [family, name, *tables.cells(study.scores(name, DEFAULT_AT, domains))]
        for family, domains in study.shown
        for name in MANAGED
    ]
    yield table(("", "", *tables.HEAD), rows, words=2)
    small = [domain for domain in study.tools if domain.family != domain.name]
    if small:
        yield "The domains of the families one by one: turns saved, and detours a session."
        cells = [
            [each.name, *(tables.short(study.scores(name, DEFAULT_AT, [each])) for name in MANAGED)] for each in small
        ]
        yield table(("", *MANAGED), cells)


def ablation(study: Study) -> Iterator[str]:
    """The default with one part left out."""
    yield "## Ablation"
    yield words.ABLATION
    whole = study.scores(DEFAULT.name)
    rows = [["nothing: the whole", f"{total(whole).saved:,}", "", f"{total(whole).detours:,}", "", ""]]
    for part, system in ABLATION.items():
        without = study.scores(system.name)
        found = compared(whole, without)
        rows.append(
            [
                part,
                f"{total(without).saved:,}",
                tables.points(found.saved),
                f"{total(without).detours:,}",
                tables.signed(found.detours),
                verdicts.brings(found),
            ]
        )
    head = ("left out", "turns saved", "it brings, points of all turns", "detours", "a session", "so it is one that")
    yield table(head, rows)


def coding(study: Study) -> Iterator[str]:
    """Flows on coding agents."""
    yield "## Coding agents"
    yield words.CODING
    rows: list[list[str]] = []
    for domain in study.coding:
        names = [(each.title, each.name, at) for each in (PLAIN, DEFAULT) for at in (f"{LOWER}", DEFAULT_AT)]
        names += [(name, name, DEFAULT_AT) for name in MANAGED]
        for title, name, at in names:
            cells = tables.cells(study.scores(name, at, [domain]))
            rows.append([domain.name, title, at, f"{study.turns(domain):,}", *cells[:-1]])
    yield table(("", "", "θ", "turns", *tables.HEAD[:-1]), rows, words=2)
