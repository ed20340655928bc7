"""JSON values: the only module that encodes or decodes JSON, and the one definition of when two values are equal.

Not responsible for files. Three promises hold here:

* what `dumps` writes, `loads` reads back as the same value with the same types, whatever its integers and strings;
* `canonical` is a contract: one fixed encoder, so that equality and fingerprints do not depend on a library, a
  process or the order of keys. Changing it means changing `FINGERPRINT_VERSION`;
* `to_json` never raises, whatever object it is given.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from hashlib import blake2b
from pathlib import PurePath, PurePosixPath
from typing import Final, TypeAlias, cast

import orjson

__all__ = [
    "FINGERPRINT_VERSION",
    "JsonObject",
    "JsonValue",
    "canonical",
    "dumps",
    "fingerprint",
    "from_json",
    "loads",
    "may_be_json",
    "may_hold_long_integer",
    "pretty",
    "to_json",
]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

#: Prefix of every digest made by `fingerprint`; it names the rule, so that a later rule cannot be mistaken for it.
FINGERPRINT_VERSION: Final = "w1"

#: orjson reads an integer outside 64 bits as a float, silently. 19 digits is the length of 2**63; they are looked for
#: with every digit turned into 0 and all else into a space, which is ten times faster than a regular expression.
_LONG_INTEGER: Final = b"0" * 19
_DIGITS: Final = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))  # noqa: PLR2004 - "0" to "9"
#: JSON begins so, white space apart. Most texts of tools do not, and are not tried.
_START: Final = re.compile(r'[ \t\r\n]*(?:[\[{"0-9-]|true|false|null)')
_SCALARS: Final = frozenset({str, bool, type(None)})
_DEPTH_LIMIT: Final = 200  #: nesting beyond which a value is described instead of kept; both encoders stop near 1,000
#: Parts beyond which a value is described instead of kept, after about 0.2 s. A list that holds one list twice, which
#: holds another twice, and so on, is small in memory and has no end when it is written out.
_PARTS_LIMIT: Final = 50_000
#: Python writes no longer integers in decimal, since that takes time with the square of their length.
_LONGEST_INTEGER: Final = 10**4300


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is larger than a float can be")
    return number


def may_hold_long_integer(data: bytes) -> bool:
    """Whether JSON has 19 digits in a row, so that orjson may read an integer in it as a float."""
    return _LONG_INTEGER in data.translate(_DIGITS)


def may_be_json(text: str) -> bool:
    """Whether a text begins as JSON does. Cost: a look at its first character that is no white space."""
    return _START.match(text) is not None


def loads(data: bytes | str) -> JsonValue:
    """Decode one JSON text exactly: integers of any size stay integers, lone surrogates stay what they are.

    Raises:
        ValueError: the text is not JSON (``NaN`` and ``Infinity`` included), not UTF-8, nested too deeply, or holds a
            number that is too large for a float.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not may_hold_long_integer(raw):
        try:
            return cast("JsonValue", orjson.loads(raw))
        except orjson.JSONDecodeError:
            pass  # the exact decoder decides: orjson also refuses the escape of a lone surrogate
    try:
        text = data if isinstance(data, str) else raw.decode("utf-8")
        return cast("JsonValue", json.loads(text, parse_constant=_refuse_constant, parse_float=_finite))
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def dumps(value: JsonValue) -> bytes:
    r"""Encode on one line of UTF-8, without a line end; `loads` gives the same value back.

    A lone surrogate is written as its escape, so that the bytes are always valid UTF-8. Keys must be texts; see
    `to_json`, which makes a JSON value of anything.

    Raises:
        ValueError: the value holds ``nan`` or an infinity, refers to itself, or is nested too deeply.
        TypeError: the value holds an object that JSON has no form for.
    """
    try:
        data = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME)
    except orjson.JSONEncodeError:
        return _ascii(value)
    # orjson writes nan as null: a changed value. Only a text with a null in it can hide one.
    return _ascii(value) if b"null" in data else data


def _ascii(value: JsonValue) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


_CANONICAL = json.JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))


def canonical(value: JsonValue) -> bytes:
    """Encode so that two values are equal exactly when their bytes are.

    Keys sorted by code point, no spaces, ASCII with escapes, floats as Python's shortest form: ``1``, ``1.0``, ``"1"``
    and ``true`` differ, ``1e-7`` and ``0.0000001`` do not, ``0`` and ``-0.0`` do.

    Raises:
        ValueError: the value holds ``nan`` or an infinity, refers to itself, or is nested too deeply.
        TypeError: the value holds an object that JSON has no form for; see `to_json`.
    """
    try:
        return _CANONICAL.encode(value).encode("ascii")
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def fingerprint(value: JsonValue) -> str:
    """Digest of the canonical form, as ``w1:`` and 32 hex digits (BLAKE2b, 128 bits)."""
    return f"{FINGERPRINT_VERSION}:{blake2b(canonical(value), digest_size=16).hexdigest()}"


def to_json(value: object) -> tuple[JsonValue, bool]:
    """Turn any Python object into a JSON value.

    JSON values stay as they are. ``bytes``, paths, sets, dates, decimals, special floats, integers of more than 4,300
    digits and mappings with other keys than strings are tagged (``{"$bytes": "AP8="}``), and `from_json` rebuilds them.
    Anything else becomes ``{"$opaque": "module.Type"}``; its contents, which may be anything, are not looked at. So
    does what holds itself, is nested more than 200 deep, or has more than 50,000 parts.

    Returns:
        The value, and whether `from_json` can rebuild it.
    """
    if type(value) is int:
        if abs(value) < _LONGEST_INTEGER:
            return value, True
    elif type(value) in _SCALARS:
        return cast("JsonValue", value), True
    try:
        return _tagged(value, _Walk())
    except Exception:  # noqa: BLE001 - a hostile object must not reach the host's call
        return _opaque(value), False


