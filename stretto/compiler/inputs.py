"""The inputs of a procedure: what whoever starts it has to say. Pure.

One input stands for all arguments that were equal in every trace; its name is that of the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.compiler.model import Unlogged
from stretto.compiler.names import snake_case
from stretto.procedure import atoms
from stretto.procedure.shapes import shape_of
from stretto.procedure.values import elements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.binding import Source
    from stretto.compiler.steps import Run
    from waggle.jsonvalue import JsonValue

__all__ = ["FoundInput", "Use", "find_inputs", "inputs_of"]


@dataclass(frozen=True, slots=True)
class Use:
    """Where an input is used: the argument that takes it, or the selection of one of its sources.

    Attributes:
        step: key of the step.
        path: exact path of the argument.
        source: number of the source whose selection compares with it; -1 for the argument itself.
    """

    step: str
    path: str
    source: int = -1


@dataclass(frozen=True, slots=True)
class FoundInput:
    """One input.

    Attributes:
        name: unique among the inputs.
        values: by trace; of an input with many values, a list.
        uses: where it is used.
        many: whether its value is a list of which each element is one call's.
        optional: whether every argument that takes it may be left out.
    """

    name: str
    values: dict[str, JsonValue]
    uses: tuple[Use, ...]
    many: bool = False
    optional: bool = False

    @property
    def scalars(self) -> list[JsonValue]:
        """All values, those of lists one by one."""
        lists = [value if self.many and isinstance(value, list) else [value] for value in self.values.values()]
        return [value for each in lists for value in each]

    @property
    def type(self) -> str:
        """The JSON type of its values; ``string`` where they differ."""
        found = {_type(value) for value in self.scalars}
        return found.pop() if len(found) == 1 else "number" if found == {"integer", "number"} else "string"

    @property
    def pattern(self) -> str:
        """The shape that all its values have; empty for none."""
        shapes = {shape_of(value) for value in self.scalars}
        return shapes.pop() if len(shapes) == 1 else ""


def _type(value: JsonValue) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def find_inputs(analysis: Analysis) -> tuple[FoundInput, ...]:
    """The inputs of several traces, sorted by name."""
    found: list[FoundInput] = []
    for name, use, values, many, optional in _uses(analysis):
        same = next((number for number, each in enumerate(found) if _agree(each, values, many=many)), None)
        if same is None:
            found.append(FoundInput(name, values, (use,), many, optional))
        else:
            each = found[same]
            merged = {**each.values, **values}
            found[same] = FoundInput(each.name, merged, (*each.uses, use), many, each.optional and optional)
    return tuple(sorted(_named(found), key=lambda each: each.name))


def _agree(one: FoundInput, values: dict[str, JsonValue], *, many: bool) -> bool:
    """Whether an input had these values in every trace that shows both; one trace at least does."""
    shared = set(one.values) & set(values)
    return one.many == many and bool(shared) and all(atoms.same(one.values[each], values[each]) for each in shared)


def _named(found: list[FoundInput]) -> Iterator[FoundInput]:
    """Inputs with names of their own: by the argument, then with the step's action, then with a number."""
    taken: set[str] = set()
    for each in found:
        action = each.uses[0].step.rpartition("#")[0].rpartition(".")[2]
        names = [each.name, f"{action}_{each.name}", *(f"{each.name}_{number}" for number in range(2, len(found) + 2))]
        name = next(name for name in names if name not in taken)
        taken.add(name)
        yield FoundInput(name, each.values, each.uses, each.many, each.optional)


def _uses(analysis: Analysis) -> Iterator[tuple[str, Use, dict[str, JsonValue], bool, bool]]:
    """The uses of inputs, in order of steps and paths: name, where, values by trace, whether many, whether optional."""
    for key in analysis.keys:
        for path in analysis.classifier.paths(key):
            binding = analysis.bindings[(key, path)]
            many = path in analysis.classifier.varying(key)
            if binding.input:
                runs = analysis.occurrences(key)
                values = {run.trace.id: value for run in runs for value in _given(run, key, path, many)}
                yield _name(binding.input), Use(key, path), values, many, binding.optional
            for number, source in enumerate(binding.sources):
                if source.selection is not None and source.selection.equal.said:
                    runs = analysis.occurrences(key)
                    shown = {run.trace.id: value for run in runs for value in _chosen(run, key, path, source)}
                    yield _name(source.selection.equal.said), Use(key, path, number), shown, False, binding.optional


def _given(run: Run, key: str, path: str, many: bool) -> list[JsonValue]:  # noqa: FBT001 - named where it is called
    if many:
        return [run.element_values(key, path)]
    given = run.given(key)
    return [given[path]] if path in given else []


def _chosen(run: Run, key: str, path: str, source: Source) -> list[JsonValue]:
    """The value of the field by which the element was chosen, in a list of one."""
    given, output = run.given(key), run.output(source.step) if source.step in run.by_key else None
    if path not in given or output is None or isinstance(output, Unlogged) or source.selection is None:
        return []
    for _, element in elements(output, source.path):
        if atoms.same(element.value, given[path]):
            found = atoms.read_general(element.whole, source.selection.field)
            return [found[0][1]] if len(found) == 1 else []
    return []


def inputs_of(found: Sequence[FoundInput], analysis: Analysis, run: Run) -> dict[str, JsonValue]:
    """The inputs as one trace shows them, which need not be one of those they were found in; others are left out.

    Args:
        found: the inputs.
        analysis: of the traces they were found in.
        run: of the trace.
    """
    values: dict[str, JsonValue] = {}
    for each in found:
        for use in each.uses:
            if use.step not in run.by_key:
                continue
            if use.source < 0:
                shown = _given(run, use.step, use.path, each.many)
            else:
                shown = _chosen(run, use.step, use.path, analysis.bindings[(use.step, use.path)].sources[use.source])
            if shown:
                values.setdefault(each.name, shown[0])
    return values


def _name(text: str) -> str:
    return snake_case(text) or "input"
