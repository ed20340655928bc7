"""What each call of each trace was for: which calls a procedure keeps. Pure.

Dropping is a proposal about the procedure; every call keeps its label with a reason. What is unknown is kept, never
dropped on suspicion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from stretto.compiler.binding import BindingClass
from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Effect, Unlogged
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.compiler.binding import Binding
    from stretto.compiler.model import Call
    from stretto.compiler.steps import Run

__all__ = ["Label", "Labelled", "label_calls"]


class Label(StrEnum):
    """What a call was for, in the order in which it is asked."""

    POLICY_REQUIRED = "policy_required"  #: the host says that the task must make it
    RECOVERY = "recovery"  #: an attempt that a later one made good, or a call that only such attempts used
    REDUNDANT = "redundant"  #: a read that was made before, with nothing changed since
    ESSENTIAL = "essential"  #: an effect, an answer or a guard depends on it
    DEAD_OUTPUT = "dead_output"  #: nothing of what it returned appears later
    EXPLORATORY = "exploratory"  #: what it returned appears later, but comes from elsewhere
    UNKNOWN = "unknown"  #: everything else

    @property
    def is_unused(self) -> bool:
        """Whether it is dropped because nothing uses what it returned."""
        return self in (Label.DEAD_OUTPUT, Label.EXPLORATORY)

    @property
    def is_kept(self) -> bool:
        """Whether a procedure makes such calls."""
        return self in (Label.POLICY_REQUIRED, Label.ESSENTIAL, Label.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One call with its label.

    Attributes:
        call: the call.
        label: what it was for.
        reason: why it is thought so, for people.
    """

    call: Call
    label: Label
    reason: str


def label_calls(
    run: Run, bindings: Mapping[tuple[str, str], Binding], *, guards: frozenset[str] = frozenset()
) -> tuple[Labelled, ...]:
    """The labels of a trace's calls, in order.

    Args:
        run: of the trace, with no call dropped but recoveries.
        bindings: of all steps, by key and exact path.
        guards: keys of the steps whose outputs a guard reads.
    """
    return _Labeller(run, bindings, guards).labels()


