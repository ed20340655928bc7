"""Values in arguments and outputs of BFCL's calls: where they stand, and others of their kind. Pure."""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple, TypeAlias

from benchmarks.compiler.bfcl_package import said

#: A value that is no list and no object; None among them.
Scalar: TypeAlias = Any


class Place(NamedTuple):
    """Where an output shows a value: as it ``is``, as a number's ``text``, a list's texts ``joined``, or ``inside``."""

    how: str
    path: str


def atoms(value: Any, path: str = "$") -> list[tuple[str, Any]]:
    """The scalars of a value with their paths."""
    if isinstance(value, dict):
        return [each for name in sorted(value) for each in atoms(value[name], f"{path}.{name}")]
    if isinstance(value, list | tuple):
        return [each for number, item in enumerate(value) for each in atoms(item, f"{path}[{number}]")]
    return [(path, value)]


def put(args: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The same arguments with another value at a path."""
    made = copy.deepcopy(args)
    node: Any = made
    steps = [int(index) if index else name for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", path)]
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = value
    return made


def shows(output: Any, value: Any) -> list[Place]:
    """Where an output shows a value."""
    exact = [
        Place("is", path)
        for path, each in atoms(output)
        if each == value
        and isinstance(each, bool) == isinstance(value, bool)
        and isinstance(each, str) == isinstance(value, str)
    ]
    if exact:
        return exact
    if isinstance(value, str):
        joined = [Place("joined", path) for path, each in lists(output).items() if value == ", ".join(each)]
        numbers = [
            Place("text", path)
            for path, each in atoms(output)
            if not isinstance(each, str | bool) and str(each) == value
        ]
        if joined or numbers:
            return joined or numbers
    return [Place("inside", path) for path, each in atoms(output) if isinstance(each, str) and said(value, each)]


def lists(value: Any, path: str = "$") -> dict[str, list[str]]:
    """The lists of two texts or more in a value, by their paths."""
    if isinstance(value, dict):
        return {key: each for name, item in value.items() for key, each in lists(item, f"{path}.{name}").items()}
    if isinstance(value, list):
        whole = {path: value} if len(value) > 1 and all(isinstance(each, str) for each in value) else {}
        below = [lists(item, f"{path}[{number}]") for number, item in enumerate(value)]
        return whole | {key: each for found in below for key, each in found.items()}
    return {}


def others(value: Any, output: Any) -> list[Any]:
    """Values of the same kind as another: some of the same output, and some that nobody has."""
    same = [each for _, each in atoms(output) if type(each) is type(value) and each != value][:3]
    if isinstance(value, str):
        return [*same, f"no-{value[::-1]}-"]
    return [*same, value * 3 + 7919, value // 3 if isinstance(value, int) else value * 0.3]


def there(place: Place, output: Any, value: Scalar, same: str) -> Scalar:
    """What stands where a value stood, of its type; of a list's members, whose places change, only a number."""
    found: Scalar = dict(atoms(output)).get(place.path)
    made: Scalar = None
    if place.how == "joined" and place.path in lists(output):
        made = ", ".join(lists(output)[place.path])
    elif place.how == "text" and found is not None:
        made = str(found)
    elif place.how == "is" and _is_number(value) and _is_number(found):
        made = float(found) if isinstance(value, float) else found
    elif place.how == "is" and isinstance(value, str) and isinstance(found, str) and "[" not in place.path:
        made = found
    elif place.how == "inside" and not isinstance(value, str) and isinstance(found, str) and said(same, found):
        made = type(value)(same)
    return made


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
