"""Value tracing: which earlier call, at which place of its arguments or its result, did this value come from?

A call is read into trees of values (`Content`): its arguments; its result, JSON as it is and any other text as lines;
the files and line numbers that the text names (`waggle.named`). A **place** is a path into one of these trees.
`Content` answers both ways: the value at a place, and the places of a value, from an index that is built when it is
first asked and costs a lookup afterwards.

An **origin** is a place of one call together with a `Transform`. What must survive changes: applying an origin gives
exactly the transform of a value that is there, or nothing; no value is ever made up. Which calls and which places
count as evidence is for the caller to say.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from waggle import jsonvalue
from waggle._defaults import CONTENT_CHARS, VALUE_STEPS
from waggle.named import files_in
from waggle.transforms import COPY, TRANSFORMS, Transform

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeGuard

    from waggle.calls import Result, Step
    from waggle.jsonvalue import JsonValue
    from waggle.named import NamedFile

__all__ = [
    "COPY",
    "Content",
    "Origin",
    "Place",
    "Transform",
    "ValueIndex",
    "apply",
    "read_path",
    "read_result",
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
        root: ``args``: the arguments by name. ``result``: see `Content.result`. ``files``: see `Content.files`, each
            with its ``path`` and ``lines``.
        path: from the root; indices count from 0.
    """

    root: Root
    path: Path

    def __str__(self) -> str:
        return f"{self.root}{show_path(self.path)}"


def show_path(path: Path) -> str:
    """Write a path: ``.name`` for a key, ``[2]`` for an index, ``["odd key"]`` for a key that is no plain word."""
    return "".join(map(_show_key, path))