class _Labeller:
    def __init__(self, run: Run, bindings: Mapping[tuple[str, str], Binding], guards: frozenset[str]) -> None:
        self._run = run
        self._bindings = bindings
        self._guards = guards
        self._recovery = {index for group in run.groups for index in group.recovery}
        self._recovery |= set(self._fed_only_to_recoveries())
        self._redundant = dict(self._repeats())
        self._live = self._reached()

    def labels(self) -> tuple[Labelled, ...]:
        return tuple(Labelled(call, *self._label(call)) for call in self._run.trace.calls)

    def _label(self, call: Call) -> tuple[Label, str]:
        index = call.index
        found = Label.UNKNOWN, "nothing tells what it was for"
        if call.policy:
            found = Label.POLICY_REQUIRED, "the host says so"
        elif index in self._recovery:
            found = Label.RECOVERY, "a later attempt succeeded"
        elif index in self._redundant:
            found = Label.REDUNDANT, f"as call {self._redundant[index]}, and nothing changed since"
        elif index in self._live:
            found = Label.ESSENTIAL, self._live[index]
        elif any(index in group.calls and group.kind is GroupKind.UNKNOWN for group in self._run.groups):
            pass
        elif self._is_dead(call):
            found = Label.DEAD_OUTPUT, "nothing of it appears later"
        elif self._is_exploratory(call):
            found = Label.EXPLORATORY, "what it showed has another proven origin"
        return found

    # --- recovery and redundancy -------------------------------------------------------------------------------------

    def _fed_only_to_recoveries(self) -> Iterator[int]:
        consumers: dict[int, set[int]] = {}
        recovered = {index for group in self._run.groups for index in group.recovery}
        trace = self._run.trace
        for call in trace.calls:  # of failed calls, too, which have no traced arguments
            for value in atoms.arguments(call.args).values():
                for candidate in self._run.tracing.candidates(call, value) if call.index in recovered else ():
                    consumers.setdefault(candidate.call.index, set()).add(call.index)
        for argument in self._run.tracing.arguments:
            for candidate in argument.candidates:
                consumers.setdefault(candidate.call.index, set()).add(argument.call.index)
        for index, fed in consumers.items():
            call = self._run.calls[index]
            if fed <= recovered and not call.effect.changes and not self._shown(call):
                yield index

    def _repeats(self) -> Iterator[tuple[int, int]]:
        """The reads that repeat an earlier one which nothing can have changed since, each with that one."""
        trace = self._run.trace
        for number, call in enumerate(trace.calls):
            if call.effect is not Effect.READ or not call.ok:
                continue
            for earlier in reversed(trace.calls[:number]):
                if _disturbs(earlier, call):
                    break
                if earlier.ok and earlier.name == call.name and _equal(earlier, call) and not self._polls(call):
                    yield call.index, earlier.index
                    break

    def _polls(self, call: Call) -> bool:
        return any(call.index in group.calls and group.kind is GroupKind.POLL for group in self._run.groups)

    # --- what is needed ----------------------------------------------------------------------------------------------

    def _reached(self) -> dict[int, str]:
        """The calls that an effect, an answer, a guard or a policy depends on, each with why."""
        why: dict[int, str] = {}
        todo = [(call.index, reason) for call in self._run.trace.calls if (reason := self._root(call))]
        while todo:
            index, reason = todo.pop()
            if index in why or index in self._recovery or index in self._redundant:
                continue
            why[index] = reason
            key = self._run.keys.get(index, "")
            todo += [(producer, f"{key or 'a later step'} needs it") for producer in self._needed(index)]
            if key and self._run.by_key[key].group.kind.is_repeated:
                todo += [(call.index, f"an element of {key}") for call in self._run.by_key[key].calls]
        return why

    def _root(self, call: Call) -> str:
        """Why a call is needed for itself; empty when it is not."""
        if call.ok and call.effect.changes:
            return f"its effect is {call.effect}"
        if call.ok and call.effect is Effect.READ and self._shown(call):
            return "its output is in the answer"
        if self._run.keys.get(call.index) in self._guards:
            return "a guard reads its output"
        if call.ok and self._polls(call):
            return "what follows waits until its output changes"
        return "the host says so" if call.policy else ""

    def _needed(self, index: int) -> Iterator[int]:
        """The calls that an argument of this one is bound to, or may depend on while it is open."""
        key = self._run.keys.get(index)
        if key is None:
            return
        step = self._run.by_key[key]
        for argument in self._run.tracing.by_call[index]:
            binding = self._bindings.get((key, argument.path))
            if binding is None or binding.kind in (BindingClass.CONSTANT, BindingClass.USER_INPUT):
                continue
            for source in binding.sources:
                needed = [source.step]
                if source.selection is not None and source.selection.equal.argument is not None:
                    needed.append(source.selection.equal.argument[0])
                yield from (call.index for each in needed for call in self._calls_of(each))
            if binding.kind is BindingClass.DYNAMIC:
                yield from (candidate.call.index for candidate in argument.candidates)
                yield from (call.index for call in argument.unlogged)
        if step.group.source is not None:
            yield step.group.source.call

    def _calls_of(self, key: str) -> tuple[Call, ...]:
        step = self._run.by_key.get(key)
        return step.calls if step is not None else ()

    # --- what is not -------------------------------------------------------------------------------------------------

    def _shown(self, call: Call) -> bool:
        """Whether the answer says a distinctive value of a call's output that no call with an effect shows as well.

        What such a call was given or has returned is known without this one, since it has to be made.
        """
        return any(atoms.key(value) not in self._known for value in self._run.tracing.shown(call).values())

    @cached_property
    def _known(self) -> set[bytes]:
        """The values of the calls that change something, arguments and outputs."""
        found: set[bytes] = set()
        for call in self._run.trace.calls:
            if call.ok and call.effect.changes:
                output = None if isinstance(call.output, Unlogged) else call.output
                found |= {atoms.key(value) for value in atoms.arguments(call.args).values()}
                found |= {atoms.key(value) for _, value in atoms.atoms(output)}
        return found

    def _is_dead(self, call: Call) -> bool:
        if call.discovery and not self._appears(call):
            return True
        harmless = call.effect in (Effect.READ, Effect.AUTH) and call.ok
        return harmless and not isinstance(call.output, Unlogged) and not self._appears(call)

    def _appears(self, call: Call) -> bool:
        """Whether anything of a call's output is traced to by a later argument, or shown in the answer."""
        later = (argument for argument in self._run.tracing.arguments if call.precedes(argument.call))
        if any(candidate.call is call for argument in later for candidate in argument.candidates):
            return True
        return self._shown(call)

    def _is_exploratory(self, call: Call) -> bool:
        """Whether what its output may explain has another proven origin each time, or a consumer that is dropped."""
        if call.effect.changes or not call.ok or isinstance(call.output, Unlogged):
            return False
        for argument in self._run.tracing.arguments:
            if not any(candidate.call is call for candidate in argument.candidates):
                continue
            key = self._run.keys.get(argument.call.index)
            binding = self._bindings.get((key, argument.path)) if key else None
            dropped = argument.call.index not in self._live
            elsewhere = binding is not None and binding.kind is not BindingClass.DYNAMIC
            if not dropped and not elsewhere:
                return False
        return True


def _disturbs(earlier: Call, call: Call) -> bool:
    """Whether a call may have changed what another reads."""
    return earlier.effect.changes and (earlier.app == call.app or earlier.effect is Effect.UNKNOWN)


def _equal(one: Call, other: Call) -> bool:
    """Whether two calls have equal arguments, and outputs that are equal or not recorded."""
    if atoms.key(dict(one.args)) != atoms.key(dict(other.args)):
        return False
    if isinstance(one.output, Unlogged) or isinstance(other.output, Unlogged):
        return True
    return atoms.same(one.output, other.output)
