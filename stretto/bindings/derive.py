r"""Derived values: a value that is a deterministic transform of what an earlier call passed or returned.

A derivation is a place and what is done to the value there, written as one text, so that a flow file says it in its
usual form of a source: ``$[*] |inner ["- ",""]`` is any line without the ``- `` in front, ``@.date |copy`` the argument
``date`` of the earlier call. A place begins with ``$`` in the result, with ``@`` in the arguments.

The transforms are those of `waggle.transforms`, and three that take part of a text or several fields:
``between`` (what stands between a fixed text and a character), ``shape`` (the words of a shape, see
`stretto.bindings.spoken`) and ``join`` (two fields of one record, or an argument and a field, with a fixed text between
them). What must survive changes: a derivation gives exactly what its transform makes of a value that is there, or
nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from stretto.bindings.results import as_text
from stretto.bindings.spoken import shape_of, with_shape
from waggle import jsonvalue
from waggle.transforms import TRANSFORMS, Transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeGuard

    from stretto.bindings.results import Output
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Derivation", "derivations", "derived", "describe", "is_leaf", "parse"]


class Derivation(NamedTuple):
    """A place and a transform.

    Attributes:
        path: of the value, from ``$`` or ``@``; of the record, for a ``join``.
        name: of the transform.
        constants: what it takes: texts for ``affix``, ``inner``, ``between``, ``shape``, ``join`` and ``record``
            (`stretto.bindings.records`), a number for ``plus``.
    """

    path: str
    name: str
    constants: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        constants = f" {jsonvalue.dumps(list(self.constants)).decode()}" if self.constants else ""
        return f"{self.path} |{self.name}{constants}"


_WRITTEN: Final = re.compile(r"([$@].*?) \|([a-z-]+)(?: (\[.*\]))?", re.DOTALL)
_TEXTS: Final = {"affix": 2, "inner": 2, "between": 2, "shape": 1, "join": 3}
_RECORD: Final = 4  # texts: two arguments and their fields


@lru_cache(maxsize=4096)
def parse(text: str) -> Derivation | None:
    """Read what ``str(derivation)`` wrote; None when it is no such text."""
    match = _WRITTEN.fullmatch(text)
    if not match:
        return None
    path, name, written = match.groups()
    try:
        constants = jsonvalue.loads(written) if written else []
    except ValueError:
        return None
    if not isinstance(constants, list):
        return None
    found = Derivation(path, name, tuple(each for each in constants if isinstance(each, (str, int))))
    if name == "plus":
        fits = len(constants) == 1 and type(constants[0]) is int
    elif name in _TEXTS:
        fits = len(constants) == _TEXTS[name] and all(type(each) is str for each in constants)
    elif name == "record":
        fits = len(constants) >= _RECORD and len(constants) % 2 == 0 and all(type(each) is str for each in constants)
    else:
        fits = not constants and (name == "copy" or name in TRANSFORMS)
    return found if fits else None


def describe(text: str) -> str:
    """Say a derivation for people: ``$[*], without '- '``."""
    found = parse(text)
    if found is None:
        return text
    path, name, constants = found
    texts = [str(each) for each in constants]
    match name:
        case "between":
            return (
                f"{path}, what stands between {texts[0]!r} and {texts[1]!r}"
                if texts[1]
                else (f"{path}, what stands behind {texts[0]!r}")
            )
        case "shape":
            return f"{path}, the words of the shape {texts[0]}"
        case "record":
            pairs = ", ".join(f"{name} from {field}" for name, field in zip(texts[::2], texts[1::2], strict=True))
            return f"one record of {path}: {pairs}"
        case "join":
            return f"{path}, {texts[0].lstrip('.')} and {texts[2].lstrip('.')} joined by {texts[1]!r}"
        case _:
            return f"{path}, {_transform(found)}"


def _transform(found: Derivation) -> Transform:
    match found.constants:
        case (str(before), str(after)):
            return Transform(found.name, before, after)
        case (int(number),):
            return Transform(found.name, number=number)
        case _:
            return Transform(found.name)


# --- using a derivation -------------------------------------------------------------------------------------------


def derived(text: str, output: Output) -> tuple[JsonValue, ...]:
    """What a derivation gives in one call and its result, in document order; empty where it gives nothing.

    Args:
        text: the derivation, as it is written.
        output: the call and its result.
    """
    kept = output.derived.get(text)
    if kept is None:
        found = parse(text)
        kept = output.derived[text] = tuple(_derived(found, output)) if found else ()
    return kept


def _derived(found: Derivation, output: Output) -> Iterator[JsonValue]:
    make = _maker(found, output.arguments or {})
    for value, record in output.values(found.path):
        yield from make(value, record)


def _maker(found: Derivation, arguments: JsonObject) -> Callable[[JsonValue, JsonObject | None], Iterator[JsonValue]]:
    name, constants = found.name, [str(each) for each in found.constants]
    if name == "between":
        pattern = _between(*constants)
        return lambda value, _: (each[1] for each in pattern.finditer(value)) if isinstance(value, str) else iter(())
    if name == "shape":
        return lambda value, _: iter(with_shape(value, constants[0]) if isinstance(value, str) else ())
    if name == "join":
        return lambda value, _: _joined(value, arguments, *constants)
    transform = _transform(found)

    def plain(value: JsonValue, _: JsonObject | None) -> Iterator[JsonValue]:
        made = transform(value) if is_leaf(value) else None
        if made is not None:
            yield made

    return plain


@lru_cache(maxsize=1024)
def _between(before: str, stop: str) -> re.Pattern[str]:
    end = re.escape(stop) if stop else r"$"
    return re.compile(rf"{re.escape(before)}([^\n]{{1,{_LONGEST}}}?)(?={end})", re.MULTILINE)


def _joined(record: JsonValue, arguments: JsonObject, first: str, between: str, second: str) -> Iterator[JsonValue]:
    parts = [_part(record, arguments, name) for name in (first, second)]
    if all(parts):
        yield f"{parts[0]}{between}{parts[1]}"


def _part(record: JsonValue, arguments: JsonObject, name: str) -> str | None:
    if name == "$":
        value = record
    elif name.startswith("@."):
        value = arguments.get(name[2:])
    else:
        value = record.get(name[1:]) if isinstance(record, dict) else None
    return as_text(value) if is_leaf(value) else None


# --- finding derivations ------------------------------------------------------------------------------------------

_LONGEST: Final = 300  # characters of a value that is derived; a longer one is a document
_AROUND: Final = 40  # characters before or behind a value that may be fixed text
_LEAST_PART: Final = 2  # characters of a part that is joined
_SEPARATOR: Final = 3  # characters between two parts
_BEFORE: Final = re.compile(r"(?:\w+|^)\W{1,4}$")


def derivations(value: JsonValue, output: Output) -> list[str]:
    """Every derivation that gives this value in one call and its result, sorted.

    Args:
        value: a string or a number.
        output: the call and its result. Of a large result, the first 2,000 leaves are looked at.

    Cost: a search in the text; where that finds something, one look at each leaf.
    """
    if not is_leaf(value) or len(text := as_text(value)) > _LONGEST:
        return []
    found: set[Derivation] = set()
    for name, argument in (output.arguments or {}).items():
        if is_leaf(argument):
            found.update(_made_of(argument, f"@.{name}", value, text))
    if text.lower() in output.lowered:
        for leaf, path, _ in output.listed():
            found.update(_made_of(leaf, path, value, text))
    if isinstance(value, str):
        found.update(_put_together(value, output))
    return sorted(str(each) for each in found if _gives(each, value, output))


def _gives(found: Derivation, value: JsonValue, output: Output) -> bool:
    return any(type(made) is type(value) and made == value for made in _derived(found, output))


def _made_of(leaf: str | float, path: str, value: JsonValue, text: str) -> Iterator[Derivation]:
    """The derivations that take the value out of one leaf."""
    if type(leaf) is type(value) and leaf == value:
        if path.startswith("@") or not isinstance(value, str):  # a string in a result is an ordinary source
            yield Derivation(path, "copy")
        return
    if isinstance(leaf, int) and isinstance(value, int):
        if value - leaf == 1 and path.startswith("@"):
            yield Derivation(path, "plus", (1,))
        return
    for name, rule in TRANSFORMS.items():
        made = rule.function(leaf)
        if type(made) is type(value) and made == value:
            yield Derivation(path, name)
    if isinstance(leaf, str) and isinstance(value, str) and path.startswith("$"):
        yield from _cut_out(leaf, path, text)


def _cut_out(leaf: str, path: str, text: str) -> Iterator[Derivation]:
    start = leaf.find(text)
    while start >= 0:
        before, after = leaf[:start], leaf[start + len(text) :]
        if _stands_alone(before, text, after):
            if "\n" not in leaf and len(before) <= _AROUND and len(after) <= _AROUND:
                yield Derivation(path, "inner", (before, after))
            lead = _BEFORE.search(before.rsplit("\n", 1)[-1])
            if lead:
                yield Derivation(path, "between", (lead[0], after[:1].replace("\n", "")))
            shape = shape_of(text)
            if shape and text in with_shape(leaf, shape):
                yield Derivation(path, "shape", (shape,))
            return  # the first place is what the transform finds, too
        start = leaf.find(text, start + 1)


def _put_together(text: str, output: Output) -> Iterator[Derivation]:
    """The derivations that put the value together from one leaf and fixed text, or from two parts."""
    named = {f"@.{name}": each for name, each in (output.arguments or {}).items() if is_leaf(each)}
    heads, tails = _ends(text, named.items())
    seen: set[int] = set()
    for leaf, path, record in output.listed():
        part = as_text(leaf)
        if len(part) >= _LEAST_PART and part in text and part != text:
            before, _, after = text.partition(part)
            if _stands_alone(before, part, after):
                yield Derivation(path, "affix", (before, after))
                if record is None:
                    more = _ends(text, [("$", leaf)])
                    yield from _two_parts(text, path, (heads + more[0], tails + more[1]))
        if record is not None and id(record) not in seen:
            seen.add(id(record))
            fields = [(f".{key}", each) for key, each in sorted(record.items()) if is_leaf(each)]
            more = _ends(text, fields)
            if more[0] or more[1]:
                owner = path[: path.rfind(".")]
                yield from _two_parts(text, owner, (heads + more[0], tails + more[1]))


#: Names of parts, each with its text.
_Ends: TypeAlias = list[tuple[str, str]]


def _ends(text: str, parts: Iterable[tuple[str, JsonValue]]) -> tuple[_Ends, _Ends]:
    """The named parts that the text begins with, and those that it ends with."""
    heads: _Ends = []
    tails: _Ends = []
    for name, value in parts:
        part = as_text(value)
        if _LEAST_PART <= len(part) < len(text):
            if text.startswith(part):
                heads.append((name, part))
            if text.endswith(part):
                tails.append((name, part))
    return heads, tails


def _two_parts(text: str, path: str, ends: tuple[_Ends, _Ends]) -> Iterator[Derivation]:
    for (first, head), (second, tail) in product(*ends):
        between = text[len(head) : len(text) - len(tail)]
        fits = len(head) + len(between) + len(tail) == len(text) and len(between) <= _SEPARATOR
        of_the_result = first[0] != "@" or second[0] != "@"
        if fits and of_the_result and first != second and not any(map(str.isalnum, between)):
            yield Derivation(path, "join", (first, between, second))


def _stands_alone(before: str, part: str, after: str) -> bool:
    """Whether a part is no piece of a longer word."""
    return not (before[-1:].isalnum() and part[0].isalnum()) and not (after[:1].isalnum() and part[-1].isalnum())


def is_leaf(value: JsonValue) -> TypeGuard[str | float]:
    """Whether a value is a text that is not empty, or a number."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
