"""Makes the procedure: nodes, bindings, edges and layers from what was concluded. Pure.

The same conclusions give the same procedure: every list is sorted by what is in it, never by the order of traces.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from stretto.compiler.abstain import Code, Reason, closed_candidates, decides
from stretto.compiler.assuming import assumptions
from stretto.compiler.binding import BindingClass, SelectionKind
from stretto.compiler.evidence import Verdict
from stretto.compiler.guards import ways
from stretto.compiler.injected import began, forbidden_tools, injected_values, scope_of
from stretto.compiler.inputs import FoundInput, Use, find_inputs
from stretto.compiler.repeats import repeat_of
from stretto.procedure import graph
from stretto.procedure.order import implied, layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.compiler.analysis import Analysis
    from stretto.compiler.assuming import Assumption
    from stretto.compiler.binding import Binding, Source
    from stretto.compiler.evidence import Evidence
    from stretto.compiler.guards import Fork, Way
    from stretto.compiler.steps import Run

__all__ = ["ALWAYS", "Origin", "emit", "unseen", "variants"]


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a procedure beside its traces.

    Attributes:
        name: of the procedure.
        summary: what it does, for people.
        version: of the compiler.
        embedder: that found the traces alike.
        parent: digest of the procedure that it takes the place of.
        contracts: of the tools, by ``server/tool``.
        warnings: for people.
    """

    name: str
    summary: str = ""
    version: str = ""
    embedder: str = ""
    parent: str = ""
    contracts: Mapping[str, graph.Contract] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def emit(analysis: Analysis, found: Sequence[Reason], origin: Origin, *, evidence: bool = True) -> graph.Procedure:
    """The procedure that traces show.

    Args:
        analysis: of the traces.
        found: what speaks against steps; none of it refuses.
        origin: what else is known.
        evidence: whether edges have theirs; without it a procedure is only for replaying.

    Raises:
        ValueError: the steps depend on each other in a circle.
    """
    return _Emitter(analysis, found, origin, evidence=evidence).procedure()


def variants(analysis: Analysis) -> Counter[tuple[str, ...]]:
    """The sets of steps that traces took, each sorted, with how many did."""
    return Counter(tuple(sorted(run.by_key)) for run in analysis.runs)


def unseen(analysis: Analysis) -> float:
    """The estimated chance that the next run takes a way that nobody has seen: Good and Turing's N₁ / N."""
    counts = variants(analysis)
    return sum(number == 1 for number in counts.values()) / max(sum(counts.values()), 1)


#: The exit of a decision on what always held.
ALWAYS: Final = "as always"

