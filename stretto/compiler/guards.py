"""Where traces of one intent go different ways, and what tells which way to go. Pure.

A **guard** is one predicate of a small closed language over a value that is there at that point. It is accepted only
when it separates all traces without exception, with `branch_min` traces on each side, and is the only one that does:
when several do, the evidence does not say which of them is the reason. Of a value that is compared with constants, each
constant is a side of its own, so that names and ids, which differ from trace to trace, separate nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stretto.compiler.binding import BindingClass
from stretto.procedure import atoms
from stretto.procedure.values import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeGuard

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.steps import Run
    from waggle.jsonvalue import JsonValue

__all__ = [
    "END",
    "Branching",
    "Exit",
    "Fork",
    "Guard",
    "Predicate",
    "Way",
    "constants",
    "find_branching",
    "guard_over",
    "shown_inputs",
    "ways",
]

#: The exit of a fork after which no step comes that other traces lack.
END: Final = "end"


class Predicate(StrEnum):
    """What a guard looks at."""

    COUNT = "count"  #: whether a list has none, one or many
    PRESENT = "present"  #: whether there is anything
    EQUALS = "equals"  #: which of a few values it is
    INTERVAL = "interval"  #: in which interval a number is


@dataclass(frozen=True, slots=True)
class Guard:
    """A predicate that tells which way to go.

    Attributes:
        predicate: what it looks at.
        step: key of the step in whose output it looks; empty for an input.
        path: exact path in the output, or the input's name.
        exits: for each exit, the values of the predicate that were seen there: ``0``, ``1`` or ``many``; true or false;
            values; or the smallest and the largest number.
    """

    predicate: Predicate
    step: str
    path: str
    exits: Mapping[str, tuple[JsonValue, ...]]

    def __str__(self) -> str:
        return f"{self.predicate}({self.step + ' ' if self.step else 'input '}{self.path})"


@dataclass(frozen=True, slots=True)
class Exit:
    """One way on from a fork.

    Attributes:
        name: key of the first step there that other ways lack; `END` without one.
        traces: ids of the traces that went there.
    """

    name: str
    traces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """A point where traces go different ways.

    Attributes:
        id: ``fork1``, ``fork2``, … in order.
        within: the exits of earlier forks that lead here.
        exits: the ways on, in the order of their first steps; a trace goes the first of which it has the step. `END`
            is the last.
        guard: what tells them apart; None when nothing does, or too much.
        rivals: all guards that separate the traces, when there is more than one.
        after: keys of the steps that come before it in all its traces.
    """

    id: str
    within: tuple[tuple[str, str], ...]
    exits: tuple[Exit, ...]
    guard: Guard | None
    rivals: tuple[Guard, ...] = ()
    after: tuple[str, ...] = ()


#: How a step is reached: exits of forks, all of which have to be taken; a step without any is always reached.
Way = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Branching:
    """All ways that traces go.

    Attributes:
        forks: each after those that lead to it.
        leaves: the ways to where traces have the same steps, with these traces.
    """

    forks: tuple[Fork, ...]
    leaves: tuple[tuple[Way, tuple[Run, ...]], ...]


@dataclass
class _Search:
    analysis: Analysis
    forks: list[Fork] = field(default_factory=list)
    leaves: list[tuple[Way, tuple[Run, ...]]] = field(default_factory=list)

    def resolve(self, runs: Sequence[Run], within: Way) -> None:
        """Follow traces from fork to fork, until those that are left have the same steps."""
        order = [key for key in self.analysis.keys if any(key in run.by_key for run in runs)]
        common = [key for key in order if all(key in run.by_key for run in runs)]
        if len(common) == len(order):
            self.leaves.append((within, tuple(runs)))
            return
        optional = [key for key in order if key not in common]
        groups: dict[str, list[Run]] = {}
        for run in runs:
            groups.setdefault(next((key for key in optional if key in run.by_key), END), []).append(run)
        before = self._before(common, optional, runs)
        names = [name for name in (*order, END) if name in groups]
        exits = tuple(Exit(name, tuple(run.trace.id for run in groups[name])) for name in names)
        found = list(_guards(self.analysis, groups, before))
        guard = found[0] if len(found) == 1 else None
        name = f"fork{len(self.forks) + 1}"
        self.forks.append(Fork(name, within, exits, guard, tuple(found) if guard is None else (), tuple(before)))
        for exit_name in sorted(groups):
            self.resolve(groups[exit_name], (*within, (name, exit_name)))

    def _before(self, common: list[str], optional: list[str], runs: Sequence[Run]) -> list[str]:
        """The steps that all traces have and that come before any step which only some have."""
        return [
            key
            for key in common
            if all(
                run.by_key[key].last.precedes(run.by_key[other].first)
                for run in runs
                for other in optional
                if other in run.by_key
            )
        ]


def find_branching(analysis: Analysis) -> Branching:
    """The forks of several traces, and the ways through them."""
    search = _Search(analysis)
    search.resolve(analysis.runs, ())
    return Branching(tuple(search.forks), tuple(search.leaves))


def ways(analysis: Analysis) -> dict[str, tuple[Way, ...]]:
    """How each step is reached, by key: the ways, any of which leads to it; none to one that is always reached."""
    leaves, found = analysis.branching.leaves, {}
    for key in analysis.keys:
        leading = [way for way, runs in leaves if all(key in run.by_key for run in runs)]
        found[key] = _joined(leading, leaves)
    return found


def _joined(leading: list[Way], leaves: Sequence[tuple[Way, tuple[Run, ...]]]) -> tuple[Way, ...]:
    """Ways without the forks at which every exit leads on: where ways meet again, nothing has to be decided."""
    every = {way for way, _ in leaves}
    chosen = set(leading)
    for length in range(max((len(way) for way in every), default=0), 0, -1):
        for prefix in sorted({way[: length - 1] for way in chosen if len(way) >= length}):
            below = {way for way in every if way[: length - 1] == prefix and len(way) >= length}
            if below and below <= chosen:
                chosen = (chosen - below) | {prefix}
                every = (every - below) | {prefix}
    return () if chosen == {()} else tuple(sorted(chosen))


# --- what separates ---------------------------------------------------------------------------------------------------

#: Different values of a scalar in all traces up to which it may be compared with constants.
_VALUES: Final = 8


def _guards(analysis: Analysis, groups: Mapping[str, Sequence[Run]], before: Sequence[str]) -> Iterator[Guard]:
    """All guards that separate the traces of a fork."""
    if any(len(runs) < analysis.settings.branch_min for runs in groups.values()):
        return
    for step in before:
        outputs = {name: [run.outer(step) for run in runs] for name, runs in groups.items()}
        if all(found for each in outputs.values() for found in each):
            yield from _over_outputs(analysis, step, outputs)
    for name in shown_inputs(analysis, groups):
        values = {exit_name: [name.of(run) for run in runs] for exit_name, runs in groups.items()}
        guard = _over_scalars(analysis, "", name.name, values)
        if guard is not None:
            yield guard


def _over_outputs(
    analysis: Analysis, step: str, outputs: Mapping[str, Sequence[Mapping[str, JsonValue]]]
) -> Iterator[Guard]:
    """The guards over one step's outputs; of a list, its length; of what is there or not, only the outermost."""
    every = {path for found in outputs.values() for output in found for path in output}
    paths = sorted(every, key=lambda path: (path.count("."), path))
    told: list[str] = []
    for path in paths:
        if any(path.startswith(f"{outer}.") for outer in told):
            continue
        values = {name: [output.get(path, _ABSENT) for output in found] for name, found in outputs.items()}
        guard = guard_over(analysis, step, path, values)
        if guard is not None:
            told += [path] if guard.predicate is Predicate.PRESENT else []
            yield guard


