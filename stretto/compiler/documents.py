"""The document of a trace: what it was about, as text, to be compared with others. Pure.

Values of arguments and results play no part: they belong to the instance, not to the intent. What the user or the agent
said is masked (`waggle.redact`), so that no secret goes into an index or a name.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from stretto.compiler.model import Call, Utterance
from waggle.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.model import Thought, Trace

__all__ = ["document"]


def document(trace: Trace, max_chars: int) -> str:
    """The document of a trace: the request twice, since it says most, then what was said and called, in order.

    One item a line. Of what the agent said, only what it said before a call is reasoning; a reply repeats results.
    Equal calls in a row are one line, and calls that were taken over from before (`Call.inherited`) are none.

    Args:
        trace: the trace.
        max_chars: characters that are kept, from the start: embedders cut what is longer, and without a word.
    """
    lines = [f"REQUEST: {_one_line(trace.request)}"] * 2 if trace.request else []
    for line in _lines(trace):
        if not (line.startswith("CALL: ") and lines and lines[-1] == line):
            lines.append(line)
    return "\n".join(lines)[:max_chars]


def _lines(trace: Trace) -> Iterator[str]:
    events: list[Call | Thought | Utterance] = sorted(
        [*(call for call in trace.calls if not call.inherited), *trace.utterances, *trace.thoughts],
        key=lambda event: event.index,
    )
    for event, after in zip_longest(events, events[1:]):
        if isinstance(event, Call):
            yield f"CALL: {event.name}({','.join(sorted(event.args))})"
        elif isinstance(event, Utterance):
            yield f"SAID: {_one_line(event.text)}"
        elif isinstance(after, Call):
            yield f"THINK: {_one_line(event.text)}"


def _one_line(text: str) -> str:
    return " ".join(redact_text(text).split())
