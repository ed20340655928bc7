"""What one trace says of one argument of one step, as several traces can be compared by. Pure.

What is found out is kept: the same argument serves in all analyses that its trace is part of.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from stretto.compiler.depend import producers_of
from stretto.compiler.evidence import Other
from stretto.compiler.model import Unlogged
from stretto.compiler.selection import Case
from stretto.procedure import atoms
from stretto.procedure.transforms import transformed
from stretto.procedure.values import elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.depend import Judged, Producer
    from stretto.compiler.steps import Run
    from waggle.jsonvalue import JsonValue

__all__ = ["Seen"]


class Seen:
    """One argument of one step in one trace.

    Args:
        run: of the trace.
        judged: what the trace says of it.
    """

    def __init__(self, run: Run, judged: Judged) -> None:
        self.run = run
        self.judged = judged
        self._cases: dict[tuple[str, str], Case | None] = {}

    @property
    def value(self) -> JsonValue:
        """Its value."""
        return self.judged.argument.value

    @cached_property
    def key(self) -> bytes:
        """Equal for equal values."""
        return atoms.key(self.value)

    @cached_property
    def user_said(self) -> bool:
        """Whether the user had said the value."""
        return self.judged.argument.found(Other.USER)

    @cached_property
    def is_told(self) -> bool:
        """Whether the user, the context or the schema explains the value, or the agent had it before."""
        origins = (Other.USER, Other.STATIC, Other.DEFAULT, Other.ENUM)
        argument = self.judged.argument
        return argument.known is not None or any(argument.found(other) for other in origins)

    @cached_property
    def is_unseen(self) -> bool:
        """Whether a call that failed, or one whose output nobody recorded, may explain the value."""
        return any(self.judged.argument.found(other) for other in (Other.FAILED_CALL, Other.UNLOGGED_CALL))

    @cached_property
    def producers(self) -> frozenset[Producer]:
        """See `stretto.compiler.depend.producers_of`."""
        return frozenset(producers_of(self.judged, self.run))

    @cached_property
    def producer_steps(self) -> frozenset[str]:
        """The keys of the steps among them."""
        return frozenset(step for step, _, _ in self.producers)

    @cached_property
    def transforms(self) -> dict[tuple[str, str, str], bytes]:
        """All transforms of earlier values that give the value: step, path, name, with the source's value."""
        return {
            (step, place, name): atoms.key(source)
            for step, place, source in self._sources()
            for name, value in transformed(source)
            if atoms.key(value) == self.key
        }

    @cached_property
    def contained(self) -> dict[tuple[str, str], JsonValue]:
        """The earlier texts and integers that a text holds, by step and path."""
        text = self.value
        return {
            (step, place): source
            for step, place, source in self._sources()
            if isinstance(source, str | int) and not isinstance(source, bool)
            if isinstance(text, str) and str(source) in text
        }

    def case(self, step: str, path: str) -> Case | None:
        """Which element of a list of an earlier step has the value; None where none does, or nothing was recorded.

        Args:
            step: the step's key.
            path: general path of the value in its output.
        """
        if (step, path) not in self._cases:
            self._cases[(step, path)] = self._case(step, path)
        return self._cases[(step, path)]

    def _case(self, step: str, path: str) -> Case | None:
        output = self.run.output(step)
        if isinstance(output, Unlogged):
            return None
        found = tuple(element for _, element in elements(output, path))
        chosen = next((number for number, element in enumerate(found) if atoms.key(element.value) == self.key), None)
        call = self.judged.argument.call
        texts = [text for _, text in self.run.trace.said_before(call.index)]

        def said(value: JsonValue) -> bool:
            return any(atoms.said(value, text) for text in texts)

        return None if chosen is None else Case(found, chosen, said, self.run.arguments_before(call))

    def _sources(self) -> Iterator[tuple[str, str, JsonValue]]:
        """The values that a transform may have been applied to: in outputs of earlier steps, and inputs of the user's.

        Outside of lists, but for lists as a whole. An input stands under no step, by its name.
        """
        run, call = self.run, self.judged.argument.call
        for step in run.steps:
            output = run.output(step.key)
            if step.last.precedes(call) and not isinstance(output, Unlogged):
                for path, node in run.outer(step.key).items():
                    if not isinstance(node, dict):
                        yield step.key, path, node
        for step in run.steps:
            if step.first.index <= call.index:
                for argument in run.arguments(step.key).values():
                    if argument.found(Other.USER) and argument is not self.judged.argument:
                        yield "", argument.name, argument.value
