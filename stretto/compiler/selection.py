"""Which element of a list an argument was taken from, where the list's producer is proven. Pure.

That a list is where a value comes from says nothing of the choice among its elements. A choice is understood only when
one rule holds in every trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stretto.compiler.binding import Equal, Selection, SelectionKind
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from stretto.procedure.values import Element
    from waggle.jsonvalue import JsonValue

__all__ = ["Case", "select"]


@dataclass(frozen=True)
class Case:
    """What one trace shows of a choice. What is found out of it is kept.

    Attributes:
        elements: of the list, in order.
        chosen: number of the one that was taken.
        said: tells whether the user had said a value.
        arguments: of earlier steps, by the step's key and the exact path.
    """

    elements: tuple[Element, ...]
    chosen: int
    said: Callable[[JsonValue], bool]
    arguments: Mapping[tuple[str, str], JsonValue] = field(default_factory=dict)
    _fields: dict[str, tuple[JsonValue, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _told: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def fields(self, path: str) -> tuple[JsonValue, ...]:
        """The value of a field of each element; None where it has none."""
        found = self._fields.get(path)
        if found is None:
            each = (atoms.read_general(element.whole, path) for element in self.elements)
            found = self._fields[path] = tuple(values[0][1] if len(values) == 1 else None for values in each)
        return found

    @cached_property
    def scalars(self) -> frozenset[str]:
        """The fields of the chosen element that hold a scalar, none in lists."""
        whole = self.elements[self.chosen].whole
        return frozenset(path for path, value in atoms.atoms(whole) if "[" not in path and value is not None)

    def is_told(self, path: str) -> bool:
        """Whether the user had said a field of the chosen element, and of no other."""
        found = self._told.get(path)
        if found is None:
            found = self._told[path] = self.singles_out(path, self.said)
        return found

    def singles_out(self, path: str, fits: Callable[[JsonValue], bool]) -> bool:
        """Whether a field of the chosen element fits, and of no other."""
        return [number for number, value in enumerate(self.fields(path)) if fits(value)] == [self.chosen]


def select(cases: Sequence[Case], *, constant_min: int) -> Selection:
    """The rule that holds in all cases; a `SelectionKind.CHOICE` when none does.

    A field that singles out the element is preferred to a list of one, and both to a place in the list.

    Args:
        cases: one a trace; at least one.
        constant_min: cases with two elements or more that it takes to believe that a field has to be a constant.
    """
    where = next(_wheres(cases, constant_min), None)
    if where is not None:
        return where
    if all(len(case.elements) == 1 for case in cases):
        return Selection(SelectionKind.ONLY)
    lengths = [len(case.elements) for case in cases if len(case.elements) > 1]
    if len(lengths) >= _PLACE_TRACES and len(set(lengths)) > 1:
        if all(case.chosen == 0 for case in cases):
            return Selection(SelectionKind.FIRST)
        if all(case.chosen == len(case.elements) - 1 for case in cases):
            return Selection(SelectionKind.LAST)
    return Selection(SelectionKind.CHOICE)


#: Traces with lists of two or more, of at least two lengths, that it takes to believe in ``first`` or ``last``.
_PLACE_TRACES: Final = 3


def _wheres(cases: Sequence[Case], constant_min: int) -> Iterator[Selection]:
    if all(len(case.elements) == 1 for case in cases):
        return  # nothing was ever chosen
    fields = _fields(cases)
    for path in fields:
        if all(case.is_told(path) for case in cases):
            yield Selection(SelectionKind.WHERE, path, Equal(said=path.rpartition(".")[2] or "item"))
    for path in fields:
        for place in sorted(set.intersection(*(set(case.arguments) for case in cases))):
            if len({atoms.key(case.arguments[place]) for case in cases}) > 1 and all(
                case.singles_out(path, _equals(case.arguments[place])) for case in cases
            ):
                yield Selection(SelectionKind.WHERE, path, Equal(argument=place))
    if sum(len(case.elements) > 1 for case in cases) < constant_min:
        return  # of one element, any field would do
    constants = [
        (path, value)
        for path in fields
        for value in [cases[0].fields(path)[cases[0].chosen]]
        if all(case.singles_out(path, _equals(value)) for case in cases)
    ]
    if len(constants) == 1:  # with several, nothing says which of them is the reason
        path, value = constants[0]
        yield Selection(SelectionKind.WHERE, path, Equal(constant=(value,)))


def _equals(value: JsonValue) -> Callable[[JsonValue], bool]:
    wanted = atoms.key(value)
    return lambda other: atoms.key(other) == wanted


def _fields(cases: Sequence[Case]) -> list[str]:
    """The fields that all chosen elements have and that hold a scalar, shortest first; none inside of lists."""
    return sorted(frozenset.intersection(*(case.scalars for case in cases)), key=lambda path: (path.count("."), path))
