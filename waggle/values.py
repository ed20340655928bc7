"""Value tracing: which earlier call, at which place of its arguments or its result, did this value come from?

A result is read into a tree of values (`content_of`): JSON as it is; any other text as its lines, and beside them the
files and line numbers that it names, as searches, listings, compilers and stack traces print them. A **place** is a
path into that tree. `Content` answers both ways: the value at a place, and the places of a value, from an index that is
built when it is first asked and costs a lookup afterwards.

An **origin** is a place of one call together with a `Transform`. What must survive changes: applying an origin gives
exactly the transform of a value that is there, or nothing; no value is ever made up.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from waggle import jsonvalue
from waggle._defaults import CONTENT_CHARS, VALUE_STEPS
from waggle.calls import part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from waggle.calls import Result, Step
    from waggle.jsonvalue import JsonValue

__all__ = [
    "TRANSFORMS",
    "Content",
    "NamedFile",
    "Origin",
    "Place",
    "Transform",
    "ValueIndex",
    "apply",
    "content_of",
    "read_path",
    "show_path",
]

#: Keys and indices from the root of a tree of values to one of them.
Path: TypeAlias = "tuple[str | int, ...]"

#: The roots of what a call offers: its arguments; its result as JSON or as a list of lines; the files a text names.
Root: TypeAlias = Literal["args", "result", "files"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in a call.

    Attributes:
        root: ``args``: the arguments by name. ``result``: the result as JSON, or its lines. ``files``: what its text
            names, a list of ``{"path": …, "lines": […]}`` in order of first appearance.
        path: from the root.
    """

    root: Root
    path: Path

    def __str__(self) -> str:
        return f"{self.root}{show_path(self.path)}"


def show_path(path: Path) -> str:
    """Write a path: ``.name`` for a key, ``[2]`` for an index, ``["odd key"]`` for a key that is no plain word."""
    return "".join(
        f"[{key}]"
        if isinstance(key, int)
        else f".{key}"
        if _WORD.fullmatch(key)
        else f"[{jsonvalue.dumps(key).decode()}]"
        for key in path
    )


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KEY: Final = re.compile(r'\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')


def read_path(text: str) -> Path:
    """Read what `show_path` wrote.

    Raises:
        ValueError: it is no such path.
    """
    path: list[str | int] = []
    at = 0
    while at < len(text):
        found = _KEY.match(text, at)
        if not found:
            raise ValueError(f"not a path: {text!r}")
        name, index, quoted = found.groups()
        if quoted is not None:
            key = jsonvalue.loads(quoted)
            path.append(key if isinstance(key, str) else "")
        else:
            path.append(int(index) if index is not None else name)
        at = found.end()
    return tuple(path)


