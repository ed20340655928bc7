"""A tree procedure as a value. Not responsible for its file (`stretto.procedure.trees.file`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto._defaults import TREE_MAX_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from waggle.jsonvalue import JsonValue

__all__ = ["START", "STOP", "VERSION", "Check", "Leaf", "Node", "Provenance", "Split", "TreeProcedure", "site_after"]

#: The number of this form in ``stretto_procedure``.
VERSION: Final = 1

#: The site of the first decision.
START: Final = "start"

#: The action that ends a run, unless a procedure names another.
STOP: Final = "stop"


def site_after(tool: str, *, failed: bool) -> str:
    """Where a run is after a call: the tool, and ``!`` when the call failed."""
    return f"{tool}!" if failed else tool


@dataclass(frozen=True, slots=True)
class Leaf:
    """What may be done here.

    Attributes:
        calls: actions, each with how often it was taken, in the order in which they are tried.
    """

    calls: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A question about the state.

    Attributes:
        feature: whether the state has it is what is asked; see `stretto.procedure.trees.state`.
        yes: where to go on when it has.
        no: where to go on when it has not.
    """

    feature: str
    yes: Node
    no: Node


Node: TypeAlias = "Split | Leaf"


@dataclass(frozen=True, slots=True)
class Check:
    """How a run's outcome is looked at.

    Attributes:
        phrase: the check is for tickets that have it, in any case.
        probe: a tool that only reads, called without arguments.
        contains: texts that its result has to have, in any case.
        lacks: texts that its result must not have, in any case.
    """

    phrase: str
    probe: str
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    def passes(self, text: str) -> bool:
        """Whether a result's text is that of a ticket that is resolved."""
        lowered = text.lower()
        return all(each.lower() in lowered for each in self.contains) and not any(
            each.lower() in lowered for each in self.lacks
        )


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a procedure comes from.

    Attributes:
        sources: names of what it was fitted on.
        training_tasks: how many tasks that was.
    """

    sources: tuple[str, ...] = ()
    training_tasks: int = 0


@dataclass(frozen=True, slots=True)
class TreeProcedure:
    """A tree procedure.

    Attributes:
        domain: field of work.
        provenance: where it comes from.
        symbolic: whether texts in actions may say where a value is found (`stretto.procedure.trees.symbols`).
        max_calls: calls of one run at most.
        stop: the action that ends a run.
        handoff: tool that ends a run by passing to a person; empty for none.
        handoff_arguments: of that tool, where its action has none.
        reads: tools that change nothing.
        vocab: words and pairs of words of tickets that trees may ask for.
        trees: by site: `START`, or as `site_after` says.
        fallback: for any other site.
        checks: the first whose phrase is in the ticket counts.
    """

    domain: str
    provenance: Provenance
    symbolic: bool
    trees: Mapping[str, Node]
    fallback: Node
    reads: tuple[str, ...] = ()
    vocab: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    handoff: str = ""
    handoff_arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    max_calls: int = TREE_MAX_CALLS
    stop: str = STOP

    def leaf(self, site: str, features: Iterable[str]) -> Leaf:
        """The leaf that a state at a site leads to."""
        node, held = self.trees.get(site, self.fallback), frozenset(features)
        while isinstance(node, Split):
            node = node.yes if node.feature in held else node.no
        return node

    def check_for(self, ticket: str) -> Check | None:
        """The check of a ticket; None where there is none."""
        lowered = ticket.lower()
        return next((check for check in self.checks if check.phrase.lower() in lowered), None)
