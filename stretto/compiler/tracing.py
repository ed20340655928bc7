"""Where the arguments of one trace may have come from: candidates, and every other origin. Pure.

This is the first half of the dependency rule (steps 1 to 4): what is found, before anything is concluded. Values are
looked up in the index that all of the project shares (`waggle.values.Content`), here for *all* their places.

Cost: an index of each output is built once, at the first question; a question costs a lookup for each call before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from stretto.compiler.evidence import Exclusion, Other
from stretto.compiler.groups import group_calls
from stretto.compiler.model import UNLOGGED, Effect, Unlogged
from stretto.compiler.superfluous import recoveries, repeats
from stretto.procedure import atoms
from stretto.procedure.transforms import transformed
from waggle import jsonvalue
from waggle.calls import Result
from waggle.redact import is_masked
from waggle.values import Content

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stretto.compiler.groups import Group, GroupKind
    from stretto.compiler.model import Call, Trace
    from stretto.compiler.schemas import Tools
    from stretto.compiler.settings import CompilerSettings
    from waggle.jsonvalue import JsonValue

__all__ = ["EXACT", "Argument", "Candidate", "Tracing", "top"]

_WORDS: Final = re.compile(r"\w+")

#: Values of one output that transforms are tried on.
_MADE: Final = 5000

#: What `Candidate.match` says of a value that was passed as it is.
EXACT: Final = "exact"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call whose output holds the value of an argument, or one that a transform makes into it.

    Attributes:
        call: the call.
        paths: exact paths in its output, shortest first.
        match: `EXACT`, or the transform's name.
    """

    call: Call
    paths: tuple[str, ...]
    match: str = EXACT


@dataclass(frozen=True, slots=True)
class Argument:
    """One atom of the arguments of one call, and where its value may have come from.

    Attributes:
        call: the call.
        path: of the argument, exact.
        value: its value.
        candidates: the producers that are left once carriers and repeats have dropped out, in order of the calls.
        others: how each other origin was looked for, in the order of `Other`; ``other_call`` is for the verdict to add.
        unlogged: the calls before it that may have yielded it unseen.
        distinctive: whether an accidental match is unlikely.
        known: the first call that was given the value before any candidate could have shown it; None without one. The
            agent had it from somewhere else then, and what a candidate shows is no news.
    """

    call: Call
    path: str
    value: JsonValue
    candidates: tuple[Candidate, ...]
    others: tuple[Exclusion, ...]
    unlogged: tuple[Call, ...]
    distinctive: bool
    known: Call | None = None

    @property
    def name(self) -> str:
        """The name of the argument that it is in; empty for the whole."""
        return top(self.path)

    def found(self, other: Other) -> bool:
        """Whether another origin was found."""
        return any(each.origin is other and each.found for each in self.others)


def _excluded(origin: Other, looked_at: int, found: Sequence[str]) -> Exclusion:
    """An exclusion; where nothing was found, one for all arguments, of which there are many."""
    return Exclusion(origin, looked_at, tuple(found)) if found else _nothing_found(origin, looked_at)


@lru_cache(maxsize=1024)
def _nothing_found(origin: Other, looked_at: int) -> Exclusion:
    return Exclusion(origin, looked_at)


def _leaf(value: JsonValue) -> tuple[type, JsonValue]:
    """To look scalars up by: equal for two that are the same."""
    return type(value), value if isinstance(value, str | int | float) else None


def _leaves(value: JsonValue) -> Iterator[tuple[type, JsonValue]]:
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            todo += node.values()
        elif isinstance(node, list):
            todo += node
        else:
            yield _leaf(node)


def top(path: str) -> str:
    """The name of the argument that a path is in; empty for the whole."""
    return path[2:].partition(".")[0].partition("[")[0] if path.startswith("$.") else ""


@dataclass(frozen=True, slots=True)
class _Before:
    """What there was before a call: what the user had said, calls that failed, and outputs that nobody recorded."""

    texts: Sequence[tuple[int, str]]
    failed: Sequence[Call]
    unlogged: Sequence[Call]


