"""The second look at sessions: how often bound arguments are the agent's own.

At every read of the agent the same lookup is bound on what was known before; what is counted is what a served flow will
find. Scores of parts add, if the parts were scored with the same binder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from stretto.bindings.candidates import block_of
from stretto.bindings.model import Bound, Pick
from stretto.bindings.rehearsal import Rehearsal
from stretto.bindings.results import as_text
from stretto.bindings.session import SessionValues
from stretto.bindings.uses import Uses
from stretto.sessions.episode import Assistant, User

if TYPE_CHECKING:
    from stretto.bindings.binder import Binder
    from stretto.bindings.model import Agreed, Bindings, Unbound
    from stretto.bindings.rehearsal import Offers
    from stretto.bindings.results import Output
    from stretto.sessions.episode import Episode, ToolCall
    from waggle.jsonvalue import JsonObject

__all__ = ["Scores"]


#: Records that must have been read before one can be told to be the described one.
_LEAST_READ: Final = 2

#: Hits and tries, in place.
_Pair: TypeAlias = list[int]


def _two() -> list[_Pair]:
    return [[0, 0], [0, 0]]


@dataclass(slots=True)
class Scores:
    """What was counted, by tool; see `Bindings` for what each says.

    Attributes:
        agreed, agreed_derived, agreed_spoken, agreed_record: hits and tries, for picks not mentioned and for mentioned
            ones.
        named_other, described_read: hits and tries.
        uses: of the lookups that could have been made.
    """

    agreed: dict[str, list[_Pair]] = field(default_factory=dict)
    agreed_derived: dict[str, list[_Pair]] = field(default_factory=dict)
    agreed_spoken: dict[str, list[_Pair]] = field(default_factory=dict)
    agreed_record: dict[str, list[_Pair]] = field(default_factory=dict)
    named_other: dict[str, _Pair] = field(default_factory=dict)
    described_read: dict[str, _Pair] = field(default_factory=dict)
    uses: Uses = field(default_factory=Uses)

    def add(self, episode: Episode, binder: Binder, offers: Offers | None = None) -> None:
        """Count one successful episode.

        Args:
            episode: the session.
            binder: of what is known of all sessions.
            offers: what could be looked up where, to count how often that would have been used; None counts that not.
        """
        _Scoring(self, binder, offers).walk(episode)

    def merge(self, other: Scores) -> None:
        """Add the scores of other sessions."""
        for ours, theirs in (
            (self.agreed, other.agreed),
            (self.agreed_derived, other.agreed_derived),
            (self.agreed_spoken, other.agreed_spoken),
            (self.agreed_record, other.agreed_record),
        ):
            for tool, pairs in theirs.items():
                for mine, more in zip(ours.setdefault(tool, _two()), pairs, strict=True):
                    _add(mine, more)
        self.uses.merge(other.uses)
        for single, others in ((self.named_other, other.named_other), (self.described_read, other.described_read)):
            for tool, pair in others.items():
                _add(single.setdefault(tool, [0, 0]), pair)

    def into(self, bindings: Bindings) -> None:
        """Put what was counted among a flow's bindings, added to what is there."""
        for kept, counted in (
            (bindings.agreed, self.agreed),
            (bindings.agreed_derived, self.agreed_derived),
            (bindings.agreed_spoken, self.agreed_spoken),
            (bindings.agreed_record, self.agreed_record),
        ):
            for tool in sorted(counted):
                kept[tool] = _summed(kept.get(tool), counted[tool])
        for table, single in (
            (bindings.named_other, self.named_other),
            (bindings.described_read, self.described_read),
        ):
            for tool in sorted(single):
                used, picks = table.get(tool, (0, 0))
                table[tool] = (used + single[tool][0], picks + single[tool][1])


def _add(mine: _Pair, more: _Pair) -> None:
    mine[0] += more[0]
    mine[1] += more[1]


def _summed(known: Agreed | None, pairs: list[_Pair]) -> Agreed:
    (a, b), (c, d) = known or ((0, 0), (0, 0))
    return ((a + pairs[0][0], b + pairs[0][1]), (c + pairs[1][0], d + pairs[1][1]))


