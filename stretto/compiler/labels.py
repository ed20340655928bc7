"""What each call of each trace was for: which calls a procedure keeps. Pure.

Dropping is a proposal about the procedure; every call keeps its label with a reason. What is unknown is kept, never
dropped on suspicion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from stretto.compiler.binding import BindingClass
from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Effect, Unlogged
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stretto.compiler.binding import Binding
    from stretto.compiler.model import Call
    from stretto.compiler.steps import Run

__all__ = ["Label", "Labelled", "Labels", "Needs", "label_calls", "needs_of"]

#: What labels have to know of bindings: key and exact path, class, and the keys of the steps that it reads.
Needs: TypeAlias = "frozenset[tuple[str, str, BindingClass, tuple[str, ...]]]"


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


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one trace's calls.

    Attributes:
        each: one a call, in order.
        needed: keys of the steps of which a call is kept.
        loose: the calls that are not kept: index, the step's key, and whether only nothing used what it returned.
    """

    each: tuple[Labelled, ...]
    needed: frozenset[str]
    loose: tuple[tuple[int, str | None, bool], ...]


def label_calls(run: Run, needs: Needs, *, guards: frozenset[str] = frozenset()) -> Labels:
    """The labels of a trace's calls; once found they are kept with the run.

    Args:
        run: of the trace, with no call dropped but recoveries.
        needs: of the bindings of all steps.
        guards: keys of the steps whose outputs a guard reads.
    """
    found = run.labels.get((needs, guards))
    if found is None:
        each = _Labeller(run, needs, guards).labels()
        kept = {labelled.call.index for labelled in each if labelled.label.is_kept}
        found = run.labels[(needs, guards)] = Labels(
            each,
            frozenset(step.key for step in run.steps if any(call.index in kept for call in step.calls)),
            tuple(
                (labelled.call.index, run.keys.get(labelled.call.index), labelled.label.is_unused)
                for labelled in each
                if labelled.call.index not in kept
            ),
        )
    return found


def needs_of(bindings: Mapping[tuple[str, str], Binding]) -> Needs:
    """What labels have to know of bindings, by key and exact path.

    A doubt changes what a procedure asks, and not which steps it makes: what is doubted counts as the copy that it was.
    """
    return frozenset(
        (*place, BindingClass.COPY if binding.doubt else binding.kind, _sources(binding))
        for place, binding in bindings.items()
    )


def _sources(binding: Binding) -> tuple[str, ...]:
    """The keys of the steps whose outputs or arguments a binding reads, or would read if nobody doubted it."""
    sources = (*binding.sources, *binding.suspects) if binding.doubt else binding.sources
    chosen = (source.selection.equal.argument for source in sources if source.selection is not None)
    return (*(source.step for source in sources), *(each[0] for each in chosen if each is not None))


class _Labeller:
    def __init__(self, run: Run, needs: Needs, guards: frozenset[str]) -> None:
        self._run = run
        self._needs = {(key, path): (kind, sources) for key, path, kind, sources in needs}
        self._guards = guards
        self._recovery = run.tracing.recoveries
        self._redundant = run.tracing.repeats
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
        elif self._run.tracing.kinds[index] is GroupKind.UNKNOWN:
            pass
        elif self._is_dead(call):
            found = Label.DEAD_OUTPUT, "nothing of it appears later"
        elif self._is_exploratory(call):
            found = Label.EXPLORATORY, "what it showed has another proven origin"
        return found

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
        if call.ok and self._run.tracing.kinds[call.index] is GroupKind.POLL:
            return "what follows waits until its output changes"
        return "the host says so" if call.policy else ""

    def _needed(self, index: int) -> Iterator[int]:
        """The calls that an argument of this one is bound to, or may depend on while it is open."""
        key = self._run.keys.get(index)
        if key is None:
            return
        step = self._run.by_key[key]
        for argument in self._run.tracing.by_call[index]:
            kind, sources = self._needs.get((key, argument.path), (None, ()))
            if kind in (None, BindingClass.CONSTANT, BindingClass.USER_INPUT):
                continue
            yield from (call.index for each in sources for call in self._calls_of(each))
            if kind is BindingClass.DYNAMIC:
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
        tracing = self._run.tracing
        return any(atoms.key(value) not in tracing.of_changes for value in tracing.shown(call).values())

    def _is_dead(self, call: Call) -> bool:
        if call.discovery and not self._appears(call):
            return True
        harmless = call.effect in (Effect.READ, Effect.AUTH) and call.ok
        return harmless and not isinstance(call.output, Unlogged) and not self._appears(call)

    def _appears(self, call: Call) -> bool:
        """Whether anything of a call's output is traced to by a later argument, or shown in the answer."""
        return call.index in self._run.tracing.consumers or self._shown(call)

    def _is_exploratory(self, call: Call) -> bool:
        """Whether what its output may explain has another proven origin each time, or a consumer that is dropped."""
        if call.effect.changes or not call.ok or isinstance(call.output, Unlogged):
            return False
        for argument in self._run.tracing.consumers.get(call.index, ()):
            key = self._run.keys.get(argument.call.index)
            kind, _ = self._needs.get((key or "", argument.path), (BindingClass.DYNAMIC, ()))
            if argument.call.index in self._live and kind is BindingClass.DYNAMIC:
                return False
        return True
