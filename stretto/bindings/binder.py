"""Binding: fill a lookup's arguments from what a session has shown.

Not responsible for whether the lookup is worth making (`stretto.deciders`), nor for what is counted
(`stretto.bindings.survey`, `stretto.bindings.scoring`). What must survive changes: every value passed is one the
session holds, or a deterministic transform of one; nothing is made up, and no value is passed twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from stretto._defaults import SITE_VALUES
from stretto.bindings.candidates import (
    blocks,
    derived_values,
    is_mentioned,
    lists,
    spoken_values,
    together,
)
from stretto.bindings.chances import bare_chance, chance, share
from stretto.bindings.model import Argument, Bound, Pick, Reason, Slot, Source, Unbound
from stretto.bindings.records import fields_of
from stretto.bindings.results import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stretto.bindings.candidates import Block, Together
    from stretto.bindings.model import Bindings, SourceCounts
    from stretto.bindings.results import Found
    from stretto.bindings.session import SessionValues
    from stretto.sessions.manifest import ToolDoc
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Binder", "likeliest"]


class _Chosen(NamedTuple):
    """One argument's value."""

    name: str
    value: JsonValue
    kind: str
    source: Source | None = None
    mentioned: bool = True
    #: some value at the sources was mentioned, passed before or not
    any_mentioned: bool = False
    #: the values of the list it was taken from
    among: Sequence[str] = ()


@dataclass(slots=True)
class _Plan:
    """What a tool's arguments are bound by."""

    required: list[_SlotPlan]  # by name, those that are no constants
    constants: list[_Chosen]
    records: list[Source]  # that hold every required argument
    tools: tuple[str, ...]  # whose results matter


@dataclass(slots=True)
class _SlotPlan:
    slot: Slot
    counted: bool
    sources: list[Source]
    is_list: bool
    by_site: Mapping[str, list[Source]]  # only the sites with an order of their own
    derived: list[Source]
    shapes: frozenset[str]


