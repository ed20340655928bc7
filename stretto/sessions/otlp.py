"""OTLP JSON, the form in which spans are exported: files, spans, and values that say their type.

One export is ``{"resourceSpans": [{"scopeSpans": [{"spans": [...]}]}]}``; a file holds one, or one a line. Not
responsible for what the spans mean (`stretto.sessions.otel`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.errors import SessionLogError
from stretto.sessions.importing import Misfit, complaining, list_at, object_at, read_import, text_at, value_of
from waggle import jsonvalue

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Span", "read_spans"]

_FAILED: Final = (2, "STATUS_CODE_ERROR")

#: Nesting beyond which a structured value is refused; no instrumentation writes one, and every encoder takes this.
_DEPTH_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class Span:
    """One span, as far as it is looked at.

    Attributes:
        trace: id of its trace.
        id: of the span, empty where it has none.
        name: what it was called.
        start: ns since the epoch.
        end: ns since the epoch.
        attributes: those that were asked for and are there, as plain JSON values.
        failed: it ended in an error.
        message: what the error was, empty where nothing says.
    """

    trace: str
    id: str
    name: str
    start: int
    end: int
    attributes: JsonObject
    failed: bool = False
    message: str = ""

    def text(self, name: str) -> str | None:
        """An attribute, if it is a text."""
        value = self.attributes.get(name)
        return value if isinstance(value, str) else None

    def json(self, name: str) -> JsonValue:
        """An attribute that holds JSON, as text or structured; text that is no JSON is itself."""
        value = self.attributes.get(name)
        return value_of(value) if isinstance(value, str) else value

    def number(self, name: str) -> int | None:
        """An attribute, if it is a whole number."""
        return _whole(self.attributes.get(name))


def read_spans(
    path: str | os.PathLike[str], attributes: Container[str], report: Callable[[str], None]
) -> Iterator[Span]:
    """Read the spans of a file, gzipped or not, in its order.

    Args:
        path: the file.
        attributes: names of those that are kept; ``error.type`` is looked at besides.
        report: called when a last line is cut off, which every interrupted export has.

    Raises:
        SessionLogError: the file cannot be read or is no such export.
    """
    for line, export in _exports(str(path), read_import(path), report):
        with complaining(path, line):
            yield from _spans(export, attributes)


def _exports(name: str, data: bytes, report: Callable[[str], None]) -> Iterator[tuple[int | None, JsonValue]]:
    """The exports of a file with their line numbers, None for a file that is one export over several lines."""
    lines = data.split(b"\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise SessionLogError(name, None, "expected an export of spans (OTLP JSON), found an empty file")
    try:
        yield first + 1, jsonvalue.loads(lines[first])
    except ValueError:
        try:
            yield None, jsonvalue.loads(data)
        except ValueError as error:
            raise SessionLogError(name, None, f"expected an export of spans (OTLP JSON): {error}") from error
        return
    for number, line in enumerate(lines[first + 1 :], start=first + 2):
        if line.strip():
            try:
                yield number, jsonvalue.loads(line)
            except ValueError as error:
                if number < len(lines):
                    raise SessionLogError(name, number, f"expected one export of spans a line: {error}") from error
                report(f"the last line ({number}) is cut off and was passed over")


def _spans(export: JsonValue, wanted: Container[str]) -> Iterator[Span]:
    resources = list_at(object_at(export, "$").get("resourceSpans"), "$.resourceSpans")
    for i, resource in enumerate(resources):
        at = f"$.resourceSpans[{i}]"
        scopes = list_at(object_at(resource, at).get("scopeSpans"), f"{at}.scopeSpans")
        for j, scope in enumerate(scopes):
            where = f"{at}.scopeSpans[{j}]"
            for k, span in enumerate(list_at(object_at(scope, where).get("spans"), f"{where}.spans")):
                yield _span(object_at(span, f"{where}.spans[{k}]"), f"{where}.spans[{k}]", wanted)


def _span(fields: JsonObject, at: str, wanted: Container[str]) -> Span:
    attributes = _attributes(fields.get("attributes"), f"{at}.attributes", wanted)
    status = object_at(fields.get("status") or {}, f"{at}.status")
    message, kind = status.get("message"), attributes.pop("error.type", None)
    return Span(
        trace=text_at(fields.get("traceId"), f"{at}.traceId"),
        id=text_at(fields.get("spanId") or "", f"{at}.spanId"),
        name=text_at(fields.get("name") or "", f"{at}.name"),
        start=_time(fields.get("startTimeUnixNano"), f"{at}.startTimeUnixNano"),
        end=_time(fields.get("endTimeUnixNano"), f"{at}.endTimeUnixNano"),
        attributes=attributes,
        failed=status.get("code") in _FAILED or kind is not None,
        message=message if isinstance(message, str) and message else kind if isinstance(kind, str) else "",
    )


def _time(value: JsonValue, at: str) -> int:
    """Nanoseconds, as a number or as text; absent means 0, as everywhere in this format."""
    number = _whole(0 if value is None else value)
    if number is None:
        raise Misfit(at, "nanoseconds as a whole number", value)
    return number


def _whole(value: JsonValue) -> int | None:
    """A whole number, which this format may write as decimal text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:  # noqa: PLR2004 - of 64 bits
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _attributes(value: JsonValue, at: str, wanted: Container[str]) -> JsonObject:
    """Attributes by name: those that are wanted, and what names an error."""
    found: JsonObject = {}
    for number, attribute in enumerate(list_at(value or [], at)):
        fields = object_at(attribute, f"{at}[{number}]")
        name = text_at(fields.get("key"), f"{at}[{number}].key")
        if name in wanted or name == "error.type":
            found[name] = _plain(fields.get("value"), f"{at}[{number}].value")
    return found


def _plain(value: JsonValue, at: str, depth: int = 0) -> JsonValue:
    """The plain value of one that says its type."""
    if depth > _DEPTH_LIMIT:
        raise RecursionError
    fields = object_at(value or {}, at)
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue", "intValue"):
        found = fields.get(name)
        if found is not None:
            if isinstance(found, (list, dict)):
                raise Misfit(f"{at}.{name}", "a single value", found)
            return _whole(found) if name == "intValue" else found
    if "arrayValue" in fields:
        return [_plain(item, place, depth + 1) for item, place in _values(fields, "arrayValue", at)]
    if "kvlistValue" not in fields:
        return None
    plain: JsonObject = {}
    for item, place in _values(fields, "kvlistValue", at):
        pair = object_at(item, place)
        plain[text_at(pair.get("key"), f"{place}.key")] = _plain(pair.get("value"), f"{place}.value", depth + 1)
    return plain


def _values(fields: JsonObject, name: str, at: str) -> Iterator[tuple[JsonValue, str]]:
    """The members of a list or of an object, and where each stands."""
    members = object_at(fields[name] or {}, f"{at}.{name}").get("values")
    for number, member in enumerate(list_at(members or [], f"{at}.{name}.values")):
        yield member, f"{at}.{name}.values[{number}]"
