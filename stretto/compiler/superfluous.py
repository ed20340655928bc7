"""Calls that a procedure need not make whatever other traces show: attempts, and reads that were repeated. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Effect, Unlogged
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.model import Call
    from stretto.compiler.tracing import Tracing

__all__ = ["recoveries", "repeats"]


def recoveries(tracing: Tracing) -> frozenset[int]:
    """The attempts that a later call made good, and the calls that only such attempts used, by index."""
    attempts = frozenset(index for group in tracing.groups for index in group.recovery)
    return attempts | frozenset(_fed_only_to(attempts, tracing)) if attempts else attempts


def _fed_only_to(attempts: frozenset[int], tracing: Tracing) -> Iterator[int]:
    consumers = {
        index: {argument.call.index for argument in arguments} for index, arguments in tracing.consumers.items()
    }
    for call in tracing.trace.calls:  # failed calls have no traced arguments
        for value in atoms.arguments(call.args).values() if call.index in attempts else ():
            for candidate in tracing.candidates(call, value):
                consumers.setdefault(candidate.call.index, set()).add(call.index)
    for call in tracing.trace.calls:
        fed = consumers.get(call.index)
        if fed and fed <= attempts and not call.effect.changes and not tracing.shown(call):
            yield call.index


def repeats(tracing: Tracing) -> dict[int, int]:
    """The reads that repeat an earlier one which nothing can have changed since, each with that one, by index."""
    polls = {index for group in tracing.groups if group.kind is GroupKind.POLL for index in group.calls}
    return dict(_repeats(tracing, polls))


def _repeats(tracing: Tracing, polls: set[int]) -> Iterator[tuple[int, int]]:
    seen: dict[str, list[Call]] = {}
    for call in tracing.trace.calls:
        if call.effect.changes:  # what was read before may be another now
            for name in [name for name, calls in seen.items() if _may_change(call, calls[0])]:
                del seen[name]
        if call.effect is Effect.READ and call.ok and call.index not in polls:
            earlier = next((each for each in reversed(seen.get(call.name, ())) if _equal(each, call)), None)
            if earlier is not None:
                yield call.index, earlier.index
        if call.ok and not call.effect.changes:
            seen.setdefault(call.name, []).append(call)


def _may_change(call: Call, read: Call) -> bool:
    """Whether a call may change what another reads."""
    return call.app == read.app or call.effect is Effect.UNKNOWN


def _equal(one: Call, other: Call) -> bool:
    """Whether two calls have equal arguments, and outputs that are equal or not recorded."""
    if atoms.key(dict(one.args)) != atoms.key(dict(other.args)):
        return False
    if isinstance(one.output, Unlogged) or isinstance(other.output, Unlogged):
        return True
    return atoms.same(one.output, other.output)
