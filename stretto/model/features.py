"""Code features: what of a tool's output makes its symbols differ.

An output that is JSON has **fields**: scalars of an object and of its objects, and lengths of its lists. A feature map
names some fields of some tools and gives each combination of their values a number, which becomes part of the step's
symbol; an output that is no JSON has none. `discover` finds the fields that are worth a look; which of them sharpen the
counts is for `stretto.model.selection` to say. A feature map holds values of the sessions it was learned from, word for
word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = [
    "EMPTY",
    "MISSING",
    "FeatureMap",
    "Field",
    "Values",
    "discover",
    "numbered",
]

#: The text of a value that is not there, or is null, a list or an object.
MISSING: Final = "∅"

#: Values of a tool's fields in one output, in the order of the fields.
Values: TypeAlias = tuple[str, ...]

_NUMBERS: Final = 63  #: combinations of values that get a number, per tool
_DISTINCT: Final = 8  #: values a field may have; one with more is an identifier or a text, not a feature
_COMMONEST: Final = 0.98  #: share of the outputs that may have the same value; above it, the field says nothing
_LONGEST: Final = 256  #: characters of a value; one that is longer is prose, and would be kept word for word
_FIELDS: Final = 256  #: fields a tool may show; one with more has data for keys


class Field(NamedTuple):
    """A part of an output.

    Attributes:
        kind: ``Scalar``: a text, number or truth value. ``Len``: how many items a list has, as ``0``, ``1`` or ``2+``.
        path: of a length, a key, or nothing for an output that is a list itself; of a scalar, a key without dots, or
            such a key and one of the object there, joined by a dot.
    """

    kind: Literal["Scalar", "Len"]
    path: str

    def text(self, output: JsonValue) -> str:
        """The value of this field in an output; `MISSING` where there is none."""
        key, dot, inner = (self.path, "", "") if self.kind == "Len" else self.path.partition(".")
        value = output.get(key) if isinstance(output, dict) else None
        if self.kind == "Len":
            return _length(output if not key and isinstance(output, list) else value)
        if dot:
            value = value.get(inner) if isinstance(value, dict) else None
        return _scalar(value)


def _scalar(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return MISSING if value is None or isinstance(value, (list, dict)) else jsonvalue.dumps(value).decode()


def _length(value: JsonValue) -> str:
    if not isinstance(value, list):
        return MISSING
    return str(len(value)) if len(value) <= 1 else "2+"


class _NoJson(Enum):
    """Stands for the value of an output that is no JSON."""

    NO_JSON = 0


_NO_JSON: Final = _NoJson.NO_JSON


def _read(content: str) -> JsonValue | _NoJson:
    if not jsonvalue.may_be_json(content):
        return _NO_JSON
    try:
        return jsonvalue.loads(content)
    except ValueError:
        return _NO_JSON


def numbered(combinations: Iterable[Values]) -> dict[Values, int]:
    """Numbers from 1 for the first 63 distinct combinations in the order of their texts."""
    return {values: number for number, values in enumerate(sorted(set(combinations))[:_NUMBERS], 1)}


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """The features of all tools.

    Attributes:
        fields: of the tools that have some.
        ids: number of each combination of a tool's values, 1 to 63.
    """

    fields: Mapping[str, tuple[Field, ...]]
    ids: Mapping[tuple[str, Values], int]

    def id_of(self, tool: str, content: str | None) -> int:
        """The number of an output; 0 for a tool without fields and for values that were not seen together.

        Cost: nothing for a tool without fields, else that of reading the output as JSON.
        """
        fields = self.fields.get(tool)
        if not fields:
            return 0
        output = _NO_JSON if content is None else _read(content)
        if output is _NO_JSON:
            return 0
        return self.ids.get((tool, tuple(field.text(output) for field in fields)), 0)


#: No features: every output of a tool is alike.
EMPTY: Final = FeatureMap({}, {})


#: A field, as its plain pair, which costs a third as much to make.
_Part: TypeAlias = tuple[Literal["Scalar", "Len"], str]


def discover(
    outputs: Iterable[tuple[str, str]],
) -> tuple[dict[str, tuple[Field, ...]], dict[tuple[str, str], Values]]:
    """Find the fields whose values differ from output to output without being different in each.

    A field is kept when it has 2 to 8 values, what is missing counted as one, and the commonest is that of at most 98 %
    of the tool's outputs. Fields that hold a secret or a value of more than 256 characters are left out, and so are
    tools with more than 256 fields. Outputs that are no JSON are passed over.

    Args:
        outputs: a tool and what it returned, of failed calls too.

    Returns:
        By tool, its fields in order of kind and path, where it has any; and by output of such a tool, their values.
        Cost: reading each distinct output once.
    """
    texts: dict[tuple[str, str], dict[_Part, str]] = {}
    tallies: dict[str, dict[_Part, dict[str, int] | None]] = {}  # None: too many values, or too long ones
    totals: Counter[str] = Counter()
    for (tool, content), times in Counter(outputs).items():
        output = _read(content)
        if output is _NO_JSON:
            continue
        totals[tool] += times
        found = texts[tool, content] = {}
        fields = tallies.setdefault(tool, {})
        for part, value in _parts(output):
            if part not in fields:
                fields[part] = {}
            counts = fields[part]
            if counts is not None:
                found[part] = text = _length(value) if part[0] == "Len" else _scalar(value)
                counts[text] = counts.get(text, 0) + times
                if len(counts) > _DISTINCT or len(text) > _LONGEST:
                    fields[part] = None
    kept: dict[str, tuple[Field, ...]] = {}
    for tool, fields in sorted(tallies.items()):
        if len(fields) > _FIELDS:
            continue
        telling = [
            Field(*part)
            for part, counts in fields.items()
            if counts and _differs(counts, totals[tool]) and not _holds_secret(part, counts)
        ]
        if telling:
            kept[tool] = tuple(sorted(telling))
    values = {
        (tool, content): tuple(found.get(field, MISSING) for field in kept[tool])
        for (tool, content), found in texts.items()
        if tool in kept
    }
    return kept, values


def _differs(counts: Mapping[str, int], outputs: int) -> bool:
    missing = counts.get(MISSING, 0) + outputs - sum(counts.values())
    distinct = {**counts, MISSING: missing} if missing else counts
    return 1 < len(distinct) <= _DISTINCT and max(distinct.values()) <= _COMMONEST * outputs


def _holds_secret(part: _Part, texts: Iterable[str]) -> bool:
    """Whether a value must not be written into a flow, by the name of its field or by its shape."""
    from waggle.redact import redact_value  # noqa: PLC0415 - needed when learning alone

    kind, path = part
    if kind == "Len":
        return False
    key, dot, inner = path.partition(".")
    values: list[JsonValue] = [{key: {inner: text}} if dot else {key: text} for text in texts]
    return redact_value(values) != values


def _parts(output: JsonValue) -> Iterator[tuple[_Part, JsonValue]]:
    """The fields an output has, each with what stands there."""
    if isinstance(output, list):
        yield ("Len", ""), output
    elif isinstance(output, dict):
        for key, item in output.items():
            if isinstance(item, list):
                yield ("Len", key), item
            elif "." in key:
                continue  # its path would be read as two keys
            elif isinstance(item, dict):
                for inner, leaf in item.items():
                    if not isinstance(leaf, (list, dict)):
                        yield ("Scalar", f"{key}.{inner}"), leaf
            else:
                yield ("Scalar", key), item
