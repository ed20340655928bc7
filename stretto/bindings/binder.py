"""Binding: fill a lookup's arguments from what a session has shown.

Not responsible for whether the lookup is worth making (`stretto.deciders`), nor for what is counted
(`stretto.bindings.survey`, `stretto.bindings.scoring`). What must survive changes: every value passed is one the
session holds, or a deterministic transform of one; nothing is made up, and no value is passed twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto._defaults import REQUIRED_SHARE
from stretto.bindings.chances import bare_chance, chance, share
from stretto.bindings.derive import derived
from stretto.bindings.model import Argument, Bound, Pick, Reason, Slot, Source, Unbound
from stretto.bindings.records import fields_of, records
from stretto.bindings.results import as_text
from stretto.bindings.spoken import shape_of, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from stretto.bindings.model import Bindings, SourceCounts
    from stretto.bindings.results import Found, Output
    from stretto.bindings.session import SessionValues
    from stretto.sessions.manifest import ToolDoc
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Binder", "likeliest"]

#: Kinds of arguments that the original has not.
_MORE: Final = ("derived", "spoken")

#: Values at a site before its own order of sources is used.
_SITE_VALUES: Final = 5

#: Characters of another field of the same record that, when the user wrote it, mean this record.
_LEAST_SIBLING: Final = 4


class _Chosen(NamedTuple):
    """One argument's value."""

    value: JsonValue
    kind: str
    source: Source | None = None
    mentioned: bool = True
    #: some value at the sources was mentioned, passed before or not
    any_mentioned: bool = False
    #: the values of the list it was taken from
    among: tuple[Found, ...] = ()


