"""Spans as values, whichever way they were exported: OTLP JSON, the SDK's console, and OpenAI Agents' own records.

OTLP is ``{"resourceSpans": [{"scopeSpans": [{"spans": [...]}]}]}`` with values that say their type. The console
exporter writes a span an object, with ``context`` and plain attributes. `waggle.traces.otel` knows what spans mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from waggle.traces.shapes import Misfit, list_at, object_at, text_at, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Span", "is_agents_record", "is_spans", "spans_of"]

#: What takes a span that is not formed as it should be, so that the others are read.
OnMisfit: TypeAlias = "Callable[[Misfit], None]"

_FAILED: Final = (2, "STATUS_CODE_ERROR", "ERROR")
_KINDS: Final = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}

#: Nesting beyond which a structured value is refused; no instrumentation writes one, and every encoder takes this.
_DEPTH_LIMIT: Final = 100

#: How OpenAI Agents marks its records.
_AGENTS_RECORDS: Final = ("trace", "trace.span")


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
        parent: id of the span around it, empty for none.
        kind: ``internal``, ``server``, ``client``, ``producer``, ``consumer``; empty where it is not said.
        events: name and asked-for attributes of what happened inside it, in order.
    """

    trace: str
    id: str
    name: str
    start: int
    end: int
    attributes: JsonObject
    failed: bool = False
    message: str = ""
    parent: str = ""
    kind: str = ""
    events: tuple[tuple[str, JsonObject], ...] = ()

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


def is_spans(record: JsonObject) -> bool:
    """Whether this object looks like an export of spans: OTLP JSON, or one span of the console."""
    return isinstance(record.get("resourceSpans"), list) or _is_console(record)


def is_agents_record(record: JsonObject) -> bool:
    """Whether this object looks like a trace or a span as OpenAI Agents exports them."""
    return record.get("object") in _AGENTS_RECORDS and isinstance(record.get("id"), str)


def _is_console(record: JsonObject) -> bool:
    return isinstance(record.get("context"), dict) and "attributes" in record and "start_time" in record


def spans_of(record: JsonValue, wanted: Container[str], on_misfit: OnMisfit | None = None) -> Iterator[Span]:
    """The spans of one export, in its order.

    Args:
        record: OTLP JSON, or one span of the console.
        wanted: names of the attributes that are kept; ``error.type`` is looked at besides.
        on_misfit: takes each span that is not formed as it should be; the others are read.

    Raises:
        Misfit: it is no such export, or, without `on_misfit`, one of its spans is not formed as it should be.
        RecursionError: a value is nested too deeply.
    """
    export = object_at(record, "$")
    if _is_console(export):
        yield from _guarded(_console_span, export, "$", wanted, on_misfit)
        return
    resources = list_at(export.get("resourceSpans"), "$.resourceSpans")
    for i, resource in enumerate(resources):
        at = f"$.resourceSpans[{i}]"
        scopes = list_at(object_at(resource, at).get("scopeSpans"), f"{at}.scopeSpans")
        for j, scope in enumerate(scopes):
            where = f"{at}.scopeSpans[{j}]"
            for k, span in enumerate(list_at(object_at(scope, where).get("spans"), f"{where}.spans")):
                yield from _guarded(_otlp_span, span, f"{where}.spans[{k}]", wanted, on_misfit)


def _guarded(
    make: Callable[[JsonObject, str, Container[str]], Span],
    span: JsonValue,
    at: str,
    wanted: Container[str],
    on_misfit: OnMisfit | None,
) -> Iterator[Span]:
    try:
        made = make(object_at(span, at), at, wanted)
    except Misfit as error:
        if on_misfit is None:
            raise
        on_misfit(error)
        return
    yield made


# --- OTLP -----------------------------------------------------------------------------------------------------


