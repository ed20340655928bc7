"""A flow as the content of its file: the same flow gives the same content, whatever order it was counted in.

Fields stand in the original's order; maps are sorted by key; what is empty and may be absent is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from stretto.flow import program
from stretto.flow.versions import flow_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stretto.bindings.model import Bindings, SourceCounts, SpokenCounts
    from stretto.flow.model import Arbiter, Flow, Predicate, Promotion, Sites
    from stretto.model.counts import Backoff, Habit, Tally
    from stretto.model.features import FeatureMap
    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["flow_to_json"]

_Value = TypeVar("_Value")


def flow_to_json(flow: Flow) -> JsonObject:
    """The content of a flow's file, of the lowest version that has all its fields.

    The program is left out when it is the standard run. Values are shared with the flow, not copied.
    """
    made = flow.provenance
    arbiter = flow.arbiter
    content: dict[str, Any] = {
        "stretto_flow": flow_version(flow),
        "provenance": {
            "stretto": made.stretto,
            "sources": list(made.sources),
            "habit_episodes": made.habit_episodes,
            "arbiter_cases": made.arbiter_cases,
            "compiled_unix_ms": made.compiled_unix_ms,
            **({"conventions": made.conventions} if made.conventions else {}),
        },
        "vocab": ["Respond", *({"Tool": tool} for tool in flow.vocabulary.tools)],
        "manifest": _manifest(flow.manifest),
        "map": _features(flow.features),
        "group": flow.group,
        "habit": _habit(flow.habit),
        "sites": _sites(flow.sites),
        **_arbiter(arbiter),
        "bindings": _bindings(flow.bindings),
        "model": arbiter.model if arbiter else "",
    }
    if flow.program != program.STANDARD:
        content["program"] = program.encode(flow.program)
    if flow.promoted:
        content["promoted"] = _promotion(flow.promoted)
    if flow.thresholds:
        content["thresholds"] = {site: float(value) for site, value in sorted(flow.thresholds.items())}
    if flow.manifest.contracts:
        content["contracts"] = dict(sorted(flow.manifest.contracts.items()))
    if flow.reach:
        content["reach"] = _backoff(flow.reach)
    if flow.surprise:
        gate = flow.surprise
        content["surprise"] = {"window": gate.window, "threshold": float(gate.threshold)}
        if gate.quantile is not None:
            content["surprise"]["quantile"] = float(gate.quantile)
    if flow.uses.counts:
        content["uses"] = [
            {**key._asdict(), "pick": key.pick.value, **counts._asdict()}
            for key, counts in sorted(flow.uses.counts.items())
        ]
    return cast("JsonObject", content)


def _table(entries: Mapping[Any, _Value], value: Callable[[_Value], object]) -> list[object]:
    """A map whose keys are no texts: pairs, sorted by key. A key that is a tuple becomes a list, at any depth."""
    return [[_listed(key), value(entry)] for key, entry in sorted(entries.items(), key=lambda pair: pair[0])]


def _listed(key: object) -> object:
    return [_listed(part) for part in key] if isinstance(key, tuple) else key


def _same(value: _Value) -> _Value:
    return value


def _manifest(manifest: Manifest) -> dict[str, Any]:
    docs = {
        tool: {"summary": doc.summary, "args": dict(sorted(doc.args.items()))}
        for tool, doc in sorted(manifest.docs.items())
    }
    return {"domain": manifest.domain, "tools": dict(sorted(manifest.tools.items())), "docs": docs}


def _features(features: FeatureMap) -> dict[str, Any]:
    fields = {tool: [{one.kind: one.path} for one in listed] for tool, listed in sorted(features.fields.items())}
    return {"fields": fields, "ids": _table(features.ids, _same)}


def _tally(tally: Tally) -> dict[str, Any]:
    return {"by_action": _table(tally.by_action, float), "total": float(tally.total)}


def _backoff(counts: Backoff) -> dict[str, Any]:
    return {
        "order": counts.order,
        "alpha": counts.alpha,
        "vocab_size": counts.vocab_size,
        "levels": [_table(level, _tally) for level in counts.levels],
    }


def _habit(habit: Habit) -> dict[str, Any]:
    return {"base": _backoff(habit.base), "beta": habit.beta, "top": _table(habit.top, _tally)}


def _sites(sites: Sites) -> dict[str, Any]:
    return {
        "reads": list(sites.reads),
        "next": _table(sites.next, lambda lookups: dict(sorted(lookups.items()))),
        "feeds": {tool: _table(fed, _same) for tool, fed in sorted(sites.feeds.items())},
        **({"every_read": True} if sites.every_read else {}),
    }


def _arbiter(arbiter: Arbiter | None) -> dict[str, Any]:
    if arbiter is None:
        return {"predicates": [], "weighed": [], "folds": []}
    folds = [
        {
            "weights": list(fold.weights),
            "rates": {
                "sites": _table(fold.sites, lambda counts: [float(count) for count in counts]),
                "agree": fold.agree,
                "cover": fold.cover,
            },
        }
        for fold in arbiter.folds
    ]
    return {
        "predicates": [_predicate(one) for one in arbiter.predicates],
        "weighed": [_predicate(one) for one in arbiter.weighed],
        "folds": folds,
    }


def _predicate(one: Predicate) -> dict[str, Any]:
    favors = one.favors if isinstance(one.favors, str) else dict(one.favors)
    return {"id": one.id, "favors": favors, "question": one.question, "yes": one.yes, "no": one.no}


def _promotion(promotion: Promotion) -> dict[str, Any]:
    bar = promotion.bar
    return {
        "bar": {
            "threshold": float(bar.threshold),
            "min_used": float(bar.min_used),
            "min_lower": float(bar.min_lower),
            "min_tasks": bar.min_tasks,
        },
        "sites": {
            site: {
                "decisions": one.decisions,
                "lookups": one.lookups,
                "used": one.used,
                "tasks": one.tasks,
                "lower": float(one.lower),
                "promoted": one.promoted,
            }
            for site, one in sorted(promotion.sites.items())
        },
    }


def _bindings(bindings: Bindings) -> dict[str, Any]:
    site_sources = [
        {"tool": slot.tool, "arg": slot.argument, "site": site, "source": list(source), "values": values}
        for (slot, site, source), values in sorted(bindings.site_sources.items())
    ]
    optional: dict[str, Any] = {
        "named_other": _by_tool(bindings.named_other),
        "described_read": _by_tool(bindings.described_read),
        "site_sources": site_sources,
        "lists": _table(bindings.lists, _found),
        "bare": dict(sorted(bindings.bare.items())),
        "constants": _table(bindings.constants, _same),
        "derived": _table(bindings.derived, _found),
        "spoken": _table(bindings.spoken, _spoken),
        "records": {tool: _found(counts) for tool, counts in sorted(bindings.records.items())},
        "agreed_derived": _by_tool(bindings.agreed_derived),
        "agreed_spoken": _by_tool(bindings.agreed_spoken),
        "agreed_record": _by_tool(bindings.agreed_record),
    }
    return {
        "args": {tool: [calls, dict(sorted(args.items()))] for tool, (calls, args) in sorted(bindings.args.items())},
        "sources": _table(bindings.sources, _found),
        "agreed": _by_tool(bindings.agreed),
        **{name: value for name, value in optional.items() if value},
    }


def _by_tool(counts: Mapping[str, tuple[object, ...]]) -> dict[str, object]:
    return {tool: _listed(count) for tool, count in sorted(counts.items())}


def _found(counts: SourceCounts) -> dict[str, Any]:
    return {"values": counts.values, "found": _table(counts.found, _same)}


def _spoken(counts: SpokenCounts) -> dict[str, Any]:
    return {"values": counts.values, "shapes": _table(counts.shapes, _same)}
