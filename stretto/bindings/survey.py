"""The first look at sessions: which arguments calls pass, and where their values stand in earlier results.

Nothing here depends on any other session, so surveys add. What can only be counted once it is known which sources are
usable is counted in a second look (`stretto.bindings.scoring`). Every tool's calls are counted; which tools read is
known only when all sessions have been seen, and a `Scope` leaves the others out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from stretto._defaults import REQUIRED_SHARE
from stretto.bindings.derive import derivations
from stretto.bindings.model import Bindings, Slot, Source, SourceCounts, SpokenCounts
from stretto.bindings.records import record_of
from stretto.bindings.results import as_text
from stretto.bindings.scope import Scope
from stretto.bindings.session import SessionValues
from stretto.bindings.spoken import shape_of, tokens
from stretto.sessions.episode import Assistant, User
from waggle.redact import redact_text, redact_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from stretto.bindings.results import Output
    from stretto.sessions.episode import Episode, ToolCall
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Survey"]

#: Calls that must pass an argument before its one value is a constant.
_CONSTANT_CALLS: Final = 5

#: The latest results in which a derived value is looked for. Nearly all values come from the last few.
_DERIVED_OUTPUTS: Final = 8

_LEAST_ID: Final = 4  # characters of a value with a digit that is somebody's, not a habit's


@dataclass(slots=True)
class _Values:
    """The values of one argument as long as they are all the same."""

    calls: int = 0
    text: str | None = None  # as JSON; None once there were two
    value: JsonValue = None
    found: int = 0
    said: int = 0

    def add(self, calls: int, text: str | None, value: JsonValue, found: int, said: int) -> None:
        if not self.calls:
            self.text, self.value = text, value
        elif text != self.text:
            self.text = self.value = None
        self.calls += calls
        self.found += found
        self.said += said

    def is_constant(self, calls: int) -> bool:
        """Whether the tool's calls show one value that is neither taken from a result nor somebody's own."""
        return (
            self.text is not None
            and self.calls >= _CONSTANT_CALLS
            and 2 * self.calls >= calls
            and not self.found
            and not self.said
        )


@dataclass(slots=True)
class Survey:
    """What was counted of calls' arguments.

    Attributes:
        counted: calls' arguments and where their values stand, of every tool and before anything is left out; `bare` of
            every tool, too.
        values: of arguments, while they have one.
    """

    counted: Bindings = field(default_factory=Bindings)
    values: dict[Slot, _Values] = field(default_factory=dict)

    # --- counting ---

    def add(self, episode: Episode, skip: Collection[str] = ()) -> None:
        """Count one successful episode.

        Args:
            episode: the session.
            skip: tools whose calls need not be looked at, because they are known not to read.
        """
        seen = SessionValues()
        calls: dict[str, ToolCall] = {}
        for event in episode.events:
            if isinstance(event, User):
                seen.hear(event.text)
            elif isinstance(event, Assistant):
                site = seen.site
                for call in event.calls:
                    calls[call.id] = call
                    if call.name not in skip:
                        self._count(call, seen, site)
                        site = call.name
            elif not event.error:
                made = calls.get(event.call_id)
                seen.result(event.name, made.arguments if made else None, event.content)

    def _count(self, call: ToolCall, seen: SessionValues, site: str | None) -> None:
        if not isinstance(call.arguments, dict):
            return
        calls, counted = self.counted.args.get(call.name, (0, {}))
        for name in call.arguments:
            counted[name] = counted.get(name, 0) + 1
        self.counted.args[call.name] = (calls + 1, counted)
        if not call.arguments:
            self.counted.bare[call.name] = self.counted.bare.get(call.name, 0) + 1
        for name, value in call.arguments.items():
            slot = Slot(call.name, name)
            if isinstance(value, str):
                found = self._count_string(slot, value, seen, site)
            else:
                found = isinstance(value, list) and self._count_list(slot, value, seen)
            if not found and not isinstance(value, (dict, list)):
                self._count_derived(slot, value, seen)
            self._count_value(slot, value, found=found, seen=seen)
        if len(call.arguments) > 1:
            self._count_record(call.name, call.arguments, seen)

    def _count_record(self, tool: str, arguments: JsonObject, seen: SessionValues) -> None:
        counts = self.counted.records.setdefault(tool, SourceCounts())
        counts.values += 1
        for output in _latest(seen):
            text = record_of(arguments, output)
            if text is not None:
                source = Source(output.tool, text)
                counts.found[source] = counts.found.get(source, 0) + 1
                return

    def _count_string(self, slot: Slot, value: str, seen: SessionValues, site: str | None) -> bool:
        counts = self.counted.sources.get(slot)
        if counts is None:
            counts = self.counted.sources[slot] = SourceCounts()
        counts.values += 1
        for output in seen.outputs():
            path = output.path_of(value)
            if path is not None:
                source = Source(output.tool, path)
                counts.found[source] = counts.found.get(source, 0) + 1
                if site is not None:
                    sites = self.counted.site_sources
                    sites[slot, site, source] = sites.get((slot, site, source), 0) + 1
                return True
        return False

    def _count_list(self, slot: Slot, value: list[JsonValue], seen: SessionValues) -> bool:
        items = [each for each in value if isinstance(each, str)]
        if not items or len(items) < len(value):
            return False
        counts = self.counted.lists.setdefault(slot, SourceCounts())
        counts.values += 1
        for output in seen.outputs():
            path = output.path_of(items[0])
            if path is not None and {each.value for each in output.strings(path)}.issuperset(items):
                source = Source(output.tool, path)
                counts.found[source] = counts.found.get(source, 0) + 1
                return True
        return False

    def _count_derived(self, slot: Slot, value: JsonValue, seen: SessionValues) -> None:
        """Count where a value without a source may have been derived from, and its shape if the user wrote it."""
        if value is None or isinstance(value, bool):
            return
        for output in _latest(seen):
            found = derivations(value, output)
            if found:
                counts = self.counted.derived.setdefault(slot, SourceCounts())
                for text in found:
                    source = Source(output.tool, text)
                    counts.found[source] = counts.found.get(source, 0) + 1
                break
        if isinstance(value, str) and (shape := shape_of(value)) and _wrote(value, seen):
            shapes = self.counted.spoken.setdefault(slot, SpokenCounts()).shapes
            shapes[shape] = shapes.get(shape, 0) + 1

    def _count_value(self, slot: Slot, value: JsonValue, *, found: bool, seen: SessionValues) -> None:
        values = self.values.get(slot)
        if values is None:
            values = self.values[slot] = _Values()
        if values.calls and values.text is None:  # there were two: nothing else matters any more
            values.calls += 1
            return
        said = isinstance(value, str) and _is_somebodys(value) and seen.mentions(value)
        values.add(1, as_text([value]), value, int(found), int(said))

    def merge(self, other: Survey) -> None:
        """Add the survey of other sessions."""
        self.counted.merge(other.counted)
        for slot, values in other.values.items():
            self.values.setdefault(slot, _Values()).add(
                values.calls, values.text, values.value, values.found, values.said
            )

    # --- what it says ---

    def bindings(self, scope: Scope) -> Bindings:
        """The counts within a scope, without how often they agree, which is counted next."""
        counted = self.counted
        kept = Bindings(
            args={tool: _copied(counted.args[tool]) for tool in sorted(counted.args) if tool in scope.reads}
        )
        for every, ours in ((counted.sources, kept.sources), (counted.lists, kept.lists)):
            ours.update({slot: _copy(counts) for slot, counts in sorted(every.items()) if slot.tool in scope.reads})
        kept.site_sources = {key: n for key, n in sorted(counted.site_sources.items()) if key[0] in scope.several}
        kept.bare = {tool: counted.bare.get(tool, 0) for tool in sorted(scope.bare)}
        kept.constants = dict(sorted(scope.constants.items()))
        for slot, sources in sorted(scope.derived.items()):
            kept.derived[slot] = self._within(self.counted.derived.get(slot), sources, self._passed(slot))
        for tool, together in sorted(scope.records.items()):
            counts = self.counted.records.get(tool)
            kept.records[tool] = self._within(counts, together, counts.values if counts else 0)
        for slot, shapes in sorted(scope.spoken.items()):
            spoken = self.counted.spoken.get(slot) or SpokenCounts()
            seen = {shape: spoken.shapes[shape] for shape in sorted(shapes) if shape in spoken.shapes}
            kept.spoken[slot] = SpokenCounts(self._passed(slot), seen)
        return kept

    def _passed(self, slot: Slot) -> int:
        return self.counted.args[slot.tool][1].get(slot.argument, 0) if slot.tool in self.counted.args else 0

    def _within(self, counts: SourceCounts | None, sources: Collection[Source], values: int) -> SourceCounts:
        found = counts.found if counts else {}
        return SourceCounts(values, {source: found[source] for source in sorted(sources) if source in found})

    def scope(self, reads: Collection[str], *, constants: bool, derive: bool, speak: bool) -> Scope:
        """What of a survey of all sessions goes into a flow.

        Args:
            reads: the tools that read.
            constants: keep arguments that always took one value.
            derive: keep derived values, and arguments that come from one record.
            speak: keep the shapes of the user's own words.
        """
        read = frozenset(reads)
        args = {tool: counted for tool, counted in self.counted.args.items() if tool in read}
        return Scope(
            reads=read,
            several=frozenset(
                slot for slot, counts in self.counted.sources.items() if slot.tool in read and len(counts.found) > 1
            ),
            bare=frozenset(
                tool
                for tool, (calls, counted) in args.items()
                if counted and not any(count >= REQUIRED_SHARE * calls for count in counted.values())
            ),
            constants={
                slot: values.value
                for slot, values in self.values.items()
                if constants
                and slot.tool in read
                and values.is_constant(self.counted.args[slot.tool][0])
                and not _is_secret(slot.argument, values.value)
            },
            derived={
                slot: usable
                for slot, counts in self.counted.derived.items()
                if derive
                and slot.tool in read
                and (usable := _without_secrets(SourceCounts(self._passed(slot), counts.found).usable()))
            },
            records={
                tool: found
                for tool, counts in self.counted.records.items()
                if derive and tool in read and (found := counts.usable())
            },
            spoken={
                slot: shapes
                for slot, spoken in self.counted.spoken.items()
                if speak and slot.tool in read and (shapes := SpokenCounts(self._passed(slot), spoken.shapes).usable())
            },
        )


def _copied(args: tuple[int, dict[str, int]]) -> tuple[int, dict[str, int]]:
    return (args[0], dict(sorted(args[1].items())))


def _copy(counts: SourceCounts) -> SourceCounts:
    return SourceCounts(counts.values, dict(sorted(counts.found.items())))


def _is_secret(name: str, value: JsonValue) -> bool:
    """Whether an argument's value is a secret by its name or its looks; a flow is a file that people pass on."""
    given: JsonObject = {name: value}
    return redact_value(given) != given


def _without_secrets(sources: list[Source]) -> list[Source]:
    """The derivations whose fixed texts are no secrets."""
    return [source for source in sources if redact_text(source.path) == source.path]


def _latest(seen: SessionValues) -> Iterator[Output]:
    return islice(seen.outputs(), _DERIVED_OUTPUTS)


def _wrote(value: str, seen: SessionValues) -> bool:
    """Whether the user wrote this value as a word of its own."""
    return any(value in message and value in tokens(message) for message in seen.messages)


def _is_somebodys(value: str) -> bool:
    """Whether a value looks like somebody's own rather than like a habit: an id, a number, an address."""
    return "@" in value or (len(value) >= _LEAST_ID and any(character.isdigit() for character in value))
