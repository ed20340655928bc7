"""Guards that an adviser proposes, and what they have to pass. Pure.

A proposal reaches where the compiler does not look by itself, in the same language of predicates: fields of the only
element of a list, and numbers that are compared with constants. What it has to pass is the same: it separates all
traces without exception, with traces enough on each side, and is the only guard that does, of all those that could have
been proposed. So a proposal says where to look, and never which of several reasons is the right one: a fork that
several guards would settle stays open, whatever is proposed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from stretto.compiler.advising import Observed, OpenFork
from stretto.compiler.guards import Branching, constants, guard_over, shown_inputs
from stretto.compiler.model import Unlogged
from stretto.procedure import atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.guards import Fork, Guard, Predicate
    from stretto.compiler.masks import Masks
    from stretto.compiler.model import Output
    from waggle.jsonvalue import JsonValue

__all__ = ["fault_of_guard", "open_forks", "with_proposed"]


def open_forks(analysis: Analysis, masks: Masks) -> Iterator[OpenFork]:
    """The forks that a proposal may settle: no guard was found, not even too many, and each side has traces enough.

    Args:
        analysis: of the traces.
        masks: what masks their secrets.
    """
    for fork in analysis.forks:
        if _is_open(analysis, fork):
            observed = tuple(
                Observed(
                    step, path, {name: tuple(masks.value(each, path) for each in seen) for name, seen in at.items()}
                )
                for (step, path), at in sorted(_places(analysis, fork).items())
                if not any(isinstance(value, list) for seen in at.values() for value in seen)
            )
            yield OpenFork(fork.id, fork.within, fork.exits, None, (), fork.after, observed)


def _is_open(analysis: Analysis, fork: Fork) -> bool:
    enough = all(len(exit_.traces) >= analysis.settings.branch_min for exit_ in fork.exits)
    return fork.guard is None and not fork.rivals and enough


def fault_of_guard(analysis: Analysis, fork: Fork, predicate: Predicate, step: str, path: str) -> str:
    """Why a proposed guard does not stand; empty where it does."""
    if (step, path) not in _places(analysis, fork):
        return "not every trace has exactly one value there before the fork"
    found = _separating(analysis, fork)
    if not any(_is_at(guard, predicate, step, path) for guard in found):
        return "it does not separate all traces"
    others = [str(guard) for guard in found if not _is_at(guard, predicate, step, path)]
    return f"{others[0]} separates them equally well" if others else ""


def with_proposed(branching: Branching, analysis: Analysis) -> Branching:
    """The ways that traces go, with the proposed guards that stand."""
    proposed = analysis.advised.guards
    return (
        replace(branching, forks=tuple(_settled(analysis, fork) for fork in branching.forks)) if proposed else branching
    )


def _settled(analysis: Analysis, fork: Fork) -> Fork:
    if not _is_open(analysis, fork):
        return fork
    found = _separating(analysis, fork)
    exits = tuple(exit_.name for exit_ in fork.exits)
    if len(found) == 1:
        guard = found[0]
        if (exits, guard.predicate, guard.step, guard.path) in analysis.advised.guards:
            return replace(fork, guard=guard)
    return fork


def _is_at(guard: Guard, predicate: Predicate, step: str, path: str) -> bool:
    return (guard.predicate, guard.step, guard.path) == (predicate, step, path)


def _separating(analysis: Analysis, fork: Fork) -> list[Guard]:
    """All guards that separate the traces, of those that may be proposed."""
    each = (_guard(analysis, step, path, values) for (step, path), values in sorted(_places(analysis, fork).items()))
    return [guard for guard in each if guard is not None]


def _guard(analysis: Analysis, step: str, path: str, values: Mapping[str, Sequence[JsonValue]]) -> Guard | None:
    found = guard_over(analysis, step, path, values)
    lists = any(isinstance(value, list) for seen in values.values() for value in seen)
    return found if found is not None or lists else constants(analysis, step, path, values)


def _places(analysis: Analysis, fork: Fork) -> dict[tuple[str, str], dict[str, list[JsonValue]]]:
    """Where every trace has exactly one scalar or list before a fork, with the values by exit."""
    runs = {run.trace.id: run for run in analysis.runs}
    groups = {exit_.name: [runs[trace] for trace in exit_.traces] for exit_ in fork.exits}
    found: dict[tuple[str, str], dict[str, list[JsonValue]]] = {}
    for step in fork.after:
        each = {
            name: [_only(run.output(step), analysis.settings.atoms_max) for run in group]
            for name, group in groups.items()
        }
        for path in sorted(set.intersection(*(set(output) for outputs in each.values() for output in outputs))):
            found[(step, path)] = {name: [output[path] for output in outputs] for name, outputs in each.items()}
    for given in shown_inputs(analysis, groups):
        found[("", given.name)] = {name: [given.of(run) for run in group] for name, group in groups.items()}
    return found


def _only(output: Output, most: int) -> dict[str, JsonValue]:
    """The scalars and lists of an output, by general path, where there is one alone at that path."""
    if isinstance(output, Unlogged):
        return {}
    found = [(atoms.general(path), node) for path, node in islice(atoms.nodes(output), most)]
    counts = Counter(path for path, _ in found)
    return {path: node for path, node in found if counts[path] == 1 and not isinstance(node, dict)}
