"""Arguments that come together: several arguments of one call that are fields of one record.

Bound one by one, a flight's number and its date would each be the next one not passed, of two different flights. A
source of this kind is written like a derivation, ``$.flights[*] |record ["date","date","number","flight_number"]``: the
path of the records, then each argument with the field it is taken from, by the arguments' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.bindings.derive import Derivation, is_leaf, parse
from stretto.bindings.results import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.bindings.results import Output
    from waggle.jsonvalue import JsonObject

__all__ = ["fields_of", "record_of", "records"]

_LEAST: Final = 2  # arguments that come together


def fields_of(text: str) -> dict[str, str]:
    """The field of each argument; empty for a text that names no record."""
    found = parse(text)
    if found is None or found.name != "record":
        return {}
    names = [str(each) for each in found.constants]
    return dict(zip(names[::2], names[1::2], strict=True))


def record_of(arguments: JsonObject, output: Output) -> str | None:
    """Where a result has all these arguments in one record; None where it has not.

    Args:
        arguments: of a call; two at least, all of them texts or numbers.
        output: an earlier result.
    """
    texts = [as_text(value) for value in arguments.values() if is_leaf(value)]
    if len(texts) < max(_LEAST, len(arguments)) or not all(text in output.text for text in texts if text.isascii()):
        return None
    seen: set[int] = set()
    for _, path, record in output.listed():
        if record is None or id(record) in seen:
            continue
        seen.add(id(record))
        fields = _fields(arguments, record)
        if fields is not None:
            constants = tuple(name for pair in sorted(fields.items()) for name in pair)
            return str(Derivation(path[: path.rfind(".")], "record", constants))
    return None


def _fields(arguments: JsonObject, record: JsonObject) -> dict[str, str] | None:
    fields: dict[str, str] = {}
    for name, value in arguments.items():
        keys = [key for key in sorted(record) if type(record[key]) is type(value) and record[key] == value]
        if not keys:
            return None
        fields[name] = name if name in keys else keys[0]
    return fields


def records(text: str, output: Output) -> Iterator[tuple[JsonObject, Mapping[str, object]]]:
    """The arguments that each record of a result gives, in document order, each with the record."""
    found, fields = parse(text), fields_of(text)
    if found is None or not fields:
        return
    for record, _ in output.values(found.path):
        if isinstance(record, dict) and all(is_leaf(record.get(key)) for key in fields.values()):
            yield {name: record[key] for name, key in fields.items()}, record