def _opaque(value: object) -> JsonValue:
    kind = type(value)
    try:
        return {"$opaque": f"{kind.__module__}.{kind.__qualname__}"}
    except Exception:  # noqa: BLE001 - a class may put anything there
        return {"$opaque": "unknown"}


class _Walk:
    """Where `to_json` is in a value: inside of which containers, and how many parts it has seen."""

    __slots__ = ("inside", "parts")

    def __init__(self) -> None:
        self.inside: set[int] = set()
        self.parts = 0


def _tagged(value: object, walk: _Walk) -> tuple[JsonValue, bool]:  # noqa: C901, PLR0911, PLR0912 - one case a type
    walk.parts += 1
    if walk.parts > _PARTS_LIMIT:
        raise ValueError("too many parts")  # ends in `to_json`: half of a value is worth nothing
    match value:
        case None | bool():
            return value, True
        case str():
            return str.__str__(value), True
        case int():
            return (int(value) if abs(value) < _LONGEST_INTEGER else {"$int": hex(value)}), True
        case float():
            return (float(value), True) if math.isfinite(value) else ({"$float": repr(float(value))}, True)
        case bytes() | bytearray():
            return {"$bytes": base64.b64encode(value).decode("ascii")}, True
        case PurePath():
            return {"$path": str(value)}, True
        case datetime():
            return {"$datetime": value.isoformat()}, True
        case date():
            return {"$date": value.isoformat()}, True
        case time():
            return {"$time": value.isoformat()}, True
        case Decimal():
            return {"$decimal": str(value)}, True
        case Mapping() | list() | tuple() | set() | frozenset():
            if id(value) in walk.inside or len(walk.inside) > _DEPTH_LIMIT:
                return _opaque(value), False
            walk.inside.add(id(value))
            tagged = _tagged_container(value, walk)
            walk.inside.remove(id(value))
            return tagged
        case _:
            return _opaque(value), False


def _tagged_container(value: Mapping[object, object] | Collection[object], walk: _Walk) -> tuple[JsonValue, bool]:
    if isinstance(value, Mapping):
        return _tagged_mapping(value, walk)
    items, exact = _tagged_items(list(value), walk)
    if isinstance(value, list | tuple):
        return items, exact
    return {"$set": sorted(items, key=canonical)}, exact


def _tagged_items(values: list[object], walk: _Walk) -> tuple[list[JsonValue], bool]:
    pairs = [_tagged(item, walk) for item in values]
    return [item for item, _ in pairs], all(exact for _, exact in pairs)


def _tagged_mapping(value: Mapping[object, object], walk: _Walk) -> tuple[JsonValue, bool]:
    entries = list(value.items())
    if not all(type(key) is str for key, _ in entries):
        keys, keys_exact = _tagged_items([key for key, _ in entries], walk)
        values, values_exact = _tagged_items([item for _, item in entries], walk)
        pairs: list[JsonValue] = [[key, item] for key, item in zip(keys, values, strict=True)]
        return {"$map": sorted(pairs, key=canonical)}, keys_exact and values_exact
    exact = True
    result: JsonObject = {}
    for key, item in entries:
        result[cast("str", key)], item_exact = _tagged(item, walk)
        exact = exact and item_exact
    if len(result) == 1 and next(iter(result)).startswith("$"):
        return {"$dict": result}, exact  # a plain mapping that looks like a tag
    return result, exact


def from_json(value: JsonValue) -> object:
    """Rebuild what `to_json` tagged; a value without tags comes back as it is (a tuple as the list it became).

    Raises:
        ValueError: a tag's content is malformed, or the value was not kept (``$opaque``).
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        tag, content = next(iter(value.items()))
        if tag.startswith("$"):
            return _rebuild(tag, content)
    return {key: from_json(item) for key, item in value.items()}


def _hashable(value: object) -> object:
    """What a list or set must have been to be in a set, or a key."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return frozenset(value) if isinstance(value, set) else value


def _rebuild(tag: str, content: JsonValue) -> object:  # noqa: C901, PLR0911 - one case a tag
    try:
        match tag, content:
            case "$bytes", str():
                return base64.b64decode(content, validate=True)
            case "$path", str():
                return PurePosixPath(content)
            case "$datetime", str():
                return datetime.fromisoformat(content)
            case "$date", str():
                return date.fromisoformat(content)
            case "$time", str():
                return time.fromisoformat(content)
            case "$decimal", str():
                return Decimal(content)
            case "$float", str():
                return float(content)
            case "$int", str():
                return int(content, 16)
            case "$set", list():
                return {_hashable(from_json(item)) for item in content}
            case "$map", list():
                pairs = cast("list[list[JsonValue]]", content)
                return {_hashable(from_json(pair[0])): from_json(pair[1]) for pair in pairs}
            case "$dict", dict():
                return {key: from_json(item) for key, item in content.items()}
    except (TypeError, IndexError, ArithmeticError) as error:
        raise ValueError(f"malformed {tag} value") from error
    raise ValueError(f"{tag} cannot be rebuilt")


def pretty(value: JsonValue, *, indent: int = 2) -> str:
    """Encode for people: indented by so many spaces, keys in the order given, a line end; `loads` gives the value back.

    Raises:
        ValueError: the value holds ``nan`` or an infinity, or refers to itself.
        TypeError: the value is not a JSON value; see `to_json`.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: only its escape is valid UTF-8
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent) + "\n"
    return text
