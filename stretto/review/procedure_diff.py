"""What a new version of a compiled procedure may do that the old one could not, and what else differs. Pure.

Steps are told apart by their keys, decisions by what they look at and not by their numbers, which shift. What a
change says is for people; its kind and whether it needs review are for programs.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from stretto.compiler.settings import CompilerSettings
from stretto.procedure import atoms
from stretto.procedure.contracts import contract_key
from stretto.procedure.graph import Constant, DecisionNode, HumanNode, Injected, ModelNode, Secret, ToolNode
from stretto.review.document import Data, joined
from stretto.review.procedure_changes import ProcedureChange, ProcedureDiff
from stretto.review.procedure_shown import text_of
from stretto.review.procedure_words import fixed, looked_at, origin, place, repeat_said, value, way_said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from stretto.procedure.graph import Binding, InputSpec, Procedure
    from stretto.review.document import Line

__all__ = ["diff_procedures"]

#: Settings of which one direction lets more through, with that direction.
_LOOSER: Final = {"router_floor": -1, "router_margin": -1, "unseen_max": 1, "repeat_max": 1}
#: Settings that let more through when they are on.
_SWITCHES: Final = frozenset(["allow_model_on_irreversible"])


def diff_procedures(old: Procedure, new: Procedure) -> ProcedureDiff:
    """Compare two versions of a procedure; equal ones have no changes, whatever their digests."""
    compared = _Comparison(old, new)
    return ProcedureDiff.of((Data(new.name),), compared.changes())


class _Comparison:
    def __init__(self, old: Procedure, new: Procedure) -> None:
        self._old, self._new = old, new
        self._before, self._after = dict(old.tools()), dict(new.tools())

    def changes(self) -> Iterator[ProcedureChange]:
        yield from self._steps()
        for name in sorted(self._before.keys() & self._after.keys(), key=self._rank):
            yield from self._step(name, self._before[name], self._after[name])
        yield from self._questions()
        yield from self._decisions()
        yield from self._orders()
        yield from self._fixed()
        yield from self._rules()
        yield from self._interface()
        yield from self._provenance()

    def _rank(self, name: str) -> tuple[int, str]:
        return self._after[name].layer, name

    # --- steps -------------------------------------------------------------------------------------------------------

    def _steps(self) -> Iterator[ProcedureChange]:
        known = {(node.server, node.tool) for node in self._before.values()}
        for name in sorted(self._after.keys() - self._before.keys(), key=self._rank):
            node = self._after[name]
            is_new = (node.server, node.tool) not in known
            tool: Line = (" calls a tool that was not called before, ", Data(node.tool)) if is_new else (" is new",)
            yield _change("step_added", name, True, *("step ", Data(name)), *tool, f"; effect: {node.effect}")
        for name in sorted(self._before.keys() - self._after.keys()):
            yield _change("step_gone", name, False, "step ", Data(name), " is gone")

    def _step(self, name: str, before: ToolNode, after: ToolNode) -> Iterator[ProcedureChange]:
        if (before.server, before.tool) != (after.server, after.tool):
            said: Line = (Data(f"{before.server}/{before.tool}"), " -> ", Data(f"{after.server}/{after.tool}"))
            yield _change("tool", name, True, Data(name), " calls another tool: ", *said)
        if before.effect != after.effect:
            yield _change("effect", name, True, Data(name), f": effect {before.effect} -> {after.effect}")
        yield from self._arguments(name, before, after)
        yield from self._guard(name, before, after)
        if before.repeat != after.repeat:
            was, now = repeat_said(before) or ("once",), repeat_said(after) or ("once",)
            yield _change("repeat", name, after.repeat is not None, Data(name), " is made ", *was, " -> ", *now)

    def _arguments(self, name: str, before: ToolNode, after: ToolNode) -> Iterator[ProcedureChange]:
        changes = after.effect not in ("read", "auth")
        for path in sorted(before.args.keys() | after.args.keys()):
            was, now = before.args.get(path), after.args.get(path)
            at: Line = (Data(name), ", ", Data(path), ": ")
            if was is None and now is not None:
                yield _change("argument_added", name, changes or _is_fixed(now), *at, *origin(self._new, now), " (new)")
            elif now is None and was is not None:
                yield _change("argument_gone", name, changes, *at, "no longer passed; was ", *origin(self._old, was))
            elif was is not None and now is not None:
                said_was, said_now = self._origins(was, now)
                if said_was != said_now:
                    kind = "constant" if _is_fixed(was) or _is_fixed(now) else "source"
                    marked = changes or kind == "constant"
                    yield _change(kind, name, marked, *at, *said_was, " -> ", *said_now)
                elif was.basis != now.basis:
                    rests: Line = (Data(was.basis or "nothing"), " -> ", Data(now.basis or "nothing"))
                    yield _change("basis", name, False, *at, "rests on ", *rests)

    def _origins(self, was: Binding, now: Binding) -> tuple[Line, Line]:
        said_was, said_now = origin(self._old, was), origin(self._new, now)
        if isinstance(was.value, Constant) and isinstance(now.value, Constant) and said_was == said_now:
            # They may differ beyond what is shown of a long value.
            return said_was, said_now if atoms.same(was.value.value, now.value.value) else (*said_now, " (another)")
        return said_was, said_now

    def _guard(self, name: str, before: ToolNode, after: ToolNode) -> Iterator[ProcedureChange]:
        was, now = _ways(self._old, before), _ways(self._new, after)
        if was == now:
            return
        said_was, said_now = way_said(self._old, before.when) or ("always",), way_said(self._new, after.when)
        if not now:
            yield _change("guard_lost", name, True, Data(name), " is now always made; before when ", *said_was)
        else:
            wider = bool(was) and not all(any(old <= each for old in was) for each in now)
            said: Line = (Data(name), " is made when ", *said_now, "; before when ", *said_was)
            yield _change("guard", name, wider, *said)

    # --- what stops a run --------------------------------------------------------------------------------------------

    def _questions(self) -> Iterator[ProcedureChange]:
        before, after = _asked(self._old), _asked(self._new)
        for key in sorted(before.keys() | after.keys()):
            was, now = before.get(key), after.get(key)
            at: Line = ("the question before ", Data(key[0]), *((" for ", Data(key[1])) if key[1] else ()))
            if now is None:
                marked = key[0] in self._after or key[0] not in self._before
                yield _change("question_lost", key[0], marked, *at, " is no longer asked")
            elif was is None:
                yield _change("question_added", key[0], isinstance(now, ModelNode), *at, f" is new, for a {_who(now)}")
            else:
                yield from _question(at, key[0], was, now)

    def _decisions(self) -> Iterator[ProcedureChange]:
        before, after = _decided(self._old), _decided(self._new)
        for key in sorted(before.keys() & after.keys()):
            was, now = before[key], after[key]
            at: Line = ("the decision on ", *looked_at(now.of), f" ({now.predicate})")
            for exit_ in sorted(was.exits.keys() | now.exits.keys()):
                old, new = was.exits.get(exit_), now.exits.get(exit_)
                if old != new and new is not None:
                    said: Line = (*joined((value(each),) for each in new), " leads to ", Data(exit_))
                    before_: Line = ("; before ", *joined((value(each),) for each in old)) if old else ("; new",)
                    yield _change("exit", exit_, not _within(now.predicate, new, old), *at, ": ", *said, *before_)
                elif new is None:
                    yield _change("exit_gone", exit_, False, *at, " no longer leads to ", Data(exit_))
        for key in sorted(before.keys() - after.keys()):
            yield _change("decision_lost", key[1], True, "nothing is decided any more on ", *looked_at(before[key].of))
        for key in sorted(after.keys() - before.keys()):
            yield _change("decision_added", key[1], False, "there is a decision on ", *looked_at(after[key].of))

    def _orders(self) -> Iterator[ProcedureChange]:
        changing = [
            name for name, node in self._old.tools() if name in self._after and node.effect not in ("read", "auth")
        ]
        for first, then in combinations(changing, 2):
            if self._before[first].layer < self._before[then].layer and (
                self._after[first].layer >= self._after[then].layer
            ):
                yield _change("order", then, True, Data(then), " now comes before ", Data(first))

    def _fixed(self) -> Iterator[ProcedureChange]:
        for kind in sorted(self._old.scope.keys() | self._new.scope.keys()):
            before, after = self._old.scope.get(kind), self._new.scope.get(kind)
            if before != after:
                whom: Line = (Data(before or "anybody"), " -> ", Data(after or "anybody"))
                yield _change("scope", kind, before is not None, f"it is for {kind} ", *whom)
        for name in sorted(self._old.injected.keys() | self._new.injected.keys()):
            was, now = self._old.injected.get(name), self._new.injected.get(name)
            if now is None:
                yield _change("fixed_gone", name, False, Data(name), " is no longer fixed")
            elif was is None:
                yield _change("fixed_added", name, True, Data(name), " is fixed now: ", *fixed(now))
            elif was != now:
                same = was.model_copy(update={"observed": now.observed}) == now
                yield _change("fixed", name, not same, Data(name), " is fixed: ", *fixed(was), " -> ", *fixed(now))

    def _rules(self) -> Iterator[ProcedureChange]:
        was, now = set(self._old.forbidden_at_runtime), set(self._new.forbidden_at_runtime)
        for tool in sorted(was - now):
            yield _change("allowed", tool, True, Data(tool), " may be called now; it was never to be")
        for tool in sorted(now - was):
            yield _change("forbidden", tool, False, Data(tool), " is never to be called now")
        used = {contract_key(node.server, node.tool) for node in self._after.values()}
        for tool in sorted(self._old.contracts.keys() | self._new.contracts.keys()):
            before, after = self._old.contracts.get(tool), self._new.contracts.get(tool)
            if after is None and tool in used:
                yield _change("contract_lost", tool, True, "it is no longer known what ", Data(tool), " was")
            elif before is not None and after is not None and before != after:
                parts = [
                    part for part in ("input", "output", "annotations") if getattr(before, part) != getattr(after, part)
                ]
                yield _change("contract", tool, True, Data(tool), f" is another tool now: {', '.join(parts)}")
            elif before is None:
                yield _change("contract_added", tool, False, "it is now known what ", Data(tool), " was")
        yield from self._settings()

    def _settings(self) -> Iterator[ProcedureChange]:
        was, now = ({**_defaults(), **each.compiled.settings} for each in (self._old, self._new))
        for name in sorted(was.keys() | now.keys()):
            before, after = was.get(name), now.get(name)
            if before != after:
                marked = name in _SWITCHES and after is True
                if name in _LOOSER and isinstance(before, int | float) and isinstance(after, int | float):
                    marked = (after - before) * _LOOSER[name] > 0
                yield _change(
                    "setting", name, marked, "setting ", Data(name), ": ", value(before), " -> ", value(after)
                )

    # --- the rest ----------------------------------------------------------------------------------------------------

    def _interface(self) -> Iterator[ProcedureChange]:
        for name in sorted(self._old.inputs.keys() | self._new.inputs.keys()):
            was, now = self._old.inputs.get(name), self._new.inputs.get(name)
            if was is None:
                yield _change("input_added", name, False, "input ", Data(name), " is new")
            elif now is None:
                yield _change("input_gone", name, False, "input ", Data(name), " is gone")
            elif was != now:
                looser = (now.type, now.many) != (was.type, was.many) or (was.pattern and was.pattern != now.pattern)
                marked = bool(looser) or (now.optional and not was.optional)
                said: Line = (Data(_spec(was)), " -> ", Data(_spec(now)))
                yield _change("input", name, marked, "input ", Data(name), ": ", *said)
        outputs = [{each.name: place(each.source) for each in side.outputs} for side in (self._old, self._new)]
        for name in sorted(outputs[0].keys() | outputs[1].keys()):
            if outputs[0].get(name) != outputs[1].get(name):
                was_, now_ = (each.get(name) or ("none",) for each in outputs)
                yield _change("output", name, False, "output ", Data(name), ": ", *was_, " -> ", *now_)

    def _provenance(self) -> Iterator[ProcedureChange]:
        was, now = self._old.compiled, self._new.compiled
        for name in ("support", "since", "until", "unseen", "embedder", "version", "agents"):
            before, after = getattr(was, name), getattr(now, name)
            if before != after:
                yield _change(name, name, False, f"{name}: ", value(before), " -> ", value(after))
        for warning in sorted(set(now.warnings) - set(was.warnings)):
            yield _change("warning", "", False, "a new warning: ", Data(warning))
        for name in ("name", "summary"):
            before, after = getattr(self._old, name), getattr(self._new, name)
            if before != after:
                yield _change(name, name, False, f"{name}: ", Data(before), " -> ", Data(after))


def _change(kind: str, at: str, review: bool, *said: str | Data) -> ProcedureChange:  # noqa: FBT001 - second of three
    return ProcedureChange(kind, at, review, said)


def _is_fixed(binding: Binding) -> bool:
    return isinstance(binding.value, Constant | Secret | Injected)


def _spec(spec: InputSpec) -> str:
    many = "list of " if spec.many else ""
    shape = f" like {spec.pattern}" if spec.pattern else ""
    return f"{many}{spec.type}{shape}{', may be left out' if spec.optional else ''}"


def _defaults() -> dict[str, object]:
    plain = CompilerSettings()
    return {name: getattr(plain, name) for name in (*_LOOSER, *_SWITCHES)}


def _ways(procedure: Procedure, node: ToolNode) -> set[frozenset[str]]:
    """The ways to a step, each as what has to be chosen; empty for always."""
    return {frozenset(f"{_fork(procedure, fork)} {exit_}" for fork, exit_ in way) for way in node.when}


def _fork(procedure: Procedure, name: str) -> str:
    node = procedure.nodes.get(name)
    return " ".join(_key(node)) if isinstance(node, DecisionNode) else "asked"


def _key(node: DecisionNode) -> tuple[str, str]:
    return node.predicate, text_of(looked_at(node.of))


def _decided(procedure: Procedure) -> dict[tuple[str, str], DecisionNode]:
    return {_key(node): node for node in procedure.nodes.values() if isinstance(node, DecisionNode)}


def _asked(procedure: Procedure) -> dict[tuple[str, str, str], HumanNode | ModelNode]:
    """The questions by the step that waits for them, its argument, and what is asked where it is about none."""
    return {
        (node.about, node.path, "" if node.path else "way" if node.exits else "go on"): node
        for node in procedure.nodes.values()
        if isinstance(node, HumanNode | ModelNode)
    }


def _who(node: HumanNode | ModelNode) -> str:
    return "person" if isinstance(node, HumanNode) else "model"


def _question(at: Line, step: str, was: HumanNode | ModelNode, now: HumanNode | ModelNode) -> Iterator[ProcedureChange]:
    if _who(was) != _who(now):
        yield _change("asks", step, _who(now) == "model", *at, f" was for a {_who(was)}, and is for a {_who(now)}")
    if (was.candidates, was.exits, was.choices, was.answer) != (now.candidates, now.exits, now.choices, now.answer):
        known = {atoms.key(each) for each in (*was.candidates, *was.exits)}
        more = [each for each in (*now.candidates, *now.exits) if atoms.key(each) not in known]
        wider = bool(more) or now.choices != was.choices or (now.answer != was.answer and bool(now.answer))
        yield _change("answers", step, wider, *at, " may be answered otherwise")
    if was.asks != now.asks:
        yield _change("wording", step, False, *at, ": ", Data(was.asks), " -> ", Data(now.asks))
    more_shown = {text_of(place(each)) for each in now.shows} - {text_of(place(each)) for each in was.shows}
    if more_shown:
        yield _change(
            "shows", step, _who(now) == "model", *at, " also shows ", *joined((Data(e),) for e in sorted(more_shown))
        )


def _within(predicate: str, new: list[Any], old: list[Any] | None) -> bool:
    """Whether an exit is taken for nothing that it was not taken for before."""
    if not old:
        return False
    if predicate == "interval":
        return bool(old[0] <= new[0] and new[1] <= old[1])
    known = {atoms.key(each) for each in old}
    return all(atoms.key(each) in known for each in new)