# --- what a result says -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a text names.

    Attributes:
        path: as it is printed; empty when the text numbers the lines of one file without naming it.
        lines: the numbers printed beside it, in order of first appearance; empty when there are none.
    """

    path: str
    lines: tuple[int, ...] = ()


#: One line that names a file or numbers a line. A path ends in a name with an extension or holds a slash, so that a
#: time of day, a word or a key of YAML is none.
_FILE: Final = r"(?:[A-Za-z]:)?(?:[^\s:'\"<>|(){}\[\],;=]*/)?[^\s:'\"<>|(){}\[\],;=/]*\.[A-Za-z][A-Za-z0-9_]{0,9}"
_SPACED: Final = r"(?:[^:\n<>|\"]*/)?[^:\n<>|\"/]*\.[A-Za-z][A-Za-z0-9_]{0,9}"
_NAMES: Final = re.compile(
    rf"""(?mx)^[ \t]*(?:
        (?P<number>[0-9]+):                                             # 12:text, a search in one file
      | (?P<at>{_SPACED}):(?P<line>[0-9]+)(?::|[ \t]*$)                 # path:12:text
      | (?P<matched>{_FILE}):                                           # path:text, a search without numbers
      | File[ ]"(?P<frame>[^"\n]+)",[ ]line[ ](?P<frame_line>[0-9]+)    # a Python traceback
      | (?:-->|at|in)[ ](?:.*\()?(?P<note>{_FILE}):(?P<note_line>[0-9]+)# rustc, Node and other compilers
      | (?:\+\+\+[ ]b/|(?:modified|new[ ]file|deleted):[ ]+|[MADRCU?][MADRCU? ]?[ ])(?P<changed>{_FILE})[ \t]*$  # git
      | (?P<alone>(?:\.{{0,2}}/)?{_SPACED})[ \t]*$                       # a listing
    )"""
)
_PATH_GROUPS: Final = (("at", "line"), ("matched", ""), ("frame", "frame_line"), ("note", "note_line"))


class Content:
    """What one call offers to later ones. Bounded: a text is read up to `CONTENT_CHARS`.

    Reading happens when it is first asked for and costs about as much as splitting the text into lines a few times.

    Args:
        args: the call's arguments.
        result: its answer.
    """

    __slots__ = ("__dict__", "_result", "args")

    def __init__(self, args: Mapping[str, JsonValue], result: Result) -> None:
        self.args = args
        self._result = result

    @cached_property
    def text(self) -> str:
        """The result's text, as far as it is read."""
        return self._result.text[:CONTENT_CHARS]

    @cached_property
    def result(self) -> JsonValue:
        """The structured result, the text read as JSON, or else its lines, trimmed, without the empty ones."""
        if not self._result.ok:
            return None
        if self._result.value is not None:
            return self._result.value
        text = self.text
        if text[:1] in _JSON_STARTS and not self._result.cut and len(self._result.text) == len(text):
            try:
                return jsonvalue.loads(text)
            except ValueError:
                pass
        return [stripped for line in text.splitlines() if (stripped := line.strip())]

    @cached_property
    def files(self) -> tuple[NamedFile, ...]:
        """The files that the text names, in order of first appearance; a failed command's text is read, too."""
        found: dict[str, list[int]] = {}
        for match in _NAMES.finditer(self.text):
            kind = match.lastgroup
            if kind == "number":
                found.setdefault("", []).append(int(match["number"]))
                continue
            path, line = match["changed"] or match["alone"], ""
            for path_group, line_group in _PATH_GROUPS:
                if match[path_group] is not None:
                    path, line = match[path_group], match[line_group] if line_group else ""
            numbers = found.setdefault(path, [])
            if line:
                numbers.append(int(line))
        if "" in found and len(found) > 1:  # numbered text that happens to name files, or the other way round
            del found[""]
        return tuple(NamedFile(path, tuple(dict.fromkeys(lines))) for path, lines in found.items())

    def at(self, place: Place) -> JsonValue:
        """The value at a place; None where there is none."""
        if place.root == "files":
            return self._named(place.path)
        node: JsonValue = dict(self.args) if place.root == "args" else self.result
        for key in place.path:
            if isinstance(key, int):
                if not isinstance(node, list) or key >= len(node):
                    return None
                node = node[key]
            else:
                if not isinstance(node, dict) or key not in node:
                    return None
                node = node[key]
        return node

    def _named(self, path: Path) -> JsonValue:
        match path:
            case (int(index), "path") if index < len(self.files):
                return self.files[index].path or None
            case (int(index), "lines", int(number)) if index < len(self.files):
                lines = self.files[index].lines
                return lines[number] if number < len(lines) else None
            case _:
                return None

    @cached_property
    def _places(self) -> dict[str | bytes, list[Place]]:
        places: dict[str | bytes, list[Place]] = {}
        for root, value in (("args", dict(self.args)), ("result", self.result)):
            for path, leaf in _leaves(value):
                places.setdefault(part_of(leaf), []).append(Place(root, path))
        for index, named in enumerate(self.files):
            if named.path:
                places.setdefault(named.path, []).append(Place("files", (index, "path")))
            for number, line in enumerate(named.lines):
                places.setdefault(part_of(line), []).append(Place("files", (index, "lines", number)))
        return places

    def places(self, value: JsonValue) -> list[Place]:
        """Every place that holds exactly this value: arguments first, then the result, each in document order."""
        return self._places.get(part_of(value), [])

    @cached_property
    def derived(self) -> dict[str | bytes, list[tuple[Place, Transform]]]:
        """What the transforms make of the short values here: transformed value → where from, and by which one."""
        derived: dict[str | bytes, list[tuple[Place, Transform]]] = {}
        for places in self._places.values():
            value = self.at(places[0])
            if not isinstance(value, (str, int)) or isinstance(value, bool) or len(str(value)) > _LONGEST_VALUE:
                continue
            for name, transform in TRANSFORMS.items():
                made = transform(value)
                if made is not None and made != value:
                    derived.setdefault(part_of(made), []).append((places[0], Transform(name)))
        return derived


