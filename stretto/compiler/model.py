"""What is compiled: traces of one agent's work, each with what was asked, called, answered and said. Values.

A trace is τ = (context, request, events, answer, meta) of S. El Yadouni and G. Li, *TraceCompiler*, arXiv:2608.02680.
Not responsible for where a trace comes from (`stretto.compiler.reading`), nor for what is found in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["UNLOGGED", "Call", "Effect", "Output", "Thought", "Trace", "Unlogged", "Utterance"]


class Effect(StrEnum):
    """What an action does to its environment."""

    READ = "read"  #: leaves it as it was
    AUTH = "auth"  #: yields a token, a cookie or the like, and changes nothing else
    WRITE = "write"  #: changes it; an inverse exists and is known
    IRREVERSIBLE = "irreversible"  #: pays, sends, deletes, publishes, …
    UNKNOWN = "unknown"  #: not declared: taken for irreversible everywhere

    @property
    def changes(self) -> bool:
        """Whether anything is changed, as far as is known."""
        return self not in (Effect.READ, Effect.AUTH)

    @property
    def is_final(self) -> bool:
        """Whether nobody can take it back, as far as is known."""
        return self in (Effect.IRREVERSIBLE, Effect.UNKNOWN)


@final
class Unlogged:
    """Stands for an output that was not recorded. There is one: `UNLOGGED`; an output of null is None."""

    def __repr__(self) -> str:
        return "UNLOGGED"


UNLOGGED: Final = Unlogged()

Output: TypeAlias = "JsonValue | Unlogged"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a trace.

    Attributes:
        index: its position among the trace's events; unique in the trace.
        ended: the position at which its result arrived; None: never.
        app: canonical name of the server or application.
        action: canonical name of what was called there; see `stretto.compiler.names`.
        raw_name: as the trace has it.
        server: as the trace has it; empty where it names none.
        args: by name.
        output: as JSON. A result that is no JSON is one text.
        ok: whether it succeeded.
        effect: see `Effect`.
        discovery: whether it only looks up documentation or schemas.
        policy: whether the host says that the task must make this call.
        inherited: whether it was copied here from the part of a conversation before (`stretto.compiler.splitting`).
    """

    index: int
    ended: int | None
    app: str
    action: str
    args: JsonObject = field(default_factory=dict)
    output: Output = UNLOGGED
    ok: bool = True
    effect: Effect = Effect.UNKNOWN
    raw_name: str = ""
    server: str = ""
    discovery: bool = False
    policy: bool = False
    inherited: bool = False

    @property
    def name(self) -> str:
        """The canonical name, ``app.action``."""
        return f"{self.app}.{self.action}"

    def precedes(self, other: Call) -> bool:
        """Whether its result was there before another call was made, so that it can have fed it."""
        return self.ended is not None and self.ended < other.index


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the user said after the request.

    Attributes:
        index: its position among the trace's events.
        text: what was said.
    """

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent said or summed up of its reasoning: shown to people, never evidence.

    Attributes:
        index: its position among the trace's events.
        text: of it.
    """

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One run.

    Attributes:
        id: unique among the traces that are compiled together; they are sorted by it.
        request: what the user asked first.
        calls: in order of `Call.index`.
        context: the system prompt, a profile, whatever was given before the request.
        utterances: what the user said later, in order.
        thoughts: in order.
        answer: the last thing the agent said.
        meta: whatever else is known: ``agent`` and ``task`` among it.
    """

    id: str
    request: str
    calls: tuple[Call, ...] = ()
    context: str = ""
    utterances: tuple[Utterance, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    answer: str = ""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)

    def said_before(self, index: int) -> Iterator[tuple[int, str]]:
        """What the user had said before an event: the request as 0, then each utterance as 1, 2, … with its text."""
        yield 0, self.request
        for number, utterance in enumerate(self.utterances, 1):
            if utterance.index < index:
                yield number, utterance.text
