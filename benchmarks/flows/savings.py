"""Sections of the page: turns saved and detours, by system, domain and threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.flows import tables, verdicts, words
from benchmarks.flows.frontier import alike
from benchmarks.flows.jobs import FACTORS
from benchmarks.flows.published import PUBLISHED
from benchmarks.flows.study import DEFAULT_AT
from benchmarks.flows.systems import DEFAULT, FRONTIER, MAIN, PLAIN, STAR, THRESHOLDS, star
from stretto.review.bootstrap import Row, ratio
from stretto.review.page import number, percent, table
from stretto.review.score import total
from stretto.review.summary import compared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.flows.sessions import Domain
    from benchmarks.flows.study import Study
    from benchmarks.flows.systems import System

__all__ = ["costs", "domain_by_domain", "frontier", "saved"]

_ATS = (DEFAULT_AT, STAR)
_OTHERS = tuple(factor for factor in FACTORS if factor != 1)


def saved(study: Study) -> Iterator[str]:
    """Every system on all domains together, ours against the original's, and the main ones by family."""
    yield "## Turns saved"
    yield words.SYSTEMS
    yield "### All domains together"
    yield _facts(study, study.tools)
    rows = [[system.title, at, *tables.cells(study.scores(system.name, at))] for system in MAIN for at in _ATS]
    yield table(("", "θ", *tables.HEAD), rows, words=2)
    yield "### Ours less the original's"
    yield f"{DEFAULT.title[:1].upper()}{DEFAULT.title[1:]}, less {study.better('plain').title}, on the same sessions."
    yield _differences(study)
    for family, domains in study.families.items():
        yield f"### {family}"
        yield _facts(study, domains)
        yield table(("", "θ", *tables.HEAD), _family(study, family, domains), words=2)


def _systems(study: Study) -> list[System]:
    """The original's two deciders and ours without uses, each on the flow that suits it better; and the default."""
    return [*(study.better(name) for name in ("habit", "plain", "both")), DEFAULT]


def _family(study: Study, family: str, domains: Sequence[Domain]) -> list[list[str]]:
    rows = [
        [system.title, at, *tables.cells(study.scores(system.name, at, domains))]
        for system in _systems(study)
        for at in _ATS
    ]
    published = PUBLISHED.get(family)
    if published:
        marks = (percent(published.saved), percent(published.of_ceiling), "", number(published.detours, 2), "")
        rows.append(["the original, published", DEFAULT_AT, "", *marks])
    return rows


def _facts(study: Study, domains: Sequence[Domain]) -> str:
    """How many sessions and turns, and what the turns are."""
    scores = study.ceiling(domains)
    turns = sum(each.turns for each in scores)
    parts = {
        name: tables.share(ratio(Row(each.unit, getattr(each, name), each.turns) for each in scores))
        for name in ("ceiling", "with_words")
    }
    kinds = {name: sum(getattr(each, name) for each in scores) / turns for name in ("replies", "reads", "writes")}
    return (
        f"{len(scores):,} sessions in {len({each.unit for each in scores}):,} groups, {turns:,} turns: "
        f"{percent(kinds['replies'])} replies, {percent(kinds['reads'])} reads, {percent(kinds['writes'])} writes. "
        f"The ceiling is {parts['ceiling']} of the turns, {parts['with_words']} with the user's words."
    )


def _differences(study: Study) -> str:
    plain = study.better("plain")
    rows: list[list[str]] = []
    for name, domains in study.shown:
        for at in _ATS:
            ours, theirs = study.scores(DEFAULT.name, at, domains), study.scores(plain.name, at, domains)
            found = compared(ours, theirs)
            more = f"{total(ours).saved - total(theirs).saved:+,}"
            detours = f"{total(ours).detours - total(theirs).detours:+,}"
            rows.append([name, at, more, tables.points(found.saved), detours, tables.signed(found.detours)])
    return table(("", "θ", "turns saved", "points of all turns", "detours", "a session"), rows, words=2)


def domain_by_domain(study: Study) -> Iterator[str]:
    """The main systems in every domain, at both thresholds."""
    yield "### Domain by domain"
    yield words.DOMAINS
    systems = _systems(study)
    for at, named in ((DEFAULT_AT, f"θ = {DEFAULT_AT}"), (STAR, "the domain's own θ\\*")):
        yield f"At {named}:"
        rows = [
            [
                domain.name,
                f"{len(domain.recorded):,}, {study.learned_on(domain):,.0f}",
                f"{study.turns(domain):,}",
                tables.share(ratio(Row(each.unit, each.ceiling, each.turns) for each in study.ceiling([domain]))),
                *(tables.short(study.scores(system.name, at, [domain])) for system in systems),
            ]
            for domain in study.tools
        ]
        yield table(("", "sessions, learned from", "turns", "ceiling", *(each.title for each in systems)), rows)


def costs(study: Study) -> Iterator[str]:
    """What turns and detours cost, and what other assumptions on the prompt would change."""
    yield "### What a turn is worth and a detour costs"
    yield words.COSTS
    rows: list[list[str]] = []
    for domain in study.tools:
        cost = study.cost(domain)
        thetas = [number(study.cost(domain, factor).theta, 2) for factor in (1.0, *_OTHERS)]
        rows.append([domain.name, f"{cost.beta:,.0f}", f"{cost.delta:,.0f}", *thetas])
    yield table(("", "β", "δ", "θ\\*", *(f"with {factor:g} times the prompt" for factor in _OTHERS)), rows)
    yield "What is saved at these thresholds, all domains together:"
    rows = [
        [system.title, f"{factor:g} times", *tables.cells(study.scores(system.name, star(factor)))[:-1]]
        for system in (PLAIN, DEFAULT)
        for factor in FACTORS
    ]
    yield table(("", "the prompt", *tables.HEAD[:-1]), rows, words=2)


def frontier(study: Study) -> Iterator[str]:
    """Turns saved over detours, at falling thresholds."""
    yield "## The frontier"
    yield words.FRONTIER
    yield "![Turns saved over detours a session](flows-frontier.svg)"
    rows = [
        [system.title, f"{at}", *tables.cells(study.scores(system.name, f"{at}"))]
        for system in FRONTIER
        for at in THRESHOLDS
    ]
    yield table(("", "θ", *tables.HEAD), rows, words=2)
    yield verdicts.frontier(study)
    yield words.ALIKE
    rows = [
        [
            f"{each.at}",
            f"{each.detours:,}",
            f"{each.saved:,}",
            "-" if each.more is None else f"{each.saved + each.more.value * each.turns:,.0f}",
            "-" if each.more is None else tables.points(each.more),
        ]
        for each in alike(study)
    ]
    head = (
        f"θ of {study.better('plain').title}",
        "detours",
        "turns it saves",
        "turns ours saves",
        "points of all turns",
    )
    yield table(head, rows)
