"""What spans of agents mean: sessions of turns, each with the model's answer and the calls of its tools.

The names are those of OpenTelemetry's conventions for generative AI (`waggle.traces.genai`), and those that frameworks
write in their place: Pydantic AI before its version 3, Google ADK, Strands (`waggle.traces.strands`). Other spans are
passed over.

* A tool's span is one with the operation ``execute_tool``, or a call that MCP carried. One call can leave several, of
  the agent, of the client and of the server: the innermost kind counts, internal before client before server.
* A model's span opens a turn, and the tools after it are its calls. Without models' spans, tools that overlap are one
  turn.
* Content is off by default in most instrumentations, so arguments and results may be missing.

Spans of one session may stand anywhere in an export. So all that are looked at are held, without what is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from waggle import jsonvalue
from waggle.calls import Call, Result
from waggle.traces import genai
from waggle.traces.genai import ATTRIBUTES, CONVENTIONS
from waggle.traces.model import CallIds, TraceBuilder
from waggle.traces.shapes import Misfit, object_at, text_at, value_of
from waggle.traces.spans import Span, clock, spans_of
from waggle.traces.strands import conventional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from waggle.jsonvalue import JsonObject, JsonValue
    from waggle.traces.lines import Problems
    from waggle.traces.model import Trace

__all__ = [
    "ATTRIBUTES",
    "CONVENTIONS",
    "SpanCall",
    "SpanSession",
    "SpanTurn",
    "read_agents_records",
    "read_spans",
    "sessions_of",
]

#: How an older Pydantic AI names a tool's span that has no operation, and ADK one that repeats parallel calls.
_RUNNING_TOOL: Final = "running tool"
_MERGED: Final = "(merged"

#: How the spans of a call that MCP carried begin, before the tool's name.
_MCP_NAMES: Final = ("MCP send tools/call ", "tools/call ")

#: Which span of one call counts; the first of these.
_PREFERRED: Final = ("internal", "", "client", "server")

#: What ADK writes in place of content that it was told to leave out.
_WITHHELD: Final = ("{}", "<elided>", "<not specified>")


@dataclass(frozen=True, slots=True)
class SpanCall:
    """One call of a tool.

    Attributes:
        id: of the call within its session.
        tool: its name.
        arguments: as JSON, None when they were not recorded; text when they are no JSON, as when they were cut off.
        result: as text, None when it was not recorded.
        failed: it ended in an error.
        message: what the error was, empty where nothing says.
        start: ns since the epoch.
        end: ns since the epoch.
    """

    id: str
    tool: str
    arguments: JsonValue
    result: str | None
    failed: bool
    message: str
    start: int
    end: int


@dataclass(slots=True)
class SpanTurn:
    """What belongs to one turn.

    Attributes:
        said: what the user said before it and had not said before.
        reply: the answer's text, if there is one.
        inferred: there is a model's span.
        tokens: of the prompt and of the answer, None where the span does not say.
        calls: in order of starting.
    """

    said: list[str] = field(default_factory=list)
    reply: str | None = None
    inferred: bool = False
    tokens: tuple[int, int] | None = None
    calls: list[SpanCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SpanSession:
    """One session.

    Attributes:
        id: of its conversation, or of its trace.
        start: of its earliest span, ns since the epoch.
        model: the first that is named, ``unknown`` for none.
        agent: the first that a call or a model's span names, else the outermost; empty for none.
        turns: in order.
    """

    id: str
    start: int
    model: str
    agent: str
    turns: list[SpanTurn]


# --- spans to sessions ----------------------------------------------------------------------------------------


def sessions_of(
    spans: Iterable[Span], report: Callable[[str], None], *, by_conversation: bool
) -> Iterator[SpanSession]:
    """Put spans together to sessions, by earliest start, then by id.

    Args:
        spans: with `ATTRIBUTES`, in any order.
        report: called for messages that are cut off.
        by_conversation: spans of one conversation are a session, over several traces; those of none, and all without
            it, are one by trace.
    """
    groups = _Groups()
    for span in spans:
        groups.add(span)
    for group in sorted(groups.found(by_conversation=by_conversation), key=lambda group: (group.start, group.id)):
        if group.spans:
            yield _session(group, report)
            group.spans.clear()


@dataclass(slots=True)
class _Group:
    id: str
    start: int
    agent: str = ""
    spans: list[Span] = field(default_factory=list)


class _Groups:
    """Sorts spans into sessions, and keeps of the others what tells which span is inside which."""

    def __init__(self) -> None:
        self._starts: dict[str, int] = {}  # trace -> its earliest start, whatever span that is
        self._conversations: dict[str, str] = {}  # trace -> the first conversation that one of its spans names
        self._agents: dict[str, tuple[int, str]] = {}  # trace -> the agent that the earliest of its spans names
        self._parents: dict[tuple[str, str], str] = {}
        self._spans: list[Span] = []

    def add(self, span: Span) -> None:
        self._starts[span.trace] = min(self._starts.get(span.trace, span.start), span.start)
        if conversation := span.text(genai.CONVERSATION):
            self._conversations.setdefault(span.trace, conversation)
        if agent := span.text(genai.AGENT):
            named = (span.start, agent)
            self._agents[span.trace] = min(self._agents.get(span.trace, named), named)
        if span.id and span.parent:
            self._parents[span.trace, span.id] = span.parent
        if _executes(span) or _infers(span):
            self._spans.append(conventional(span))

    def found(self, *, by_conversation: bool) -> Iterable[_Group]:
        groups: dict[str, _Group] = {}
        if not by_conversation:
            groups = {trace: _Group(trace, start) for trace, start in self._starts.items()}
        repeats = self._repeats()
        for place, span in enumerate(self._spans):
            if place in repeats:
                continue
            name = span.trace
            if by_conversation:
                name = span.text(genai.CONVERSATION) or self._conversations.get(span.trace) or span.trace
            group = groups.setdefault(name, _Group(name, self._starts[span.trace]))
            group.start = min(group.start, self._starts[span.trace])
            group.agent = group.agent or self._agents.get(span.trace, (0, ""))[1]
            group.spans.append(span)
        return groups.values()

    def _repeats(self) -> set[int]:
        """Places of the spans of calls that another span, around it or inside it, tells better."""
        tools = {(span.trace, span.id): place for place, span in enumerate(self._spans) if _executes(span) and span.id}
        repeats: set[int] = set()
        for key, place in tools.items():
            span, seen, at = self._spans[place], {key}, key
            while (parent := self._parents.get(at)) is not None and (at := (key[0], parent)) not in seen:
                seen.add(at)  # a chain that bites its tail has an end, too
                outer = tools.get(at)
                if outer is not None and _tool_of(self._spans[outer]) == _tool_of(span):
                    mine, its = _rank(span), _rank(self._spans[outer])
                    if mine or its:  # two internal spans are two calls: a tool that calls itself
                        repeats.add(place if its <= mine else outer)
        return repeats


def _rank(span: Span) -> int:
    kind = span.kind if span.kind in _PREFERRED else ""
    return max(_PREFERRED.index(kind) - 1, 0)


def _infers(span: Span) -> bool:
    return span.text(genai.OPERATION) in genai.INFERENCE


def _executes(span: Span) -> bool:
    operation = span.text(genai.OPERATION)
    if operation == genai.TOOL:
        return _MERGED not in span.name and not (span.text(genai.CALL_TOOL) or "").startswith(_MERGED)
    return operation is None and (span.name == _RUNNING_TOOL or span.text(genai.MCP_METHOD) == "tools/call")


def _tool_of(span: Span) -> str:
    name = span.text(genai.CALL_TOOL)
    if name:
        return name
    for prefix in (f"{genai.TOOL} ", *_MCP_NAMES):
        if span.name.startswith(prefix):
            return span.name[len(prefix) :]
    return span.name


# --- one session ----------------------------------------------------------------------------------------------


def _session(group: _Group, report: Callable[[str], None]) -> SpanSession:
    spans = sorted(group.spans, key=lambda span: (span.start, span.end))
    models = (span.text(name) for span in spans if _infers(span) for name in genai.MODELS)
    agents = (span.text(genai.AGENT) for span in spans)
    return SpanSession(
        group.id,
        group.start,
        next((name for name in models if name), "unknown"),
        next((name for name in agents if name), group.agent),
        _turns(spans, report),
    )


def _turns(spans: list[Span], report: Callable[[str], None]) -> list[SpanTurn]:
    turns: list[SpanTurn] = []
    ids = CallIds()
    heard: list[str] = []  # messages of the user that were taken, of the trace that is read
    trace = ""
    for span in spans:
        if _infers(span):
            messages = _said(span, genai.INPUT, "user", report)
            if span.trace != trace and messages[: len(heard)] != heard:
                heard = []  # a further trace of a conversation need not repeat what was said in the one before
            trace = span.trace
            turns.append(SpanTurn(messages[len(heard) :], _reply(span, report), inferred=True, tokens=_tokens(span)))
            heard = messages if len(messages) > len(heard) else heard
            continue
        last = turns[-1] if turns else None
        if last is None or not (last.inferred or span.start < max(call.end for call in last.calls)):
            turns.append(last := SpanTurn())
        last.calls.append(_call(span, ids))
    return turns


def _said(span: Span, name: str, role: str, report: Callable[[str], None]) -> list[str]:
    """The texts of one role's messages, those without text left out."""
    messages = span.json(name)
    if messages is None:
        return []
    if not isinstance(messages, list):
        report(f"span {span.id}: {name} is no list of messages (cut off?) and was passed over")
        return []
    texts = []
    for message in messages:
        if isinstance(message, dict) and message.get("role") == role:
            parts = message.get("parts")
            found = [
                content
                for part in (parts if isinstance(parts, list) else [])
                if isinstance(part, dict)
                and part.get("type") == "text"
                and isinstance(content := part.get("content"), str)
            ]
            if found:
                texts.append("\n".join(found))
    return texts


