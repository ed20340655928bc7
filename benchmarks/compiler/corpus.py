"""Traces of which it is known what depends on what. Values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stretto.compiler.schemas import Tools

if TYPE_CHECKING:
    from stretto.compiler.measure import Dependency
    from stretto.compiler.model import Trace

__all__ = ["Corpus", "Intent", "kept_whole"]


@dataclass(frozen=True, slots=True)
class Intent:
    """Traces of one intent.

    Attributes:
        traces: with different ids.
        tools: what is known of their actions.
        kind: what sort of an intent it is, to be counted by.
    """

    traces: tuple[Trace, ...]
    tools: Tools = field(default_factory=Tools)
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Intents with their true dependencies.

    Attributes:
        name: for people.
        intents: of all traces.
        gold: the true dependencies.
        open: dependencies of which nobody knows; they count neither way.
        counted: ids of the traces that are scored; the others are there for several to be looked at.
        reasons: for a dependency, why it is hard to find, or why it is none.
    """

    name: str
    intents: tuple[Intent, ...]
    gold: frozenset[Dependency]
    open: frozenset[Dependency]
    counted: frozenset[str]
    reasons: dict[Dependency, str]

    @property
    def scored(self) -> list[tuple[Trace, Tools]]:
        """The traces that are scored, with what is known of their actions."""
        return [(trace, intent.tools) for intent in self.intents for trace in intent.traces if trace.id in self.counted]


def kept_whole(trace: Trace) -> Trace:
    """A trace all of whose calls have to be made, so that none is dropped before its arguments are looked at."""
    return replace(trace, calls=tuple(replace(call, policy=True) for call in trace.calls))