@dataclass(slots=True)
class _Plan:
    """What a tool's arguments are bound by."""

    required: list[_SlotPlan]
    constants: JsonObject
    records: list[Source]  # that hold every required argument
    tools: frozenset[str]  # whose results matter


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
        calls, args = bindings.args[tool]
        required = [self._slot_plan(Slot(tool, name)) for name in sorted(args) if args[name] >= REQUIRED_SHARE * calls]
        constants = {slot.argument: value for slot, value in sorted(bindings.constants.items()) if slot.tool == tool}
        counts = bindings.records.get(tool) if self._derive else None
        needed = {each.slot.argument for each in required} - constants.keys()
        together = [each for each in _by_count(counts) if fields_of(each.path).keys() == needed] if counts else []
        used = {source.tool for each in required for source in (*each.sources, *each.derived)}
        used |= {source.tool for source in together}
        return _Plan(required, constants, together, frozenset(used))

    def _slot_plan(self, slot: Slot) -> _SlotPlan:
        bindings = self.bindings
        listed = bindings.lists.get(slot)
        counts = listed or bindings.sources.get(slot)
        usable = counts.usable() if counts else []
        by_site: dict[str, list[Source]] = {}
        for (other, site), values in self._sites.items():
            if other == slot and not listed and sum(values.get(source, 0) for source in usable) >= _SITE_VALUES:
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

    def takes_strings(self, tool: str) -> bool:
        """Whether some required argument of a tool is bound from results, so that a pick can say something."""
        plan = self._plan(tool)
        return plan is not None and any(each.sources for each in plan.required)

    # --- binding ---

    def stamp(self, tool: str, values: SessionValues) -> tuple[object, ...]:
        """Equal for two moments of one session between which what `bind` answers for a tool cannot have changed.

        Cost: the number of tools its arguments come from.
        """
        plan = self._plan(tool)
        calls = len(values.calls_of(tool))
        if plan is None:
            return (values.count, values.heard, calls)
        seen = [output[-1].number if (output := values.outputs_of(name)) else -1 for name in sorted(plan.tools)]
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
        ways: list[Bound | Unbound] = [self._plain(tool, plan, values, more=False)]
        together = self._together(tool, plan, values) if plan.records else None
        if together:
            ways.append(together)
        if any(each.derived or each.shapes for each in plan.required):
            mixed = self._plain(tool, plan, values, more=True)
            if isinstance(mixed, Bound) and any(origin.kind in _MORE for origin in mixed.origins):
                ways.append(mixed)
        return ways

    def _plain(self, tool: str, plan: _Plan, values: SessionValues, *, more: bool) -> Bound | Unbound:
        """Fill each argument by itself; with ``more``, what has no source left is derived or spoken."""
        chosen: list[tuple[str, _Chosen]] = []
        for each in plan.required:
            name = each.slot.argument
            if name in plan.constants:
                continue
            one = self._value(each, values, more=more)
            if isinstance(one, Unbound):
                return one
            chosen.append((name, one))
        if not plan.required and values.calls_of(tool):
            return Unbound(Reason.LOOKED_UP, tool)
        return self._bound(tool, plan, chosen, values)

    def _bound(self, tool: str, plan: _Plan, chosen: Sequence[tuple[str, _Chosen]], values: SessionValues) -> Bound:
        constants = [(name, _Chosen(value, "constant")) for name, value in plan.constants.items()]
        every = sorted([*chosen, *constants], key=itemgetter(0))
        pick = _pick(tool, chosen, values)
        origins = tuple(Argument(name, one.kind, one.source) for name, one in every)
        arguments = {name: one.value for name, one in every}
        if arguments:
            likely = chance(self.bindings, tool, pick, {one.kind for _, one in chosen})
        else:
            likely = bare_chance(self.bindings, tool)
        return Bound(arguments, pick, likely, origins)

    def _together(self, tool: str, plan: _Plan, values: SessionValues) -> Bound | None:
        """Fill the arguments from the first record the user mentioned, else from the first whose call was not made."""
        first: dict[str, _Chosen] | None = None
        any_mentioned = False
        calls = values.calls_of(tool)
        for source in plan.records:
            for output in reversed(values.outputs_of(source.tool)):
                for arguments, record in records(source.path, output):
                    mentioned = values.heard > 0 and _says(record.values(), values)
                    any_mentioned = any_mentioned or mentioned
                    if (mentioned or first is None) and not _was_made(arguments, calls):
                        first = {name: _Chosen(value, "record", source, mentioned) for name, value in arguments.items()}
                        if mentioned:
                            return self._bound(tool, plan, list(first.items()), values)
        if first is None:
            return None
        chosen = [(name, one._replace(any_mentioned=any_mentioned)) for name, one in first.items()]
        return self._bound(tool, plan, chosen, values)

    def _value(self, plan: _SlotPlan, values: SessionValues, *, more: bool) -> _Chosen | Unbound:
        """One argument: from its sources; with ``more``, else derived, else from the user's words."""
        found = self._list(plan, values) if plan.is_list else self._string(plan, values)
        if isinstance(found, _Chosen) or not more:
            return found
        derived_one = self._derived(plan, values) if plan.derived else None
        return derived_one or (_spoken(plan.slot, plan.shapes, values) if plan.shapes else None) or found

    def _list(self, plan: _SlotPlan, values: SessionValues) -> _Chosen | Unbound:
        slot = plan.slot
        if not plan.sources:
            return Unbound(Reason.NO_LIST_SOURCE, *slot)
        passed = values.passed(*slot)
        for output, path in _by_recency(plan.sources, values):
            found = output.strings(path)
            listed: list[JsonValue] = [each.value for each in found]
            if listed and as_text(listed) not in passed:
                mentioned = all(values.mentions(each.value) for each in found)
                return _Chosen(listed, "list", Source(output.tool, path), mentioned)
        return Unbound(Reason.NO_LIST_LEFT, *slot)

    def _string(self, plan: _SlotPlan, values: SessionValues) -> _Chosen | Unbound:
        slot = plan.slot
        if not plan.counted:
            return Unbound(Reason.NO_STRING, *slot)
        if not plan.sources:
            return Unbound(Reason.NO_SOURCE, *slot)
        order = plan.by_site.get(values.site or "")
        places = _by_order(order, values) if order else _by_recency(plan.sources, values)
        passed = values.passed(*slot)
        first: tuple[Output, str, Found] | None = None
        any_mentioned = False
        for output, path in places:
            found = output.strings(path)
            if values.heard:
                for index in _mentioned(output, path, values):
                    any_mentioned = True
                    if found[index].value not in passed:
                        source = Source(output.tool, path)
                        return _Chosen(found[index].value, "source", source, any_mentioned=True, among=found)
            if first is None:
                first = next(((output, path, each) for each in found if each.value not in passed), None)
        if first is None:
            return Unbound(Reason.NOTHING_LEFT, *slot)
        output, path, one = first
        return _Chosen(
            one.value,
            "source",
            Source(output.tool, path),
            mentioned=False,
            any_mentioned=any_mentioned,
            among=output.strings(path),
        )

    def _derived(self, plan: _SlotPlan, values: SessionValues) -> _Chosen | None:
        passed = values.passed(*plan.slot)
        for source in plan.derived:
            for output in reversed(values.outputs_of(source.tool)):
                for value in derived(source.path, output):
                    if as_text(value) not in passed:
                        mentioned = isinstance(value, str) and values.mentions(value)
                        return _Chosen(value, "derived", source, mentioned)
        return None

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
            one = next((each for each in left if _is_mentioned(each, values)), left[0])
            mentioned = mentioned and _is_mentioned(one, values)
            arguments[name] = one.value
        origins = tuple(Argument(name, "name") for name in sorted(arguments))
        return Bound(arguments, Pick.PICKED if mentioned else Pick.NONE, share(0, 0), origins)


