"""What a reviewer should know of a flow: what it may look up where, from what evidence, and what it would do.

Returns data; `stretto.review.show_page` renders it. Everything is computed from the flow alone, so shares pool the
histories a served decision would tell apart, and a verdict is what the flow does at a site on the whole.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, cast

from stretto._defaults import SITE_VALUES, THRESHOLD
from stretto.bindings.chances import bare_chance, pooled_chance, share
from stretto.bindings.model import Slot
from stretto.bindings.records import fields_of
from stretto.bindings.uses import pooled_score
from stretto.flow.chances import one_step
from stretto.flow.model import CERTAIN, site_name
from stretto.flow.program import STANDARD
from stretto.flow.program_text import program_text
from stretto.flow.versions import flow_version
from stretto.model.alphabet import RESPOND
from stretto.model.counts import Tally
from stretto.review.shown import (
    ArgumentShown,
    BindingShown,
    ConstantShown,
    FlowShown,
    SiteShown,
    SiteVerdict,
    SourceOrder,
    SourceShown,
    StepShown,
    UseShown,
    Verdict,
)

if TYPE_CHECKING:
    from stretto.bindings.model import Bindings, SourceCounts
    from stretto.flow.model import Flow, Site
    from waggle.jsonvalue import JsonObject

__all__ = ["bindings_of", "orders_of", "show", "show_json", "sites_of"]

#: Things the agent did next that are listed for a site.
_TOP: Final = 4


def show(flow: Flow, threshold: float = THRESHOLD) -> FlowShown:
    """Everything a reviewer is shown of a flow.

    Args:
        flow: any flow; it is not changed.
        threshold: score from which on a lookup is made where the site has none of its own.
    """
    kinds = flow.manifest.tools
    return FlowShown(
        domain=flow.manifest.domain,
        version=flow_version(flow),
        provenance=flow.provenance,
        threshold=threshold,
        default_decider=flow.default_decider,
        alpha=flow.habit.base.alpha,
        reads=flow.manifest.reads,
        writes=tuple(sorted(tool for tool, kind in kinds.items() if kind == "write")),
        neither=tuple(sorted(tool for tool, kind in kinds.items() if kind == "generic")),
        program=program_text(flow.program),
        standard_program=flow.program == STANDARD,
        every_read=flow.sites.every_read,
        sites=sites_of(flow, threshold),
        promotion=flow.promoted,
        bindings=bindings_of(flow),
        constants=tuple(
            ConstantShown(slot.tool, slot.argument, value) for slot, value in sorted(flow.bindings.constants.items())
        ),
        orders=orders_of(flow.bindings),
        contracts=dict(sorted(flow.manifest.contracts.items())),
        features=flow.features,
        arbiter=flow.arbiter,
        thresholds=dict(sorted(flow.thresholds.items())),
        gate=flow.surprise,
        uses=_uses(flow),
    )


def show_json(shown: FlowShown) -> JsonObject:
    """The same as JSON; its keys are those of `FlowShown`, and code features are as in a flow file."""
    content = asdict(shown)
    features = {tool: [{one.kind: one.path} for one in listed] for tool, listed in shown.features.fields.items()}
    content["features"] = {
        "fields": dict(sorted(features.items())),
        "ids": sorted([*key, number] for key, number in shown.features.ids.items()),
    }
    return cast("JsonObject", content)


# --- sites ----------------------------------------------------------------------------------------------------


def sites_of(flow: Flow, threshold: float) -> tuple[SiteShown, ...]:
    """Each site of a flow, by name; in one that may look up every read everywhere, each the agent was seen at."""
    habit = one_step(flow, flow.habit.base)
    reach = one_step(flow, flow.reach) if flow.reach else None
    names = {RESPOND: "respond", **dict(enumerate(flow.vocabulary.tools, 1))}
    shown: list[SiteShown] = []
    for site in sorted({*flow.sites.next, *(habit if flow.sites.every_read else ())}):
        tally = habit.get(site, Tally())
        steps = [
            StepShown(names.get(action, "a tool that is not known"), count, count / tally.total)
            for action, count in tally.by_action.items()
            if count
        ]
        counts = flow.sites.next.get(site, {})
        shown.append(
            SiteShown(
                site_name(site),
                {tool: counts.get(tool, 0) for tool in flow.sites.options(site)},
                tuple(sorted(steps, key=lambda one: (-one.count, one.step))[:_TOP]),
                tally.total,
                _verdict(flow, site, tally, threshold, by_score=False),
                _verdict(flow, site, reach.get(site, Tally()), threshold, by_score=True) if reach else None,
            )
        )
    return tuple(shown)


def _verdict(flow: Flow, site: Site, tally: Tally, threshold: float, *, by_score: bool) -> SiteVerdict:
    """What a flow does at a site on the whole.

    Args:
        flow: the flow.
        site: where.
        tally: of the site, from the habit or from reach.
        threshold: where the site has none of its own.
        by_score: weigh lookups by share and chance together, and only those whose arguments have a source, as
            ``reach`` does, with what was counted of uses where the flow has that; else the one with the largest share,
            as ``habit`` does.
    """
    name = site_name(site)
    limit = flow.thresholds.get(name, threshold)
    weighed: list[tuple[float, float | None, str]] = []
    for tool in flow.sites.options(site):
        count = tally.by_action.get(flow.vocabulary.action(tool), 0)
        weighed.append((count / tally.total if tally.total else 0.0, _chance(flow, tool), tool))
    if by_score:
        weighed = [one for one in weighed if one[1] is not None]
    scores = {tool: _score(flow, site, tool, part * (chance or 0), by_score=by_score) for part, chance, tool in weighed}
    best = max(weighed, key=lambda one: scores[one[2]] if by_score else one[0], default=None)
    part, chance, lookup = best or (0.0, None, None)
    score = scores.get(lookup or "", 0.0)
    if flow.promoted and not (name in flow.promoted.sites and flow.promoted.sites[name].promoted):
        verdict = Verdict.NOT_PROMOTED
    elif limit > CERTAIN:
        verdict = Verdict.SWITCHED_OFF
    else:
        verdict = Verdict.LOOKS_UP if lookup and chance is not None and score >= limit else Verdict.HANDS_BACK
    return SiteVerdict(verdict, lookup, part, chance, score, limit)


def _score(flow: Flow, site: Site, lookup: str, product: float, *, by_score: bool) -> float:
    """What is compared with the threshold for the first lookup of a run: by uses, over all ways to bind it together."""
    counts = [
        each
        for key, each in flow.uses.counts.items()
        if (key.tool, key.failed, key.lookup, key.stage) == (*site, lookup, 0)
    ]
    return pooled_score(counts, product) if by_score and counts else product


def _chance(flow: Flow, tool: str) -> float | None:
    """The chance of a lookup's arguments before there is a session; None when one of them has no source."""
    bindings = flow.bindings
    if tool not in bindings.args:
        doc = flow.manifest.docs.get(tool) if flow.sites.every_read else None
        return None if doc is None else share(0, 0) if doc.args else 1.0
    arguments = _arguments(bindings, tool)
    if not arguments:
        return bare_chance(bindings, tool)
    ways = [{"record"}] if _records(bindings, tool) else []
    kinds = ["constant" if one.constant else one.sources[0].kind if one.sources else None for one in arguments]
    if None not in kinds:
        ways.append({kind for kind in kinds if kind})
    return max((pooled_chance(bindings, tool, way) for way in ways), default=None)


