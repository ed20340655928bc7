"""Where an argument of a procedure comes from, as the compiler concludes it. Values.

Five classes, of S. El Yadouni and G. Li, *TraceCompiler*, arXiv:2608.02680; only the last one needs a model or a person
when the procedure runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.compiler.evidence import Basis
    from waggle.jsonvalue import JsonValue

__all__ = ["Binding", "BindingClass", "Equal", "Repeat", "RepeatKind", "Selection", "SelectionKind", "Source"]


class BindingClass(StrEnum):
    """What an argument's value is."""

    CONSTANT = "constant"
    USER_INPUT = "user_input"
    COPY = "copy_edge"
    TRANSFORM = "transform_edge"
    DYNAMIC = "llm_or_dynamic"


class SelectionKind(StrEnum):
    """Which element of a list is taken."""

    WHERE = "where"  #: the one element whose field equals a value
    ONLY = "only"  #: the list had exactly one element
    EACH = "each"  #: all of them, in order, one a call
    FIRST = "first"
    LAST = "last"
    CHOICE = "choice"  #: nothing tells


@dataclass(frozen=True, slots=True)
class Equal:
    """What a field of the chosen element is equal to; one of the three is given.

    Attributes:
        said: name of an input: what the user says. Folded for comparison (`stretto.procedure.atoms.said`).
        constant: a value, in a list of one.
        argument: an argument of an earlier step, as its key and exact path.
    """

    said: str = ""
    constant: tuple[JsonValue, ...] = ()
    argument: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """How one element of a list is chosen.

    Attributes:
        kind: see `SelectionKind`.
        field: for ``where``, the path in the element: ``$.name``; ``$`` for the element itself.
        equal: for ``where``, to what it is equal.
    """

    kind: SelectionKind
    field: str = "$"
    equal: Equal = Equal()


@dataclass(frozen=True, slots=True)
class Source:
    """A place in the output of an earlier step.

    Attributes:
        step: its key.
        path: in its output; general where a selection chooses among the elements of a list.
        selection: how, where the path has ``[*]``.
    """

    step: str
    path: str
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """Where one argument of one step comes from.

    Attributes:
        step: its key.
        path: of the argument, exact.
        kind: see `BindingClass`.
        sources: of a copy or a transform: one; several of a consensus, which all have to give the same value.
        value: of a constant, in a list of one; empty for a secret.
        secret: name of a secret that is looked up when the procedure runs.
        injected: of a constant that holds within a scope and for a time: the name of its `Injection`.
        input: name of an input, or of one that is a list where the step is made for each of its values.
        transform: name of the function that makes the value of the source, or of the input.
        before: text in front, of a template.
        after: text behind, of a template.
        optional: whether it is left out where its source is absent.
        basis: what the edge behind it rests on.
        support: traces in which the argument is present.
        path_tie: whether another path of the same output would have served as well in every trace.
        candidates: values that were seen, of what is dynamic.
        choices: a list from which it was taken, of what is dynamic; None when there is no such list.
        suspects: places from which every trace may have taken it, of what is dynamic; likely, and not proven.
        reasons: why it is dynamic, for people.
        doubt: why an adviser doubts the source that was proven, of what is dynamic for that; empty for no doubt.
    """

    step: str
    path: str
    kind: BindingClass
    sources: tuple[Source, ...] = ()
    value: tuple[JsonValue, ...] = ()
    secret: str = ""
    injected: str = ""
    input: str = ""
    transform: str = ""
    before: str = ""
    after: str = ""
    optional: bool = False
    basis: Basis | None = None
    support: int = 0
    path_tie: bool = False
    candidates: tuple[JsonValue, ...] = ()
    choices: Source | None = None
    suspects: tuple[Source, ...] = ()
    reasons: tuple[str, ...] = ()
    doubt: str = ""


class RepeatKind(StrEnum):
    """How a step is made several times."""

    EACH = "each"  #: once for each element of a list, or each value of an input
    PAGE = "page"  #: with a counter, until a page is empty or short
    CURSOR = "cursor"  #: with what the page before names, until it names nothing, or something seen before
    UNTIL = "until"  #: with the same arguments, until a value is what it was at the end of every trace


@dataclass(frozen=True, slots=True)
class Repeat:
    """How a step is repeated; see `RepeatKind`.

    Attributes:
        kind: how.
        path: of the argument that differs; empty for ``until``.
        start: first value of a counter, in a list of one; empty where the first call leaves it out.
        step: what is added to a counter.
        cursor: general path of the next cursor in an output.
        watch: path in the output whose value ends it.
        ends: the values that do.
        goes_on: the values at which it is called again; anything else stops the run.
    """

    kind: RepeatKind
    path: str = ""
    start: tuple[JsonValue, ...] = ()
    step: int = 0
    cursor: str = ""
    watch: str = ""
    ends: tuple[JsonValue, ...] = ()
    goes_on: tuple[JsonValue, ...] = field(default=())
