"""Runs a procedure without a network, a clock or a disk: it says what is to be called or asked, and hears the answer.

`play` is a generator: it yields requests (`Calls`, `Ask`), is sent what came of each, and returns an `Ending`. Whoever
drives it makes the calls (`stretto.procedure.running`). The same answers give the same requests, so a run is taken up
again by playing it once more with the answers that are known (`stretto.procedure.journal`).

What must stay true: a value is inserted once, whole, and never searched again; nothing that was not seen when the
procedure was compiled is decided here, it stops the run instead; and the run stops before the next call, not after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeGuard

from stretto.procedure import atoms
from stretto.procedure.exchange import Answer, Ask, Calls, Done, Ending, Escalation, Make
from stretto.procedure.freshness import Freshness
from stretto.procedure.graph import (
    Constant,
    Copied,
    DecisionNode,
    FromNode,
    HumanNode,
    Injected,
    Input,
    Secret,
    Source,
    ToolNode,
    TransformNode,
)
from stretto.procedure.transforms import transform
from stretto.procedure.values import ABSENT, count_of, insert, is_absent, is_nothing, pick, resolve_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from stretto.procedure.exchange import Reply, Request
    from stretto.procedure.graph import Binding, Node, Procedure, Question, Way
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["play"]


class _Stop(Exception):
    def __init__(self, reason: str, observed: str) -> None:
        super().__init__(reason, observed)
        self.reason = reason
        self.observed = observed


def play(
    procedure: Procedure,
    inputs: Mapping[str, JsonValue],
    secret: Callable[[str], str],
    fresh: Mapping[str, Freshness] | None = None,
) -> Generator[Request, Reply, Ending]:
    """Play a procedure.

    Args:
        procedure: sound, see `stretto.procedure.checks`.
        inputs: by name; checked already, see `stretto.procedure.readiness`.
        secret: gives a secret by its name.
        fresh: what may be done with each injected value (`stretto.procedure.freshness`); one that is not named is
            read anew.
    """
    run = _Run(procedure, inputs, secret)
    try:
        yield from run.refresh(fresh or {})
        for layer in _layers(procedure):
            together = {name: node for name, node in layer.items() if _reads_once(node)}
            yield from run.read(together)
            for name, node in layer.items():
                if name not in together:
                    yield from run.visit(name, node)
    except _Stop as stop:
        return Ending({}, tuple(run.made), Escalation(procedure.name, run.at, stop.reason, stop.observed))
    return Ending(run.outputs(), tuple(run.made))


def _layers(procedure: Procedure) -> list[dict[str, Node]]:
    found: dict[int, dict[str, Node]] = {}
    for name, node in sorted(procedure.nodes.items(), key=lambda each: (each[1].layer, each[0])):
        found.setdefault(node.layer, {})[name] = node
    return list(found.values())


def _reads_once(node: Node) -> TypeGuard[ToolNode]:
    """Whether a node is a single read, which may be made beside the others of its layer."""
    return isinstance(node, ToolNode) and node.repeat is None and node.effect in ("read", "auth")


@dataclass
class _Run:
    procedure: Procedure
    inputs: Mapping[str, JsonValue]
    secret: Callable[[str], str]
    made: list[tuple[Make, Done]] = field(default_factory=list)
    values: dict[str, JsonValue] = field(default_factory=dict)  # what each node gave
    taken: dict[str, str] = field(default_factory=dict)  # the exit of each decision
    args: dict[str, JsonObject] = field(default_factory=dict)  # of the calls, by node
    injected: dict[str, JsonValue] = field(default_factory=dict)  # by name, where they may be used
    at: str = ""

    def refresh(self, fresh: Mapping[str, Freshness]) -> Generator[Request, Reply, None]:
        """Take the injected values that may be used, and read the others anew."""
        for name, value in self.procedure.injected.items():
            self.at = name
            what = fresh.get(name, Freshness.REFRESH)
            if what is Freshness.FRESH:
                self.injected[name] = value.value
                continue
            if value.refresh is None or what is Freshness.LOST:
                raise _Stop("stale_constant", f"{name} may have changed, and nothing reads it anew")
            again = value.refresh
            make = Make(f"refresh {name}", name, again.server, again.tool, dict(again.args), "read")
            replies = yield Calls((make,))
            assert not isinstance(replies, Answer)  # noqa: S101 - the contract of `play`
            (done,) = replies
            self.made.append((make, done))
            found = atoms.read_general(done.output, value.path) if done.ok else []
            if not found:
                raise _Stop("stale_constant", f"{name} may have changed, and {again.tool} did not yield it anew")
            self.injected[name] = found[0][1]

    def read(self, nodes: Mapping[str, ToolNode]) -> Generator[Request, Reply, None]:
        """Make the reads of one layer that are reached, at once."""
        makes = []
        for name, node in nodes.items():
            self.at = name
            if self._is_reached(node.when):
                makes.append(self._prepared(name, node, name))
        for make, done in zip(makes, (yield from self._make(makes)), strict=True):
            self.values[make.node] = done.output
        for make in makes:
            self.at = make.node
            self._look_ahead(make.node)

    def visit(self, name: str, node: Node) -> Generator[Request, Reply, None]:
        """Do what a node is there for, if it is reached."""
        self.at = name
        if not self._is_reached(node.when):
            return
        if isinstance(node, TransformNode):
            self._transform(name, node)
        elif isinstance(node, DecisionNode):
            self.taken[name] = self._decide(node)
        elif isinstance(node, ToolNode):
            yield from self._call(name, node)
        else:
            yield from self._ask(name, node)

    def _is_reached(self, ways: Sequence[Way]) -> bool:
        return not ways or any(all(self.taken.get(fork) == exit_ for fork, exit_ in way) for way in ways)

    # --- values ------------------------------------------------------------------------------------------------------

    def _transform(self, name: str, node: TransformNode) -> None:
        source = self._value_of(node.of)
        if is_absent(source):
            raise _Stop("missing_source", f"nothing at {_says(node.of)}")
        made = transform(node.name, source, before=node.before, after=node.after)
        if made is None:
            raise _Stop("missing_source", f"{node.name} does not apply to what is at {_says(node.of)}")
        self.values[name] = made

    def _value_of(self, origin: Source | Input) -> JsonValue:
        if isinstance(origin, Input):
            return self.inputs.get(origin.input, ABSENT)
        return self._at(origin)

    def _at(self, source: Source) -> JsonValue:
        """The one value at a source; absent where there is none."""
        if source.node not in self.values:
            return ABSENT
        output = self.values[source.node]
        if source.select is None:
            found = atoms.read_general(output, source.path)
            return found[0][1] if found else ABSENT
        chosen = pick(output, source.path, source.select, self.inputs, self.args)
        if isinstance(chosen, int):
            raise _Stop("selection", f"{chosen} elements of {_says(source)} fit, and it takes one")
        return chosen[0]

    def bind(self, binding: Binding, path: str) -> JsonValue:
        """The value of an argument; absent where it may be left out and is not there."""
        value = self._bound(binding)
        if is_absent(value) and not binding.optional:
            raise _Stop("missing_source", f"nothing for {path}")
        return value

    def _bound(self, binding: Binding) -> JsonValue:
        origin = binding.value
        if isinstance(origin, Constant):
            constant: JsonValue = origin.value
            return constant
        if isinstance(origin, Injected):
            return self.injected[origin.injected]
        if isinstance(origin, Secret):
            return self.secret(origin.secret)
        if isinstance(origin, FromNode):
            return self.values.get(origin.node, ABSENT)
        if isinstance(origin, Input):
            return self.inputs.get(origin.input, ABSENT)
        found = [self._at(source) for source in origin.sources]
        if any(not atoms.same(found[0], each) for each in found[1:]):
            places = " and ".join(_says(source) for source in origin.sources)
            raise _Stop("sources_disagree", f"{places} are not the same")
        return found[0]

    def outputs(self) -> JsonObject:
        """What the procedure gives: of what was reached."""
        found = {each.name: self._at(each.source) for each in self.procedure.outputs}
        return {name: value for name, value in found.items() if not is_absent(value)}

    # --- decisions and questions -------------------------------------------------------------------------------------

    def _decide(self, node: DecisionNode) -> str:
        value = self._value_of(node.of)
        seen: JsonValue = value
        if node.predicate == "present":
            seen = not is_absent(value)
        elif is_absent(value):
            raise _Stop("unseen_branch", f"nothing at {_says(node.of)}")
        elif node.predicate == "count":
            seen = count_of(value)
        for name, values in node.exits.items():
            if node.predicate == "interval":
                number = isinstance(seen, int | float) and not isinstance(seen, bool)
                if number and values[0] <= seen <= values[1]:
                    return name
            elif any(atoms.same(seen, each) for each in values):
                return name
        raise _Stop("unseen_branch", atoms.shown(seen)[:_SHOWN])

    def _ask(self, name: str, node: Question) -> Generator[Request, Reply, None]:
        about = self.procedure.nodes.get(node.about)
        if about is not None and not self._is_reached(about.when) and not node.exits:
            return
        candidates: tuple[JsonValue, ...] = tuple(node.exits or node.candidates)
        if node.choices is not None:
            output = self.values.get(node.choices.node, ABSENT)
            found = [] if is_absent(output) else resolve_elements(output, node.choices.path)
            candidates = tuple(value for _, value in found)
        shows = tuple((_says(source), value) for source in node.shows if not is_absent(value := self._at(source)))
        person = isinstance(node, HumanNode)
        deadline = node.deadline_s if isinstance(node, HumanNode) else 0
        reply = yield Ask(name, person, node.asks, candidates, shows, node.answer, deadline)
        assert isinstance(reply, Answer)  # noqa: S101 - the contract of `play`
        if not reply.given:
            asked = f"{'a person' if person else 'a model'} was asked: {node.asks}"
            raise _Stop("not_among_candidates" if reply.instead else "no_answer", reply.instead or asked)
        closed = bool(node.exits or node.candidates or node.choices is not None)
        if closed and not any(atoms.same(reply.value, each) for each in candidates):
            raise _Stop("not_among_candidates", atoms.shown(reply.value)[:_SHOWN])
        if node.exits:
            self.taken[name] = str(reply.value)
        elif node.path:
            self.values[name] = reply.value
        elif reply.value is not True:
            raise _Stop("declined", node.asks)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call(self, name: str, node: ToolNode) -> Generator[Request, Reply, None]:
        kind = node.repeat.kind if node.repeat is not None else ""
        if kind == "each":
            yield from self._each(name, node)
        elif kind in ("page", "cursor"):
            yield from self._pages(name, node)
        elif kind == "until":
            yield from self._until(name, node)
        else:
            (done,) = yield from self._make([self._prepared(name, node, name)])
            self.values[name] = done.output
        self._look_ahead(name)

    def _prepared(
        self, name: str, node: ToolNode, call_id: str, *, more: Mapping[str, JsonValue] | None = None
    ) -> Make:
        found = {path: self.bind(each, path) for path, each in node.args.items() if path not in (more or {})}
        found.update(more or {})
        args = insert({path: value for path, value in sorted(found.items()) if not is_absent(value)})
        self.args[name] = args
        return Make(call_id, name, node.server, node.tool, args, node.effect)

    def _make(self, makes: list[Make]) -> Generator[Request, Reply, list[Done]]:
        if not makes:
            return []
        replies = yield Calls(tuple(makes))
        assert not isinstance(replies, Answer)  # noqa: S101 - the contract of `play`
        done = list(replies)
        self.made += zip(makes, done, strict=True)
        for make, each in zip(makes, done, strict=True):
            if not each.ok:
                self.at = make.node
                reason = "call_failed" if each.certain or not make.changes else "in_doubt"
                raise _Stop(reason, f"{make.tool}: {atoms.shown(each.output)[:_SHOWN]}")
        return done

    def _each(self, name: str, node: ToolNode) -> Generator[Request, Reply, None]:
        assert node.repeat is not None  # noqa: S101 - the caller has looked
        path = node.repeat.path
        values = self._elements(node.args[path], path)
        if len(values) > node.repeat.most:
            raise _Stop("too_many", f"{len(values)} elements, and it takes {node.repeat.most}")
        makes = [
            self._prepared(name, node, f"{name}[{number}]", more={path: value}) for number, value in enumerate(values)
        ]
        outputs: list[JsonValue] = []
        for batch in [makes] if makes and not makes[0].changes else [[make] for make in makes]:
            outputs += [done.output for done in (yield from self._make(batch))]
        self.values[name] = outputs

    def _elements(self, binding: Binding, path: str) -> list[JsonValue]:
        origin = binding.value
        if isinstance(origin, Copied):
            source = origin.sources[0]
            if source.node not in self.values:
                raise _Stop("missing_source", f"nothing for {path}")
            return [value for _, value in atoms.read_general(self.values[source.node], source.path)]
        value = self.bind(binding, path)
        return list(value) if isinstance(value, list) else [value]

    def _pages(self, name: str, node: ToolNode) -> Generator[Request, Reply, None]:
        assert node.repeat is not None  # noqa: S101 - the caller has looked
        repeat = node.repeat
        outputs: list[JsonValue] = []
        next_value: JsonValue = repeat.start[0] if repeat.start else ABSENT
        seen: set[bytes] = set()
        while True:
            if len(outputs) == repeat.most:
                raise _Stop("too_many", f"{repeat.most} pages")
            make = self._prepared(name, node, f"{name}[{len(outputs)}]", more={repeat.path: next_value})
            (done,) = yield from self._make([make])
            outputs.append(done.output)
            if repeat.kind == "page":
                if _is_last_page(outputs):
                    break
                next_value = (next_value if isinstance(next_value, int) else 0) + repeat.step
            else:
                found = [value for _, value in atoms.read_general(done.output, repeat.cursor)]
                if not found or found[0] in (None, "") or atoms.key(found[0]) in seen:
                    break
                next_value = found[0]
                seen.add(atoms.key(next_value))
        self.values[name] = outputs

    def _until(self, name: str, node: ToolNode) -> Generator[Request, Reply, None]:
        assert node.repeat is not None  # noqa: S101 - the caller has looked
        for number in range(node.repeat.most):
            make = self._prepared(name, node, f"{name}[{number}]")
            again = Make(make.id, name, make.server, make.tool, make.args, make.effect, waits=number > 0)
            (done,) = yield from self._make([again])
            found = [value for _, value in atoms.read_general(done.output, node.repeat.watch)]
            value = found[0] if found else ABSENT
            if any(atoms.same(value, each) for each in node.repeat.ends):
                self.values[name] = done.output
                return
            if not any(atoms.same(value, each) for each in node.repeat.goes_on):
                raise _Stop("unseen_value", "nothing" if is_absent(value) else atoms.shown(value)[:_SHOWN])
        raise _Stop("too_many", f"{node.repeat.most} times the same call")

    def _look_ahead(self, name: str) -> None:
        """Stop now if an output lacks what a later step needs, before anything is changed in between."""
        for later, source, optional in _needs(self.procedure, name):
            reached = all(not later.when or fork in self.taken for way in later.when for fork, _ in way)
            needed = not optional and source.select is None and reached and self._is_reached(later.when)
            if needed and is_absent(self._at(source)):
                raise _Stop("missing_source", f"nothing at {_says(source)}")


_SHOWN: Final = 80  # characters of a value in a reason


def _needs(procedure: Procedure, name: str) -> Iterator[tuple[Node, Source, bool]]:
    """What later nodes take from a node's output, and whether they can do without."""
    for node in procedure.nodes.values():
        if isinstance(node, ToolNode):
            for binding in node.args.values():
                if isinstance(binding.value, Copied):
                    for source in binding.value.sources:
                        if source.node == name:
                            yield node, source, binding.optional
        elif isinstance(node, TransformNode) and isinstance(node.of, Source) and node.of.node == name:
            yield node, node.of, False


def _says(origin: Source | Input) -> str:
    return f"input {origin.input}" if isinstance(origin, Input) else f"{origin.node} {origin.path}"


def _is_last_page(outputs: list[JsonValue]) -> bool:
    """Whether the last page is empty, or shorter than the first."""
    lengths = [_page_length(output) for output in outputs]
    if lengths[-1] is None or lengths[0] is None:
        raise _Stop("unknown_page", "a page with no list, or with several")
    return lengths[-1] == 0 or (len(lengths) > 1 and lengths[-1] < lengths[0])


def _page_length(output: JsonValue) -> int | None:
    if is_nothing(output):
        return 0
    if isinstance(output, list):
        return len(output)
    lists = [value for value in output.values() if isinstance(value, list)] if isinstance(output, dict) else []
    return len(lists[0]) if len(lists) == 1 else None