class Tracing:
    """The origins of one trace's arguments.

    Args:
        trace: the trace.
        tools: what is known of its actions.
        settings: the compiler's.
    """

    def __init__(self, trace: Trace, tools: Tools, settings: CompilerSettings) -> None:
        self.trace = trace
        self._tools = tools
        self._settings = settings
        self._contents: dict[int, Content] = {}
        self._made: dict[int, dict[bytes, list[tuple[str, str, JsonValue]]]] = {}
        self._args = {call.index: atoms.arguments(call.args) for call in trace.calls}
        self._given = {index: {atoms.key(value) for value in args.values()} for index, args in self._args.items()}
        self._first = dict(self._firsts())
        self._shown: dict[int, dict[str, JsonValue]] = {}
        self._outer: dict[int, dict[str, JsonValue]] = {}

    def _firsts(self) -> Iterator[tuple[int, int]]:
        """For each successful call, the first of those that are equal to it, output included."""
        seen: dict[bytes, int] = {}
        for call in self.trace.calls:
            if call.ok and not isinstance(call.output, Unlogged):
                whole = jsonvalue.canonical([call.name, dict(call.args), call.output])
                yield call.index, seen.setdefault(whole, call.index)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """All atoms of the arguments of all successful calls, in order."""
        return tuple(argument for call in self.trace.calls if call.ok for argument in self._traced(call))

    @cached_property
    def by_call(self) -> dict[int, tuple[Argument, ...]]:
        """The same, by the call's index; empty for a call that failed."""
        found: dict[int, list[Argument]] = {call.index: [] for call in self.trace.calls}
        for argument in self.arguments:
            found[argument.call.index].append(argument)
        return {index: tuple(each) for index, each in found.items()}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """What the calls of each action are to each other."""
        return group_calls(self)

    @cached_property
    def kinds(self) -> dict[int, GroupKind]:
        """The kind of the group that each call is of, by its index."""
        return {index: group.kind for group in self.groups for index in group.calls}

    @cached_property
    def recoveries(self) -> frozenset[int]:
        """See `stretto.compiler.superfluous.recoveries`."""
        return recoveries(self)

    @cached_property
    def repeats(self) -> dict[int, int]:
        """See `stretto.compiler.superfluous.repeats`."""
        return repeats(self)

    @cached_property
    def consumers(self) -> dict[int, tuple[Argument, ...]]:
        """The arguments that each call's output may have gone into, by the call's index; none of most calls."""
        found: dict[int, list[Argument]] = {}
        for argument in self.arguments:
            for candidate in argument.candidates:
                found.setdefault(candidate.call.index, []).append(argument)
        return {index: tuple(each) for index, each in found.items()}

    @cached_property
    def sessions(self) -> frozenset[tuple[str, str]]:
        """The arguments that hold what a login yields, by ``app.action`` and path: declared, or traced to one alone."""
        return frozenset(
            (argument.call.name, argument.path)
            for argument in self.arguments
            if argument.name in self._tools.of(argument.call.name).sessions
            or (argument.candidates and all(each.call.effect is Effect.AUTH for each in argument.candidates))
        )

    @cached_property
    def of_changes(self) -> frozenset[bytes]:
        """The values of the calls that change something, arguments and outputs, as `stretto.procedure.atoms.key`."""
        found: set[bytes] = set()
        for call in self.trace.calls:
            if call.ok and call.effect.changes:
                output = None if isinstance(call.output, Unlogged) else call.output
                found |= self._given[call.index] | {atoms.key(value) for _, value in atoms.atoms(output)}
        return frozenset(found)

    def shown(self, call: Call) -> dict[str, JsonValue]:
        """The distinctive values in a call's output that the answer says and its arguments do not, by exact path."""
        found = self._shown.get(call.index)
        if found is None:
            found = self._shown[call.index] = dict(self._in_answer(call))
        return found

    def _in_answer(self, call: Call) -> Iterator[tuple[str, JsonValue]]:
        answer = self.trace.answer
        if isinstance(call.output, Unlogged) or not answer:
            return
        words = set(_WORDS.findall(atoms.fold(answer)))
        for path, value in islice(atoms.atoms(call.output), self._settings.atoms_max):
            if self._settings.is_distinctive(value):
                first = _WORDS.search(atoms.fold(atoms.shown(value)))
                if first and first[0] in words and atoms.said(value, answer) and not self._carries(call, value):
                    yield path, value

    def outer(self, call: Call) -> dict[str, JsonValue]:
        """What a call's output is made of outside of lists, by exact path; nothing where it was not recorded."""
        found = self._outer.get(call.index)
        if found is None:
            made = () if isinstance(call.output, Unlogged) else atoms.nodes(call.output, within_lists=False)
            found = self._outer[call.index] = {path: node for path, node in made if "[" not in path}
        return found

    def failed(self, call: Call, value: JsonValue) -> tuple[Candidate, ...]:
        """The failed calls before a call whose output holds its value."""
        before = [each for each in self.trace.calls if not each.ok and each.precedes(call)]
        return tuple(Candidate(each, paths) for each in before if (paths := self.places(each, value)))

    def is_capped(self, call: Call) -> bool:
        """Whether an output is too large to be looked at as a whole: it counts as one that was not recorded."""
        return not isinstance(call.output, Unlogged) and self._content(call) is None

    def _content(self, call: Call) -> Content | None:
        """The output of a call as the shared index has it; None where it is too large for that.

        The arguments are left out: what stands in them a call only carries.
        """
        found = self._contents.get(call.index)
        if found is None:
            output = None if isinstance(call.output, Unlogged) else call.output
            lines = isinstance(output, str) and "\n" in output
            found = Content({}, Result(str(output)) if lines else Result("", value=output))
            self._contents[call.index] = found
        whole = call.output is None or call.output in (found.result, found.text)
        return found if whole else None

    def places(self, call: Call, value: JsonValue) -> tuple[str, ...]:
        """The exact paths of a value in a call's output, shortest first; none where the output is not known."""
        content = self._content(call) if call.output is not UNLOGGED else None
        if content is None:
            return ()
        paths = [atoms.exact(place.path) for place in content.places(value) if place.root == "result"]
        return tuple(sorted(paths, key=lambda path: (path.count(".") + path.count("["), path)))

    def candidates(self, call: Call, value: JsonValue) -> tuple[Candidate, ...]:
        """The calls before a call whose output its value may have come from; see `Argument.candidates`."""
        wanted = atoms.key(value)
        holders = [each for each in self._holders.get(_leaf(value), ()) if each.precedes(call)]
        exact = [
            Candidate(each, paths)
            for each in holders
            if wanted not in self._given[each.index] and (paths := self.places(each, value))
        ]
        if exact or any(wanted in self._given[each.index] for each in holders):
            return tuple(exact)
        if atoms.is_empty(value) or isinstance(value, bool) or value is None:
            return ()
        before = (each for each in self._producers if each.precedes(call))
        return tuple(found for each in before if (found := self._derived(each, wanted)) is not None)

    @cached_property
    def _producers(self) -> tuple[Call, ...]:
        """The successful calls with an output, of equal ones the first."""
        return tuple(call for call in self.trace.calls if self._first.get(call.index) == call.index)

    @cached_property
    def _holders(self) -> dict[tuple[type, JsonValue], list[Call]]:
        """The producers that hold a value anywhere in their outputs."""
        found: dict[tuple[type, JsonValue], list[Call]] = {}
        for call in self._producers:
            content = self._content(call)
            for leaf in dict.fromkeys(_leaves(content.result)) if content is not None else ():
                found.setdefault(leaf, []).append(call)
        return found

    def _carries(self, call: Call, value: JsonValue) -> bool:
        return atoms.key(value) in self._given[call.index]

    def _derived(self, call: Call, wanted: bytes) -> Candidate | None:
        """A transform of one value of an output; the first that there is."""
        for match, path, source in self.made(call).get(wanted, ()):
            if not self._carries(call, source):
                return Candidate(call, (path,), match)
        return None

    def made(self, call: Call) -> dict[bytes, list[tuple[str, str, JsonValue]]]:
        """What transforms make of the values of a call's output: their names, exact paths and sources by the value.

        Of one output, the first `_MADE` values are looked at.
        """
        found = self._made.get(call.index)
        if found is None:
            found = self._made[call.index] = {}
            for path, source in self._sources(call):
                for name, value in transformed(source):
                    found.setdefault(atoms.key(value), []).append((name, path, source))
        return found

    def _sources(self, call: Call) -> Iterator[tuple[str, JsonValue]]:
        """The values of a call's output, and its lists, each with its exact path."""
        if isinstance(call.output, Unlogged) or self._content(call) is None:
            return
        found = atoms.nodes(call.output)
        yield from ((path, node) for path, node in islice(found, _MADE) if not isinstance(node, dict))

    def _traced(self, call: Call) -> Iterator[Argument]:
        before = [each for each in self.trace.calls if each.index < call.index]
        texts = list(self.trace.said_before(call.index))
        failed = [each for each in before if not each.ok and not isinstance(each.output, Unlogged)]
        unseen = [each for each in before if each.ok and (each.output is UNLOGGED or self.is_capped(each))]
        for path, value in self._args[call.index].items():
            yield self._argument(call, path, value, _Before(texts, failed, unseen))

    def _argument(self, call: Call, path: str, value: JsonValue, before: _Before) -> Argument:
        trace, name, failed = self.trace, call.name, before.failed
        users = [f"utterance {number}" for number, text in before.texts if atoms.said(value, text)]
        default = self._tools.default(name, path)
        listed = self._tools.listed(name, path)
        hinted = [f"call {each.index} {paths[0]}" for each in failed if (paths := self.places(each, value))]
        wanted = atoms.key(value)
        unseen = [each for each in before.unlogged if wanted not in self._given[each.index]]
        unlogged = tuple(each for each in unseen if self._tools.may_yield(each.name, name, path))
        is_listed = any(atoms.key(each) == wanted for each in listed)
        others = (
            _excluded(Other.USER, len(before.texts), users),
            _excluded(Other.STATIC, int(bool(trace.context)), ["context"] * atoms.said(value, trace.context)),
            _excluded(Other.DEFAULT, len(default), ["default"] * any(atoms.key(each) == wanted for each in default)),
            _excluded(Other.ENUM, len(listed), ["enum"] * is_listed),
            _excluded(Other.UNLOGGED_CALL, len(unseen), [f"call {each.index}" for each in unlogged]),
            _excluded(Other.FAILED_CALL, len(failed), hinted),
        )
        distinctive = not is_listed and self._settings.is_distinctive(value)
        masked = isinstance(value, str) and is_masked(value)
        found = () if masked else self.candidates(call, value)
        return Argument(call, path, value, found, others, unlogged, distinctive, self._known(call, found, wanted))

    def _known(self, call: Call, found: tuple[Candidate, ...], wanted: bytes) -> Call | None:
        given = (each for each in self.trace.calls if each.index < call.index and wanted in self._given[each.index])
        first = next(given, None) if found else None
        return None if first is None or any(each.call.precedes(first) for each in found) else first