_ANSWERS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class _Emitter:
    def __init__(self, analysis: Analysis, found: Sequence[Reason], origin: Origin, *, evidence: bool) -> None:
        self._evidence = evidence
        self._analysis = analysis
        self._reasons = found
        self._origin = origin
        self._forks = analysis.forks
        self._reached = ways(analysis)
        self._ways = dict(self._reached)
        self._inputs = find_inputs(analysis)
        self._input_of = {use: each for each in self._inputs for use in each.uses}
        self._nodes: dict[str, Any] = {}
        self._before: dict[str, set[str]] = {}
        self._edges: dict[tuple[str, str], graph.Edge] = {}
        self._notes: list[graph.EvidenceNote] = []

    def procedure(self) -> graph.Procedure:
        if self._analysis.settings.assume:
            for assumption in assumptions(self._analysis):
                self._add_assumption(assumption)
        for key in self._analysis.keys:
            self._add_step(key)
        for fork in self._forks:
            self._add_fork(fork)
        for reason in self._reasons:
            if not reason.path or reason.code is Code.DOUBTFUL_SOURCE:
                self._add_confirmation(reason)
        self._add_edges()
        order = layers(list(self._nodes), self._before, {name: self._rank(name) for name in self._nodes})
        numbers = {name: number for number, layer in enumerate(order) for name in layer}
        redundant = implied(set(self._edges))
        edges = [
            each.model_copy(update={"implied": pair in redundant}) if pair in redundant else each
            for pair, each in sorted(self._edges.items())
        ]
        return graph.Procedure(
            name=self._origin.name,
            summary=self._origin.summary,
            parent=self._origin.parent,
            scope=scope_of(self._analysis),
            inputs={each.name: _spec(each) for each in self._inputs},
            injected=injected_values(self._analysis, self._origin.contracts),
            outputs=self._outputs(),
            nodes={
                name: node.model_copy(update={"layer": numbers[name]})
                for name, node in sorted(self._nodes.items(), key=lambda each: (numbers[each[0]], each[0]))
            },
            edges=edges,
            evidence=self._notes,
            contracts=dict(sorted(self._origin.contracts.items())),
            forbidden_at_runtime=forbidden_tools(self._analysis),
            compiled=self._compiled(),
        )

    # --- steps -------------------------------------------------------------------------------------------------------

    def _add_step(self, key: str) -> None:
        analysis = self._analysis
        name = key.rpartition("#")[0]
        calls = [call for step in analysis.steps(key) for call in step.calls]
        (server, raw), _ = min(
            Counter((call.server, call.raw_name) for call in calls).items(), key=lambda each: (-each[1], each[0])
        )
        args = {}
        for path in analysis.classifier.paths(key):
            binding = analysis.bindings[(key, path)]
            if path == self._repeated(key) and binding.kind is BindingClass.CONSTANT and not binding.value:
                continue  # a counter or a cursor: the repeat says its values
            args[path] = self._bound(key, path, binding)
        self._nodes[key] = graph.ToolNode(
            layer=0,
            when=_when(self._ways[key]),
            app=name.partition(".")[0],
            action=name.partition(".")[2],
            tool=raw or name,
            server=server,
            effect=analysis.effect(key).value,
            args=args,
            repeat=repeat_of(analysis, key),
        )

    def _repeated(self, key: str) -> str:
        repeat = repeat_of(self._analysis, key)
        return repeat.path if repeat is not None else ""

    def _bound(self, key: str, path: str, binding: Binding) -> graph.Binding:
        more: dict[str, Any] = {
            "optional": binding.optional,
            "support": binding.support,
            "basis": (binding.basis or "") and str(binding.basis),
        }
        if binding.kind is BindingClass.CONSTANT:
            value: Any = self._constant(binding)
        elif binding.kind is BindingClass.USER_INPUT:
            value = graph.Input(input=self._input_of[Use(key, path)].name)
        elif binding.kind is BindingClass.COPY:
            value = graph.Copied(
                sources=[self._source(key, path, number, each) for number, each in enumerate(binding.sources)]
            )
        elif binding.kind is BindingClass.TRANSFORM:
            value = graph.FromNode(node=self._add_transform(key, path, binding))
        else:
            value = graph.FromNode(node=self._add_question(key, path, binding))
        return graph.Binding(value=value, **more)

    def _constant(self, binding: Binding) -> graph.Secret | graph.Injected | graph.Constant:
        if binding.secret:
            return graph.Secret(secret=binding.secret)
        if binding.injected:
            return graph.Injected(injected=binding.injected)
        return graph.Constant(value=binding.value[0])

    def _source(self, key: str, path: str, number: int, source: Source) -> graph.Source:
        selection = source.selection
        if selection is None:
            return graph.Source(node=source.step, path=source.path)
        equal = None
        if selection.kind is SelectionKind.WHERE:
            if selection.equal.said:
                equal = graph.Equal(input=self._input_of[Use(key, path, number)].name)
            elif selection.equal.argument is not None:
                equal = graph.Equal(argument=selection.equal.argument)
            else:
                equal = graph.Equal(constant=list(selection.equal.constant))
        kind: Any = "only" if selection.kind is SelectionKind.CHOICE else selection.kind.value
        return graph.Source(
            node=source.step, path=source.path, select=graph.Select(kind=kind, field=selection.field, equal=equal)
        )

    def _place(self, source: Source) -> graph.Source:
        """A source as it may be shown: a whole list where an element is chosen."""
        return graph.Source(node=source.step, path=source.path.partition("[*]")[0])

    def _add_transform(self, key: str, path: str, binding: Binding) -> str:
        name = f"{key}{path[1:]} {binding.transform}"
        if binding.sources:
            of: Any = self._source(key, path, 0, binding.sources[0])
        else:
            of = graph.Input(input=self._input_named(binding.input))
        self._nodes[name] = graph.TransformNode(
            layer=0,
            when=_when(self._ways[key]),
            name=binding.transform,
            of=of,
            before=binding.before,
            after=binding.after,
        )
        self._link(name, key, graph.Edge(first=name, then=key, kind="data"))
        for source in binding.sources:
            self._link(source.step, name, graph.Edge(first=source.step, then=name, kind="data", verdict="suspected"))
        return name

    def _input_named(self, argument: str) -> str:
        return next((each.name for each in self._inputs if each.name == argument), argument)

    def _add_question(self, key: str, path: str, binding: Binding) -> str:
        """The question whose answer an argument is: for a person before what nobody can take back, else for a model."""
        reason = next((each for each in self._reasons if each.step == key and each.path == path), None)
        name = f"{key}{path[1:]} ?"
        shows = [self._place(each) for each in (*binding.suspects, *((binding.choices,) if binding.choices else ()))]
        candidates = list(closed_candidates(self._analysis, key, path, binding))
        closed = bool(candidates) or binding.choices is not None
        many = path in self._analysis.classifier.varying(key)
        kinds = {_ANSWERS.get(type(value), "null") for value in binding.candidates}
        about: dict[str, Any] = {
            "layer": 0,
            "when": _when(self._ways[key]),
            "asks": f"What is {path[2:]} of {key.rpartition('#')[0]} to be?",
            "about": key,
            "path": path,
            "candidates": candidates if binding.choices is None else [],
            "choices": graph.Source(node=binding.choices.step, path=binding.choices.path) if binding.choices else None,
            "shows": shows,
            "answer": "" if closed else "array" if many else kinds.pop() if len(kinds) == 1 else "string",
        }
        if reason is not None:
            self._nodes[name] = graph.HumanNode(code=reason.code.value, **about)
        else:
            self._nodes[name] = graph.ModelNode(**about)
        self._link(name, key, graph.Edge(first=name, then=key, kind="asks"))
        for source in shows:
            self._link(source.node, name, graph.Edge(first=source.node, then=name, kind="asks"))
        return name

    def _add_confirmation(self, reason: Reason) -> None:
        """The question whether a step is to be made, shown what it would be called with."""
        name = f"{reason.step}{reason.path[1:]} {reason.code}"
        if f"{reason.step}{reason.path[1:]} ?" in self._nodes or reason.code is Code.CHOICE:
            return
        binding = self._analysis.bindings.get((reason.step, reason.path))
        shows = [self._place(each) for each in binding.sources] if binding is not None else []
        what = f"{reason.step.rpartition('#')[0]} {reason.path[2:]}".strip()
        self._nodes[name] = graph.HumanNode(
            layer=0,
            when=_when(self._ways[reason.step]),
            asks=f"Go on with {what}? ({reason.says})",
            about=reason.step,
            shows=[each for each in shows if each.node != reason.step],
            code=reason.code.value,
        )
        self._link(name, reason.step, graph.Edge(first=name, then=reason.step, kind="asks"))
        for source in shows:
            self._link(source.node, name, graph.Edge(first=source.node, then=name, kind="asks"))

    # --- branches ----------------------------------------------------------------------------------------------------

    def _add_fork(self, fork: Fork) -> None:
        seen = {exit_.name: len(exit_.traces) for exit_ in fork.exits}
        guard = fork.guard
        common: dict[str, Any] = {"layer": 0, "when": _when((fork.within,) if fork.within else ())}
        if guard is not None:
            only = graph.Select(kind="only") if "[*]" in guard.path else None
            source = graph.Source(node=guard.step, path=guard.path, select=only) if guard.step else None
            of: Any = source or graph.Input(input=guard.path)
            exits = {name: list(values) for name, values in sorted(guard.exits.items())}
            self._nodes[fork.id] = graph.DecisionNode(
                predicate=guard.predicate.value, of=of, exits=exits, seen=seen, **common
            )
            if guard.step:
                self._link(guard.step, fork.id, graph.Edge(first=guard.step, then=fork.id, kind="data"))
        else:
            person = any(
                each.code is Code.CHOICE and not each.path and decides(self._analysis, fork, each.step)
                for each in self._reasons
            )
            asked: dict[str, Any] = {
                **common,
                "asks": "Which way does it go on?",
                "about": fork.exits[0].name,
                "exits": list(seen),
                "shows": [graph.Source(node=key, path="$") for key in fork.after],
            }
            self._nodes[fork.id] = (
                graph.HumanNode(code=Code.CHOICE.value, **asked) if person else graph.ModelNode(**asked)
            )
        for key in fork.after:
            self._link(key, fork.id, graph.Edge(first=key, then=fork.id, kind="asks"))
        for earlier, _ in fork.within:
            self._link(earlier, fork.id, graph.Edge(first=earlier, then=fork.id, kind="asks"))

    def _add_assumption(self, found: Assumption) -> None:
        """A decision with one exit, so that anything else stops the run before the step."""
        name = f"{found.step} assumes {found.source} {found.path}"
        self._nodes[name] = graph.DecisionNode(
            layer=0,
            when=_when(self._reached[found.step]),
            predicate="equals",
            of=graph.Source(node=found.source, path=found.path),
            exits={ALWAYS: [found.value]},
            seen={ALWAYS: found.support},
        )
        self._ways[found.step] = tuple((*way, (name, ALWAYS)) for way in self._ways[found.step] or ((),))
        self._link(found.source, name, graph.Edge(first=found.source, then=name, kind="data"))

    def _link(self, first: str, then: str, edge: graph.Edge) -> None:
        if first != then:
            self._before.setdefault(then, set()).add(first)
            self._edges.setdefault((first, then), edge)

    # --- edges -------------------------------------------------------------------------------------------------------

    def _add_edges(self) -> None:
        traces = {run.trace.id: number for number, run in enumerate(self._analysis.runs)}
        for each in self._analysis.edges if self._evidence else ():
            if each.verdict is not Verdict.SUSPECTED and each.producer in self._nodes:
                numbers = [self._noted(evidence, traces) for evidence in each.evidence]
                verdict: Any = each.verdict.value
                edge = graph.Edge(
                    first=each.producer, then=each.consumer, kind="data", verdict=verdict, evidence=numbers
                )
                self._edges.pop((each.producer, each.consumer), None)
                self._link(each.producer, each.consumer, edge)
        for (key, _), binding in sorted(self._analysis.bindings.items()):
            for source in binding.sources:
                self._link(source.step, key, graph.Edge(first=source.step, then=key, kind="data", verdict="suspected"))
                chosen = source.selection.equal.argument if source.selection is not None else None
                if chosen is not None:
                    self._link(chosen[0], key, graph.Edge(first=chosen[0], then=key, kind="data", verdict="suspected"))
        for name, node in list(self._nodes.items()):
            for fork, _ in {pair for way in node.when for pair in way}:
                self._link(fork, name, graph.Edge(first=fork, then=name, kind="asks"))
        for order in self._analysis.effect_orders:
            if not self._leads(order.then, order.first):
                self._link(
                    order.first,
                    order.then,
                    graph.Edge(first=order.first, then=order.then, kind="effect", arbitrary=order.arbitrary),
                )

    def _leads(self, first: str, then: str) -> bool:
        """Whether one node comes before another already."""
        todo, seen = [then], set[str]()
        while todo:
            node = todo.pop()
            if node == first:
                return True
            if node not in seen:
                seen.add(node)
                todo += self._before.get(node, ())
        return False

    def _noted(self, evidence: Evidence, traces: Mapping[str, int]) -> int:
        note = graph.EvidenceNote(
            trace=traces[evidence.consumer.trace],
            argument=evidence.arg_path,
            place=evidence.producer_paths[0] if evidence.producer_paths else "",
            match=evidence.match,
            basis=str(evidence.basis),
            value=f"{evidence.value.type}, {evidence.value.length} characters",
            looked_at={str(each.origin): each.looked_at for each in evidence.exclusions if each.looked_at > 0},
            found=[f"{each.origin}: {found}" for each in evidence.exclusions for found in each.found],
        )
        self._notes.append(note)
        return len(self._notes) - 1

    def _rank(self, name: str) -> int:
        """What comes first of what is ready: reads side by side, then decisions and questions, then what changes."""
        node = self._nodes[name]
        if isinstance(node, graph.ToolNode):
            return 0 if node.effect in ("read", "auth") else 3
        if isinstance(node, graph.TransformNode):
            return 0
        return 1 if isinstance(node, graph.DecisionNode) else 2

    # --- the rest ----------------------------------------------------------------------------------------------------

    def _outputs(self) -> list[graph.Output]:
        """The values that the answer showed in every trace in which their step occurs, one place a name."""
        found: dict[str, graph.Output] = {}
        for key in self._analysis.keys:
            runs = self._analysis.occurrences(key)
            shown = [_shown(run, key) for run in runs]
            for path in sorted(set.intersection(*shown), key=lambda each: (each.count("."), each)):
                name = path.rpartition(".")[2] if "." in path else "output"
                name = name if name not in found else f"{key.rpartition('#')[0].rpartition('.')[2]}_{name}"
                found.setdefault(name, graph.Output(name=name, source=graph.Source(node=key, path=path)))
        return [found[name] for name in sorted(found)]

    def _compiled(self) -> graph.Compiled:
        analysis = self._analysis
        counts = variants(analysis)
        labelled = analysis.labels.values() if self._evidence else ()
        labels = Counter(str(each.label) for found in labelled for each in found)
        agents = {str(run.trace.meta["agent"]) for run in analysis.runs if run.trace.meta.get("agent")}
        return graph.Compiled(
            version=self._origin.version,
            embedder=self._origin.embedder,
            traces=[_digest(run.trace.id) for run in analysis.runs],
            agents=sorted(agents),
            support=len(analysis.runs),
            since=began(analysis.runs, min),
            until=began(analysis.runs, max),
            calls=dict(sorted(labels.items())),
            branches=[
                graph.Branch(steps=list(steps), traces=number)
                for steps, number in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
            ],
            unseen=unseen(analysis),
            warnings=list(self._origin.warnings),
            settings=_plain(asdict(analysis.settings)),
        )


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in sorted(settings.items())}


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _when(found: Sequence[Way]) -> list[graph.Way]:
    return [list(way) for way in found]


def _spec(found: FoundInput) -> graph.InputSpec:
    kind: Any = found.type
    return graph.InputSpec(type=kind, many=found.many, pattern=found.pattern, optional=found.optional)


def _shown(run: Run, key: str) -> set[str]:
    """The places of a step's output, none in lists, whose distinctive values the answer shows."""
    step = run.by_key[key]
    return set() if step.is_list else {path for path in run.tracing.shown(step.last) if "[" not in path}