class Binder:
    """Binds the lookups of one flow. What is counted must not change afterwards.

    Args:
        bindings: the counts.
        docs: what is known of tools that training never called, which are bound by the names of their arguments; None
            when such tools are never bound.
        derive: use derived values.
        speak: use the user's own words.
    """

    def __init__(
        self,
        bindings: Bindings,
        docs: Mapping[str, ToolDoc] | None = None,
        *,
        derive: bool = True,
        speak: bool = True,
    ) -> None:
        self.bindings = bindings
        self._docs = docs
        self._derive = derive
        self._speak = speak
        self._plans: dict[str, _Plan | None] = {}
        self._chances: dict[tuple[str, Pick, frozenset[str]], float] = {}
        self._sites: dict[tuple[Slot, str], dict[Source, int]] = {}
        for (slot, site, source), values in bindings.site_sources.items():
            self._sites.setdefault((slot, site), {})[source] = values

    # --- what a tool is bound by ---

    def _plan(self, tool: str) -> _Plan | None:
        if tool not in self._plans:
            self._plans[tool] = self._made(tool) if tool in self.bindings.args else None
        return self._plans[tool]

    def _made(self, tool: str) -> _Plan:
        bindings = self.bindings
        constants = {slot.argument: value for slot, value in sorted(bindings.constants.items()) if slot.tool == tool}
        names = [name for name in bindings.required(tool) if name not in constants]
        required = [self._slot_plan(Slot(tool, name)) for name in names]
        counts = bindings.records.get(tool) if self._derive else None
        whole = [each for each in _by_count(counts) if fields_of(each.path).keys() == {*names}] if counts else []
        used = {source.tool for each in required for source in (*each.sources, *each.derived)}
        used |= {source.tool for source in whole}
        return _Plan(required, [_Chosen(*one, "constant") for one in constants.items()], whole, tuple(sorted(used)))

    def _slot_plan(self, slot: Slot) -> _SlotPlan:
        bindings = self.bindings
        listed = bindings.lists.get(slot)
        counts = listed or bindings.sources.get(slot)
        usable = counts.usable() if counts else []
        by_site: dict[str, list[Source]] = {}
        for (other, site), values in self._sites.items():
            if other == slot and not listed and sum(values.get(source, 0) for source in usable) >= SITE_VALUES:
                by_site[site] = sorted(usable, key=lambda source: -values.get(source, 0))
        spoken = bindings.spoken.get(slot) if self._speak else None
        derivations = bindings.derived.get(slot) if self._derive else None
        return _SlotPlan(
            slot,
            counts is not None,
            usable,
            listed is not None,
            by_site,
            _by_count(derivations) if derivations else [],
            frozenset(spoken.usable()) if spoken else frozenset(),
        )

    def feeds(self) -> dict[str, list[tuple[str, str]]]:
        """By tool, the lookups whose strings come from its results, each with the path they come from."""
        fed: dict[str, list[tuple[str, str]]] = {}
        for tool in sorted(self.bindings.args):
            plan = self._plan(tool)
            for each in plan.required if plan else ():
                for source in () if each.is_list else each.sources:
                    fed.setdefault(source.tool, []).append((tool, source.path))
        return fed

    # --- binding ---

    def stamp(self, tool: str, values: SessionValues) -> tuple[object, ...]:
        """Equal for two moments of one session between which what `bind` answers for a tool cannot have changed.

        Cost: the number of tools its arguments come from.
        """
        plan = self._plan(tool)
        calls = len(values.calls_of(tool))
        if plan is None:
            return (values.count, values.heard, calls)
        seen = [output[-1].number if (output := values.outputs_of(name)) else -1 for name in plan.tools]
        site = values.site if any(each.by_site for each in plan.required) else None
        returned = values.outputs_of(tool)[-1].number if values.outputs_of(tool) else -1
        return (values.heard, calls, site, returned, *seen)

    def bind(self, tool: str, values: SessionValues) -> Bound | Unbound:
        """Fill the arguments of a lookup, or say why they cannot be filled.

        Args:
            tool: the lookup.
            values: what the session has shown. Calls that are running count as made.

        Returns:
            Of the ways to fill them, the likeliest; why the first does not, when none does.
        """
        return likeliest(self.ways(tool, values))

    def ways(self, tool: str, values: SessionValues) -> list[Bound | Unbound]:
        """The ways to fill the arguments of a lookup.

        Returns:
            First the original's: each argument from its own sources; by name, if training never called it. Then those
            with arguments from one record, and with arguments that are derived or spoken, as far as they do bind.
        """
        plan = self._plan(tool)
        if plan is None:
            return [self._by_name(tool, values)]
        if not plan.required and values.calls_of(tool):
            return [Unbound(Reason.LOOKED_UP, tool)]
        own = [_own(each, values) for each in plan.required]
        missing = next((each for each in own if isinstance(each, Unbound)), None)
        chosen = [each for each in own if isinstance(each, _Chosen)]
        ways: list[Bound | Unbound] = [missing or self._bound(tool, plan, chosen, values)]
        if plan.records:
            record = _of_one_record(tool, plan, values)
            ways += [self._bound(tool, plan, record, values)] if record else []
        if missing:
            mixed = [
                _more(each, values) if isinstance(one, Unbound) else one
                for each, one in zip(plan.required, own, strict=True)
            ]
            found = [each for each in mixed if each is not None]
            ways += [self._bound(tool, plan, found, values)] if len(found) == len(mixed) else []
        return ways

    def _bound(self, tool: str, plan: _Plan, chosen: Sequence[_Chosen], values: SessionValues) -> Bound:
        every = sorted([*chosen, *plan.constants], key=itemgetter(0)) if plan.constants else chosen
        pick = _pick(tool, chosen, values)
        key = (tool, pick, frozenset([one.kind for one in chosen]))
        likely = self._chances.get(key)
        if likely is None:
            likely = chance(self.bindings, tool, pick, key[2]) if every else bare_chance(self.bindings, tool)
            self._chances[key] = likely
        return Bound(
            {one.name: one.value for one in every},
            pick,
            likely,
            tuple([Argument(one.name, one.kind, one.source) for one in every]),
        )

    def _by_name(self, tool: str, values: SessionValues) -> Bound | Unbound:
        """Bind a tool that training never called: each documented argument by its name."""
        if self._docs is None:
            return Unbound(Reason.NEVER_CALLED, tool)
        doc = self._docs.get(tool)
        if doc is None:
            return Unbound(Reason.UNKNOWN_ARGUMENTS, tool)
        if not doc.args:
            return Unbound(Reason.LOOKED_UP, tool) if values.calls_of(tool) else Bound({}, Pick.PICKED, 1.0)
        arguments: JsonObject = {}
        mentioned = True
        for name in sorted(doc.args):
            left = [each for each in _under(name, values) if each.value not in values.passed(tool, name)]
            if not left:
                return Unbound(Reason.NO_NAMED, tool, name)
            one = next((each for each in left if is_mentioned(each, values)), left[0])
            mentioned = mentioned and is_mentioned(one, values)
            arguments[name] = one.value
        origins = tuple(Argument(name, "name") for name in sorted(arguments))
        return Bound(arguments, Pick.PICKED if mentioned else Pick.NONE, share(0, 0), origins)


def likeliest(ways: Sequence[Bound | Unbound]) -> Bound | Unbound:
    """Of the ways to bind a lookup, the one with the likeliest arguments; why the first does not, if none does."""
    bound = [way for way in ways if isinstance(way, Bound)]
    return max(bound, key=attrgetter("chance")) if bound else ways[0]


def _by_count(counts: SourceCounts) -> list[Source]:
    return sorted(counts.usable(), key=lambda source: (-counts.found[source], source))