_JSON_STARTS: Final = frozenset('{["')
_LONGEST_VALUE: Final = 300  # characters: a longer value is a document, not a name


def content_of(step: Step, result: Result) -> Content:
    """What a completed call offers to later ones."""
    return Content(step.args, result)


def _leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, str | int | float]]:
    """Strings and numbers with their paths, in document order; flags and nothing identify nothing."""
    stack: list[tuple[Path, JsonValue]] = [(path, value)]
    while stack:
        at, node = stack.pop()
        if isinstance(node, dict):
            stack.extend(((*at, key), node[key]) for key in reversed(node))
        elif isinstance(node, list):
            stack.extend(((*at, index), node[index]) for index in range(len(node) - 1, -1, -1))
        elif isinstance(node, (str, int, float)) and not isinstance(node, bool) and node != "":
            yield at, node


# --- transforms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transform:
    """A pure function from one value to another.

    Attributes:
        name: ``copy``; a name in `TRANSFORMS`; ``affix`` puts `before` and `after` around a text and ``inner`` takes
            them away; ``plus`` adds `number` to an integer.
        before: text in front.
        after: text behind.
        number: what is added.
    """

    name: str = "copy"
    before: str = ""
    after: str = ""
    number: int = 0

    def __call__(self, value: JsonValue) -> JsonValue:
        """Transform a value; None where the transform does not apply to it."""
        if self.name == "copy":
            return value
        if self.name == "plus":
            return value + self.number if isinstance(value, int) and not isinstance(value, bool) else None
        if self.name == "affix":
            return f"{self.before}{value}{self.after}" if isinstance(value, (str, int)) else None
        if self.name == "inner":
            fits = isinstance(value, str) and value.startswith(self.before) and value.endswith(self.after)
            return value[len(self.before) : len(value) - len(self.after)] if fits and isinstance(value, str) else None
        function = TRANSFORMS.get(self.name)
        return function(value) if function and isinstance(value, (str, int)) else None

    def __str__(self) -> str:
        match self.name:
            case "copy":
                return "as it is"
            case "plus":
                return f"{'plus' if self.number >= 0 else 'minus'} {abs(self.number)}"
            case "affix":
                around = " and ".join(f"{text!r}" for text in (self.before, self.after) if text)
                return f"with {around} {'around it' if self.before and self.after else 'added'}"
            case "inner":
                return f"without {self.before!r} before and {self.after!r} behind"
            case name:
                return _SPOKEN[name]


def _text(function: Callable[[str], str]) -> Callable[[str | int], JsonValue]:
    return lambda value: (function(value) or None) if isinstance(value, str) else None


def _integer(value: str | int) -> JsonValue:
    return int(value) if isinstance(value, str) and _PLAIN_INTEGER.fullmatch(value) else None


def _before_colon(value: str) -> str:
    head, colon, _ = value.partition(":")
    return head if colon else ""


_PLAIN_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")

#: The transforms without constants, by name. Each gives None for a value outside its domain.
TRANSFORMS: Final[Mapping[str, Callable[[str | int], JsonValue]]] = {
    "basename": _text(posixpath.basename),
    "dirname": _text(posixpath.dirname),
    "stem": _text(lambda value: posixpath.splitext(posixpath.basename(value))[0]),
    "extension": _text(lambda value: posixpath.splitext(value)[1]),
    "lower": _text(str.lower),
    "strip": _text(str.strip),
    "before-colon": _text(_before_colon),
    "to-text": lambda value: str(value) if isinstance(value, int) else None,
    "to-number": _integer,
}

