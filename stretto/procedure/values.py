"""How values are taken out of outputs and put into arguments. Pure.

A value that is not there is told apart from null by a value of its own, `ABSENT`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stretto.procedure import atoms
from waggle.values import read_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.procedure.graph import Equal, Select
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = [
    "ABSENT",
    "Element",
    "count_of",
    "elements",
    "insert",
    "is_absent",
    "is_nothing",
    "pick",
    "resolve_elements",
]

#: Stands for a value that is not there; a list object of its own, told by identity.
ABSENT: Final[JsonValue] = ["\0absent"]


def is_absent(value: JsonValue) -> bool:
    """Whether a value is not there."""
    return value is ABSENT


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a list.

    Attributes:
        whole: it.
        value: what stands in it at the place that is asked for.
    """

    whole: JsonValue
    value: JsonValue


def elements(output: JsonValue, path: str) -> list[tuple[str, Element]]:
    """The elements of the innermost list of a general path, with the exact paths of the values asked for.

    Args:
        output: of a step.
        path: with ``[*]`` in it.
    """
    outer, _, inner = path.rpartition("[*]")
    found = []
    for where, whole in atoms.read_general(output, f"{outer}[*]"):
        found += [
            (f"{where}{exact[1:]}", Element(whole, value)) for exact, value in atoms.read_general(whole, f"${inner}")
        ]
    return found


def is_nothing(output: object) -> bool:
    """Whether an output says that nothing was found: null, an empty value, or an object with one empty list alone."""
    if output is None or output in ("", [], {}):
        return not isinstance(output, bool)
    return isinstance(output, dict) and list(output.values()) == [[]]


def count_of(value: JsonValue) -> str:
    """How many elements a list has, as guards tell it: ``0``, ``1`` or ``many``."""
    number = len(value) if isinstance(value, list) else 0
    return str(number) if number < 2 else "many"  # noqa: PLR2004 - from two on, it is many


def resolve_elements(output: JsonValue, path: str) -> list[tuple[str, JsonValue]]:
    """The values of a general path, one an element, with their exact paths."""
    return [(exact, element.value) for exact, element in elements(output, path)]


def pick(
    output: JsonValue,
    path: str,
    select: Select,
    inputs: Mapping[str, JsonValue],
    arguments: Mapping[str, JsonObject],
) -> list[JsonValue] | int:
    """The value of the one element that a selection chooses, in a list of one; else how many fit.

    Args:
        output: of a step.
        path: general.
        select: the rule; not ``each``.
        inputs: of the procedure.
        arguments: of the calls that were made, by node.
    """
    found = [element for _, element in elements(output, path)]
    if select.kind in ("first", "last") and found:
        return [found[0 if select.kind == "first" else -1].value]
    if select.kind == "where" and select.equal is not None:
        fits = [
            element
            for element in found
            if any(_equals(value, select.equal, inputs, arguments) for _, value in _field(element.whole, select.field))
        ]
        return [fits[0].value] if len(fits) == 1 else len(fits)
    return [found[0].value] if len(found) == 1 else len(found)


def _field(whole: JsonValue, path: str) -> list[tuple[str, JsonValue]]:
    found = atoms.read_general(whole, path)
    return found if len(found) == 1 else []


def _equals(
    value: JsonValue, equal: Equal, inputs: Mapping[str, JsonValue], arguments: Mapping[str, JsonObject]
) -> bool:
    if equal.constant is not None:
        return any(atoms.same(value, each) for each in equal.constant)
    if equal.argument is not None:
        node, path = equal.argument
        given = atoms.read_general(arguments.get(node, {}), path)
        return len(given) == 1 and atoms.same(value, given[0][1])
    wanted = inputs.get(equal.input or "")
    # Said by a person, so spelled in any case; the element's own spelling is what is used.
    return wanted is not None and bool(atoms.fold(atoms.shown(value))) and _folded(value) == _folded(wanted)


def _folded(value: JsonValue) -> str:
    return atoms.fold(atoms.shown(value))


def insert(values: Mapping[str, JsonValue]) -> JsonObject:
    """Arguments from values at exact paths; the elements of a list in the order of their indices, without gaps.

    Raises:
        ValueError: a path is none, or contradicts another.
    """
    root = _Tree()
    for path, value in values.items():
        node = root
        steps = read_path(path.removeprefix("$"))
        if not path.startswith("$") or not steps or isinstance(steps[0], int):
            raise ValueError(f"{path!r} is no path of an argument")
        for step in steps:
            node = node.below.setdefault(step, _Tree())
        node.leaves.append(value)
    made = root.value("$")
    return made if isinstance(made, dict) else {}


@dataclass
class _Tree:
    below: dict[str | int, _Tree] = field(default_factory=dict)
    leaves: list[JsonValue] = field(default_factory=list)

    def value(self, path: str) -> JsonValue:
        names = [step for step in self.below if isinstance(step, str)]
        indices = sorted(step for step in self.below if isinstance(step, int))
        if len(self.leaves) + bool(names) + bool(indices) > 1:
            raise ValueError(f"{path} has two values")
        if self.leaves:
            return self.leaves[0]
        if indices:
            return [self.below[index].value(f"{path}[{index}]") for index in indices]
        return {name: self.below[name].value(f"{path}.{name}") for name in names}
