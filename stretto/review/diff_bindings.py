"""What changed in where lookups' arguments come from; a part of `stretto.review.diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.changes import Change, Section, is_moved
from stretto.review.show import bindings_of, orders_of
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.flow.model import Flow
    from stretto.review.changes import Fact
    from stretto.review.shown import BindingShown

__all__ = ["binding_changes"]


def binding_changes(old: Flow, new: Flow, tolerance: float) -> Iterator[Change]:
    """Changes of sources, arguments, chances, the order of sources, and constants.

    Args:
        old: the version before.
        new: the version that is to be served.
        tolerance: change of a chance from which on it is listed.
    """
    before = {one.lookup: one for one in bindings_of(old)}
    after = {one.lookup: one for one in bindings_of(new)}
    yield from _sources(before, after)
    yield from _arguments(before, after)
    yield from _chances(before, after, tolerance)
    yield from _orders(old, new)
    yield from _constants(old, new)


def _sources(before: Mapping[str, BindingShown], after: Mapping[str, BindingShown]) -> Iterator[Change]:
    for lookup in sorted({*before, *after}):
        was, now = _usable(before.get(lookup)), _usable(after.get(lookup))
        for facts in sorted(now - was):
            yield Change(Section.BINDINGS, "source_usable", True, _source_facts(lookup, facts))
        for facts in sorted(was - now):
            yield Change(Section.BINDINGS, "source_gone", False, _source_facts(lookup, facts))


def _arguments(before: Mapping[str, BindingShown], after: Mapping[str, BindingShown]) -> Iterator[Change]:
    """Arguments a lookup passes; with fewer of them it is another call, and may bind where it could not."""
    for lookup in sorted(before.keys() & after.keys()):
        was, now = _passed(before[lookup]), _passed(after[lookup])
        binds = all(one.constant or one.sources for one in after[lookup].arguments) or bool(after[lookup].records)
        for argument in sorted(was - now):
            yield Change(Section.BINDINGS, "argument_gone", binds, {"lookup": lookup, "argument": argument})
        for argument in sorted(now - was):
            yield Change(Section.BINDINGS, "argument_passed", False, {"lookup": lookup, "argument": argument})


def _usable(one: BindingShown | None) -> set[tuple[str, str, str, str]]:
    """What a lookup is bound from: argument, kind, tool and path; the argument of a record is empty."""
    if one is None:
        return set()
    sources = [
        (argument.argument, source)
        for argument in one.arguments
        if not argument.constant
        for source in argument.sources
    ]
    sources += [("", source) for source in one.records]
    return {(argument, source.kind, source.tool or "", source.path) for argument, source in sources}


def _source_facts(lookup: str, facts: tuple[str, str, str, str]) -> dict[str, Fact]:
    return {"lookup": lookup, **dict(zip(("argument", "kind", "tool", "path"), facts, strict=True))}


def _passed(one: BindingShown) -> set[str]:
    return {argument.argument for argument in one.arguments if argument.required}


def _chances(
    before: Mapping[str, BindingShown], after: Mapping[str, BindingShown], tolerance: float
) -> Iterator[Change]:
    for lookup in sorted(before.keys() & after.keys()):
        was, now = dict(_chances_of(before[lookup])), dict(_chances_of(after[lookup]))
        for of, chance in was.items():
            if of in now and is_moved(chance, now[of], tolerance):
                facts: dict[str, Fact] = {"lookup": lookup, "of": of, "before": chance, "after": now[of]}
                yield Change(Section.BINDINGS, "chance", False, facts)


def _chances_of(one: BindingShown) -> Iterator[tuple[str, float]]:
    yield from zip(("not mentioned", "mentioned"), one.chances, strict=True)
    if one.named_other:
        yield "another was named", one.named_other[2]
    if one.described_read:
        yield "the described one was read", one.described_read[2]
    if one.bare is not None:
        yield "without arguments", one.bare
    for kind, agreed in one.apart.items():
        for of, (hits, tries) in zip(("not mentioned", "mentioned"), agreed, strict=True):
            yield f"{kind}, {of}", (hits + 1) / (tries + 2)


def _orders(old: Flow, new: Flow) -> Iterator[Change]:
    before = {(one.lookup, one.argument, one.site): one.sources[0] for one in orders_of(old.bindings)}
    after = {(one.lookup, one.argument, one.site): one.sources[0] for one in orders_of(new.bindings)}
    for place in sorted({*before, *after}):
        was, now = (first.get(place, ("", "", 0))[:2] for first in (before, after))
        if was != now:
            facts = dict(zip(("lookup", "argument", "site"), place, strict=True))
            yield Change(
                Section.ORDERS,
                "first_source",
                False,
                {
                    **facts,
                    "before": " at ".join(was) if was[0] else None,
                    "after": " at ".join(now) if now[0] else None,
                },
            )


def _constants(old: Flow, new: Flow) -> Iterator[Change]:
    before, after = (
        {slot: jsonvalue.canonical(value).decode() for slot, value in flow.bindings.constants.items()}
        for flow in (old, new)
    )
    for slot in sorted({*before, *after}):
        was, now = before.get(slot), after.get(slot)
        if was != now:
            facts = {"lookup": slot.tool, "argument": slot.argument, "before": was, "after": now}
            yield Change(Section.CONSTANTS, "constant_gone" if now is None else "constant", now is not None, facts)
