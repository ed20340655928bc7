"""The part of a flow file that says where arguments come from.

As `stretto.flow.reader_parts`: a part in its form and its JSON path in, `FlowError` with the path of what does not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.bindings.derive import parse
from stretto.bindings.model import Bindings, Pick, Slot, Source, SourceCounts, SpokenCounts
from stretto.bindings.uses import UseCounts, UseKey, Uses
from stretto.contents import field_path
from stretto.flow.reader_parts import fault, same, shown, table
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.bindings.model import Agreed
    from stretto.flow.schema import BindingsForm, FoundForm, SpokenForm, UseForm
    from waggle.jsonvalue import JsonValue

__all__ = ["read_bindings", "read_uses"]

_CONSTANT_DEPTH: Final = 50  #: nesting of a constant argument


def read_bindings(form: BindingsForm, at: str) -> Bindings:
    """Where arguments come from."""
    found = Bindings(
        args={
            tool: (calls, _within(counts, calls, f"{field_path((tool,), f'{at}.args')}[1]"))
            for tool, (calls, counts) in form.args.items()
        },
        sources=table(form.sources, f"{at}.sources", _slot, _found),
        agreed=_agreed(form.agreed, f"{at}.agreed"),
        named_other=_picks(form.named_other, f"{at}.named_other"),
        described_read=_picks(form.described_read, f"{at}.described_read"),
        lists=table(form.lists or (), f"{at}.lists", _slot, _found),
        bare=dict(form.bare or {}),
        constants=table(form.constants or (), f"{at}.constants", _slot, _json),
        derived=table(form.derived or (), f"{at}.derived", _slot, _derived),
        spoken=table(form.spoken or (), f"{at}.spoken", _slot, _spoken),
        records={
            tool: _derived(counts, field_path((tool,), f"{at}.records"))
            for tool, counts in (form.records or {}).items()
        },
        agreed_derived=_agreed(form.agreed_derived, f"{at}.agreed_derived"),
        agreed_spoken=_agreed(form.agreed_spoken, f"{at}.agreed_spoken"),
        agreed_record=_agreed(form.agreed_record, f"{at}.agreed_record"),
    )
    for place, one in enumerate(form.site_sources or ()):
        key = Slot(one.tool, one.arg), one.site, Source(*one.source)
        if key in found.site_sources:
            raise fault(f"{at}.site_sources[{place}]", "stands here a second time")
        found.site_sources[key] = one.values
    for tool, bare in found.bare.items():
        if bare > found.args.get(tool, (-1,))[0]:
            raise fault(field_path((tool,), f"{at}.bare"), "more than the calls of the tool in $.bindings.args")
    return found


def read_uses(forms: Sequence[UseForm], at: str) -> Uses:
    """How often lookups that could have been made would have been used."""
    found: dict[UseKey, UseCounts] = {}
    for place, one in enumerate(forms):
        key = UseKey(one.tool, one.failed, one.lookup, one.kind, Pick(one.pick), one.stage)
        if key in found:
            raise fault(f"{at}[{place}]", "stands here a second time")
        used = _at_most(one.used, one.weighed, f"{at}[{place}].used")
        if one.companions < used:
            raise fault(f"{at}[{place}].companions", f"expected {used} or more: each use has a call of its own")
        found[key] = UseCounts(used, one.weighed, one.companions)
    return Uses(found)


def _slot(names: tuple[str, str], _: str) -> Slot:
    return Slot(*names)


def _source(names: tuple[str, str], _: str) -> Source:
    return Source(*names)


def _found(form: FoundForm, at: str) -> SourceCounts:
    def count(number: int, where: str) -> int:
        return _at_most(number, form.values, where)

    return SourceCounts(form.values, table(form.found, f"{at}.found", _source, count))


def _derived(form: FoundForm, at: str) -> SourceCounts:
    counts = _found(form, at)
    for place, ((_, path), _) in enumerate(form.found):
        if parse(path) is None:
            raise fault(f"{at}.found[{place}][0][1]", f"{shown(path)} is no path with a transform")
    return counts


def _spoken(form: SpokenForm, at: str) -> SpokenCounts:
    def count(number: int, where: str) -> int:
        return _at_most(number, form.values, where)

    return SpokenCounts(form.values, table(form.shapes, f"{at}.shapes", same, count))


def _at_most(number: int, most: int, at: str) -> int:
    if number > most:
        raise fault(at, f"expected at most {most}, of which it is a part")
    return number


def _within(counts: Mapping[str, int], most: int, at: str) -> dict[str, int]:
    return {name: _at_most(count, most, field_path((name,), at)) for name, count in counts.items()}


def _agreed(form: Mapping[str, Agreed] | None, at: str) -> dict[str, Agreed]:
    for tool, sides in (form or {}).items():
        for place, (agreed, tried) in enumerate(sides):
            _at_most(agreed, tried, f"{field_path((tool,), at)}[{place}][0]")
    return dict(form or {})


def _picks(form: Mapping[str, tuple[int, int]] | None, at: str) -> dict[str, tuple[int, int]]:
    for tool, (used, picks) in (form or {}).items():
        _at_most(used, picks, f"{field_path((tool,), at)}[0]")
    return dict(form or {})


def _json(value: JsonValue, at: str) -> JsonValue:
    if _depth(value) > _CONSTANT_DEPTH:
        raise fault(at, f"nested more than {_CONSTANT_DEPTH} deep")
    try:
        jsonvalue.canonical(value)
    except (TypeError, ValueError):
        raise fault(at, "not a JSON value") from None
    return value


def _depth(value: JsonValue) -> int:
    """Lists and objects in one another; looked at no deeper than one beyond the limit."""
    inner: list[JsonValue] = [value]
    for depth in range(_CONSTANT_DEPTH + 1):
        inner = [
            part
            for each in inner
            if isinstance(each, list | dict)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not inner:
            return depth
    return _CONSTANT_DEPTH + 1
