"""The formats of recorded sessions that are read: a name, what it looks like, and its reader.

A format is added here and nowhere else. Each reader takes the numbered JSON objects of a file and gives its sessions;
what is damaged it passes over and names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from waggle.traces.canonical import is_canonical, read_canonical
from waggle.traces.claude_code import is_transcript, read_transcript
from waggle.traces.codex import is_codex, read_codex
from waggle.traces.otel import read_agents_records, read_spans
from waggle.traces.spans import is_agents_record, is_spans
from waggle.traces.trajectories import is_mini_swe_agent, is_swe_agent, read_mini_swe_agent, read_swe_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from waggle.jsonvalue import JsonObject
    from waggle.traces.lines import Problems
    from waggle.traces.model import Trace

__all__ = ["FORMATS", "Format", "format_of"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        name: what ``--format`` calls it.
        title: what errors and help call it.
        sign: what a file of it holds, by which it is known.
        fits: whether an object looks like one of such a file.
        read: makes the sessions of a file's objects.
    """

    name: str
    title: str
    sign: str
    fits: Callable[[JsonObject], bool]
    read: Callable[[Iterable[tuple[int, JsonObject]], Problems], Iterator[Trace]]


_ALL: Final = (
    Format("canonical", "canonical traces", "an object with `events`", is_canonical, read_canonical),
    Format(
        "claude-code", "Claude Code transcripts", "lines with `type` and `sessionId`", is_transcript, read_transcript
    ),
    Format("codex", "Codex transcripts", "lines with `type` and `payload`", is_codex, read_codex),
    Format(
        "mini-swe-agent",
        "mini-SWE-agent trajectories",
        "a document with `messages` and `info` or `trajectory_format`",
        is_mini_swe_agent,
        read_mini_swe_agent,
    ),
    Format(
        "swe-agent",
        "SWE-agent trajectories",
        "a document with `trajectory` and `history` or `info`",
        is_swe_agent,
        read_swe_agent,
    ),
    Format("otel", "OpenTelemetry spans", "`resourceSpans`, or spans with `context`", is_spans, read_spans),
    Format(
        "openai-agents",
        "OpenAI Agents traces",
        'records with `object` "trace" or "trace.span"',
        is_agents_record,
        read_agents_records,
    ),
)

#: The formats by name, in the order in which they are looked for.
FORMATS: Final = {each.name: each for each in _ALL}


def format_of(record: JsonObject) -> Format | None:
    """The format that an object looks like."""
    return next((each for each in _ALL if each.fits(record)), None)