#: Stands for a value that is not there: no JSON value is equal to it.
_ABSENT: Final = "\0absent"


def guard_over(analysis: Analysis, step: str, path: str, values: Mapping[str, Sequence[JsonValue]]) -> Guard | None:
    """The guard over what is at one place, when it separates the traces; by what it may look at is for the values.

    Args:
        analysis: of the traces.
        step: key of the step in whose output it is; empty for an input.
        path: of the place.
        values: by exit, one a trace.
    """
    every = [value for found in values.values() for value in found]
    if all(isinstance(value, list) for value in every):
        counts = {name: [count_of(value) for value in found] for name, found in values.items()}
        return _separated(Predicate.COUNT, step, path, counts)
    if any(value == _ABSENT for value in every):
        there = {name: [value != _ABSENT for value in found] for name, found in values.items()}
        return _separated(Predicate.PRESENT, step, path, there)
    return _over_scalars(analysis, step, path, values)


def _over_scalars(analysis: Analysis, step: str, path: str, values: Mapping[str, Sequence[JsonValue]]) -> Guard | None:
    every = [value for found in values.values() for value in found]
    if any(isinstance(value, list | dict) for value in every):
        return None
    numbers = {name: [float(value) for value in found if _is_number(value)] for name, found in values.items()}
    if all(len(numbers[name]) == len(found) for name, found in values.items()):
        return _intervals(step, path, numbers)
    return constants(analysis, step, path, values)


def constants(analysis: Analysis, step: str, path: str, values: Mapping[str, Sequence[JsonValue]]) -> Guard | None:
    """The guard that compares with constants, of which there are few and each was seen often; as `guard_over`."""
    counted = Counter(atoms.key(value) for found in values.values() for value in found)
    if len(counted) > _VALUES or min(counted.values()) < analysis.settings.branch_min:
        return None
    return _separated(Predicate.EQUALS, step, path, values)


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _separated(predicate: Predicate, step: str, path: str, values: Mapping[str, Sequence[JsonValue]]) -> Guard | None:
    """The guard whose exits have the values seen there, when no value was seen at two of them."""
    seen = {name: {atoms.key(value): value for value in found} for name, found in values.items()}
    keys = [key for found in seen.values() for key in found]
    if len(keys) != len(set(keys)):
        return None
    exits = {name: tuple(found[key] for key in sorted(found)) for name, found in seen.items()}
    return Guard(predicate, step, path, exits)


def _intervals(step: str, path: str, values: Mapping[str, Sequence[float]]) -> Guard | None:
    bounds = {name: (min(found), max(found)) for name, found in values.items()}
    if any(first[1] >= second[0] for first, second in pairwise(sorted(bounds.values()))):
        return None
    return Guard(Predicate.INTERVAL, step, path, dict(bounds))


@dataclass(frozen=True, slots=True)
class _Input:
    """An input of the procedure, as the traces show it."""

    name: str
    step: str
    path: str

    def of(self, run: Run) -> JsonValue:
        return run.arguments(self.step)[self.path].value


def shown_inputs(analysis: Analysis, groups: Mapping[str, Sequence[Run]]) -> Iterator[_Input]:
    """The inputs whose values all traces of a fork show."""
    runs = [run for found in groups.values() for run in found]
    told = set()
    for (key, path), binding in sorted(analysis.bindings.items()):
        shown = all(path in run.arguments(key) for run in runs)
        if binding.kind is BindingClass.USER_INPUT and binding.input not in told and shown:
            told.add(binding.input)
            yield _Input(binding.input, key, path)
