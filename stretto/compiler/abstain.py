"""What is compiled, what is compiled with a person in it, and what is refused, with the reasons. Pure.

The rules concern steps that nobody can take back. The strictest outcome of all steps is that of the procedure; a
refusal says what would settle it, and which reads before it could be compiled alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from stretto.compiler.binding import BindingClass, SelectionKind
from stretto.compiler.direction import direction_of
from stretto.compiler.evidence import Basis
from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Effect
from stretto.compiler.names import words_of
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.binding import Binding
    from stretto.compiler.guards import Fork
    from waggle.jsonvalue import JsonValue

__all__ = ["Code", "Outcome", "Reason", "Refusal", "closed_candidates", "decides", "reasons", "refuse", "varies"]


class Code(StrEnum):
    """Why a step cannot be compiled as it is, strictest first."""

    DIRECTION = "direction"  #: it is not told whether it does or undoes
    OPEN_ARGUMENT = "open_argument"  #: an argument has no origin, and may be anything
    UNBOUNDED = "unbounded"  #: it is made for as many things as a list happens to have
    OPEN_BRANCH = "open_branch"  #: nothing tells when it is made
    NO_VARIATION = "no_variation"  #: no input ever had two values, so that anything may be a constant
    SELF_CHECK = "self_check"  #: the procedure does not make the calls that it was compiled from
    CHOICE = "choice"  #: an argument is one of a few, and nothing tells which
    DOUBTFUL_SOURCE = "doubtful_source"  #: an argument's source is likely and not proven
    UNDECLARED_EFFECT = "undeclared_effect"  #: nobody has said what it does
    FREE_TEXT = "free_text"  #: an argument is a text for a person

    @property
    def refuses(self) -> bool:
        """Whether nothing may be compiled; else a person is asked before the step."""
        return self in _REFUSING


_REFUSING: Final = frozenset(
    [Code.DIRECTION, Code.OPEN_ARGUMENT, Code.UNBOUNDED, Code.OPEN_BRANCH, Code.NO_VARIATION, Code.SELF_CHECK]
)


class Outcome(StrEnum):
    """What became of an intent."""

    COMPILED = "compiled"
    WITH_PERSON = "compiled with a person"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason against a step.

    Attributes:
        code: see `Code`.
        step: its key.
        path: exact path of the argument; empty when it is no argument's fault.
        says: for people.
        would_settle: what would settle it, for people.
        candidates: of which a person may choose; empty when the person has to say the value.
    """

    code: Code
    step: str
    path: str = ""
    says: str = ""
    would_settle: str = ""
    candidates: tuple[JsonValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was compiled.

    Attributes:
        cluster: name of the cluster.
        reasons: strictest first.
        would_settle: what would settle them, each once.
        salvage: keys of the reads before the first step that is refused, which could be compiled by themselves.
    """

    cluster: str
    reasons: tuple[Reason, ...]
    would_settle: tuple[str, ...]
    salvage: tuple[str, ...]


def reasons(
    analysis: Analysis, forks: Sequence[Fork], *, human: bool = False, joined: Collection[str] = ()
) -> tuple[Reason, ...]:
    """All that speaks against compiling the steps that nobody can take back, strictest first.

    Args:
        analysis: of the traces.
        forks: of the same.
        human: whether a person may be asked which way to go where nothing tells.
        joined: actions that only some traces make, compiled together at the user's word: something has to tell when
            each is made, also where it can be taken back.
    """
    found: list[Reason] = []
    for key in analysis.keys:
        if analysis.effect(key).is_final:
            found += _of_step(analysis, key, forks, human=human)
        elif key.rpartition("#")[0] in joined:
            found += _of_forks(analysis, key, forks, human=human)
    final = [key for key in analysis.keys if analysis.effect(key).is_final]
    if final and not varies(analysis):
        says = "no input had two different values in these traces"
        found.append(Reason(Code.NO_VARIATION, final[0], "", says, "traces of other customers, orders or the like"))
    order = list(Code)
    return tuple(sorted(found, key=lambda each: (order.index(each.code), analysis.keys.index(each.step), each.path)))


def refuse(cluster: str, analysis: Analysis, found: Sequence[Reason]) -> Refusal | None:
    """The refusal that reasons make; None when none of them refuses."""
    against = [reason for reason in found if reason.code.refuses]
    if not against:
        return None
    refused = {reason.step for reason in against}
    salvage = []
    for key in analysis.keys:
        if key in refused or analysis.effect(key).changes:
            break
        salvage.append(key)
    settle = dict.fromkeys(reason.would_settle for reason in found if reason.would_settle)
    return Refusal(cluster, tuple(against), tuple(settle), tuple(salvage))


def _of_step(analysis: Analysis, key: str, forks: Sequence[Fork], *, human: bool) -> Iterator[Reason]:
    name = key.rpartition("#")[0]
    if analysis.effect(key) is Effect.UNKNOWN:
        yield Reason(
            Code.UNDECLARED_EFFECT, key, "", f"nobody has said what {name} does", f"declare the effect of {name}"
        )
    direction = direction_of(analysis, key)
    if direction:
        settle = f"the raw names behind {name}, or an alias table that keeps them apart"
        yield Reason(Code.DIRECTION, key, "", direction, settle)
    yield from _of_forks(analysis, key, forks, human=human)
    kinds = {step.group.kind for step in analysis.steps(key)}
    if kinds & {GroupKind.FAN_OUT_LIST, GroupKind.FAN_OUT}:
        says = "it is made for each element of a list that the user did not name"
        yield Reason(Code.UNBOUNDED, key, "", says, f"requests that say for what {name} is to be made")
    for path in analysis.classifier.paths(key):
        reason = _of_argument(analysis, key, path, analysis.bindings[(key, path)])
        if reason is not None:
            yield reason


def _of_forks(analysis: Analysis, key: str, forks: Sequence[Fork], *, human: bool) -> Iterator[Reason]:
    for fork in forks:
        if fork.guard is None and decides(analysis, fork, key):
            yield _open_branch(key, fork, human=human)
            break


def decides(analysis: Analysis, fork: Fork, key: str) -> bool:
    """Whether a fork decides about a step: it is made in some of its traces, and not in others."""
    ids = {trace for exit_ in fork.exits for trace in exit_.traces}
    made = {run.trace.id for run in analysis.occurrences(key)} & ids
    return bool(made) and made != ids


def _open_branch(key: str, fork: Fork, *, human: bool) -> Reason:
    if fork.rivals:
        names = " and ".join(str(guard) for guard in fork.rivals)
        says, settle = f"{names} separate the traces equally well", f"a trace in which {names} disagree"
    else:
        says = "nothing that was recorded tells when it is made"
        settle = f"a recorded value that tells {' from '.join(exit_.name for exit_ in fork.exits)}, or more traces"
    return Reason(Code.CHOICE if human else Code.OPEN_BRANCH, key, "", says, settle)


#: Names of arguments that hold a text for a person.
_TEXTS: Final = frozenset(["body", "message", "text", "content", "comment", "note", "reason", "description", "subject"])


def _of_argument(analysis: Analysis, key: str, path: str, binding: Binding) -> Reason | None:
    if binding.kind is not BindingClass.DYNAMIC:
        return _of_bound(analysis, key, path, binding)
    where, says = f"{key} {path}", "; ".join(binding.reasons)
    spaced = any(" " in atoms.shown(value) for value in binding.candidates)
    closed = closed_candidates(analysis, key, path, binding)
    if spaced and set(words_of(path)[-1:]) & _TEXTS:
        return Reason(Code.FREE_TEXT, key, path, "a text for a person that no template explains")
    if binding.choices is not None:
        settle = f"requests that name what {where} is chosen by"
        return Reason(Code.CHOICE, key, path, f"one of the list {binding.choices.step} {binding.choices.path}", settle)
    if binding.suspects:
        steps = " and ".join(source.step for source in binding.suspects)
        settle = f"a trace that tells {steps} apart"
        if binding.doubt:
            settle = f"somebody who knows where {where} comes from"
        return Reason(Code.DOUBTFUL_SOURCE, key, path, says if binding.doubt else f"likely from {steps}", settle)
    if closed:
        return Reason(Code.CHOICE, key, path, says, f"a recorded value that tells what {where} is to be", closed)
    settle = f"an origin of {where}: more traces, or logs with outputs"
    may_be_any = Reason(Code.OPEN_ARGUMENT, key, path, says, settle)
    return None if analysis.settings.allow_model_on_irreversible else may_be_any


def _of_bound(analysis: Analysis, key: str, path: str, binding: Binding) -> Reason | None:
    placed = _by_place(analysis, binding, set())
    if placed is not None:
        says = f"it depends on the {placed} of a list, and nothing but its place tells why"
        settle = f"requests that name what {key} {path} is chosen by"
    elif binding.path_tie:
        says, settle = (
            "another place of the same output always held it",
            f"a trace in which the two differ for {key} {path}",
        )
    elif binding.basis is Basis.INFERRED:
        says, settle = "its source was not recorded", "logs with outputs"
    else:
        return None
    return Reason(Code.DOUBTFUL_SOURCE, key, path, says, settle)


def _by_place(analysis: Analysis, binding: Binding, seen: set[str]) -> str | None:
    """The place in a list, ``first`` or ``last``, that a value was chosen by, or what an earlier step was given.

    Lists change their order without notice: that is enough to read something, and not to pay somebody.
    """
    for source in binding.sources:
        selection = source.selection
        if selection is not None and selection.kind in (SelectionKind.FIRST, SelectionKind.LAST):
            return str(selection.kind)
        if source.step not in seen:
            seen.add(source.step)
            for path in analysis.classifier.paths(source.step):
                found = _by_place(analysis, analysis.bindings[(source.step, path)], seen)
                if found is not None:
                    return found
    return None


#: Different values up to which what was seen counts as all there is, where each was seen twice on average.
_CLOSED: Final = 8


def closed_candidates(analysis: Analysis, key: str, path: str, binding: Binding) -> tuple[JsonValue, ...]:
    """The values that an argument may have, where they are a closed set: listed by its schema, or few and repeated."""
    listed = analysis.tools.listed(key.rpartition("#")[0], path)
    if listed:
        return tuple(listed)
    few = len(binding.candidates) <= min(_CLOSED, binding.support // 2)
    return binding.candidates if few else ()


def varies(analysis: Analysis) -> bool:
    """Whether some input had two different values."""
    for (key, path), binding in analysis.bindings.items():
        selections = [source.selection for source in binding.sources if source.selection is not None]
        chosen = any(each.kind is SelectionKind.WHERE and each.equal.said for each in selections)
        if binding.kind is BindingClass.USER_INPUT or chosen:
            values = {
                atoms.key(value)
                for run in analysis.occurrences(key)
                for value in (
                    [run.arguments(key)[path].value] if path in run.arguments(key) else run.element_values(key, path)
                )
            }
            if len(values) > 1:
                return True
    return False
