"""Rehearsal: what would have been looked up after each call of a recorded session, and what of it would have been used.

After every result the run is played through as it would be served: what could be looked up is counted, the likeliest is
taken for made, and the run goes on from there, with its recorded result where the agent made the call itself. So later
lookups of a run are counted as later ones: of an agent that reads one record of a list and stops, the first counts well
and the others do not. Not responsible for what the counts mean (`stretto.bindings.uses`).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.bindings.model import Bound
from stretto.bindings.results import as_text
from stretto.bindings.uses import UseCounts, UseKey, kind_of, stage_of
from stretto.sessions.episode import Assistant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from stretto.bindings.binder import Binder
    from stretto.bindings.model import Unbound
    from stretto.bindings.session import SessionValues
    from stretto.bindings.uses import Uses
    from stretto.sessions.episode import Episode, ToolResult

__all__ = ["Offers", "Rehearsal"]

#: Lookups of one run that are played through: all stages, the last one twice (`stretto.bindings.uses.stage_of`).
_LONGEST: Final = 5

#: Share of a site's continuations times the chance of the arguments below which no run goes on.
_LEAST: Final = 0.1


class Offers(NamedTuple):
    """What could be looked up.

    Attributes:
        next: by site, how often each lookup came next.
        writes: the tools that write.
        sessions: ids of the sessions that are rehearsed.
    """

    next: Mapping[tuple[str, bool], Mapping[str, int]]
    writes: AbstractSet[str]
    sessions: AbstractSet[str]


class Rehearsal:
    """The runs of one session.

    Args:
        episode: the session.
        offers: what could be looked up.
        binder: fills the arguments.
        uses: what is counted goes here.
    """

    def __init__(self, episode: Episode, offers: Offers, binder: Binder, uses: Uses) -> None:
        self._next = offers.next
        self._binder = binder
        self._counts = uses.counts
        self._future = _Future(episode, offers.writes)

    def run(self, place: int, result: ToolResult, seen: SessionValues) -> None:
        """Play through the run after a result.

        Args:
            place: of the result among the episode's events.
            result: the result.
            seen: what the session has shown, the result included; the same again when this returns.
        """
        site = (result.name, result.error)
        kept: dict[str, tuple[object, list[Bound | Unbound]]] = {}
        with seen.trial():
            for made in range(_LONGEST):
                best = self._weigh(site, place, seen, made, kept)
                if best is None:
                    return
                tool, bound, answer = best
                seen.call(tool, bound.arguments)
                site = (tool, answer.error if answer else False)
                if answer and not answer.error:
                    seen.result(tool, bound.arguments, answer.content)
                elif not answer:
                    seen.site = tool

    def _weigh(
        self,
        site: tuple[str, bool],
        place: int,
        seen: SessionValues,
        made: int,
        kept: dict[str, tuple[object, list[Bound | Unbound]]],
    ) -> tuple[str, Bound, ToolResult | None] | None:
        """Count what could be looked up here, and choose what the run would go on with."""
        following = self._next.get(site, {})
        total = sum(following.values())
        best: tuple[float, str, Bound, ToolResult | None] | None = None
        for tool, count in following.items():
            stamp = self._binder.stamp(tool, seen)
            ways = kept.get(tool)
            if ways is None or ways[0] != stamp:
                ways = kept[tool] = (stamp, self._binder.ways(tool, seen))
            for bound in ways[1]:
                if not isinstance(bound, Bound):
                    continue
                calls, answer = self._future.call(tool, bound, place)
                key = UseKey(*site, tool, kind_of(bound), bound.pick, stage_of(made))
                used, weighed, companions = self._counts.get(key, (0, 0, 0))
                self._counts[key] = UseCounts(used + (calls > 0), weighed + 1, companions + calls)
                score = count / total * bound.chance
                if score >= _LEAST and (best is None or score > best[0]):
                    best = (score, tool, bound, answer)
        return best[1:] if best else None


class _Future:
    """What the agent calls later in an episode."""

    def __init__(self, episode: Episode, writes: AbstractSet[str]) -> None:
        self._calls: dict[tuple[str, str], list[tuple[int, int, ToolResult | None]]] = {}
        self._writes: list[int] = []  # places of the turns that write
        results = episode.results()
        for place, event in enumerate(episode.events):
            if isinstance(event, Assistant):
                for call in event.calls:
                    if call.name in writes:
                        self._writes.append(place)
                    elif isinstance(call.arguments, dict):
                        key = (call.name, as_text(dict(sorted(call.arguments.items()))))
                        self._calls.setdefault(key, []).append((place, len(event.calls), results.get(call.id)))

    def call(self, tool: str, bound: Bound, place: int) -> tuple[int, ToolResult | None]:
        """The agent's own call of this lookup, if it comes before the next write.

        Returns:
            How many calls the turn has in which it comes next, and what it returned; 0 and None when it does not come.
        """
        own = self._calls.get((tool, as_text(dict(sorted(bound.arguments.items())))), ())
        for at, calls, result in own:
            if at > place:
                after = bisect_right(self._writes, place)
                in_time = after >= len(self._writes) or at <= self._writes[after]
                return (calls, result) if in_time else (0, None)
        return 0, None