def _reply(span: Span, report: Callable[[str], None]) -> str | None:
    return "\n".join(_said(span, genai.OUTPUT, "assistant", report)) or None


def _tokens(span: Span) -> tuple[int, int] | None:
    prompt, completion = span.number(genai.PROMPT_TOKENS), span.number(genai.COMPLETION_TOKENS)
    return None if prompt is None and completion is None else (prompt or 0, completion or 0)


def _call(span: Span, ids: CallIds) -> SpanCall:
    arguments, result = _content(span, genai.ARGUMENTS), _content(span, genai.RESULTS)
    return SpanCall(
        ids.new(span.text(genai.CALL_ID) or span.id),
        _tool_of(span),
        value_of(arguments) if isinstance(arguments, str) else arguments,
        result if result is None or isinstance(result, str) else jsonvalue.dumps(result).decode("utf-8"),
        span.failed or span.text(genai.CALL_STATUS) == "error",
        span.message,
        span.start,
        span.end,
    )


def _content(span: Span, names: tuple[str, ...]) -> JsonValue:
    """Arguments or a result, from the first attribute that has them."""
    for name in names:
        value = span.attributes.get(name)
        if value is not None and not (name.startswith("gcp.") and value in _WITHHELD):
            return value
    return None


# --- sessions to traces ---------------------------------------------------------------------------------------