# --- arguments ------------------------------------------------------------------------------------------------


def bindings_of(flow: Flow) -> tuple[BindingShown, ...]:
    """How each lookup is bound that was called in training or is offered somewhere, by name."""
    offered = {tool for site in flow.sites.next for tool in flow.sites.options(site)}
    if flow.sites.every_read:
        offered |= set(flow.sites.reads)
    return tuple(_binding(flow.bindings, tool) for tool in sorted(offered | set(flow.bindings.args)))


def _binding(bindings: Bindings, tool: str) -> BindingShown:
    agreed = bindings.agreed.get(tool, ((0, 0), (0, 0)))
    unsaid = share(*agreed[0])
    arguments = _arguments(bindings, tool)

    apart = {
        "derived": bindings.agreed_derived,
        "spoken": bindings.agreed_spoken,
        "record": bindings.agreed_record,
    }

    def picked(counts: tuple[int, int] | None) -> tuple[int, int, float] | None:
        return (*counts, share(*counts, unsaid)) if counts else None

    return BindingShown(
        tool,
        bindings.args.get(tool, (0, {}))[0],
        arguments,
        agreed,
        (unsaid, share(*agreed[1])),
        picked(bindings.named_other.get(tool)),
        picked(bindings.described_read.get(tool)),
        None if arguments else bare_chance(bindings, tool),
        tuple(_records(bindings, tool)),
        {kind: counts[tool] for kind, counts in apart.items() if tool in counts},
    )


