"""What of all that was counted of arguments goes into a flow.

Decided once, from the survey of all sessions (`stretto.bindings.survey`), or taken from a flow that was learned before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from stretto.bindings.model import Bindings, Slot, Source
    from waggle.jsonvalue import JsonValue

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What is kept of surveys: decided once, from all sessions, so that the counts of their parts add.

    Attributes:
        reads: the tools whose calls are kept.
        several: arguments with more than one source, whose values are kept by site.
        bare: tools without required arguments that were called with some.
        constants: arguments with one value.
        derived: derivations with enough evidence, by argument.
        records: records with enough evidence, by tool.
        spoken: shapes with enough evidence, by argument.
    """

    reads: frozenset[str]
    several: frozenset[Slot] = frozenset()
    bare: frozenset[str] = frozenset()
    constants: dict[Slot, JsonValue] = field(default_factory=dict)
    derived: dict[Slot, list[Source]] = field(default_factory=dict)
    records: dict[str, list[Source]] = field(default_factory=dict)
    spoken: dict[Slot, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, bindings: Bindings, reads: Collection[str]) -> Scope:
        """The scope that a flow was learned with."""
        return cls(
            reads=frozenset(reads),
            several=frozenset(slot for slot, counts in bindings.sources.items() if len(counts.found) > 1),
            bare=frozenset(bindings.bare),
            constants=dict(bindings.constants),
            derived={slot: sorted(counts.found) for slot, counts in bindings.derived.items()},
            records={tool: sorted(counts.found) for tool, counts in bindings.records.items()},
            spoken={slot: sorted(spoken.shapes) for slot, spoken in bindings.spoken.items()},
        )
