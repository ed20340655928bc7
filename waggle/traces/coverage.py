"""How much of what happened a recording holds. Logs lack arguments and results more often than one would think.

Not responsible for what is done about it: a call without its arguments is never made again, and nothing is bound from a
result that is not there (`waggle.values`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from waggle.jsonvalue import JsonObject
    from waggle.traces.model import Trace

__all__ = ["Coverage"]


@dataclass(slots=True)
class Coverage:
    """Counts the calls of recordings, and what was recorded of them.

    Attributes:
        calls: tool calls.
        with_arguments: of these, with whole arguments; the others bind to nothing.
        with_results: of these, with a result or an error; the others are a source of nothing.
        shortened: of those with a result, how many are incomplete.
    """

    calls: int = 0
    with_arguments: int = 0
    with_results: int = 0
    shortened: int = 0

    def add(self, trace: Trace) -> None:
        """Count the calls of one session."""
        for step in trace.steps:
            result = step.result
            told = result is not None and not (result.cut and not result.text and result.ok)
            self.calls += 1
            self.with_arguments += not step.args_cut
            self.with_results += told
            self.shortened += told and result is not None and result.cut

    def counting(self, traces: Iterable[Trace]) -> Iterator[Trace]:
        """The same sessions, counted as they pass."""
        for trace in traces:
            self.add(trace)
            yield trace

    @property
    def summary(self) -> str:
        """What is missing and what that means; empty when nothing is."""
        missing = [
            (self.calls - self.with_arguments, "have no whole arguments: they are never made again"),
            (self.calls - self.with_results, "have no result: nothing can be bound from results that are not there"),
            (self.shortened, "have a shortened result: nothing is bound from what was cut off"),
        ]
        told = [f"{number:,} {meaning}" for number, meaning in missing if number]
        return f"of {self.calls:,} recorded calls {'; '.join(told)}" if told else ""

    def as_json(self) -> JsonObject:
        """The counts, for programs."""
        return {
            "calls": self.calls,
            "with_arguments": self.with_arguments,
            "with_results": self.with_results,
            "shortened": self.shortened,
        }
