"""What always held before a step that nobody can take back, so that no trace says what would be done otherwise. Pure.

Where every order that was refunded had been delivered, nothing tells what becomes of one that was cancelled: traces
that never differ make no fork, and so no guard. At the user's word (``assume``) a procedure looks at such a value, and
stops where it is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stretto.compiler.model import Effect
from stretto.procedure import atoms
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.analysis import Analysis
    from waggle.jsonvalue import JsonValue

__all__ = ["Assumption", "assumptions"]

#: Characters of a text that may be a state, a kind or a currency; longer ones tell things.
_TEXT: Final = 40


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that was the same in every trace.

    Attributes:
        step: key of the step that nobody can take back.
        source: key of the read whose output has it, and which the step depends on.
        path: exact path in that output, not in a list.
        value: it: a short text, or true or false.
        support: traces that show it.
    """

    step: str
    source: str
    path: str
    value: JsonValue
    support: int


def assumptions(analysis: Analysis) -> tuple[Assumption, ...]:
    """The values that were the same before each final step in `constant_min` traces or more, by step, source and path.

    Of the reads that the step's arguments come from, directly or by way of others. What an argument takes is left out.
    """
    return tuple(
        found
        for key in analysis.keys
        if analysis.effect(key).is_final
        for source in sorted(_sources(analysis, key))
        if analysis.effect(source) is Effect.READ
        for found in _of(analysis, key, source)
    )


def _sources(analysis: Analysis, key: str) -> set[str]:
    found: set[str] = set()
    todo = [key]
    while todo:
        step = todo.pop()
        for path in analysis.classifier.paths(step):
            new = {source.step for source in analysis.bindings[(step, path)].sources} - found
            found |= new
            todo += new
    return found


def _of(analysis: Analysis, key: str, source: str) -> Iterator[Assumption]:
    taken = {place.path for binding in analysis.bindings.values() for place in binding.sources if place.step == source}
    outputs = [run.outer(source) for run in analysis.occurrences(key) if source in run.by_key]
    if len(outputs) < max(analysis.settings.constant_min, 1):
        return
    for path, value in sorted(outputs[0].items()):
        is_state = isinstance(value, bool) or (isinstance(value, str) and 0 < len(value) <= _TEXT)
        if is_state and path not in taken and not is_masked(value) and all(_has(each, path, value) for each in outputs):
            yield Assumption(key, source, path, value, len(outputs))


def _has(output: dict[str, JsonValue], path: str, value: JsonValue) -> bool:
    return path in output and atoms.same(output[path], value)
