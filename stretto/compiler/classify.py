"""Where each argument of each step comes from, over all traces in which the step occurs. Pure.

The classes are tried in the order of the table in §8.1 of the specification behind it; the first that holds in *all*
traces decides. A value that several traces explain in different ways is explained by none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stretto.compiler.advising import NOTHING
from stretto.compiler.binding import Binding, BindingClass, Selection, SelectionKind, Source
from stretto.compiler.depend import INFERRED, refuted
from stretto.compiler.evidence import Basis
from stretto.compiler.groups import GroupKind
from stretto.compiler.model import Unlogged
from stretto.compiler.proposed_transforms import proposed_binding
from stretto.compiler.selection import select
from stretto.compiler.tracing import EXACT, top
from stretto.procedure import atoms
from stretto.procedure.transforms import TEMPLATE, template_of
from waggle.redact import is_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stretto.compiler.advising import Advised
    from stretto.compiler.depend import Producer
    from stretto.compiler.schemas import Tools
    from stretto.compiler.seen import Seen
    from stretto.compiler.settings import CompilerSettings
    from stretto.compiler.steps import Run
    from waggle.jsonvalue import JsonValue

__all__ = ["Classifier"]


class Classifier:
    """The bindings of the steps of several traces of one intent.

    Args:
        runs: of the traces, sorted by their ids.
        tools: what is known of the actions.
        settings: the compiler's.
        advised: what an adviser said.
    """

    def __init__(
        self, runs: tuple[Run, ...], tools: Tools, settings: CompilerSettings, advised: Advised = NOTHING
    ) -> None:
        self.runs = runs
        self.advised = advised
        self._tools = tools
        self._settings = settings
        self._seen: dict[tuple[str, str], list[Seen]] = {}
        self._paths: dict[str, list[str]] = {}
        self._varying: dict[str, frozenset[str]] = {}

    # --- what is seen ------------------------------------------------------------------------------------------------

    @cached_property
    def _sessions(self) -> frozenset[tuple[str, str]]:
        """The arguments that hold what a login yields, by ``app.action`` and path: declared, or traced to one."""
        return frozenset[tuple[str, str]]().union(*(run.tracing.sessions for run in self.runs))

    def seen(self, key: str, path: str) -> list[Seen]:
        """An argument in all traces in which it is present and the same in all calls of the step."""
        if (key, path) in self._seen:
            return self._seen[(key, path)]
        session = (key.rpartition("#")[0], path) in self._sessions
        place = (key, path, session)
        each = [run.seen(place) for run in self.runs]
        found = self._seen[(key, path)] = [seen for seen in each if seen is not None]
        return found

    def paths(self, key: str) -> list[str]:
        """The paths of a step's arguments, in any trace, sorted; those that vary among its own calls among them."""
        found = self._paths.get(key)
        if found is None:
            each = (run.paths[key] for run in self.runs if key in run.paths)
            found = self._paths[key] = sorted(frozenset[str]().union(*each))
        return found

    def varying(self, key: str) -> frozenset[str]:
        """The paths that vary among a repeated step's calls in any trace."""
        found = self._varying.get(key)
        if found is None:
            found = self._varying[key] = frozenset[str]().union(*(run.varying(key) for run in self.runs))
        return found

    # --- what is concluded -------------------------------------------------------------------------------------------

    @cached_property
    def bindings(self) -> dict[tuple[str, str], Binding]:
        """All bindings, by step key and exact path."""
        keys = sorted({step.key for run in self.runs for step in run.steps})
        return {(key, path): self.binding(key, path) for key in keys for path in self.paths(key)}

    def binding(self, key: str, path: str) -> Binding:
        """The binding of one argument."""
        if path in self.varying(key):
            return self._doubted(self._of_elements(key, path))
        seen = self.seen(key, path)
        occurs = sum(key in run.succeeded for run in self.runs)  # the arguments of a call that failed are not traced
        optional = len(seen) < occurs
        found = self._classified(key, path, seen)
        if optional and found.kind in (BindingClass.CONSTANT, BindingClass.TRANSFORM) and not found.secret:
            reason = f"given in {len(seen)} of {occurs} traces, and nothing tells when"
            found = Binding(key, path, BindingClass.DYNAMIC, candidates=_values(seen), reasons=(reason,))
        found = replace(found, optional=optional, support=len(seen))
        proposed = self.advised.transforms.get((key, path))
        if found.kind is BindingClass.DYNAMIC and proposed is not None:
            found = proposed_binding(found, seen, proposed)
        return self._doubted(found)

    def _doubted(self, found: Binding) -> Binding:
        """A binding, which is open where its source is doubted: likely, and not proven."""
        doubts = [self.advised.doubts.get((source.step, found.step), "") for source in found.sources]
        doubt = next(filter(None, doubts), "")
        if not doubt:
            return found
        name, path = found.step.rpartition("#")[0], found.path
        hidden = (name, path) in self._sessions or top(path) in self._tools.of(name).secrets
        values = [
            value for run in self.runs if found.step in run.by_key for value in run.element_values(found.step, path)
        ]
        return Binding(
            found.step,
            path,
            BindingClass.DYNAMIC,
            optional=found.optional,
            support=found.support,
            candidates=() if hidden else tuple({atoms.key(value): value for value in values}.values()),
            suspects=found.sources,
            reasons=(
                f"that it comes from {' and '.join(source.step for source in found.sources)} is doubted: {doubt}",
            ),
            doubt=doubt,
        )

    def _classified(self, key: str, path: str, seen: list[Seen]) -> Binding:
        """The first class that holds."""
        name = key.rpartition("#")[0]
        tries: tuple[Callable[[], Binding | None], ...] = (
            lambda: self._secret(key, path, seen, name),
            lambda: self._injected(key, path, seen),
            lambda: self._copy(key, path, seen),
            lambda: self._input(key, path, seen),
            lambda: self._constant(key, path, seen),
            lambda: self._transform(key, path, seen),
        )
        found = next((binding for attempt in tries if (binding := attempt()) is not None), None)
        return found or self._dynamic(key, path, seen)

    def _secret(self, key: str, path: str, seen: list[Seen], name: str) -> Binding | None:
        declared = top(path) in self._tools.of(name).secrets
        masked = all(isinstance(each.value, str) and is_masked(each.value) for each in seen)
        if (declared or masked) and (name, path) not in self._sessions:
            return Binding(key, path, BindingClass.CONSTANT, secret=f"{name}.{path[2:]}")
        return None

    def _injected(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        enough = len(seen) >= self._settings.constant_min
        found = next((each for each in self._settings.inject if enough and each.explains(seen)), None)
        if found is None:
            return None
        return Binding(key, path, BindingClass.CONSTANT, value=(seen[0].value,), injected=found.name)

    def _copy(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        """A strong edge in all traces, or what is left when traces refute each other's candidates."""
        alone = all(each.judged.is_strong for each in seen)
        found = self.producers(seen)
        steps = sorted({producer[0] for producer in found})
        if not steps or any(match not in (EXACT, INFERRED) for _, _, match in found):
            return None
        basis = seen[0].judged.basis if alone else Basis.CROSS_TRACE
        if len(steps) > 1:
            return self._consensus(key, path, seen, found)
        source, tie = self._source(steps[0], found, seen)
        if source is None:
            return None
        if _is_settled(source):
            return Binding(key, path, BindingClass.COPY, (source,), basis=basis, path_tie=tie)
        reason = "nothing tells which element of the list is taken"
        return Binding(key, path, BindingClass.DYNAMIC, choices=source, basis=basis, reasons=(reason,))

    def _consensus(self, key: str, path: str, seen: list[Seen], found: frozenset[Producer]) -> Binding | None:
        """Sources that agreed in all traces, and have to agree whenever the procedure runs."""
        steps = sorted({producer[0] for producer in found})
        sources = [self._source(step, found, seen)[0] for step in steps]
        agreeing = tuple(each for each in sources if each is not None and _is_settled(each))
        if not self._settings.consensus or len(agreeing) < len(steps):
            return None
        return Binding(key, path, BindingClass.COPY, agreeing, basis=Basis.CROSS_TRACE)

    def producers(self, seen: Sequence[Seen]) -> frozenset[Producer]:
        """The places that all traces allow for an argument, when it is settled that it comes from one of them."""
        if not seen:
            return frozenset()
        if all(each.judged.is_strong for each in seen):
            return frozenset.intersection(*(each.producers for each in seen))
        if any(each.judged.basis in (Basis.INFERRED, Basis.SESSION) for each in seen):
            return frozenset()
        found = refuted(seen, self._settings)
        if len({step for step, _, _ in found}) == 1:
            # The refutation has to have happened: in some trace nobody else had the value.
            return found if any(len(each.producer_steps) == 1 for each in seen) else frozenset()
        return found

    def _source(self, step: str, found: frozenset[Producer], seen: Sequence[Seen]) -> tuple[Source | None, bool]:
        """The place in one producer that explains all traces, and whether another would have done as well."""
        paths = sorted({path for key, path, _ in found if key == step}, key=lambda path: (path.count("[*]"), path))
        if paths == [""]:
            return Source(step, ""), False
        settled, open_choice = [], None
        for path in paths:
            if "[*]" not in path:
                settled.append(Source(step, path))
                continue
            source = Source(step, path, self._selection(step, path, seen))
            if _is_settled(source):
                settled.append(source)
            else:
                open_choice = open_choice or source
        if settled:
            return settled[0], len(settled) > 1
        return open_choice, False

    def _selection(self, step: str, path: str, seen: Sequence[Seen]) -> Selection:
        cases = [each.case(step, path) for each in seen]
        known = [case for case in cases if case is not None]
        if len(known) < len(cases):
            return Selection(SelectionKind.CHOICE)
        return select(known, constant_min=self._settings.constant_min)

    def _input(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        if not seen or not all(each.user_said for each in seen):
            return None
        return Binding(key, path, BindingClass.USER_INPUT, input=top(path) or "input")

    def _constant(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        if len(seen) < self._settings.constant_min or len({each.key for each in seen}) != 1:
            return None
        if any(each.user_said or each.judged.argument.candidates for each in seen):
            return None
        return Binding(key, path, BindingClass.CONSTANT, value=(seen[0].value,))

    def _transform(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        """One transform of one source in all traces, with two different sources or more, and no other that fits."""
        fitting = [each.transforms for each in seen]
        common = set.intersection(*(set(each) for each in fitting)) if fitting else set()
        if any(each.judged.argument.candidates and each.judged.is_strong is False for each in seen):
            common = {each for each in common if each[0]}  # a tie is no input
        sources = {each: {found[each] for found in fitting} for each in common}
        varied = sorted(each for each, values in sources.items() if len(values) > 1)
        if len(varied) == 1:
            step, place, name = varied[0]
            return self._made(key, path, step, place, transform=name)
        return self._template(key, path, seen) if not varied else None

    def _made(
        self, key: str, path: str, step: str, place: str, *, transform: str, around: tuple[str, str] = ("", "")
    ) -> Binding:
        before, after = around
        if step:
            return Binding(
                key,
                path,
                BindingClass.TRANSFORM,
                (Source(step, place),),
                transform=transform,
                before=before,
                after=after,
            )
        return Binding(key, path, BindingClass.TRANSFORM, input=place, transform=transform, before=before, after=after)

    def _template(self, key: str, path: str, seen: list[Seen]) -> Binding | None:
        """Fixed text around one value, the same in all traces, with `_TEMPLATE_SOURCES` different values or more."""
        if len(seen) < _TEMPLATE_SOURCES or not all(isinstance(each.value, str) for each in seen):
            return None
        each_trace = [each.contained for each in seen]
        found = []
        for place in sorted(set.intersection(*(set(each) for each in each_trace))):
            values = [each[place] for each in each_trace]
            if len({atoms.key(value) for value in values}) < _TEMPLATE_SOURCES:
                continue
            text = template_of([(value, each.value) for value, each in zip(values, seen, strict=True)])
            if text is not None:
                found.append((place, text))
        if len(found) != 1:
            return None
        (step, where), fixed = found[0]
        return self._made(key, path, step, where, transform=TEMPLATE, around=fixed)

    def _dynamic(self, key: str, path: str, seen: list[Seen]) -> Binding:
        everywhere = [each.producers for each in seen]
        shared = frozenset.intersection(*everywhere) if everywhere else frozenset()
        steps = sorted({step for step, _, match in shared if match == EXACT})
        suspects = tuple(source for step in steps if (source := self._source(step, shared, seen)[0]) is not None)
        reasons = [f"may come from {step}" for step in sorted({step for found in everywhere for step, _, _ in found})]
        said = sum(each.user_said for each in seen)
        reasons += [f"the user said it in {said} of {len(seen)} traces"] if said else []
        few = len({each.key for each in seen}) == 1 and len(seen) < self._settings.constant_min
        reasons += [f"the same in {len(seen)} traces, fewer than {self._settings.constant_min}"] if few else []
        return Binding(
            key,
            path,
            BindingClass.DYNAMIC,
            candidates=_values(seen),
            suspects=suspects,
            reasons=tuple(reasons) or ("it has no origin",),
        )

    # --- arguments that differ among the calls of one step -----------------------------------------------------------

    def _of_elements(self, key: str, path: str) -> Binding:
        runs = [run for run in self.runs if key in run.by_key]
        kinds = {run.by_key[key].group.kind for run in runs}
        support = len(runs)
        if kinds <= {GroupKind.PAGING_PAGE, GroupKind.PAGING_OFFSET, GroupKind.PAGING_CURSOR} and len(kinds) == 1:
            return Binding(key, path, BindingClass.CONSTANT, support=support)
        source = self._each_of(key, path, runs)
        if source is not None:
            return Binding(key, path, BindingClass.COPY, (source,), basis=Basis.EXCLUSION, support=support)
        if all(self._all_said(run, key, path) for run in runs):
            return Binding(key, path, BindingClass.USER_INPUT, input=top(path) or "input", support=support)
        values = [value for run in runs for value in run.element_values(key, path)]
        seen = tuple({atoms.key(value): value for value in values}.values())
        return Binding(
            key, path, BindingClass.DYNAMIC, candidates=seen, support=support, reasons=("which values, is open",)
        )

    def _each_of(self, key: str, path: str, runs: Sequence[Run]) -> Source | None:
        """The list whose elements are the values, all and in order, in every trace."""
        found: set[tuple[str, str]] | None = None
        for run in runs:
            given = run.element_values(key, path)
            if not given:
                return None
            values, here = [atoms.key(value) for value in given], set()
            for candidate in run.tracing.candidates(run.by_key[key].first, given[0]):
                for exact in candidate.paths:
                    place = run.place(candidate.call.index, exact)
                    if place is None or "[" not in place[1]:
                        continue
                    wanted = atoms.general(place[1])
                    output = run.output(place[0])
                    if isinstance(output, Unlogged):
                        continue
                    listed = [atoms.key(value) for _, value in atoms.read_general(output, wanted)]
                    if listed == values:
                        here.add((place[0], wanted))
            found = here if found is None else found & here
        if not found or len(found) > 1:
            return None
        step, wanted = next(iter(found))
        return Source(step, wanted, Selection(SelectionKind.EACH))

    def _all_said(self, run: Run, key: str, path: str) -> bool:
        first = run.by_key[key].first
        texts = [text for _, text in run.trace.said_before(first.index)]
        return all(any(atoms.said(value, text) for text in texts) for value in run.element_values(key, path))


#: Different values that it takes to believe in a template.
_TEMPLATE_SOURCES: Final = 3


def _values(seen: Sequence[Seen]) -> tuple[JsonValue, ...]:
    """The different values of an argument, in order of the traces."""
    return tuple({each.key: each.value for each in seen}.values())


def _is_settled(source: Source) -> bool:
    return source.selection is None or source.selection.kind is not SelectionKind.CHOICE