def _show_key(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _WORD.fullmatch(key) else f"[{jsonvalue.dumps(key).decode()}]"


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
        try:
            key = name if name is not None else jsonvalue.loads(index or quoted)
        except ValueError as error:
            raise ValueError(f"not a path: {text!r}") from error
        if isinstance(key, (str, int)):  # which the pattern sees to
            path.append(key)
        at = found.end()
    return tuple(path)


_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KEY: Final = re.compile(rf'\.({_WORD.pattern})|\[(0|[1-9][0-9]*)\]|\[("(?:[^"\\]|\\.)*")\]')


def read_result(text: str) -> JsonValue:
    """A whole result as a value: JSON as it is; else its lines, trimmed and without the empty ones.

    A text of a single line is one string, as it is. ``"12345"`` is a number.
    """
    if jsonvalue.may_be_json(text):
        try:
            return jsonvalue.loads(text)
        except ValueError:
            pass
    lines = _lines(text)
    return lines if len(lines) > 1 else text


def _lines(text: str) -> list[JsonValue]:
    return [line for raw in text.split("\n") if (line := raw.strip())]


class Content:
    """What one call offers to later ones. Bounded: of a result, `CONTENT_CHARS` characters are held and read.

    Nothing is read before it is asked for. All reading is linear in what is held.

    Args:
        args: the call's arguments.
        result: its answer. A structured value of more than `CONTENT_CHARS` characters is not read; its text is.

    Attributes:
        args: the call's arguments.
        text: the result's text as far as it is read: without the line that is torn where it was cut, by the host or
            here, and without the line in which the host says so.
        size: characters held, arguments included.
    """

    def __init__(self, args: Mapping[str, JsonValue], result: Result) -> None:
        self.args = args
        text = result.text[:CONTENT_CHARS]
        self._whole = not result.cut and len(text) == len(result.text)
        if not self._whole:
            lost = 1 if len(text) < len(result.text) else 2
            kept = text.rstrip().rsplit("\n", lost)
            text = kept[0] if len(kept) > lost else ""
        self.text = text
        self._ok = result.ok
        value_size = _size(result.value)
        self._value = result.value if value_size <= CONTENT_CHARS else None
        self.size = len(text) + _size(dict(args)) + (value_size if self._value is not None else 0)

    @cached_property
    def result(self) -> JsonValue:
        """The structured result; else what `read_result` makes of the text, or its lines where it is cut.

        None when the call failed: an error's words are no values.
        """
        if not self._ok:
            return None
        if self._value is not None:
            return self._value
        return read_result(self.text) if self._whole else _lines(self.text)

    @cached_property
    def files(self) -> tuple[NamedFile, ...]:
        """The files that the text names (`files_in`); of a failed call, too: a compiler's errors name files."""
        return files_in(self.text)

    def at(self, place: Place) -> JsonValue:
        """The value at a place; None where there is none."""
        if place.root == "files":
            return self._named(place.path)
        node: JsonValue = dict(self.args) if place.root == "args" else self.result
        for key in place.path:
            if isinstance(node, list) and isinstance(key, int):
                node = node[key] if 0 <= key < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) and isinstance(key, str) else None
        return node

    def _named(self, path: Path) -> JsonValue:
        match path:
            case (int(index), "path") if 0 <= index < len(self.files):
                return self.files[index].path or None
            case (int(index), "lines", int(number)) if 0 <= index < len(self.files):
                lines = self.files[index].lines
                return lines[number] if 0 <= number < len(lines) else None
            case _:
                return None

    def places(self, value: JsonValue) -> list[Place]:
        """Every place that holds exactly this value: ``1``, ``1.0``, ``"1"`` and true are four.

        Arguments first, then the result, then named files; each in document order, which is that of the sorted keys
        of objects, so that calls that are equal as JSON have equal places in equal order. Empty texts, flags, nothing,
        lists and objects have no place: they identify nothing.
        """
        return [Place(root, path) for root, path in self._paths.get(_key(value), ())] if _is_leaf(value) else []

    @cached_property
    def _paths(self) -> dict[str | bytes, list[tuple[Root, Path]]]:
        found: dict[str | bytes, list[tuple[Root, Path]]] = {}
        for path, leaf in _leaves(dict(self.args)):
            found.setdefault(_key(leaf), []).append(("args", path))
        for path, leaf in _leaves(self.result):
            found.setdefault(_key(leaf), []).append(("result", path))
        for index, named in enumerate(self.files):
            if named.path:
                found.setdefault(named.path, []).append(("files", (index, "path")))
            for number, line in enumerate(named.lines):
                found.setdefault(_key(line), []).append(("files", (index, "lines", number)))
        return found

    def derived(self, value: str | float) -> Iterator[tuple[Place, Transform]]:
        """The places whose value a transform without constants turns into exactly this one, and which transform.

        In the order in which the values there first appear, then of `TRANSFORMS`; numbers that the text is read from or
        written as come first. Only of values of at most 300 characters: a longer one is a document, not a name.

        Cost: one search through the values as one text; where it finds something, one look at each value.
        """
        for source in self._sources(value):
            places = self.places(source)
            for name, rule in TRANSFORMS.items():
                made = rule.function(source)
                if made is not None and _key(made) == _key(value) != _key(source):
                    for place in places:
                        yield place, Transform(name)

    def _sources(self, value: str | float) -> Iterator[str | int | float]:
        """The values that can become this one: a number's text, a text's number, and texts that hold it in any case."""
        for name in ("to-text", "to-number"):
            other = TRANSFORMS[name].function(value)
            if _is_leaf(other) and _key(other) in self._paths:
                yield other
        if isinstance(value, str) and value.lower() in self._names:
            part = value.lower()
            for key in self._paths:
                if isinstance(key, str) and len(key) <= _LONGEST_VALUE and part in key.lower():
                    yield key

    @cached_property
    def _names(self) -> str:
        """All short texts as one, in lower case."""
        return "\n".join(key for key in self._paths if isinstance(key, str) and len(key) <= _LONGEST_VALUE).lower()


_LONGEST_VALUE: Final = 300  # characters


def _is_leaf(value: JsonValue) -> TypeGuard[str | int | float]:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""


def _key(value: JsonValue) -> str | bytes:
    """Equal for two leaves exactly when they are equal as JSON; a text is its own."""
    return value if isinstance(value, str) else repr(value).encode()


def _children(node: JsonValue) -> Iterator[tuple[str | int, JsonValue]]:
    if isinstance(node, dict):
        return ((key, node[key]) for key in sorted(node))
    return enumerate(node) if isinstance(node, list) else iter(())