def _own(plan: _SlotPlan, values: SessionValues) -> _Chosen | Unbound:
    """One argument from its own sources."""
    if not plan.counted:
        return Unbound(Reason.NO_STRING, *plan.slot)
    if plan.is_list:
        return _list(plan, values) if plan.sources else Unbound(Reason.NO_LIST_SOURCE, *plan.slot)
    return _string(plan, values) if plan.sources else Unbound(Reason.NO_SOURCE, *plan.slot)


def _list(plan: _SlotPlan, values: SessionValues) -> _Chosen | Unbound:
    """The latest list that was not passed."""
    slot = plan.slot
    passed = values.passed(*slot)
    for listed in lists(slot, plan.sources, values):
        if listed.text not in passed:
            return _Chosen(slot.argument, listed.value, "list", listed.source, listed.mentioned)
    return Unbound(Reason.NO_LIST_LEFT, *slot)


def _string(plan: _SlotPlan, values: SessionValues) -> _Chosen | Unbound:
    """The first value the user mentioned, else the first, that was not passed."""
    slot = plan.slot
    passed = values.passed(*slot)
    order = plan.by_site.get(values.site or "")
    found = blocks(slot, order or plan.sources, values, ordered=order is not None)
    any_mentioned = False
    for block in found:
        for place in block.mentioned:
            any_mentioned = True
            if block.values[place] not in passed:
                return _of_block(slot, block, place, mentioned=True, any_mentioned=True)
    for block in found:
        for place, value in enumerate(block.values):
            if value not in passed:
                return _of_block(slot, block, place, mentioned=False, any_mentioned=any_mentioned)
    return Unbound(Reason.NOTHING_LEFT, *slot)


def _of_block(slot: Slot, block: Block, place: int, *, mentioned: bool, any_mentioned: bool) -> _Chosen:
    source = Source(block.tool, block.path)
    return _Chosen(slot.argument, block.values[place], "source", source, mentioned, any_mentioned, block.values)


def _more(plan: _SlotPlan, values: SessionValues) -> _Chosen | None:
    """One argument that its own sources do not give: derived, else from the user's words; None when neither gives it.

    Of the user's words, the one value with a learned shape that was not passed; when there are several, none.
    """
    slot = plan.slot
    passed = values.passed(*slot)
    if plan.derived:
        for text, value, source in derived_values(slot, plan.derived, values):
            if text not in passed:
                mentioned = isinstance(value, str) and values.mentions(value)
                return _Chosen(slot.argument, value, "derived", source, mentioned)
    if plan.shapes:
        left = [value for value in spoken_values(slot, plan.shapes, values) if value not in passed]
        if len(left) == 1:
            return _Chosen(slot.argument, left[0], "spoken")
    return None


def _of_one_record(tool: str, plan: _Plan, values: SessionValues) -> list[_Chosen] | None:
    """The arguments of the first record the user mentioned, else of the first, whose call was not made, if any."""
    found = together(tool, plan.records, values)
    left = [each for each in found if not _was_made(tool, each, values)]
    if not left:
        return None
    one = next((each for each in left if each.mentioned), left[0])
    any_mentioned = any(each.mentioned for each in found)
    return [
        _Chosen(name, value, "record", one.source, one.mentioned, any_mentioned)
        for name, value in sorted(one.arguments.items())
    ]


def _was_made(tool: str, one: Together, values: SessionValues) -> bool:
    """Whether a call with these arguments was made, whatever else it passed."""
    if not all(text in values.passed(tool, name) for name, text in one.texts):
        return False
    return any(
        all(name in call and as_text(call[name]) == text for name, text in one.texts) for call in values.calls_of(tool)
    )


def _under(name: str, values: SessionValues) -> Iterable[Found]:
    """The strings under a key of this name anywhere in the results, the latest first, in document order."""
    return (each for output in values.outputs() for each in output.under(name))


# --- what the pick says about the user ----------------------------------------------------------------------------


def _pick(tool: str, chosen: Sequence[_Chosen], values: SessionValues) -> Pick:
    unsaid = [one for one in chosen if not one.mentioned]
    if not unsaid:
        return Pick.PICKED
    if any(one.any_mentioned for one in unsaid):
        return Pick.OTHER
    if any(_is_described(Slot(tool, one.name), one, values) for one in unsaid):
        return Pick.DESCRIBED
    return Pick.NONE


def _is_described(slot: Slot, one: _Chosen, values: SessionValues) -> bool:
    """Whether, of the records in the same list that were read, one holds what the user gave and another does not."""
    passed = values.passed(*slot)
    read = [output for each in one.among if each != one.value and (output := passed.get(each))]
    if len({output.number for output in read}) < 2:  # noqa: PLR2004 - one that holds it and one that does not
        return False
    everywhere = frozenset.intersection(*(output.leaves for output in read))
    return any(values.gave(leaf) for output in read for leaf in output.leaves - everywhere)
