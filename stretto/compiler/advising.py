"""Where a model may help the compiler: whom it asks, what is shown, and what became of what was said. Values.

What an adviser says is a **proposal that the compiler can check**, never evidence: without one the result is the same,
minus the proposals that stood. Its texts are shown to people, and are never a name, a path, or a part of what is run.
Not responsible for asking (`stretto.compiler.asking`), nor for the checks, which stand beside what they check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from stretto.compiler.guards import Fork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.compiler.evidence import Edge
    from stretto.compiler.guards import Guard, Predicate
    from stretto.compiler.model import Trace
    from waggle.jsonvalue import JsonValue

__all__ = ["NOTHING", "Advised", "Adviser", "Dropped", "GuardAt", "Observed", "OpenFork", "Place"]

#: A place in the output of a step: its key, and a path; ``[*]`` in it stands for the only element of a list.
Place: TypeAlias = "tuple[str, str]"

#: A guard that was proposed: the fork's exits, the predicate, and the place; an input's place has no step.
GuardAt: TypeAlias = "tuple[tuple[str, ...], Predicate, str, str]"


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen at a place before a fork.

    Attributes:
        step: key of the step in whose output it is; empty for an input.
        path: in the output, or the input's name.
        values: of the traces that went to each exit, in the order of the exit's traces. Secrets are masked.
    """

    step: str
    path: str
    values: Mapping[str, tuple[JsonValue, ...]]


@dataclass(frozen=True, slots=True)
class OpenFork(Fork):
    """A fork for which the compiler has found no guard.

    Attributes:
        observed: scalars at places that all traces have, sorted by step and path.
    """

    observed: tuple[Observed, ...] = ()


class Adviser(Protocol):
    """Somebody who is asked while traces are compiled: rules, or a model. Every method may do nothing.

    Asked the same, it should answer the same; an answer is kept by the digest of the question
    (`stretto.compiler.answers`). Whatever it raises, or returns of another type, counts as no answer. Values that are
    declared secret are masked in all that it is given.
    """

    @property
    def name(self) -> str:
        """Who it is; stored in the procedure."""
        ...

    @property
    def version(self) -> str:
        """Changes when its answers may; stored in the procedure."""
        ...

    def name_intent(self, documents: Sequence[str]) -> str:
        """A title for traces, given their documents (`stretto.compiler.documents`), for people; empty for none."""
        ...

    def propose_split(self, trace: Trace) -> Sequence[int]:
        """Positions of messages of the user (`Utterance.index`) before which a conversation turns to something else."""
        ...

    def propose_transforms(self, pairs: Sequence[tuple[JsonValue, JsonValue]]) -> Sequence[str]:
        """Names in `stretto.procedure.transforms.registry` by which the first of each pair may become the second."""
        ...

    def propose_guards(self, fork: OpenFork) -> Sequence[Guard]:
        """What may tell the exits of a fork apart; predicate, step and path count, the exits are what traces show."""
        ...

    def doubt(self, edge: Edge) -> str | None:
        """Why an edge may be false; None where there is no doubt. A doubt lowers an edge to `Verdict.SUSPECTED`."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Dropped:
    """A proposal that did not pass its check, or an answer that was none.

    Attributes:
        asked: the method of `Adviser`.
        about: a trace's id, an argument, a fork, an edge; empty for an intent.
        proposal: what was said; empty where nothing was.
        reason: why it was dropped.
    """

    asked: str
    about: str
    proposal: str
    reason: str


@dataclass(frozen=True, slots=True)
class Advised:
    """What an adviser said of the traces of one intent, and what stood at its check. Checked again wherever it is used.

    Attributes:
        doubts: why an edge is doubted, by producer and consumer.
        guards: proposed ones.
        transforms: a proposed source and transform's name, by an argument's step and exact path.
    """

    doubts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    guards: frozenset[GuardAt] = frozenset()
    transforms: Mapping[tuple[str, str], tuple[Place, str]] = field(default_factory=dict)

    def more(self, other: Advised) -> Advised:
        """Both; of what both say, this one."""
        return Advised(
            {**other.doubts, **self.doubts}, self.guards | other.guards, {**other.transforms, **self.transforms}
        )


#: Nobody said anything.
NOTHING = Advised()
