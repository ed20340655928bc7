"""The pure functions by which an argument may have been made of an earlier value: a closed registry. Pure.

Each has a name, a version and a domain; outside of its domain it gives None. There are no chains: chains fit anything.
An installed package may add more, as entry points of the group `GROUP`, each a `Registered`; the compiler and whoever
runs a procedure find them alike.
``template`` stands for fixed text around one value and is found by comparing traces, not by trying.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.errors import UsageError
from waggle.transforms import TRANSFORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = [
    "GROUP",
    "TEMPLATE",
    "Registered",
    "fill_template",
    "registry",
    "template_of",
    "transform",
    "transformed",
]

Function: TypeAlias = "Callable[[JsonValue], JsonValue]"

#: Name of the transform that puts fixed text around a value.
TEMPLATE: Final = "template"


@dataclass(frozen=True, slots=True)
class Registered:
    """One transform.

    Attributes:
        name: of it.
        function: pure; None for a value outside of its domain.
        version: changes when the function does: a procedure names it.
        of_lists: whether it takes a list; all others take a scalar.
    """

    name: str
    function: Function
    version: int = 1
    of_lists: bool = False


_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d")


def _date_of(value: JsonValue) -> JsonValue:
    found = _DATE.match(value) if isinstance(value, str) else None
    return found[1] if found else None


def _cents(value: JsonValue) -> JsonValue:
    if not isinstance(value, float) or abs(value) > 1e12:  # noqa: PLR2004 - beyond it cents are not exact
        return None
    cents = round(value * 100)
    return cents if abs(value * 100 - cents) < 1e-6 else None  # noqa: PLR2004 - as exact as a float is there


def _url_last(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or "://" not in value:
        return None
    return value.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or None


def _count(value: JsonValue) -> JsonValue:
    return len(value) if isinstance(value, list) else None


def _join_comma(value: JsonValue) -> JsonValue:
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(each, str) for each in value):  # noqa: PLR2004
        return None
    return ", ".join(str(each) for each in value)


#: The group of entry points by which a package adds transforms.
GROUP: Final = "stretto.transforms"

_BUILT_IN: Final[Mapping[str, Registered]] = {
    each.name: each
    for each in (
        Registered("to_str", TRANSFORMS["to-text"].function),
        Registered("to_int", TRANSFORMS["to-number"].function),
        Registered("cents", _cents),
        Registered("lower", TRANSFORMS["lower"].function),
        Registered("strip", TRANSFORMS["strip"].function),
        Registered("basename", TRANSFORMS["basename"].function),
        Registered("dirname", TRANSFORMS["dirname"].function),
        Registered("date_of", _date_of),
        Registered("url_last", _url_last),
        Registered("join_comma", _join_comma, of_lists=True),
        Registered("count", _count, of_lists=True),
    )
}


@cache
def registry() -> Mapping[str, Registered]:
    """The transforms, by name, in the order in which they are tried: those of packages last, by their names.

    Raises:
        UsageError: what a package adds is no transform, or has the name of another one.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and most never need it

    found = dict(_BUILT_IN)
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        added = point.load()
        if not isinstance(added, Registered):
            raise UsageError(f"{point.value}: what {GROUP} names has to be a Registered")
        if added.name in found or added.name == TEMPLATE:
            raise UsageError(f"{point.value}: there is a transform {added.name} already")
        found[added.name] = replace(added, function=partial(_guarded, added.function))
    return found


def transformed(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """What the transforms make of a value, by name, in the order of `registry`; none that leaves it as it is."""
    for each in registry().values():
        if each.of_lists == isinstance(value, list):
            made = each.function(value)
            if made is not None and (made != value or type(made) is not type(value)):
                yield each.name, made


def transform(name: str, value: JsonValue, *, before: str = "", after: str = "") -> JsonValue:
    """Apply a transform; None outside of its domain.

    Args:
        name: in `registry`, or `TEMPLATE`.
        value: what it is applied to.
        before: text in front, of a template.
        after: text behind, of a template.

    Raises:
        ValueError: there is no such transform.
    """
    if name == TEMPLATE:
        return fill_template(value, before, after)
    if name not in registry():
        raise ValueError(f"no such transform: {name!r}")
    return registry()[name].function(value)


def _guarded(function: Function, value: JsonValue) -> JsonValue:
    try:
        return function(value)
    except Exception:  # noqa: BLE001 - a package's function: what it fails on is outside of its domain
        return None


def fill_template(value: JsonValue, before: str, after: str) -> str | None:
    """Fixed text around a text or an integer: put together once, and never searched again; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return f"{before}{value}{after}"


def template_of(pairs: list[tuple[JsonValue, JsonValue]]) -> tuple[str, str] | None:
    """The fixed text around a value that makes each source into its target; None when there is none, or it is empty.

    Args:
        pairs: sources with targets; at least one.
    """
    first_source, first_target = pairs[0]
    if not isinstance(first_target, str) or fill_template(first_source, "", "") in (None, ""):
        return None
    text = str(first_source)
    at = first_target.find(text)
    while at >= 0:
        before, after = first_target[:at], first_target[at + len(text) :]
        if (before or after) and all(fill_template(source, before, after) == target for source, target in pairs):
            return before, after
        at = first_target.find(text, at + 1)
    return None