def read_spans(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read an export of spans; a span that is damaged is passed over. Holds what is looked at of the whole file."""
    yield from _traces(_spans(records, problems), problems)


def _spans(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Span]:
    for number, record in records:

        def complain(error: Misfit, number: int = number) -> None:
            problems.damage(number, f"{error}; the span was passed over")

        try:
            yield from spans_of(record, ATTRIBUTES, complain)
        except Misfit as error:
            problems.damage(number, str(error))
        except RecursionError:
            problems.damage(number, "a value is nested too deeply")


def read_agents_records(records: Iterable[tuple[int, JsonObject]], problems: Problems) -> Iterator[Trace]:
    """Read what OpenAI Agents exports, a trace or a span a record; see `read_spans`."""
    groups: dict[str, str] = {}  # trace -> conversation; a trace's own record may come before its spans or after them
    spans: list[Span] = []
    for number, record in records:
        try:
            if record.get("object") == "trace":
                name, group = record.get("id"), record.get("group_id")
                if isinstance(name, str) and isinstance(group, str) and group:
                    groups[name] = group
            elif (span := _agents_span(record)) is not None:
                spans.append(span)
        except Misfit as error:
            problems.damage(number, f"{error}; the span was passed over")
    for place, span in enumerate(spans):
        if span.trace in groups:
            spans[place] = replace(span, attributes={**span.attributes, genai.CONVERSATION: groups[span.trace]})
    yield from _traces(spans, problems)


def _agents_span(record: JsonObject) -> Span | None:
    """A function's or a model's span in the conventions' names, None for one of another kind."""
    data = object_at(record.get("span_data"), "$.span_data")
    kind, error = data.get("type"), record.get("error")
    attributes: JsonObject
    if kind == "function":
        attributes = {genai.OPERATION: genai.TOOL, genai.CALL_TOOL: text_at(data.get("name"), "$.span_data.name")}
        attributes |= {genai.CALL_ARGUMENTS: data.get("input"), genai.CALL_RESULT: data.get("output")}
    elif kind in ("generation", "response"):
        attributes = {genai.OPERATION: "chat", "gen_ai.request.model": data.get("model")}
    else:
        return None
    start = clock(record.get("started_at"), "$.started_at")
    message = error.get("message") if isinstance(error, dict) else None
    return Span(
        text_at(record.get("trace_id"), "$.trace_id"),
        text_at(record.get("id"), "$.id"),
        str(kind),
        start,
        clock(record["ended_at"], "$.ended_at") if record.get("ended_at") else start,
        attributes,
        failed=error is not None,
        message=message if isinstance(message, str) else "",
    )


def _traces(spans: Iterable[Span], problems: Problems) -> Iterator[Trace]:
    for session in sessions_of(spans, lambda problem: problems.leftover(1, problem), by_conversation=True):
        yield _trace(session, problems.path)


def _trace(session: SpanSession, source: str) -> Trace:
    builder = TraceBuilder()
    number = 0
    for turn in session.turns:
        for text in turn.said:
            builder.message("user", text)
        if turn.reply:
            builder.message("assistant", turn.reply)
        moments = [(call.start, 0, place) for place, call in enumerate(turn.calls)]
        moments += [(max(call.start, call.end), 1, place) for place, call in enumerate(turn.calls)]
        for _, ended, place in sorted(moments):
            call = turn.calls[place]
            if ended:
                builder.result(call.id, _result(call))
            else:
                args = call.arguments if isinstance(call.arguments, dict) else {}
                builder.call(Call(call.tool, args, call.id), number, args_cut=not isinstance(call.arguments, dict))
        number += bool(turn.calls)
    agent = (session.agent or "otel").replace("/", "-")
    return builder.build(session.id, f"{agent}/{session.model}", source, domain="otel")


def _result(call: SpanCall) -> Result:
    """The result; one that was not recorded is empty and incomplete, except that an error says what it was."""
    if call.result is not None:
        return Result(call.result, not call.failed)
    return Result(call.message, ok=False) if call.failed else Result("", cut=True)
