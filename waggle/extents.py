"""What the answer to a read covers: the one relation behind "already made", "used" and "stale".

A read of lines 40 to 120 answers a later read of lines 60 to 90 of the same file until something is written, and so do
two reads that cover them together. Pure.
"""

from __future__ import annotations

import math
import posixpath
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from waggle.calls import part_of, tool_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from waggle.calls import Step
    from waggle.jsonvalue import JsonValue
    from waggle.tools import Kind, ToolTable

__all__ = ["Coverage", "Extent", "Extents", "Shown", "resolved"]


class Extent(NamedTuple):
    """What one read returns: a resource, and which lines of it (all of them for a read without a range).

    Attributes:
        resource: equal for two reads of the same thing.
        first: first line.
        last: last line, infinite for all that follow.
        numbered: line numbers are shown; an answer without them does not stand for one with them.
    """

    resource: Hashable
    first: float = -math.inf
    last: float = math.inf
    numbered: bool = False

    def covers(self, other: Extent) -> bool:
        """Whether an answer with this extent also answers a call with the other."""
        return (
            self.resource == other.resource
            and self.first <= other.first
            and other.last <= self.last
            and self.numbered >= other.numbered
        )


class Shown(NamedTuple):
    """What a call shows, as far as it is understood.

    Attributes:
        kind: of a command that shows several things, the first of search, list, lines, status that is among them.
        path: the one file that is shown or searched, resolved; empty where there is none or there are several.
        first: first line shown of it.
        last: last line asked for, infinite where no end was.
        numbered: line numbers are shown.
    """

    kind: Kind = ""
    path: str = ""
    first: int = 1
    last: float = math.inf
    numbered: bool = False


def resolved(path: str, directory: str) -> str:
    """A path from the session's directory on, without ``.`` and ``..``; relative when the directory is not known."""
    return posixpath.normpath(posixpath.join(directory, path)) if path else directory


class Extents:
    """Tells what calls show and what their answers cover.

    Args:
        tools: what is known of the host's tools.
        directory: the session's directory, from which relative paths count; empty when it is not known.
        containment: off, an answer covers nothing but the very same call.
    """

    def __init__(self, tools: ToolTable, directory: str = "", *, containment: bool = True) -> None:
        self.tools = tools
        self._containment = containment
        self.directory = directory

    def of_step(self, step: Step) -> tuple[Extent, ...]:
        """What a completed read returned; see `of`."""
        return self.of(step.tool, step.form, step.args)

    def of(self, tool: str, form: str, args: Mapping[str, JsonValue]) -> tuple[Extent, ...]:
        """What a read returns: at least one extent; several for a command that shows ranges of several files."""
        spec = self.tools.spec(tool)
        if not self._containment:
            return (Extent((tool_name(tool, form), *_comparable(args))),)
        if spec.lines is not None and (bounds := spec.lines.bounds(args)):
            others = {name: value for name, value in args.items() if name not in spec.lines.names}
            for name in spec.paths:
                if isinstance(path := others.get(name), str):
                    others[name] = resolved(path, self.directory)
            return (Extent((tool, *_comparable(others)), *bounds),)
        if form:
            shown = self._pieces(tool, form, args)
            if shown and all(one.kind == "lines" for one in shown):
                return tuple(Extent((tool, one.path), one.first, one.last, one.numbered) for one in shown)
        return (Extent((tool_name(tool, form), *_comparable(args))),)

    def shown(self, step: Step) -> Shown:
        """What a read shows, as far as it is understood."""
        spec = self.tools.spec(step.tool)
        if step.form:
            pieces = self._pieces(step.tool, step.form, step.args)
            kinds = {one.kind for one in pieces}
            kind: Kind = next((each for each in _KINDS if each in kinds), "")
            fitting = [one for one in pieces if one.kind == kind]
            return fitting[0] if len(fitting) == 1 else Shown(kind)
        paths = [value for name in spec.paths if isinstance(value := step.args.get(name), str)]
        path = resolved(paths[0], self.directory) if len(paths) == 1 else ""
        if spec.lines is None:
            return Shown(spec.kind, path)
        bounds = spec.lines.bounds(step.args)
        return Shown(spec.kind, path, int(bounds[0]), bounds[1]) if bounds else Shown(spec.kind, path)

    def _pieces(self, tool: str, form: str, args: Mapping[str, JsonValue]) -> list[Shown]:
        from waggle import shell  # noqa: PLC0415 - agents without a shell tool never need the parser

        command = self.tools.said(tool, form, dict(args))[self.tools.spec(tool).command]
        reading = shell.reading(command) if isinstance(command, str) else None
        return [
            Shown(one.kind, resolved(one.path, self.directory), one.first, one.last, one.numbered)
            for one in (reading.pieces if reading else ())
        ]


_KINDS: tuple[Kind, ...] = ("search", "list", "lines", "status")


def _comparable(args: Mapping[str, JsonValue]) -> tuple[tuple[str, str | bytes], ...]:
    return tuple((name, part_of(args[name])) for name in sorted(args))


#: The number under which an answer is held.
Number: TypeAlias = int


class Coverage:
    """Answers by what they cover, each under a number.

    Finding costs a look at the answers about the same resource.
    """

    __slots__ = ("_by_resource",)

    def __init__(self) -> None:
        self._by_resource: dict[Hashable, dict[Extent, Number]] = {}

    def add(self, extents: tuple[Extent, ...], number: Number) -> None:
        """Note an answer; of two with equal extents, the latest stays."""
        for extent in extents:
            self._by_resource.setdefault(extent.resource, {})[extent] = number

    def remove(self, extents: tuple[Extent, ...], number: Number) -> None:
        """Forget an answer, unless a later one with an equal extent has taken its place."""
        for extent in extents:
            answers = self._by_resource.get(extent.resource, {})
            if answers.get(extent) == number:
                del answers[extent]
                if not answers:
                    del self._by_resource[extent.resource]

    def clear(self) -> None:
        """Forget every answer."""
        self._by_resource.clear()

    def find(self, extents: tuple[Extent, ...]) -> tuple[Number, ...] | None:
        """Numbers of answers that together cover what is asked for, fewest first choice; None when they do not."""
        found: list[Number] = []
        for extent in extents:
            numbers = self._covering(extent)
            if numbers is None:
                return None
            found += numbers
        return tuple(dict.fromkeys(found))

    def _covering(self, wanted: Extent) -> list[Number] | None:
        answers = self._by_resource.get(wanted.resource)
        if not answers:
            return None
        number = answers.get(wanted)
        if number is None:
            number = next((each for known, each in answers.items() if known.covers(wanted)), None)
        if number is not None:
            return [number]
        # Line by line: from those that begin soon enough, the one that reaches farthest.
        numbers: list[Number] = []
        at = wanted.first
        usable = [(known, each) for known, each in answers.items() if known.numbered >= wanted.numbered]
        reach = 0.0
        while reach < wanted.last:
            reach, number = max(
                ((known.last, each) for known, each in usable if known.first <= at <= known.last),
                default=(0.0, -1),
            )
            if number < 0:
                return None
            numbers.append(number)
            at = reach + 1
        return numbers
