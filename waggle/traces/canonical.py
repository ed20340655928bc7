"""The canonical trace format, one session a line: reader and writer side by side.

```json
{"session": "s-1", "source": "owner/repo:path@commit", "agent": "host/model", "domain": "coding", "task": null,
 "success": null, "tools": {"Read": {"kind": "read"}}, "events": [
 {"type": "user", "text": "..."},
 {"type": "call", "id": "c1", "turn": 0, "tool": "Read", "args": {"file_path": "a.py"}},
 {"type": "result", "id": "c1", "ok": true, "content": "..."}]}
```

Keys and event types that are not known come from a newer writer and are passed over. Two keys of a session (``parent``,
``cwd``) and ``cut`` of a result and of a call (a text, or arguments, that are incomplete and have no mark) are ours;
they are written only when there is something to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.traces.cut import has_cut, is_cut
from waggle.traces.model import Message, Started, TraceBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.lines import Problems
    from waggle.traces.model import Event, Kind, Trace

__all__ = ["dump_trace", "is_canonical", "read_canonical"]

_NAMES: Final[dict[type, str]] = {str: "a text", int: "a whole number", bool: "true or false", dict: "an object"}
_MESSAGE: Final[dict[str, type]] = {"text": str}
_FIELDS: Final[dict[str, dict[str, type]]] = {
    "user": _MESSAGE,
    "assistant": _MESSAGE,
    "call": {"id": str, "turn": int, "tool": str, "args": dict},
    "result": {"id": str, "ok": bool, "content": str},
}
_KINDS: Final = ("read", "write", "generic")


class _Malformed(Exception):
    """A session is not as the format says; its text names the place and what was expected there."""


def is_canonical(record: JsonObject) -> bool:
    """Whether this line looks like a session in the canonical format."""
    return isinstance(record.get("events"), list) and "context" not in record  # a span has events, too


def read_canonical(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read sessions, each from one record. A session that is not as the format says is damage and left out whole."""
    for number, record in records:
        try:
            trace, orphans = _trace(record)
        except _Malformed as error:
            problems.damage(number, str(error))
            continue
        for name in orphans:
            problems.leftover(number, f"a result was passed over: no call has its id {name[:80]!r}")
        yield trace


def _trace(record: JsonObject) -> tuple[Trace, tuple[str, ...]]:
    builder = TraceBuilder()
    events = record.get("events")
    if not isinstance(events, list):
        raise _Malformed(f"$.events: expected a list, found {_shown(events)}")
    for place, event in enumerate(events):
        _add(builder, event, place)
    trace = builder.build(
        _text(record, "session"),
        _text(record, "agent"),
        _optional_text(record, "source") or "",
        task=_optional_text(record, "task"),
        domain=_optional_text(record, "domain"),
        success=_optional_truth(record, "success"),
        parent=_optional_text(record, "parent"),
        cwd=_optional_text(record, "cwd"),
        kinds=_kinds(record.get("tools")),
    )
    return trace, builder.orphans


def _add(builder: TraceBuilder, fields: Any, place: int) -> None:
    """Add one event. Takes the fields it needs as they come, and looks for what is wrong only when something is."""
    try:
        kind = fields["type"]
        if kind == "call":
            good = _add_call(builder, fields, place)
        elif kind == "result":
            good = _add_result(builder, fields, place)
        elif kind in ("user", "assistant"):
            text = fields["text"]
            good = type(text) is str
            builder.message(kind, text)
        else:
            good = type(kind) is str
    except (KeyError, TypeError):  # a field is missing, or the event is no object
        good = False
    if not good:
        raise _complaint(fields, place)


def _add_call(builder: TraceBuilder, fields: dict[str, Any], place: int) -> bool:
    name, tool, args, turn = fields["id"], fields["tool"], fields["args"], fields["turn"]
    if type(name) is not str or type(tool) is not str or type(args) is not dict or type(turn) is not int:
        return False
    if not builder.call(Call(tool, args, name), turn, args_cut=fields.get("cut") is True or has_cut(args.values())):
        raise _Malformed(f"$.events[{place}].id: expected an id of its own, found that of an earlier call")
    return True