def _leaves(value: JsonValue) -> Iterator[tuple[Path, str | int | float]]:
    """The leaves of a value with their paths, in document order (see `Content.places`)."""
    if _is_leaf(value):
        yield (), value
    entered: list[tuple[Path, Iterator[tuple[str | int, JsonValue]]]] = [((), _children(value))]
    while entered:
        path, children = entered[-1]
        for key, node in children:
            if isinstance(node, (dict, list)):
                entered.append(((*path, key), _children(node)))
                break
            if _is_leaf(node):
                yield (*path, key), node
        else:
            entered.pop()


def _size(value: JsonValue) -> int:
    """About how many characters a value is written with."""
    size, todo = 0, [value]
    for node in todo:  # grows while it is walked: no recursion, values may be nested deeply
        size += len(node) if isinstance(node, str) else 8
        if isinstance(node, dict):
            size += sum(map(len, node))
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return size


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

    Adding a call costs a walk over its structured values; they are indexed when the first question comes. Bounded by
    calls and by characters held: the oldest go first, and a call that is too large by itself is not held.

    Args:
        steps: calls held.
        chars: characters held, of arguments and results (`Content.size`).
    """

    def __init__(self, steps: int = VALUE_STEPS, chars: int = CONTENT_CHARS * 4) -> None:
        self._steps, self._chars = steps, chars
        self._held: deque[tuple[int, Content]] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, step: Step, result: Result) -> Content:
        """Take in a completed call."""
        content = Content(step.args, result)
        self._held.append((step.seq, content))
        self._size += content.size
        while len(self._held) > self._steps or self._size > self._chars:
            self._size -= self._held.popleft()[1].size
        return content

    def contents(self) -> Iterator[tuple[int, Content]]:
        """The calls held, the one added last first, each with its `Step.seq`."""
        return reversed(self._held)

    def origins(self, value: JsonValue, *, before: int | None = None) -> list[Origin]:
        """Every place that a value may have come from, the likeliest first.

        The call added last first; within a call as `origins_in`.

        Args:
            value: what to look for.
            before: only calls with a smaller `Step.seq`.
        """
        return [
            origin
            for seq, content in self.contents()
            if before is None or seq < before
            for origin in origins_in(value, seq, content)
        ]


def origins_in(value: JsonValue, seq: int, content: Content) -> Iterator[Origin]:
    """The origins of a value in one call: the places that hold it, in the order of `Content.places`.

    Only where no place does: what a transform makes it of (`Content.derived`), then a fixed text around a distinctive
    part of it, from left to right, then around its ends that are cut at a slash, the longest first. What has no place
    (see `Content.places`) has no origin.

    Args:
        value: what to look for.
        seq: `Step.seq` of the call.
        content: of the call.
    """
    places = content.places(value)
    for place in places:
        yield Origin(seq, place)
    if places or not _is_leaf(value):
        return
    for place, transform in content.derived(value):
        yield Origin(seq, place, transform)
    if isinstance(value, str) and len(value) <= _LONGEST_VALUE:
        for start, end in _parts(value):
            for place in content.places(value[start:end]):
                yield Origin(seq, place, Transform("affix", value[:start], value[end:]))


def _parts(value: str) -> list[tuple[int, int]]:
    """Where the parts of a value stand around which the rest may be fixed text; each once."""
    cuts = [match.start() for match in _SLASH.finditer(value)]
    spans = [match.span() for match in _PART.finditer(value)]
    spans += [(cut + 1, len(value)) for cut in cuts if len(value) - cut > _SHORTEST_PART]
    spans += [(0, cut) for cut in reversed(cuts) if cut >= _SHORTEST_PART]
    return list(dict.fromkeys(spans))


_SLASH: Final = re.compile("/")
_SHORTEST_PART: Final = 3  # characters
#: A part of a value that says something by itself: a word with a digit in it, or at least four characters.
_PART: Final = re.compile(r"(?=[\w.-]*[0-9])[\w.-]{3,}|[\w.-]{4,}")
