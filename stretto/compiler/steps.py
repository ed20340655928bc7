"""The steps of a trace, and the same steps in several traces: alignment by action and occurrence. Pure.

A **step** is what a procedure makes once: a call, or the calls of one group that are one repeated call. Its key is
``app.action#k``, the k-th occurrence of that action among the calls that are kept. Step k of one trace is step k of
another only by that key, never by position, and keys change when labels do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stretto.compiler.depend import judge
from stretto.compiler.model import UNLOGGED, Unlogged
from stretto.compiler.seen import Seen
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from stretto.compiler.groups import Group
    from stretto.compiler.labels import Labels, Needs
    from stretto.compiler.model import Call, Output, Trace
    from stretto.compiler.tracing import Argument, Tracing
    from waggle.jsonvalue import JsonValue

__all__ = ["Run", "Step", "step_keys"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one trace.

    Attributes:
        key: ``app.action#k``.
        calls: one, or all those that a repeated step makes, in order.
        group: the group they are of.
    """

    key: str
    calls: tuple[Call, ...]
    group: Group

    @property
    def name(self) -> str:
        """``app.action``."""
        return self.calls[0].name

    @property
    def first(self) -> Call:
        """Its first call."""
        return self.calls[0]

    @property
    def last(self) -> Call:
        """Its last call."""
        return self.calls[-1]

    @property
    def is_list(self) -> bool:
        """Whether what it gives is the list of its calls' outputs."""
        return self.group.kind.is_fan_out or self.group.kind.is_paging

    @property
    def varying(self) -> frozenset[str]:
        """The exact paths of the arguments that are not the same in all of its calls."""
        if len(self.calls) == 1 and not self.group.kind.is_repeated:
            return frozenset()
        if self.group.path is not None:
            return frozenset([self.group.path])
        each = [{path: atoms.key(value) for path, value in atoms.arguments(call.args).items()} for call in self.calls]
        return frozenset(path for one in each for path in one if any(other.get(path) != one[path] for other in each))