def _add_result(builder: TraceBuilder, fields: dict[str, Any], place: int) -> bool:
    name, content, ok = fields["id"], fields["content"], fields["ok"]
    if type(name) is not str or type(content) is not str or type(ok) is not bool:
        return False
    if not builder.result(name, Result(content, ok, cut=is_cut(content) or fields.get("cut") is True)):
        raise _Malformed(f"$.events[{place}].id: expected one result a call, found a second one")
    return True


def _complaint(event: JsonValue, place: int) -> _Malformed:
    path = f"$.events[{place}]"
    if not isinstance(event, dict):
        return _Malformed(f"{path}: expected an object, found {_shown(event)}")
    kind = event.get("type")
    if not isinstance(kind, str):
        return _Malformed(f"{path}.type: expected a text, found {_shown(kind)}")
    name, wanted = next(pair for pair in _FIELDS[kind].items() if type(event.get(pair[0])) is not pair[1])
    return _Malformed(f"{path}.{name}: expected {_NAMES[wanted]}, found {_shown(event.get(name))}")


def _shown(value: JsonValue) -> str:
    """What kind of value was found; the value itself may be long or secret."""
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else _NAMES.get(type(value), "a number")


def _text(record: JsonObject, name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise _Malformed(f"$.{name}: expected a text, found {_shown(value)}")
    return value


def _optional_text(record: JsonObject, name: str) -> str | None:
    return None if record.get(name) is None else _text(record, name)


def _optional_truth(record: JsonObject, name: str) -> bool | None:
    value = record.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise _Malformed(f"$.{name}: expected true or false, found {_shown(value)}")


def _kinds(tools: JsonValue) -> dict[str, Kind]:
    if tools is None:
        return {}
    if not isinstance(tools, dict):
        raise _Malformed(f"$.tools: expected an object, found {_shown(tools)}")
    kinds: dict[str, Kind] = {}
    for name, described in tools.items():
        kind = described.get("kind") if isinstance(described, dict) else None
        if kind not in _KINDS:
            raise _Malformed(f"$.tools[{name[:80]!r}].kind: expected read, write or generic")
        kinds[name] = cast("Kind", kind)
    return kinds


def dump_trace(trace: Trace) -> bytes:
    """Write a trace as one line of the canonical format, line feed included; `read_traces` gives the same trace back.

    Calls are named ``c1``, ``c2``, … in order of starting, whatever their ids were. What the format has no place for is
    left out: `Call.reads`, `Result.value`, and an outcome finer than ok or not.

    Raises:
        TypeError: an argument of a call is not a JSON value.
        ValueError: an argument holds ``nan`` or an infinity.
    """
    names = {step.started: f"c{number}" for number, step in enumerate(trace.steps, start=1)}
    record: JsonObject = {
        "session": trace.session,
        "source": trace.source,
        "agent": trace.agent,
        "domain": trace.domain,
        "task": trace.task,
        "success": trace.success,
        "tools": {name: {"kind": kind} for name, kind in trace.kinds.items()},
        "events": [_event(event, names) for event in trace.events()],
    }
    for name, value in (("parent", trace.parent), ("cwd", trace.cwd)):
        if value is not None:
            record[name] = value
    return jsonvalue.dumps(record) + b"\n"


def _event(event: Event, names: dict[int, str]) -> JsonObject:
    if isinstance(event, Message):
        return {"type": event.role, "text": event.text}
    step = event.step
    name = names[step.started]
    if isinstance(event, Started):
        args = cast("JsonObject", dict(step.call.args))
        record: JsonObject = {"type": "call", "id": name, "turn": step.turn, "tool": step.call.tool, "args": args}
        if step.args_cut and not has_cut(args.values()):
            record["cut"] = True
        return record
    result = cast("Result", step.result)
    record = {"type": "result", "id": name, "ok": result.ok, "content": result.text}
    if result.cut and not is_cut(result.text):
        record["cut"] = True
    return record