def likeliest(ways: Sequence[Bound | Unbound]) -> Bound | Unbound:
    """Of the ways to bind a lookup, the one with the likeliest arguments; why the first does not, if none does."""
    bound = [way for way in ways if isinstance(way, Bound)]
    return max(bound, key=attrgetter("chance")) if bound else ways[0]


def _by_count(counts: SourceCounts) -> list[Source]:
    return sorted(counts.usable(), key=lambda source: (-counts.found[source], source))


def _by_order(sources: Sequence[Source], values: SessionValues) -> Iterable[tuple[Output, str]]:
    return ((output, source.path) for source in sources for output in reversed(values.outputs_of(source.tool)))


def _by_recency(sources: Sequence[Source], values: SessionValues) -> Iterable[tuple[Output, str]]:
    paths: dict[str, list[str]] = {}
    for tool, path in sources:
        paths.setdefault(tool, []).append(path)
    if len(paths) == 1:
        outputs: Iterable[Output] = reversed(values.outputs_of(sources[0].tool))
    else:
        held = [output for tool in paths for output in values.outputs_of(tool)]
        outputs = sorted(held, key=attrgetter("number"), reverse=True)
    return ((output, path) for output in outputs for path in paths[output.tool])


def _mentioned(output: Output, path: str, values: SessionValues) -> Sequence[int]:
    """Places, among the strings at a path, of those the user mentioned; kept until they say more."""
    kept = output.marks.get(path)
    if kept is None or kept[0] != values.heard:
        found = output.strings(path)
        marked = [index for index, each in enumerate(found) if _is_mentioned(each, values)]
        kept = output.marks[path] = (values.heard, marked)
    return kept[1]


def _is_mentioned(found: Found, values: SessionValues) -> bool:
    """Whether the user wrote the value, or another field of the record that directly holds it."""
    if values.mentions(found.value):
        return True
    return found.record is not None and _says(found.record.values(), values)


def _says(fields: Iterable[object], values: SessionValues) -> bool:
    """Whether the user wrote one of these fields."""
    return any(isinstance(each, str) and len(each) >= _LEAST_SIBLING and values.mentions(each) for each in fields)


def _was_made(arguments: JsonObject, calls: Iterable[JsonObject]) -> bool:
    """Whether a call with these arguments was made, whatever else it passed."""
    return any(all(name in call and call[name] == value for name, value in arguments.items()) for call in calls)


def _spoken(slot: Slot, shapes: Collection[str], values: SessionValues) -> _Chosen | None:
    """The one value with a learned shape that the user wrote and nobody passed; None when there are several."""
    passed = values.passed(*slot)
    left = {
        token
        for message in values.messages
        for token in tokens(message)
        if shape_of(token) in shapes and token not in passed
    }
    return _Chosen(left.pop(), "spoken") if len(left) == 1 else None


def _under(name: str, values: SessionValues) -> Iterable[Found]:
    """The strings under a key of this name anywhere in the results, the latest first, in document order."""
    return (each for output in values.outputs() for each in output.under(name))


# --- what the pick says about the user ----------------------------------------------------------------------------


def _pick(tool: str, chosen: Sequence[tuple[str, _Chosen]], values: SessionValues) -> Pick:
    unsaid = [(name, one) for name, one in chosen if not one.mentioned]
    if not unsaid:
        return Pick.PICKED
    if any(one.any_mentioned for _, one in unsaid):
        return Pick.OTHER
    if any(_is_described(Slot(tool, name), one, values) for name, one in unsaid):
        return Pick.DESCRIBED
    return Pick.NONE


def _is_described(slot: Slot, one: _Chosen, values: SessionValues) -> bool:
    """Whether, of the records in the same list that were read, one holds what the user gave and another does not."""
    passed = values.passed(*slot)
    read = [output for each in one.among if each.value != one.value and (output := passed.get(each.value))]
    if len({output.number for output in read}) < 2:  # noqa: PLR2004 - one that holds it and one that does not
        return False
    everywhere = frozenset.intersection(*(output.leaves for output in read))
    return any(values.gave(leaf) for output in read for leaf in output.leaves - everywhere)
