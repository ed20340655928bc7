"""Targets: a later read, described by where each of its values came from in the call before it.

Described so, the reads of many sessions are equal when they follow the same habit, and a description makes a call again
from another result. Pure; a call is only ever made of values that are there, fixed ones included.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from waggle import jsonvalue
from waggle.calls import part_of
from waggle.reach.sites import WHOLE_LINES
from waggle.routes import in_checkout, inside_project
from waggle.values import COPY, Place, Transform, apply, origins_in, read_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from waggle.calls import Step
    from waggle.extents import Shown
    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.reach.sites import Seen
    from waggle.tools import ToolTable
    from waggle.values import Root

__all__ = [
    "AFTER",
    "BEFORE",
    "CallTarget",
    "Cell",
    "LinesTarget",
    "Source",
    "Target",
    "answer_lines",
    "call_target",
    "lines_call",
    "lines_targets",
    "may_be_kept",
    "offers",
    "read_target",
]

#: Lines before and after the line that a range is chosen around: the ends a range may have.
BEFORE: Final = (0, 2, 5, 10, 20, 40, 80, 160)
AFTER: Final = (5, 10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500)

#: The smallest ends that hold a range: indices into `BEFORE` and `AFTER`.
Cell = tuple[int, int]


class Source(NamedTuple):
    """Where an argument's value comes from.

    Attributes:
        place: in the call before; None for a fixed value.
        transform: what is done to the value there.
        base: for a path, see `waggle.reach.sites.Seen.named`; None for what is no path.
        fixed: the fixed value: a text as it is, anything else as canonical JSON, so that equal means equal as JSON. A
            path inside the session's directory is kept relative to it.
    """

    place: Place | None = None
    transform: Transform = COPY
    base: str | None = None
    fixed: str | bytes | None = None

    @property
    def value(self) -> JsonValue:
        """The fixed value."""
        return self.fixed if isinstance(self.fixed, str) or self.fixed is None else jsonvalue.loads(self.fixed)

    def bind(self, seen: Seen) -> JsonValue:
        """The value for this result; None where there is none."""
        if self.place is None:
            return in_checkout(self.value, seen.directory or None)
        value = apply(self.place, self.transform, seen.content)
        return seen.full_path(value, self.base) if self.base is not None and isinstance(value, str) else value


class CallTarget(NamedTuple):
    """A call of a tool, every argument with its source.

    Attributes:
        tool: the tool's name.
        form: see `waggle.calls.Step.form`.
        args: sources by argument, sorted by name.
    """

    tool: str
    form: str
    args: tuple[tuple[str, Source], ...]

    @property
    def key(self) -> str:
        """One text for equal targets."""
        return jsonvalue.canonical(
            {"tool": self.tool, "form": self.form, "args": {name: _source_json(source) for name, source in self.args}}
        ).decode()

    def bind(self, seen: Seen) -> JsonObject | None:
        """The arguments for this result; None when a value is missing."""
        args: JsonObject = {}
        for name, source in self.args:
            value = source.bind(seen)
            if value is None and source.place is not None:
                return None
            args[name] = value
        return args


class LinesTarget(NamedTuple):
    """Lines of a file.

    Attributes:
        tool: the tool's name.
        arg: its argument with the path; empty for a shell command.
        file: index of the file among those that the result names; -1 for the one that was searched or read.
        base: see `waggle.reach.sites.Seen.named`.
        around: ``line`` for a line number that is printed for it; ``end`` for what follows the lines that were read;
            ``whole`` for all of it.
        nth: index of the line number among those.
    """

    tool: str
    arg: str
    file: int
    base: str
    around: str
    nth: int = 0

    @property
    def key(self) -> str:
        """One text for equal targets."""
        return jsonvalue.canonical(
            {
                "tool": self.tool,
                "arg": self.arg,
                "file": self.file,
                "base": self.base,
                "around": self.around,
                "nth": self.nth,
            }
        ).decode()

    @property
    def offer(self) -> str:
        """What is read, without base and tool: under this it is counted how often there was something to read."""
        return f"{self.around} {self.nth} of {self.file}"

    def path(self, seen: Seen) -> str | None:
        """The file for this result."""
        if self.file < 0:
            return seen.shown.path or None
        files = seen.content.files
        return (
            seen.full_path(files[self.file].path, self.base)
            if self.file < len(files) and files[self.file].path
            else None
        )

    def line(self, seen: Seen) -> int | None:
        """The line for this result that a range is chosen around; None where there is none."""
        if self.around == "line":
            lines = seen.lines_in(self.file)
            return lines[self.nth] if self.nth < len(lines) else None
        if self.around == "end":
            return (
                int(seen.shown.last) + 1 if seen.shown.kind == "lines" and seen.shown.last < WHOLE_LINES * 100 else None
            )
        return 1


Target = CallTarget | LinesTarget


@lru_cache(maxsize=4096)
def read_target(key: str) -> Target:
    """Read a target's key.

    Raises:
        ValueError: it is none.
    """
    entry = jsonvalue.loads(key)
    try:
        match entry:
            case {"tool": str(tool), "form": str(form), "args": dict(args)}:
                return CallTarget(tool, form, tuple((name, _read_source(args[name])) for name in sorted(args)))
            case {
                "tool": str(tool),
                "arg": str(arg),
                "file": int(file),
                "base": str(base),
                "around": ("line" | "end" | "whole") as around,
                "nth": int(nth),
            }:
                return LinesTarget(tool, arg, file, base, around, nth)
            case _:
                pass
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a target: {key[:80]}") from error
    raise ValueError(f"not a target: {key[:80]}")


def _source_json(source: Source) -> JsonValue:
    if source.place is None:
        return {"value": source.value}
    entry: JsonObject = {"from": str(source.place)}
    if source.base is not None:
        entry["base"] = source.base
    transform = source.transform
    if transform != COPY:
        entry["by"] = {
            "name": transform.name,
            "before": transform.before,
            "after": transform.after,
            "number": transform.number,
        }
    return entry


def _read_source(entry: JsonValue) -> Source:
    match entry:
        case {"value": value}:
            return Source(fixed=part_of(value))
        case {"from": str(text), **rest}:
            name = _ROOT.match(text)
            root = _ROOTS.get(name[0]) if name else None
            if name is None or root is None:
                raise ValueError(f"not a place: {text!r}")
            place = Place(root, read_path(text[name.end() :]))
            base = rest.get("base")
            return Source(place, _read_transform(rest.get("by")), base if isinstance(base, str) else None)
        case _:
            raise ValueError("not a source")


def _read_transform(entry: object) -> Transform:
    match entry:
        case None:
            return COPY
        case {"name": str(name), "before": str(before), "after": str(after), "number": int(number)}:
            return Transform(name, before, after, number)
        case _:
            raise ValueError("not a transform")


_ROOT: Final = re.compile(r"[a-z]+")
_ROOTS: Final[dict[str, Root]] = {"args": "args", "result": "result", "files": "files"}


# --- describing a read -----------------------------------------------------------------------------------------------


def lines_targets(later: Shown, step: Step, seen: Seen, arg: str) -> Iterator[tuple[LinesTarget, Cell | None]]:
    """The targets that a later read of a file reaches from a call, each with the smallest range that would answer it.

    Args:
        later: what the later read shows.
        step: the later read.
        seen: the call before it.
        arg: the later read's argument with the path; empty for a shell command.
    """
    whole = later.first == 1 and later.last >= WHOLE_LINES
    for file, base in _files_with(later.path, seen):
        if whole or later.last <= answer_lines(shell=bool(step.form)):
            yield LinesTarget(step.tool, arg, file, base, "whole"), None
        if whole:
            continue
        for target in lines_around(step.tool, arg, file, base, seen):
            line = target.line(seen)
            cell = cell_of(later, line) if line is not None else None
            if cell:
                yield target, cell


def offers(seen: Seen) -> Iterator[tuple[LinesTarget, str, int | None]]:
    """The files and lines that a call names, as targets without a tool, each with its path and its line."""
    files = [(-1, "", seen.shown.path)] if seen.shown.path and seen.shown.kind in ("lines", "search") else []
    files += [(index, base, path) for path, (index, base) in seen.named.items() if index < _FILES]
    done: set[int] = set()
    for file, base, path in files:
        if file in done or (file >= 0 and path == seen.shown.path):
            continue
        done.add(file)
        yield LinesTarget("", "", file, base, "whole"), path, None
        for target in lines_around("", "", file, base, seen):
            yield target, path, target.line(seen)


def _files_with(path: str, seen: Seen) -> Iterator[tuple[int, str]]:
    if not path:
        return
    if seen.shown.path == path and seen.shown.kind in ("lines", "search"):
        yield -1, ""
        return
    found = seen.named.get(path)
    if found and found[0] < _FILES:
        yield found


def lines_around(tool: str, arg: str, file: int, base: str, seen: Seen) -> Iterator[LinesTarget]:
    """The lines of one file that ranges may be chosen around."""
    if seen.shown.kind == "lines":
        if file < 0:
            yield LinesTarget(tool, arg, file, base, "end")
        return
    for index in range(min(len(seen.lines_in(file)), _LINES if file <= 0 else 1)):
        yield LinesTarget(tool, arg, file, base, "line", index)


_FILES: Final = 4  # the first files that a result names
_LINES: Final = 3  # the first lines of the first file


def cell_of(later: Shown, line: int) -> Cell | None:
    """The smallest range around a line that holds a read; None when no range does."""
    before = next((index for index, size in enumerate(BEFORE) if line - size <= later.first), None)
    after = next((index for index, size in enumerate(AFTER) if later.last <= line + size), None)
    return None if before is None or after is None or later.last == math.inf else (before, after)


def call_target(step: Step, seen: Seen, paths: Sequence[str]) -> CallTarget:
    """Describe a later call by a call before it: each argument by its first origin there, else as a fixed value.

    Args:
        step: the later call.
        seen: the call before it.
        paths: arguments that are paths.
    """
    return CallTarget(
        step.tool,
        step.form,
        tuple(
            [
                (name, _source(name, step.args[name], part, seen, paths))
                for name, part in zip(step.shape[1:], step.parts, strict=True)
            ]
        ),
    )


def may_be_kept(target: Target) -> bool:
    """Whether a target may be written to disk: no fixed value is long or looks like a secret."""
    from waggle import redact  # noqa: PLC0415 - its patterns take as long to make ready as all the rest of a start

    if not isinstance(target, CallTarget):
        return True
    if redact.redact_text(target.form) != target.form:
        return False
    for name, source in target.args:
        value = source.value
        if source.place is None and (
            len(str(value)) > _LONGEST_FIXED
            or redact.is_masked(value)
            or redact.redact_value({name: value}) != {name: value}
        ):
            return False
    return True


_LONGEST_FIXED: Final = 200  # characters


def lines_call(target: LinesTarget, tools: ToolTable, path: str, first: int, last: int | None) -> JsonObject:
    """The arguments that read lines of a file; of a shell command, the values in its form. All of it without `last`."""
    if not target.arg:
        return {"path": path} if last is None else {"path": path, "first": first, "last": last}
    lines = tools.spec(target.tool).lines
    if last is None or lines is None:
        return {target.arg: path}
    return {target.arg: path, **lines.written(first, last)}


def answer_lines(*, shell: bool) -> int:
    """Lines of code that one answer holds: many hosts cut a shell's output at 10,000 characters, a file's later."""
    return 250 if shell else 800


def _source(name: str, value: JsonValue, part: str | bytes, seen: Seen, paths: Sequence[str]) -> Source:
    if name in paths and isinstance(value, str):
        path = seen.full_path(value, "")
        if path == seen.shown.path:
            own = next((key for key in sorted(seen.step.args) if seen.step.args[key] == value), None)
            if own:
                return Source(Place("args", (own,)))
        if found := seen.named.get(path):
            return Source(Place("files", (found[0], "path")), COPY, found[1])
        return Source(fixed=part_of(inside_project(value, seen.directory or None)))
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        if seen.shown.kind == "lines" and not isinstance(value, str):
            return Source(fixed=part)
        for origin in origins_in(value, seen.step.seq, seen.content):
            if origin.place.root != "result" or seen.shown.kind == "":
                return Source(origin.place, origin.transform)
    return Source(fixed=part_of(inside_project(value, seen.directory or None)) if isinstance(value, str) else part)
