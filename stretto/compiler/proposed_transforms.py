"""Transforms that an adviser proposes, and what they have to pass. Pure.

The compiler itself tries every transform on what stands outside of lists, and on inputs. A proposal reaches the only
element of a list, too. What it has to pass is the same: the transform is a registered one and gives the argument's
value in all traces, of two different sources or more, and no other transform of any other value does the same, be it
of an element among many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.compiler.binding import Binding, BindingClass, Selection, SelectionKind, Source
from stretto.compiler.model import Unlogged
from stretto.compiler.tracing import EXACT
from stretto.procedure import atoms
from stretto.procedure.transforms import registry, transformed
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.compiler.advising import Place
    from stretto.compiler.seen import Seen
    from waggle.jsonvalue import JsonValue

__all__ = ["Fitting", "fault_of_transform", "fitting", "proposed_binding"]

#: Values of one output that transforms are tried on, as in `stretto.compiler.tracing`.
_TRIED: Final = 5000

#: A place and the name of a transform; an input's place has no step.
_Made: TypeAlias = "tuple[Place, str]"


@dataclass(frozen=True, slots=True)
class Fitting:
    """What transforms make of earlier values, where that is an argument's value in every trace.

    Attributes:
        made: the transforms, with where their sources stand.
        sources: the places among them where every trace has one value alone, with these values.
        targets: the argument's values, in the order of the sources.
    """

    made: frozenset[_Made]
    sources: dict[Place, list[JsonValue]]
    targets: list[JsonValue]


def fitting(seen: Sequence[Seen]) -> Fitting | None:
    """What fits an argument in all traces in which it is present; None where a transform must not be looked for.

    That is where an output holds the value as it is, where the user said it, and where it is masked.
    """
    if not seen or any(each.user_said or is_masked(each.value) or _is_exact(each) for each in seen):
        return None
    tried = [list(_tried(each)) for each in seen]
    made = frozenset.intersection(*(_made(each, values) for each, values in zip(seen, tried, strict=True)))
    alone = [_alone(values) for values in tried]
    places = sorted({place for place, _ in made if place[0] and all(place in each for each in alone)})
    return Fitting(made, {place: [each[place] for each in alone] for place in places}, [each.value for each in seen])


def _is_exact(seen: Seen) -> bool:
    return any(candidate.match == EXACT for candidate in seen.judged.argument.candidates)


def _tried(seen: Seen) -> Iterator[tuple[Place, JsonValue]]:
    """The scalars in outputs of earlier steps, in lists or not, each with its step and general path."""
    run, call = seen.run, seen.judged.argument.call
    for step in run.steps:
        output = run.output(step.key)
        if step.last.precedes(call) and not isinstance(output, Unlogged):
            for path, value in islice(atoms.nodes(output), _TRIED):
                if not isinstance(value, dict | list):
                    yield (step.key, atoms.general(path)), value


def _made(seen: Seen, tried: list[tuple[Place, JsonValue]]) -> frozenset[_Made]:
    outside = {((step, path), name) for step, path, name in seen.transforms}
    inside = {
        (place, name) for place, value in tried for name, made in transformed(value) if atoms.key(made) == seen.key
    }
    return frozenset(outside | inside)


def _alone(tried: list[tuple[Place, JsonValue]]) -> dict[Place, JsonValue]:
    counts = Counter(place for place, _ in tried)
    return {place: value for place, value in tried if counts[place] == 1}


def fault_of_transform(found: Fitting, place: Place, name: str) -> str:
    """Why a proposed transform of what is at a place does not stand; empty where it does."""
    if name not in registry():
        return "there is no such transform"
    if (place, name) not in found.made or place not in found.sources:
        return f"it does not make the value of what is at {_says(place)} in all traces"
    others = sorted(found.made - {(place, name)})
    if others:
        return f"{others[0][1]} of {_says(others[0][0])} does the same"
    if len({atoms.key(value) for value in found.sources[place]}) < _SOURCES:
        return f"fewer than {_SOURCES} different values were seen"
    return ""


#: Different sources that it takes to believe in a transform.
_SOURCES: Final = 2


def _says(place: Place) -> str:
    return f"{place[0]} {place[1]}" if place[0] else f"input {place[1]}"


def proposed_binding(binding: Binding, seen: Sequence[Seen], proposed: tuple[Place, str]) -> Binding:
    """An open argument bound to the transform that was proposed for it, where that stands in these traces."""
    place, name = proposed
    found = fitting(seen)
    if binding.optional or found is None or fault_of_transform(found, place, name):
        return binding
    step, path = place
    only = Selection(SelectionKind.ONLY) if "[*]" in path else None
    source = Source(step, path, only)
    return Binding(
        binding.step, binding.path, BindingClass.TRANSFORM, (source,), transform=name, support=binding.support
    )