class _Scoring:
    """One episode on its way."""

    def __init__(self, scores: Scores, binder: Binder, offers: Offers | None) -> None:
        self._scores = scores
        self._binder = binder
        self._offers = offers
        self._ways: dict[str, tuple[object, list[Bound | Unbound]]] = {}
        self._feeds = binder.feeds()
        self._lookups = sorted({tool for fed in self._feeds.values() for tool, _ in fed})
        self._named: set[str] = set()  # lookups with a value at their sources that the user mentioned
        self._seen = SessionValues()
        self._stamps: dict[str, object] = {}
        self._counted: set[tuple[str, Pick, str]] = set()
        self._open: dict[str, list[tuple[JsonObject, _Pair]]] = {}  # picks that a later call may still use

    def walk(self, episode: Episode) -> None:
        calls: dict[str, ToolCall] = {}
        seen = self._seen
        rehearsal: Rehearsal | None = None
        if self._offers and episode.id in self._offers.sessions:
            rehearsal = Rehearsal(episode, self._offers, self._binder, self._scores.uses)
        for place, event in enumerate(episode.events):
            if isinstance(event, User):
                seen.hear(event.text)
                for output in seen.outputs():
                    self._look_for_names(output)
            elif isinstance(event, Assistant):
                for call in event.calls:
                    calls[call.id] = call
                    self._use(call)
                    self._agree(call)
                    seen.call(call.name, call.arguments)
            else:
                if not event.error:
                    made = calls.get(event.call_id)
                    output = seen.result(event.name, made.arguments if made else None, event.content)
                    if seen.heard:
                        self._look_for_names(output)
                    self._look_around()
                if rehearsal:
                    rehearsal.run(place, event, seen)

    def _found(self, tool: str) -> list[Bound | Unbound]:
        """The ways to bind a lookup now; kept until something happens that they depend on."""
        stamp = self._binder.stamp(tool, self._seen)
        kept = self._ways.get(tool)
        if kept is None or kept[0] != stamp:
            kept = self._ways[tool] = (stamp, self._binder.ways(tool, self._seen))
        return kept[1]

    def _agree(self, call: ToolCall) -> None:
        if call.name not in self._binder.bindings.args or not isinstance(call.arguments, dict):
            return
        for bound in self._binder.ways(call.name, self._seen):
            if not isinstance(bound, Bound) or not bound.arguments:
                continue
            kinds = {origin.kind for origin in bound.origins}
            apart = (
                ("derived", self._scores.agreed_derived),
                ("spoken", self._scores.agreed_spoken),
                ("record", self._scores.agreed_record),
            )
            for table in [table for kind, table in apart if kind in kinds] or [self._scores.agreed]:
                pair = table.setdefault(call.name, _two())[bound.pick is Pick.PICKED]
                pair[0] += _passes(call, bound.arguments)
                pair[1] += 1

    def _look_for_names(self, output: Output) -> None:
        for tool, path in self._feeds.get(output.tool, ()):
            if tool not in self._named and block_of(output, path, self._seen).mentioned:
                self._named.add(tool)

    def _look_around(self) -> None:
        """Count the picks beside the record that the user named, and after the one that they described.

        The former only where a value at the sources was mentioned, the latter only where two records have been read.
        """
        read = (tool for tool in self._lookups if len(self._seen.calls_of(tool)) >= _LEAST_READ)
        for tool in sorted({*self._named, *read}):
            stamp = self._binder.stamp(tool, self._seen)
            if self._stamps.get(tool) == stamp:
                continue
            self._stamps[tool] = stamp
            bound = self._found(tool)[0]
            if not isinstance(bound, Bound) or bound.pick not in (Pick.OTHER, Pick.DESCRIBED):
                continue
            key = (tool, bound.pick, as_text({name: bound.arguments[name] for name in sorted(bound.arguments)}))
            if key in self._counted:
                continue
            self._counted.add(key)
            table = self._scores.named_other if bound.pick is Pick.OTHER else self._scores.described_read
            pair = table.setdefault(tool, [0, 0])
            pair[1] += 1
            self._open.setdefault(tool, []).append((bound.arguments, pair))

    def _use(self, call: ToolCall) -> None:
        left = self._open.get(call.name)
        if left:
            kept = []
            for arguments, pair in left:
                if _passes(call, arguments):
                    pair[0] += 1
                else:
                    kept.append((arguments, pair))
            self._open[call.name] = kept


def _passes(call: ToolCall, arguments: JsonObject) -> bool:
    """Whether a call passes all these arguments, each equal as text."""
    given = call.arguments
    return isinstance(given, dict) and all(
        name in given and as_text(given[name]) == as_text(value) for name, value in arguments.items()
    )