class Run:
    """One trace as a sequence of steps.

    Whatever is found out of it is kept: the same run serves in all analyses that it is part of.

    Args:
        tracing: the trace with the origins of its arguments.
        dropped: indices of calls that are no steps, beside recoveries.

    Attributes:
        labels: found so far, by what they depend on; for `stretto.compiler.labels`.
    """

    def __init__(self, tracing: Tracing, dropped: Collection[int] = ()) -> None:
        self.tracing = tracing
        self.dropped = frozenset(dropped)
        self.labels: dict[tuple[Needs, frozenset[str]], Labels] = {}
        self._arguments: dict[str, dict[str, Argument]] = {}
        self._varying: dict[str, frozenset[str]] = {}
        self._seen: dict[tuple[str, str, bool], Seen | None] = {}
        self._outer: dict[str, dict[str, JsonValue]] = {}
        self._before: dict[int, dict[tuple[str, str], JsonValue]] = {}
        self._without: dict[frozenset[int], Run] = {}

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.tracing.trace

    @cached_property
    def calls(self) -> dict[int, Call]:
        """The trace's calls by their indices."""
        return {call.index: call for call in self.trace.calls}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order of their first calls."""
        return tuple(sorted(self._steps(), key=lambda step: step.first.index))

    def _steps(self) -> Iterator[Step]:
        for group in self.tracing.groups:
            kept = [self.calls[index] for index in group.kept if index not in self.dropped]
            if kept and group.kind.is_repeated:
                yield Step(f"{group.name}#0", tuple(kept), group)
            else:
                for number, call in enumerate(kept):
                    yield Step(f"{group.name}#{number}", (call,), group)

    @cached_property
    def by_key(self) -> dict[str, Step]:
        """The steps by key."""
        return {step.key: step for step in self.steps}

    @cached_property
    def keys(self) -> dict[int, str]:
        """The step key of each call that belongs to a step, by the call's index."""
        return {call.index: step.key for step in self.steps for call in step.calls}

    def arguments(self, key: str) -> dict[str, Argument]:
        """The arguments of a step that are the same in all of its calls, by exact path; none without such a step."""
        found = self._arguments.get(key)
        if found is None:
            found = self._arguments[key] = dict(self._constant_arguments(key))
        return found

    def _constant_arguments(self, key: str) -> Iterator[tuple[str, Argument]]:
        step = self.by_key.get(key)
        if step is not None:
            call = next((each for each in step.calls if each.ok), step.first)
            varying = self.varying(key)
            for each in self.tracing.by_call[call.index]:
                if each.path not in varying:
                    yield each.path, each

    def given(self, key: str) -> dict[str, JsonValue]:
        """What a step's call was given, by exact path, also where it failed, so that its arguments were not traced.

        Of a step with several calls, the arguments that are the same in all of them. Nothing without such a step.
        """
        traced = self.arguments(key)
        if traced or key not in self.by_key:
            return {path: argument.value for path, argument in traced.items()}
        varying = self.varying(key)
        found = atoms.arguments(self.by_key[key].first.args)
        return {path: value for path, value in found.items() if path not in varying}

    @cached_property
    def succeeded(self) -> frozenset[str]:
        """The keys of the steps of which some call succeeded."""
        return frozenset(step.key for step in self.steps if any(call.ok for call in step.calls))

    @cached_property
    def paths(self) -> dict[str, frozenset[str]]:
        """The exact paths of each step's arguments, by key; those that differ among its calls among them."""
        return {key: self.varying(key).union(self.arguments(key)) for key in self.by_key}

    def varying(self, key: str) -> frozenset[str]:
        """The exact paths of a step's arguments that are not the same in all of its calls; none without such a step."""
        found = self._varying.get(key)
        if found is None:
            step = self.by_key.get(key)
            found = self._varying[key] = step.varying if step is not None else frozenset()
        return found

    def seen(self, place: tuple[str, str, bool]) -> Seen | None:
        """What the trace says of a step's argument; None where it is absent, or differs among the step's calls.

        Args:
            place: the step's key, the argument's exact path, and whether it holds what a login yields.
        """
        if place not in self._seen:
            key, path, session = place
            argument = self.arguments(key).get(path)
            found = None if argument is None else Seen(self, judge(argument, self.tracing, session=session))
            self._seen[place] = found
        return self._seen[place]

    def arguments_before(self, call: Call) -> dict[tuple[str, str], JsonValue]:
        """The arguments of the steps before a call's own, by key and exact path."""
        found = self._before.get(call.index)
        if found is None:
            found = self._before[call.index] = {
                (step.key, path): argument.value
                for step in self.steps
                if step.first.index < call.index and call not in step.calls
                for path, argument in self.arguments(step.key).items()
            }
        return found

    def element_values(self, key: str, path: str) -> list[JsonValue]:
        """The values of an argument in each of a repeated step's calls, in order; what is absent is left out."""
        step = self.by_key[key]
        each = [atoms.arguments(call.args) for call in step.calls]
        return [found[path] for found in each if path in found]

    def output(self, key: str) -> Output:
        """What a step gives: its call's output; the list of its calls' outputs where it goes over elements or pages.

        `UNLOGGED` where one of them is; the last output of a step that is made until something changes.
        """
        step = self.by_key[key]
        if not step.is_list:
            return step.last.output
        outputs = [call.output for call in step.calls]
        logged = [output for output in outputs if not isinstance(output, Unlogged)]
        return UNLOGGED if len(logged) < len(outputs) else logged

    def outer(self, key: str) -> dict[str, JsonValue]:
        """What a step gives outside of lists, by exact path; nothing where it was not recorded."""
        found = self._outer.get(key)
        if found is None:
            step, output = self.by_key[key], self.output(key)
            whole = {} if isinstance(output, Unlogged) else {"$": output}
            found = self._outer[key] = whole if step.is_list or not whole else self.tracing.outer(step.last)
        return found

    def place(self, call: int, path: str) -> tuple[str, str] | None:
        """Where a place of a call's output is among the outputs of steps: the step's key and the exact path.

        None when the call is no part of a step, or one before the last of a step that is made until something changes.
        """
        key = self.keys.get(call)
        if key is None:
            return None
        step = self.by_key[key]
        if step.is_list:
            number = [each.index for each in step.calls].index(call)
            return key, f"$[{number}]{path[1:]}"
        return (key, path) if step.last.index == call else None

    def without(self, dropped: Collection[int]) -> Run:
        """The same trace with these calls dropped."""
        gone = frozenset(dropped)
        if gone == self.dropped:
            return self
        if gone not in self._without:
            self._without[gone] = Run(self.tracing, gone)
        return self._without[gone]


def step_keys(runs: Sequence[Run]) -> tuple[str, ...]:
    """The keys of all steps of several traces: in the order in which they mostly come, ties by key.

    The order is that of the mean position among each trace's steps, so that it does not depend on the order of traces.
    """
    positions: dict[str, list[float]] = {}
    for run in runs:
        for number, step in enumerate(run.steps):
            positions.setdefault(step.key, []).append(number / max(len(run.steps), 1))
    return tuple(sorted(positions, key=lambda key: (round(sum(positions[key]) / len(positions[key]), 9), key)))
