"""The comparison of two flows as a Markdown page: what needs review stands first in each section, and is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.page import count
from stretto.review.shown import SiteVerdict
from stretto.review.words import SOURCE_KINDS, name, percent, place_said, verdict_said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.review.changes import Change, Fact, FlowDiff

__all__ = ["diff_page"]

#: What a change says, by its kind; in braces its facts, which are data.
_SAID: Final[Mapping[str, str]] = {
    "tool_reads": "{tool} is now a read; it was {before}",
    "tool_kind": "{tool} is now {after}; it was {before}",
    "program": "another program runs after each call; compare the two flows' runs",
    "decider": "the decider, unless another is named, is now {after}; it was {before}",
    "uses": "the flow now holds how often lookups would have been used",
    "uses_off": "the flow no longer holds how often lookups would have been used",
    "every_read": "every read may now be looked up at every site",
    "every_read_off": "reads may no longer be looked up at every site",
    "lookup_offered": "{lookup} may now be looked up after {site}",
    "lookup_gone": "{lookup} may no longer be looked up after {site}",
    "site_acts": "the flow now acts after {site}; the site was {before}",
    "site_stops": "the flow no longer acts after {site}; the site is {after}",
    "threshold": "threshold after {site}: {before} -> {after}",
    "verdict": "{decider} after {site}: {before} -> {after}",
    "share": "after {site}, {step}: {before} -> {after}",
    "used": "after {site}, {lookup} would have been used: {before} -> {after}",
    "source_usable": "{lookup}, {argument}: may now be bound from {source}",
    "source_gone": "{lookup}, {argument}: is no longer bound from {source}",
    "argument_passed": "{lookup}: {argument} is now passed",
    "argument_gone": "{lookup}: {argument} is no longer passed",
    "chance": "{lookup}, chance of {of}: {before} -> {after}",
    "first_source": "{lookup}, {argument} after {site}: first source {before} -> {after}",
    "constant": "{lookup}: {argument} is now always {after}; before {before}",
    "constant_gone": "{lookup}: {argument} is no longer always {before}",
    "contract": "{tool}: {before} -> {after}",
    "features": "the parts of the output of {tool} that steps differ by, or their values",
    "arbiter": "the flow now asks the model {model}",
    "arbiter_gone": "the flow no longer asks the model {model}",
    "model": "the flow now asks the model {after}; it was {before}",
    "predicate": "{predicate} is new",
    "predicate_reworded": "{predicate} is worded otherwise, or speaks for other options",
    "predicate_gone": "{predicate} is gone",
    "weight": "weight of {feature}: {before} -> {after}",
    "bar": "bar: {before} -> {after}",
    "gate": "surprise gate: {before} -> {after}",
    "provenance": "{field}: {before} -> {after}",
}

#: Facts in our own words, which need no code around them.
_PLAIN: Final = frozenset({"decider", "field", "of"})


def diff_page(compared: FlowDiff) -> str:
    """The page, with a line end; the same data gives the same page."""
    marked = sum(change.review for change in compared.changes)
    lines = [f"# Changes of flow {name(compared.domain)}", ""]
    if not compared.changes:
        lines.append("Nothing changed.")
    elif marked:
        lines.append(f"**{count(marked, 'change')} to review**, {count(len(compared.changes) - marked, 'other')}.")
    else:
        lines.append(f"Nothing to review, {count(len(compared.changes), 'change')}.")
    section = None
    for change in compared.changes:
        if change.section is not section:
            section = change.section
            lines += ["", f"## {section}", ""]
        lines.append(f"- {'**Review:** ' if change.review else ''}{_said(change)}")
    kinds = {change.facts.get("kind") for change in compared.changes}
    legend = [f"- {said}" for kind, said in SOURCE_KINDS.items() if kind in kinds]
    if legend:
        lines += ["", "Kinds of sources that the original has not:", "", *legend]
    return "\n".join(lines) + "\n"


def _said(change: Change) -> str:
    facts = {key: _fact(change.kind, key, value) for key, value in change.facts.items()}
    if "path" in change.facts:
        kind, tool, path = (str(change.facts[key]) for key in ("kind", "tool", "path"))
        facts["source"] = place_said(kind, tool, path)
        facts["argument"] = facts["argument"] if change.facts["argument"] else "all arguments together"
    return _SAID[change.kind].format_map(facts)


def _fact(kind: str, key: str, value: Fact) -> str:
    if value is None:
        return "none"
    if isinstance(value, SiteVerdict):
        return verdict_said(value)
    if isinstance(value, str):
        return value if key in _PLAIN else name(value)
    if kind == "threshold":
        return f"{value:g}"
    return percent(value) if kind in ("share", "used") else f"{value:.2f}"
