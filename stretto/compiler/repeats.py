"""How a step is repeated, as all traces show it together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Unlogged
from stretto.procedure import atoms, graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.steps import Step
    from waggle.jsonvalue import JsonValue

__all__ = ["repeat_of", "repeats_alike"]

_PAGING = (GroupKind.PAGING_PAGE, GroupKind.PAGING_OFFSET, GroupKind.PAGING_CURSOR)


def repeats_alike(analysis: Analysis, key: str) -> bool:
    """Whether it is clear how a step is repeated: at most one argument differs among its calls, in one way only."""
    kinds = {step.group.kind for step in analysis.steps(key) if step.group.kind.is_repeated}
    fan_out = all(kind.is_fan_out for kind in kinds)
    return len(analysis.classifier.varying(key)) <= 1 and (len(kinds) <= 1 or fan_out)


def repeat_of(analysis: Analysis, key: str) -> graph.Repeat | None:
    """How a step is repeated; None when it is made once, or when it is not clear (`repeats_alike`)."""
    steps = [step for step in analysis.steps(key) if step.group.kind.is_repeated]
    most = analysis.settings.repeat_max
    if not steps or not repeats_alike(analysis, key):
        return None
    kind, paths = steps[0].group.kind, analysis.classifier.varying(key)
    if kind is GroupKind.POLL:
        return _until(steps, most)
    path = next(iter(paths))
    if kind.is_fan_out:
        return graph.Repeat(kind="each", path=path, most=most)
    start = [value for value in [_value(steps[0], 0, path)] if value is not _NOTHING]
    if kind is GroupKind.PAGING_CURSOR:
        return graph.Repeat(kind="cursor", path=path, start=start, cursor=_cursor(steps, path), most=most)
    first, second = _value(steps[0], 0, path), _value(steps[0], 1, path)
    step = second - first if isinstance(first, int) and isinstance(second, int) else 1
    return graph.Repeat(kind="page", path=path, start=start, step=step, most=most)


#: Stands for an argument that a call does not have.
_NOTHING: list[JsonValue] = []


def _value(step: Step, number: int, path: str) -> JsonValue:
    return atoms.arguments(step.calls[number].args).get(path, _NOTHING)


def _cursor(steps: Sequence[Step], path: str) -> str:
    """The place in a page's output that names the next one, in all traces."""
    found: set[str] | None = None
    for step in steps:
        for before, after in zip(step.calls, step.calls[1:], strict=False):
            value = atoms.key(atoms.arguments(after.args).get(path))
            output = None if isinstance(before.output, Unlogged) else before.output
            here = {where for where, each in atoms.atoms(output) if atoms.key(each) == value}
            found = here if found is None else found & here
    return min(found or {""}, key=lambda each: (each.count("."), each))


def _until(steps: Sequence[Step], most: int) -> graph.Repeat | None:
    """The one place whose value is another at the end than before, in all traces."""
    ends: dict[str, dict[bytes, JsonValue]] = {}
    goes_on: dict[str, dict[bytes, JsonValue]] = {}
    for step in steps:
        for number, call in enumerate(step.calls):
            output = None if isinstance(call.output, Unlogged) else call.output
            for path, value in atoms.atoms(output):
                side = ends if number == len(step.calls) - 1 else goes_on
                side.setdefault(path, {})[atoms.key(value)] = value
    telling = sorted(path for path in ends if path in goes_on and not set(ends[path]) & set(goes_on[path]))
    if not telling:
        return None
    path = telling[0]
    return graph.Repeat(
        kind="until",
        watch=path,
        ends=[ends[path][each] for each in sorted(ends[path])],
        goes_on=[goes_on[path][each] for each in sorted(goes_on[path])],
        most=most,
    )