def _arguments(bindings: Bindings, tool: str) -> tuple[ArgumentShown, ...]:
    shown: list[ArgumentShown] = []
    required = bindings.required(tool)
    constants = {slot.argument for slot in bindings.constants if slot.tool == tool}
    for name in sorted({*required, *constants}):
        slot = Slot(tool, name)
        listed = bindings.lists.get(slot)
        sources = _sources("list", listed) if listed else _sources("source", bindings.sources.get(slot))
        sources += _sources("derived", bindings.derived.get(slot))
        spoken = bindings.spoken.get(slot)
        if spoken:
            counted = sorted((-spoken.shapes[shape], shape) for shape in spoken.usable())
            sources += [SourceShown("spoken", None, shape, -count, spoken.values) for count, shape in counted]
        shown.append(ArgumentShown(name, name in required, name in constants, tuple(sources)))
    return tuple(shown)


def _records(bindings: Bindings, tool: str) -> list[SourceShown]:
    """The records that hold just the arguments that are passed and are no constants."""
    needed = {name for name in bindings.required(tool) if Slot(tool, name) not in bindings.constants}
    found = _sources("record", bindings.records.get(tool))
    return [one for one in found if needed and fields_of(one.path).keys() == needed]


def _sources(kind: str, counts: SourceCounts | None) -> list[SourceShown]:
    if counts is None:
        return []
    ordered = sorted(counts.usable(), key=lambda source: -counts.found[source])
    return [SourceShown(kind, *source, counts.found[source], counts.values) for source in ordered]


def orders_of(bindings: Bindings) -> tuple[SourceOrder, ...]:
    """Where a site has an order of its own: at least 5 values there, and an argument with more than one source."""
    orders: list[SourceOrder] = []
    for slot, site in sorted({(slot, site) for slot, site, _ in bindings.site_sources}):
        counts = bindings.sources.get(slot)
        usable = counts.usable() if counts else []
        there = {source: bindings.site_sources.get((slot, site, source), 0) for source in usable}
        if len(usable) > 1 and sum(there.values()) >= SITE_VALUES and slot not in bindings.lists:
            ordered = sorted(usable, key=lambda source: -there[source])
            orders.append(SourceOrder(*slot, site, tuple((*source, there[source]) for source in ordered)))
    return tuple(orders)


def _uses(flow: Flow) -> tuple[UseShown, ...]:
    return tuple(
        UseShown(
            site_name((key.tool, key.failed)),
            key.lookup,
            key.kind,
            key.pick.value,
            key.stage,
            counts.used,
            counts.weighed,
            counts.companions / counts.used if counts.used else 0.0,
        )
        for key, counts in sorted(flow.uses.counts.items())
    )