def _otlp_span(fields: JsonObject, at: str, wanted: Container[str]) -> Span:
    attributes = _attributes(fields.get("attributes"), f"{at}.attributes", wanted)
    status = object_at(fields.get("status") or {}, f"{at}.status")
    message, error = status.get("message"), attributes.pop("error.type", None)
    kind = fields.get("kind")
    return Span(
        trace=text_at(fields.get("traceId"), f"{at}.traceId"),
        id=text_at(fields.get("spanId") or "", f"{at}.spanId"),
        name=text_at(fields.get("name") or "", f"{at}.name"),
        start=_time(fields.get("startTimeUnixNano"), f"{at}.startTimeUnixNano"),
        end=_time(fields.get("endTimeUnixNano"), f"{at}.endTimeUnixNano"),
        attributes=attributes,
        failed=_says_failed(status.get("code")) or error is not None,
        message=_first_text(message, error),
        parent=text_at(fields.get("parentSpanId") or "", f"{at}.parentSpanId"),
        kind=_KINDS.get(kind, "") if isinstance(kind, int) else _kind_named(kind),
        events=tuple(_otlp_events(fields.get("events"), f"{at}.events", wanted)),
    )


def _otlp_events(value: JsonValue, at: str, wanted: Container[str]) -> Iterator[tuple[str, JsonObject]]:
    for number, event in enumerate(list_at(value or [], at)):
        fields = object_at(event, f"{at}[{number}]")
        name = text_at(fields.get("name") or "", f"{at}[{number}].name")
        if name in wanted:
            yield name, _attributes(fields.get("attributes"), f"{at}[{number}].attributes", wanted)


def _says_failed(code: JsonValue) -> bool:
    return code in _FAILED


def _first_text(*values: JsonValue) -> str:
    return next((value for value in values if isinstance(value, str) and value), "")


def _kind_named(value: JsonValue) -> str:
    """``SPAN_KIND_CLIENT`` and ``SpanKind.CLIENT`` as ``client``."""
    return value.removeprefix("SPAN_KIND_").rpartition(".")[2].lower() if isinstance(value, str) else ""


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


# --- the console ----------------------------------------------------------------------------------------------


def _console_span(fields: JsonObject, at: str, wanted: Container[str]) -> Span:
    context = object_at(fields.get("context"), f"{at}.context")
    attributes = object_at(fields.get("attributes") or {}, f"{at}.attributes")
    status = object_at(fields.get("status") or {}, f"{at}.status")
    error = attributes.get("error.type")
    return Span(
        trace=_hex(text_at(context.get("trace_id"), f"{at}.context.trace_id")),
        id=_hex(text_at(context.get("span_id") or "", f"{at}.context.span_id")),
        name=text_at(fields.get("name") or "", f"{at}.name"),
        start=clock(fields.get("start_time"), f"{at}.start_time"),
        end=clock(fields.get("end_time") or fields.get("start_time"), f"{at}.end_time"),
        attributes={name: value for name, value in attributes.items() if name in wanted},
        failed=_says_failed(status.get("status_code")) or error is not None,
        message=_first_text(status.get("description"), error),
        parent=_hex(text_at(fields.get("parent_id") or "", f"{at}.parent_id")),
        kind=_kind_named(fields.get("kind")),
        events=tuple(_console_events(fields.get("events"), f"{at}.events", wanted)),
    )


def _console_events(value: JsonValue, at: str, wanted: Container[str]) -> Iterator[tuple[str, JsonObject]]:
    for number, event in enumerate(list_at(value or [], at)):
        fields = object_at(event, f"{at}[{number}]")
        name = text_at(fields.get("name") or "", f"{at}[{number}].name")
        if name in wanted:
            given = object_at(fields.get("attributes") or {}, f"{at}[{number}].attributes")
            yield name, {key: one for key, one in given.items() if key in wanted}


def _hex(value: str) -> str:
    return value.removeprefix("0x")


def clock(value: JsonValue, at: str) -> int:
    """Nanoseconds since the epoch of a time as ISO 8601 writes it.

    Raises:
        Misfit: it is none.
    """
    text = text_at(value, at)
    try:
        moment = datetime.fromisoformat(text)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Misfit(at, "a time in ISO 8601", value) from None
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
