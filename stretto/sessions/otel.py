"""Spans of agents, exported as OTLP JSON, as episodes: one for each trace.

The names are those of OpenTelemetry's semantic conventions for generative AI, of the version in `CONVENTIONS`; other
attributes and other spans are passed over. Not responsible for the form of an export (`stretto.sessions.otlp`), nor for
the kinds of the tools: spans do not say them, so learning from spans needs a manifest file.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stretto.errors import SessionLogError
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage, User
from stretto.sessions.importing import CallIds
from stretto.sessions.otlp import read_spans
from waggle import jsonvalue

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from stretto.sessions.episode import Event
    from stretto.sessions.otlp import Span

__all__ = ["CONVENTIONS", "Coverage", "read_otel"]

#: What the names of the attributes are pinned to; flows learned from spans record it.
CONVENTIONS: Final = "OpenTelemetry GenAI semantic conventions 1.38.0"

_INFERENCE: Final = frozenset({"chat", "generate_content", "text_completion"})
_TOOL: Final = "execute_tool"
_NS_PER_MS: Final = 1_000_000

_OPERATION: Final = "gen_ai.operation.name"
_INPUT: Final = "gen_ai.input.messages"
_OUTPUT: Final = "gen_ai.output.messages"
_PROMPT_TOKENS: Final = "gen_ai.usage.input_tokens"
_COMPLETION_TOKENS: Final = "gen_ai.usage.output_tokens"
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model")
_CALL_ID: Final = "gen_ai.tool.call.id"
_CALL_TOOL: Final = "gen_ai.tool.name"
_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
_CALL_RESULT: Final = "gen_ai.tool.call.result"
_ATTRIBUTES: Final = frozenset(
    {_OPERATION, _INPUT, _OUTPUT, _PROMPT_TOKENS, _COMPLETION_TOKENS, *_MODELS}
    | {_CALL_ID, _CALL_TOOL, _CALL_ARGUMENTS, _CALL_RESULT}
)


@dataclass(slots=True)
class Coverage:
    """How much of an export's calls was recorded. Content is off by default in most instrumentations.

    Attributes:
        calls: tool calls.
        with_arguments: of these, with arguments; the others bind to nothing.
        with_results: of these, with a result or an error text; the others are a source of nothing.
    """

    calls: int = 0
    with_arguments: int = 0
    with_results: int = 0

    @property
    def counts(self) -> list[int]:
        """Calls, those with arguments, those with results."""
        return [self.calls, self.with_arguments, self.with_results]

    @property
    def warning(self) -> str:
        """What is missing and what to do about it; empty when nothing is."""
        if self.calls == self.with_arguments == self.with_results:
            return ""
        return (
            f"of {self.calls} tool calls {self.with_arguments} have arguments and {self.with_results} have results; "
            "a flow binds only from what was recorded, so switch on the instrumentation's recording of content"
        )


def read_otel(
    path: str | os.PathLike[str],
    *,
    coverage: Coverage | None = None,
    on_problem: Callable[[SessionLogError], None] | None = None,
) -> Iterator[Episode]:
    """Read an export of spans: one JSON value, or one a line; gzipped or not.

    The file is held whole, since spans of one trace may stand anywhere in it.

    Args:
        path: the file.
        coverage: counts what was recorded, as far as has been yielded.
        on_problem: called for what had to be left out (a last line that is cut off, messages that are cut off by a
            limit on attributes), and, at the end, when content is missing.

    Yields:
        One episode a trace that has inference or tool spans, by earliest start, then by trace id. Their domain is
        ``otel``, their reward 0.

    Raises:
        SessionLogError: the file cannot be read or is not such an export; the text has the JSON path of the fault.
    """
    name = str(path)

    def report(problem: str) -> None:
        if on_problem is not None:
            on_problem(SessionLogError(name, None, problem))

    counted = Coverage() if coverage is None else coverage
    traces: dict[str, _Trace] = {}
    for span in read_spans(path, _ATTRIBUTES, report):
        traces.setdefault(span.trace, _Trace(span.trace, span.start)).add(span)
    for trace in sorted(traces.values(), key=lambda trace: (trace.start, trace.id)):
        if trace.spans:
            yield _episode(trace, counted, report)
            trace.spans.clear()
    if counted.warning:
        report(counted.warning)


@dataclass(slots=True)
class _Trace:
    id: str
    start: int  #: of its earliest span, whatever that one is
    spans: list[Span] = field(default_factory=list)  #: those that are looked at, in the file's order

    def add(self, span: Span) -> None:
        self.start = min(self.start, span.start)
        if _infers(span) or _executes(span):
            self.spans.append(span)


def _infers(span: Span) -> bool:
    return span.text(_OPERATION) in _INFERENCE


def _executes(span: Span) -> bool:
    return span.text(_OPERATION) == _TOOL


@dataclass(slots=True)
class _Turn:
    """What belongs to one turn: what was said before it, the model's span if there is one, and its tools' spans."""

    inference: Span | None
    said: list[str] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)


def _episode(trace: _Trace, coverage: Coverage, report: Callable[[str], None]) -> Episode:
    spans = sorted(trace.spans, key=lambda span: (span.start, span.end))
    events: list[Event] = []
    sent_after: dict[str, int] = {}
    ids = CallIds()
    for turn in _turns(spans, report):
        events.extend(User(text) for text in turn.said)
        calls = [(span, _call(span, ids)) for span in turn.tools]
        events.append(
            Assistant(
                _reply(turn.inference, report) if turn.inference else None,
                tuple(call for _, call in calls),
                _usage(turn.inference) if turn.inference else None,
            )
        )
        events.extend(_result(span, call) for span, call in sorted(calls, key=lambda pair: pair[0].end))
        ends = sorted(span.end for span in turn.tools)
        for span, call in calls:
            returned = bisect.bisect_right(ends, span.start) - (span.end <= span.start)
            if returned > 0:
                sent_after[call.id] = returned
            coverage.calls += 1
            coverage.with_arguments += span.attributes.get(_CALL_ARGUMENTS) is not None
            coverage.with_results += span.attributes.get(_CALL_RESULT) is not None or span.failed
    return Episode(
        id=trace.id,
        events=tuple(events),
        domain="otel",
        agent_model=_model(spans),
        started_ms=trace.start // _NS_PER_MS,
        sent_after=sent_after,
    )


def _turns(spans: list[Span], report: Callable[[str], None]) -> list[_Turn]:
    turns: list[_Turn] = []
    said = 0  # messages of the user that were taken
    for span in spans:
        if _infers(span):
            messages = _said(span, _INPUT, "user", report)
            turns.append(_Turn(span, messages[said:]))
            said = max(said, len(messages))
        elif turns and (turns[-1].inference or span.start < max(tool.end for tool in turns[-1].tools)):
            turns[-1].tools.append(span)
        else:
            turns.append(_Turn(None, tools=[span]))
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
    return "\n".join(_said(span, _OUTPUT, "assistant", report)) or None


def _usage(span: Span) -> Usage | None:
    prompt = span.number(_PROMPT_TOKENS)
    completion = span.number(_COMPLETION_TOKENS)
    return None if prompt is None and completion is None else Usage(prompt or 0, completion or 0)


def _model(spans: list[Span]) -> str:
    names = (span.text(name) for span in spans if _infers(span) for name in _MODELS)
    return next((name for name in names if name), "unknown")


def _call(span: Span, ids: CallIds) -> ToolCall:
    name = span.text(_CALL_TOOL) or span.name.removeprefix(f"{_TOOL} ")
    return ToolCall(ids.new(span.text(_CALL_ID) or span.id), name, span.json(_CALL_ARGUMENTS))


def _result(span: Span, call: ToolCall) -> ToolResult:
    value = span.attributes.get(_CALL_RESULT)
    if value is None:
        content = span.message if span.failed else ""
    else:
        content = value if isinstance(value, str) else jsonvalue.dumps(value).decode("utf-8")
    return ToolResult(call.id, call.name, span.failed, content)
