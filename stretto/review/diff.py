"""What changed from one version of a flow to the next, and whether somebody must look at it before it is served.

A change needs review when the new version can do what the old one could not: look up another tool, at another site,
with values from another place, or run other code. Everything else is listed only. Returns data;
`stretto.review.diff_page` puts it into words.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING

from stretto._defaults import DIFF_TOLERANCE, THRESHOLD
from stretto.flow.chances import one_step
from stretto.flow.model import site_name
from stretto.model.alphabet import RESPOND
from stretto.review.changes import Change, FlowDiff, Section, is_moved
from stretto.review.diff_bindings import binding_changes
from stretto.review.show import sites_of
from stretto.review.shown import Verdict
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.flow.model import Arbiter, Bar, Flow, Gate, Predicate, Site
    from stretto.model.counts import Tally
    from stretto.review.changes import Fact
    from stretto.review.shown import SiteShown

__all__ = ["diff"]


def diff(old: Flow, new: Flow, *, tolerance: float = DIFF_TOLERANCE, threshold: float = THRESHOLD) -> FlowDiff:
    """Compare two versions of a flow. The time of compilation is not looked at.

    Args:
        old: the version before.
        new: the version that is to be served.
        tolerance: change of a share, a chance or a weight from which on it is listed.
        threshold: score from which on a lookup is made where a site has none of its own.
    """
    before = {site.site: site for site in sites_of(old, threshold)}
    after = {site.site: site for site in sites_of(new, threshold)}
    found = [
        *_tools(old, new),
        *_run(old, new),
        *_lookups(old, new),
        *_acting(before, after),
        *_thresholds(old, new),
        *_verdicts(before, after),
        *_shares(old, new, tolerance),
        *_used(old, new, tolerance),
        *binding_changes(old, new, tolerance),
        *_contracts(old, new),
        *_features(old, new),
        *_arbiter(old.arbiter, new.arbiter, tolerance),
        *_promotion(old, new),
        *_provenance(old, new),
    ]
    places = list(Section)
    return FlowDiff(
        new.manifest.domain, tuple(sorted(found, key=lambda one: (places.index(one.section), not one.review)))
    )


# --- tools, run, sites ----------------------------------------------------------------------------------------


def _tools(old: Flow, new: Flow) -> Iterator[Change]:
    before, after = old.manifest.tools, new.manifest.tools
    for tool in sorted({*before, *after}):
        was, now = before.get(tool, "absent"), after.get(tool, "absent")
        if was != now:
            kind = "tool_reads" if now == "read" else "tool_kind"
            yield Change(Section.TOOLS, kind, now == "read", {"tool": tool, "before": was, "after": now})


def _run(old: Flow, new: Flow) -> Iterator[Change]:
    if old.program != new.program:
        yield Change(Section.RUN, "program", True, {})
    was, now = old.default_decider, new.default_decider
    if was != now:
        yield Change(Section.RUN, "decider", False, {"before": was, "after": now})
    counts = bool(new.uses.counts)
    if counts is not bool(old.uses.counts):
        yield Change(Section.RUN, "uses" if counts else "uses_off", False, {})


def _lookups(old: Flow, new: Flow) -> Iterator[Change]:
    """Lookups offered at a site. Where every read is offered, a new one is seen among the tools."""
    if old.sites.every_read is not new.sites.every_read:
        now = new.sites.every_read
        yield Change(Section.SITES, "every_read" if now else "every_read_off", now, {})
    if not new.sites.every_read:
        for site, lookup in _offered(old, new):
            yield Change(Section.SITES, "lookup_offered", True, {"lookup": lookup, "site": site})
    if not old.sites.every_read:
        for site, lookup in _offered(new, old):
            yield Change(Section.SITES, "lookup_gone", False, {"lookup": lookup, "site": site})


def _offered(less: Flow, more: Flow) -> Iterator[tuple[str, str]]:
    """What one flow offers and the other does not."""
    for site in sorted(more.sites.next):
        for lookup in more.sites.options(site):
            if lookup not in less.sites.options(site):
                yield site_name(site), lookup


def _acting(before: Mapping[str, SiteShown], after: Mapping[str, SiteShown]) -> Iterator[Change]:
    still = (Verdict.NOT_PROMOTED, Verdict.SWITCHED_OFF)
    for site in sorted(before.keys() & after.keys()):
        was, now = before[site].habit.verdict, after[site].habit.verdict
        if was in still and now not in still:
            yield Change(Section.SITES, "site_acts", True, {"site": site, "before": was.value})
        elif now in still and was not in still:
            yield Change(Section.SITES, "site_stops", False, {"site": site, "after": now.value})


def _thresholds(old: Flow, new: Flow) -> Iterator[Change]:
    for site in sorted({*old.thresholds, *new.thresholds}):
        was, now = old.thresholds.get(site), new.thresholds.get(site)
        if was != now:
            yield Change(Section.SITES, "threshold", False, {"site": site, "before": was, "after": now})


def _verdicts(before: Mapping[str, SiteShown], after: Mapping[str, SiteShown]) -> Iterator[Change]:
    for site in sorted(before.keys() & after.keys()):
        was, now = before[site], after[site]
        for decider, one, other in (("habit", was.habit, now.habit), ("reach", was.reach, now.reach)):
            if one and other and (one.verdict, one.lookup) != (other.verdict, other.lookup):
                facts: dict[str, Fact] = {"site": site, "decider": decider, "before": one, "after": other}
                yield Change(Section.VERDICTS, "verdict", False, facts)


def _shares(old: Flow, new: Flow, tolerance: float) -> Iterator[Change]:
    before, after = _next_steps(old), _next_steps(new)
    for site in sorted(before.keys() & after.keys()):
        if site not in old.sites.next and site not in new.sites.next:
            continue
        was, now = before[site], after[site]
        for step in sorted({*was, *now}):
            moved = {"before": was.get(step, 0.0), "after": now.get(step, 0.0)}
            if is_moved(moved["before"], moved["after"], tolerance):
                yield Change(Section.SHARES, "share", False, {"site": site_name(site), "step": step, **moved})


def _next_steps(flow: Flow) -> dict[Site, dict[str, float]]:
    names = {RESPOND: "respond", **dict(enumerate(flow.vocabulary.tools, 1))}

    def shares(tally: Tally) -> dict[str, float]:
        return {names[action]: count / tally.total for action, count in tally.by_action.items() if action in names}

    return {site: shares(tally) for site, tally in one_step(flow, flow.habit.base).items() if tally.total}


# --- the rest -------------------------------------------------------------------------------------------------


def _used(old: Flow, new: Flow, tolerance: float) -> Iterator[Change]:
    """Share of lookups that would have been used, over all kinds of arguments."""
    before, after = _use_shares(old), _use_shares(new)
    for place in sorted(before.keys() & after.keys()):
        was, now = before[place], after[place]
        if is_moved(was, now, tolerance):
            site, lookup = place
            facts: dict[str, Fact] = {"site": site, "lookup": lookup, "before": was, "after": now}
            yield Change(Section.SHARES, "used", False, facts)


def _use_shares(flow: Flow) -> dict[tuple[str, str], float]:
    summed: dict[tuple[str, str], tuple[int, int]] = {}
    for key, counts in flow.uses.counts.items():
        place = site_name((key.tool, key.failed)), key.lookup
        used, weighed = summed.get(place, (0, 0))
        summed[place] = used + counts.used, weighed + counts.weighed
    return {place: used / weighed for place, (used, weighed) in summed.items() if weighed}


def _contracts(old: Flow, new: Flow) -> Iterator[Change]:
    before, after = old.manifest.contracts, new.manifest.contracts
    for tool in sorted({*before, *after}):
        if before.get(tool) != after.get(tool):
            facts = {"tool": tool, "before": before.get(tool), "after": after.get(tool)}
            yield Change(Section.CONTRACTS, "contract", False, facts)


def _features(old: Flow, new: Flow) -> Iterator[Change]:
    before, after = old.features, new.features
    for tool in sorted({*before.fields, *after.fields}):
        ids = [{key: number for key, number in one.ids.items() if key[0] == tool} for one in (before, after)]
        if before.fields.get(tool) != after.fields.get(tool) or ids[0] != ids[1]:
            yield Change(Section.FEATURES, "features", False, {"tool": tool})


def _arbiter(old: Arbiter | None, new: Arbiter | None, tolerance: float) -> Iterator[Change]:
    if old is None or new is None:
        if new:
            yield Change(Section.ARBITER, "arbiter", True, {"model": new.model})
        elif old:
            yield Change(Section.ARBITER, "arbiter_gone", False, {"model": old.model})
        return
    if old.model != new.model:
        yield Change(Section.ARBITER, "model", True, {"before": old.model, "after": new.model})
    was, now = _by_id(old), _by_id(new)
    for one in sorted({*was, *now}):
        if one not in now:
            yield Change(Section.ARBITER, "predicate_gone", False, {"predicate": one})
        elif any(wording not in was.get(one, ()) for wording in now[one]):
            kind = "predicate_reworded" if one in was else "predicate"
            yield Change(Section.ARBITER, kind, True, {"predicate": one})
    yield from _moved_weights(old, new, tolerance)


def _by_id(arbiter: Arbiter) -> dict[str, list[Predicate]]:
    """The wordings of each predicate, asked or weighed; one, but for an edited file."""
    found: dict[str, list[Predicate]] = {}
    for one in (*arbiter.predicates, *arbiter.weighed):
        found.setdefault(one.id, []).append(one)
    return found


def _moved_weights(old: Arbiter, new: Arbiter, tolerance: float) -> Iterator[Change]:
    """Weights by feature; one that is not in a version weighs nothing there."""
    before, after = _weights(old), _weights(new)
    for feature in sorted({*before, *after}):
        was, now = before.get(feature, 0.0), after.get(feature, 0.0)
        if is_moved(was, now, tolerance):
            yield Change(Section.ARBITER, "weight", False, {"feature": feature, "before": was, "after": now})


def _weights(arbiter: Arbiter) -> dict[str, float]:
    """Mean over the folds by feature, in the order of the weights."""
    predicates = [f"predicate {one.id}" for one in arbiter.weighed]
    names = ["prior", "one question", "split questions", "hand back", *predicates, "reliability"]
    columns = zip(*(fold.weights for fold in arbiter.folds), strict=True)
    return {name: fmean(column) for name, column in zip(names, columns, strict=True)}


def _promotion(old: Flow, new: Flow) -> Iterator[Change]:
    bars = [_settings(flow.promoted.bar if flow.promoted else None) for flow in (old, new)]
    if bars[0] != bars[1]:
        yield Change(Section.PROMOTION, "bar", False, {"before": bars[0], "after": bars[1]})
    if old.surprise != new.surprise:
        facts: dict[str, Fact] = {"before": _settings(old.surprise), "after": _settings(new.surprise)}
        yield Change(Section.PROMOTION, "gate", False, facts)


def _settings(settings: Bar | Gate | None) -> str | None:
    return jsonvalue.canonical(asdict(settings)).decode() if settings else None


def _provenance(old: Flow, new: Flow) -> Iterator[Change]:
    was, now = _origin(old), _origin(new)
    for field, before in was.items():
        if before != now[field]:
            yield Change(
                Section.PROVENANCE, "provenance", False, {"field": field, "before": before, "after": now[field]}
            )


def _origin(flow: Flow) -> dict[str, str]:
    made = flow.provenance
    return {
        "domain": flow.manifest.domain,
        "stretto": made.stretto,
        "sources": ", ".join(made.sources),
        "successful sessions": str(made.habit_episodes),
        "decisions of the arbiter": str(made.arbiter_cases),
        "conventions": made.conventions,
    }