_SPOKEN: Final = {
    "basename": "its last part",
    "dirname": "its folder",
    "stem": "its last part without extension",
    "extension": "its extension",
    "lower": "in lower case",
    "strip": "without white space around it",
    "before-colon": "what stands before the colon",
    "to-text": "as text",
    "to-number": "as a number",
}

COPY: Final = Transform()


# --- origins ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from.

    Attributes:
        seq: `Step.seq` of the call.
        place: where in that call.
        transform: what was done to the value there.
    """

    seq: int
    place: Place
    transform: Transform = COPY


def apply(place: Place, transform: Transform, content: Content) -> JsonValue:
    """The transform of the value at a place; None where there is no such value."""
    value = content.at(place)
    return None if value is None else transform(value)


class ValueIndex:
    """The values of a session's latest calls, to be asked where a value came from.

    Adding a call costs next to nothing; its values are indexed when the first question comes. Bounded by calls and by
    the text held: the oldest go first.

    Args:
        steps: calls held.
        chars: text held, in characters.
    """

    def __init__(self, steps: int = VALUE_STEPS, chars: int = CONTENT_CHARS * 4) -> None:
        self._limit, self._chars = steps, chars
        self._held: deque[tuple[int, Content, int]] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, step: Step, result: Result) -> Content:
        """Take in a completed call."""
        content = content_of(step, result)
        size = min(len(result.text), CONTENT_CHARS)
        self._held.append((step.seq, content, size))
        self._size += size
        while len(self._held) > self._limit or (self._size > self._chars and len(self._held) > 1):
            self._size -= self._held.popleft()[2]
        return content

    def contents(self) -> Iterator[tuple[int, Content]]:
        """The calls held, latest first, each with its `Step.seq`."""
        return ((seq, content) for seq, content, _ in reversed(self._held))

    def origins(self, value: JsonValue, *, before: int | None = None) -> list[Origin]:
        """Every place that a value may have come from, the likeliest first.

        Latest call first; within a call copies before transforms, arguments before results, document order. Values
        that are flags, nothing, empty, or lists and records have no origin.

        Args:
            value: what to look for.
            before: only calls with a smaller `Step.seq`.
        """
        if not isinstance(value, (str, int, float)) or isinstance(value, bool) or value == "":
            return []
        return [
            origin
            for seq, content in self.contents()
            if before is None or seq < before
            for origin in origins_in(value, seq, content)
        ]


def origins_in(value: str | float, seq: int, content: Content) -> Iterator[Origin]:
    """The origins of a value in one call, in the order of `ValueIndex.origins`."""
    places = content.places(value)
    for place in places:
        yield Origin(seq, place)
    if not places:
        for place, transform in content.derived.get(part_of(value), ()):
            yield Origin(seq, place, transform)
        if isinstance(value, str):
            yield from _affixed(value, seq, content)


def _affixed(value: str, seq: int, content: Content) -> Iterator[Origin]:
    """Origins of which one distinctive part of the value is a copy: a folder or a fixed text was put around it."""
    if len(value) > _LONGEST_VALUE:
        return
    for found in _PART.finditer(value):
        part = found[0]
        for place in content.places(part):
            yield Origin(seq, place, Transform("affix", value[: found.start()], value[found.end() :]))
    for cut in (match.start() for match in _SLASH.finditer(value)):
        rest = value[cut + 1 :]
        if "/" in rest:
            for place in content.places(rest):
                yield Origin(seq, place, Transform("affix", value[: cut + 1], ""))


_SLASH: Final = re.compile("/")
#: A part of a value that says something by itself: a word with a digit in it, or at least four characters.
_PART: Final = re.compile(r"(?=[\w.-]*[0-9])[\w.-]{3,}|[\w.-]{4,}")
