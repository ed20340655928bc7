"""Fan-out: one call for each element of a list, each order of a user, each line of a customer.

A call **starts** a list when it passes one of several values that stand at one place of an earlier result, and none of
the others was passed as this argument to this tool before; it **continues** the list when one was. Later elements are
where turns are, and where a flow that does not know when to stop makes its detours, so both are counted apart.

In a result that is JSON a place is a path; in one of lines it is what the lines begin with, ``- `` or ``name: `` as in
YAML.
"""

from __future__ import annotations

import re
from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stretto.bindings.results import Output
    from stretto.review.record import Record
    from waggle.jsonvalue import JsonValue

__all__ = ["Element", "Lists", "elements"]


class Element(StrEnum):
    """Which element of a list is passed."""

    NONE = "none"  #: no list of several values holds an argument
    FIRST = "first"  #: it starts a list
    LATER = "later"  #: it continues one


class Lists:
    """The lists a session has shown, and which of their elements were passed."""

    def __init__(self) -> None:
        self._outputs: list[Output] = []
        self._listed: dict[int, dict[str, set[str]]] = {}  # by place in it: for each value of its lines, its list
        self._passed: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def show(self, output: Output) -> None:
        """Take in a successful result."""
        self._outputs.append(output)

    def take(self, tool: str, arguments: JsonValue) -> Element:
        """Say which element a call passes, and note that it was passed.

        A call that continues a list with one argument and starts one with another continues a list. A value is looked
        for in the latest result that holds it, at its first place there.
        """
        if not isinstance(arguments, dict):
            return Element.NONE
        found = Element.NONE
        for name, value in arguments.items():
            if not isinstance(value, str):
                continue
            passed = self._passed[tool, name]
            others = self._others(value)
            if not others.isdisjoint(passed):
                found = Element.LATER
            elif others and found is Element.NONE:
                found = Element.FIRST
            passed.add(value)
        return found

    def _others(self, value: str) -> set[str]:
        """The other values at the place where a value stands, empty where that is no list."""
        for number in range(len(self._outputs) - 1, -1, -1):
            output = self._outputs[number]
            path = output.path_of(value)
            if path is not None:
                return {each.value for each in output.strings(path)} - {value} if "[*]" in path else set()
            if value in output.text and isinstance(output.value, list):
                if number not in self._listed:
                    self._listed[number] = _listed(output.value)
                if value in self._listed[number]:
                    return self._listed[number][value] - {value}
        return set()


#: What a line of YAML begins with, as far as it is the same for all elements of a list, and the value after it.
_LINE: Final = re.compile(r"(?:- )?([\w -]+: |)(['\"]?)(.+)\2")


def _listed(lines: list[JsonValue]) -> dict[str, set[str]]:
    """For each value that a line ends with, the values of all lines that begin alike."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    listed: dict[str, set[str]] = {}
    for line in lines:
        found = _LINE.fullmatch(line) if isinstance(line, str) else None
        if found:
            place = places[found[1]]
            place.add(found[3])
            listed.setdefault(found[3], place)
    return listed


def elements(record: Record) -> list[Element]:
    """For each turn of a session, in order, whether it starts a list, continues one, or neither.

    Only turns whose calls all read count. One of several calls starts a list when one of the calls does. The results of
    a turn's own calls are not known to it.
    """
    lists = Lists()
    found: list[Element] = []
    for turn in record.turns:
        taken = {lists.take(call.call.name, call.call.arguments) for call in turn.calls}
        reads = all(call.kind == "read" for call in turn.calls)
        found.append(next((each for each in (Element.FIRST, Element.LATER) if each in taken and reads), Element.NONE))
        for call in turn.calls:
            if call.place in record.outputs:
                lists.show(record.outputs[call.place])
    return found
