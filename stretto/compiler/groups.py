"""Calls of one action in one trace: retries, fan-outs, pages, polls, told apart by their arguments. Pure.

How often a call occurs does not tell noise from structure; what it was called with does. The tests and their order are
those of the table in `GroupKind`; the first that holds decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from stretto.compiler.model import Effect, Unlogged
from stretto.procedure import atoms
from stretto.procedure.values import is_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.model import Call, Trace
    from stretto.compiler.tracing import Tracing
    from waggle.jsonvalue import JsonValue

__all__ = ["Group", "GroupKind", "ListSource", "group_calls"]


class GroupKind(StrEnum):
    """What the calls of one action are to each other, in the order of the tests."""

    SINGLE = "single"  #: there is one
    RETRY = "retry"  #: attempts at one thing; the last one counts
    POLL = "poll"  #: the same question until the answer changes
    REPEAT = "repeat"  #: the same call again; each stands for itself
    PAGING_CURSOR = "paging: cursor"
    PAGING_PAGE = "paging: page"
    PAGING_OFFSET = "paging: offset"
    FAN_OUT_LIST = "fan-out: list"  #: one for each element of a list that an earlier call returned
    FAN_OUT_USER = "fan-out: user"  #: one for each value that the user said
    FAN_OUT = "fan-out"  #: one for each of several values whose source is open
    UNKNOWN = "unknown"  #: none of these; each stands for itself

    @property
    def is_repeated(self) -> bool:
        """Whether the calls are one step that is made several times."""
        return self.is_fan_out or self.is_paging or self is GroupKind.POLL

    @property
    def is_fan_out(self) -> bool:
        """Whether each call is one of several elements."""
        return self in (GroupKind.FAN_OUT_LIST, GroupKind.FAN_OUT_USER, GroupKind.FAN_OUT)

    @property
    def is_paging(self) -> bool:
        """Whether each call is one page of one listing."""
        return self in (GroupKind.PAGING_CURSOR, GroupKind.PAGING_PAGE, GroupKind.PAGING_OFFSET)


@dataclass(frozen=True, slots=True)
class ListSource:
    """The list whose elements a fan-out goes over.

    Attributes:
        call: index of the call that returned it.
        path: general path of the values, such as ``$.items[*].sku``.
        instance: exact path of the list itself, such as ``$.items``.
    """

    call: int
    path: str
    instance: str


@dataclass(frozen=True, slots=True)
class Group:
    """All calls of one action in one trace.

    Attributes:
        name: ``app.action``.
        kind: what they are to each other.
        calls: their indices, in order.
        path: of the one argument that differs; None where none or several do.
        source: of a fan-out over a list.
        recovery: indices of attempts that a later one made good; in no group kind are they steps.
    """

    name: str
    kind: GroupKind
    calls: tuple[int, ...]
    path: str | None = None
    source: ListSource | None = None
    recovery: frozenset[int] = frozenset()

    @property
    def kept(self) -> tuple[int, ...]:
        """The indices of the calls that are no recovery, in order."""
        return tuple(index for index in self.calls if index not in self.recovery)


def group_calls(tracing: Tracing) -> tuple[Group, ...]:
    """The groups of a trace, one an action, in order of their first calls."""
    by_name: dict[str, list[Call]] = {}
    for call in tracing.trace.calls:
        by_name.setdefault(call.name, []).append(call)
    return tuple(_grouped(name, calls, tracing) for name, calls in by_name.items())


def _grouped(name: str, calls: list[Call], tracing: Tracing) -> Group:
    indices = tuple(call.index for call in calls)
    if len(calls) == 1:
        return Group(name, GroupKind.SINGLE, indices)
    varying = _varying(calls)
    if not varying:
        return _same_arguments(name, calls, tracing.trace)
    path = next(iter(varying)) if len(varying) == 1 else None
    values = [atoms.arguments(call.args).get(path, _ABSENT) for call in calls] if path else []
    if path is not None:
        kind = _paging(calls, path, values, tracing)
        if kind is not None:
            return Group(name, kind, indices, path)
    fan_out = _fan_out(name, calls, path, values, tracing)
    if fan_out is not None:
        return fan_out
    useful = [call for call in calls if call.ok and not is_nothing(call.output)]
    if len(useful) == 1 and useful[0] is calls[-1] and not _feeds(calls[:-1], tracing):
        return Group(name, GroupKind.RETRY, indices, path, None, frozenset(indices[:-1]))
    return Group(name, GroupKind.UNKNOWN, indices, path)


def _fan_out(name: str, calls: list[Call], path: str | None, values: list[JsonValue], tracing: Tracing) -> Group | None:
    indices, recovery = tuple(call.index for call in calls), _attempts(calls)
    if path is not None and _ABSENT not in values:
        source = _list_source(calls, values, tracing)
        if source is not None:
            return Group(name, GroupKind.FAN_OUT_LIST, indices, path, source, recovery)
        if all(_user_said(tracing.trace, call, value) for call, value in zip(calls, values, strict=True)):
            return Group(name, GroupKind.FAN_OUT_USER, indices, path, None, recovery)
    useful = {atoms.key(dict(call.args)) for call in calls if call.ok and not is_nothing(call.output)}
    return Group(name, GroupKind.FAN_OUT, indices, path, None, recovery) if len(useful) > 1 else None


#: Stands for an argument that a call does not have: no JSON value is equal to it.
_ABSENT: JsonValue = "\0absent"


def _varying(calls: Sequence[Call]) -> set[str]:
    """The paths of the arguments whose values are not the same in all calls."""
    each = [{path: atoms.key(value) for path, value in atoms.arguments(call.args).items()} for call in calls]
    return {path for found in each for path in found if any(other.get(path) != found[path] for other in each)}


def _same_arguments(name: str, calls: list[Call], trace: Trace) -> Group:
    indices = tuple(call.index for call in calls)
    if calls[-1].ok and not any(call.ok for call in calls[:-1]):
        return Group(name, GroupKind.RETRY, indices, recovery=frozenset(indices[:-1]))
    outputs = [call.output for call in calls]
    logged = [output for output in outputs if not isinstance(output, Unlogged)]
    differ = len({atoms.key(output) for output in logged}) > 1
    if len(logged) == len(outputs) and differ and not _disturbed(trace, calls):
        return Group(name, GroupKind.POLL, indices)
    return Group(name, GroupKind.REPEAT, indices)


def _disturbed(trace: Trace, calls: Sequence[Call]) -> bool:
    """Whether anything was changed between the first and the last of the calls that they may have seen."""
    first, last = calls[0].index, calls[-1].index
    return any(
        call.effect.changes and (call.app == calls[0].app or call.effect is Effect.UNKNOWN)
        for call in trace.calls
        if first <= call.index <= last
    )


def _paging(calls: Sequence[Call], path: str, values: list[JsonValue], tracing: Tracing) -> GroupKind | None:
    later = list(zip(calls, calls[1:], values[1:], strict=False))
    if all(value is not _ABSENT and tracing.places(before, value) for before, _, value in later):
        return GroupKind.PAGING_CURSOR
    numbers = [value for value in values if type(value) is int]
    if len(numbers) != len(values) or any(_user_said(tracing.trace, call, value) for _, call, value in later):
        return None
    steps = {second - first for first, second in pairwise(numbers)}
    traced = [each for call in calls for each in tracing.by_call[call.index] if each.path == path]
    if len(steps) != 1 or any(each.distinctive and each.candidates for each in traced):
        return None
    step = steps.pop()
    if step == 1 and numbers[0] in (0, 1):
        return GroupKind.PAGING_PAGE
    sizes = {value for other, value in atoms.arguments(calls[0].args).items() if other != path and type(value) is int}
    return GroupKind.PAGING_OFFSET if numbers[0] == 0 and step in sizes else None


def _user_said(trace: Trace, call: Call, value: JsonValue) -> bool:
    return any(atoms.said(value, text) for _, text in trace.said_before(call.index))


def _list_source(calls: Sequence[Call], values: list[JsonValue], tracing: Tracing) -> ListSource | None:
    """The list of one earlier call that holds all the values, each at the same place of an element."""
    for candidate in reversed(tracing.candidates(calls[0], values[0])):
        for path in candidate.paths:
            instance, index, _ = path.rpartition("[")
            if not index or candidate.call.name == calls[0].name:
                continue
            wanted = atoms.general(path)
            if all(
                any(
                    atoms.general(place) == wanted and place.rpartition("[")[0] == instance
                    for place in tracing.places(candidate.call, value)
                )
                for value in values
            ):
                return ListSource(candidate.call.index, wanted, instance)
    return None


def _attempts(calls: Sequence[Call]) -> frozenset[int]:
    """Of calls that differ, those that a later call with equal arguments made good."""
    elements: dict[bytes, list[Call]] = {}
    for call in calls:
        elements.setdefault(atoms.key(dict(call.args)), []).append(call)
    return frozenset(
        call.index
        for attempts in elements.values()
        if attempts[-1].ok and not any(call.ok for call in attempts[:-1])
        for call in attempts[:-1]
    )


def _feeds(calls: Sequence[Call], tracing: Tracing) -> bool:
    """Whether a later argument may have come from one of these calls."""
    indices = {call.index for call in calls}
    return any(candidate.call.index in indices for argument in tracing.arguments for candidate in argument.candidates)
