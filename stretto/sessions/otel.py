"""Spans of agents, exported as OTLP JSON, as episodes: one for each trace.

What spans mean is `waggle.traces.otel`'s, the form of an export `stretto.sessions.otlp`'s. The kinds of the tools are
nobody's: spans do not say them, so learning from spans needs a manifest file.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.errors import SessionLogError
from stretto.sessions.episode import Assistant, Episode, ToolCall, ToolResult, Usage, User
from stretto.sessions.otlp import read_spans
from waggle.traces.otel import ATTRIBUTES, CONVENTIONS, sessions_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from stretto.sessions.episode import Event
    from waggle.traces.otel import SpanCall, SpanSession

__all__ = ["CONVENTIONS", "Coverage", "read_otel"]

_NS_PER_MS: Final = 1_000_000


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
    for session in sessions_of(read_spans(path, ATTRIBUTES, report), report, by_conversation=False):
        yield _episode(session, counted)
    if counted.warning:
        report(counted.warning)


def _episode(session: SpanSession, coverage: Coverage) -> Episode:
    events: list[Event] = []
    sent_after: dict[str, int] = {}
    for turn in session.turns:
        events.extend(User(text) for text in turn.said)
        calls = tuple(ToolCall(call.id, call.tool, call.arguments) for call in turn.calls)
        events.append(Assistant(turn.reply, calls, None if turn.tokens is None else Usage(*turn.tokens)))
        events.extend(_result(call) for call in sorted(turn.calls, key=lambda call: call.end))
        ends = sorted(call.end for call in turn.calls)
        for call in turn.calls:
            returned = bisect.bisect_right(ends, call.start) - (call.end <= call.start)
            if returned > 0:
                sent_after[call.id] = returned
            coverage.calls += 1
            coverage.with_arguments += call.arguments is not None
            coverage.with_results += call.result is not None or call.failed
    return Episode(
        id=session.id,
        events=tuple(events),
        domain="otel",
        agent_model=session.model,
        started_ms=session.start // _NS_PER_MS,
        sent_after=sent_after,
    )


def _result(call: SpanCall) -> ToolResult:
    unsaid = call.message if call.failed else ""
    return ToolResult(call.id, call.tool, call.failed, unsaid if call.result is None else call.result)
