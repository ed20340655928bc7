"""What a saved turn is worth and what a detour costs, in input tokens, and the threshold that follows.

A lookup with a chance q of being used pays when ``q · β ≥ (1 - q) · δ``, that is from ``q = θ* = δ / (β + δ)`` on.

* **β**, a saved turn: the context that a turn in the ceiling reads, and its calls in every turn after it.
* **δ**, a detour: a result in every turn after the one in which it is looked up. Sessions that were recorded without a
  flow have no detours; what the agent itself read stands for them, as if it had been looked up after the result before.

Tokens of context are those the host recorded, else four bytes each of what the session holds. Such an estimate knows
neither the system prompt nor the tools' descriptions, which every turn reads: β is too small by their length, unless it
is given.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.flow.model import site_name
from stretto.review.ceiling import Reach, reaches
from stretto.review.record import Record, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stretto.review.record import RecordedTurn
    from stretto.review.score import ReplayScore
    from stretto.sessions.episode import Episode
    from stretto.sessions.manifest import Manifest

__all__ = ["Cost", "Costs", "costs", "realised"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Worth and price of lookups, in input tokens.

    Attributes:
        turns: turns that β is the mean of.
        results: results that δ is the mean of.
        beta: β, 0 without turns.
        delta: δ, 0 without results.
    """

    turns: int
    results: int
    beta: float
    delta: float

    @property
    def theta(self) -> float | None:
        """θ*, the chance from which on a lookup pays, 0 to 1; None where turns or results are missing."""
        if not self.turns or not self.results or not self.beta + self.delta:
            return None
        return self.delta / (self.beta + self.delta)


@dataclass(frozen=True, slots=True)
class Costs:
    """What lookups cost in some sessions.

    Attributes:
        overall: everywhere.
        sites: by site name, in sorted order: lookups made there.
    """

    overall: Cost
    sites: Mapping[str, Cost]


class _Sums:
    """Samples of β and of δ, summed."""

    __slots__ = ("detours", "results", "saved", "turns")

    def __init__(self) -> None:
        self.turns = self.results = self.saved = self.detours = 0

    def turn(self, tokens: int) -> None:
        self.turns += 1
        self.saved += tokens

    def result(self, tokens: int) -> None:
        self.results += 1
        self.detours += tokens

    def cost(self) -> Cost:
        return Cost(
            self.turns,
            self.results,
            self.saved / self.turns if self.turns else 0.0,
            self.detours / self.results if self.results else 0.0,
        )


def costs(episodes: Iterable[Episode], manifest: Manifest, *, prompt_tokens: int = 0) -> Costs:
    """Count β and δ in recorded sessions, as they were recorded.

    Args:
        episodes: the sessions.
        manifest: tells which tools read.
        prompt_tokens: length of system prompt and tools' descriptions, for turns whose context is estimated.
    """
    overall = _Sums()
    sites: defaultdict[str, _Sums] = defaultdict(_Sums)
    for episode in episodes:
        record = Record(episode, manifest, prompt_tokens=prompt_tokens)
        site: tuple[str, int] | None = None  # of the latest result, and its turn
        for turn, reach in zip(record.turns, reaches(record), strict=True):
            if site is not None:
                for sums in (overall, sites[site[0]]):
                    _sample(sums, record, turn, reach, site[1])
            for call in turn.calls:
                if call.result is not None:
                    site = site_name((call.call.name, call.result.error)), turn.number
    return Costs(overall.cost(), {name: sites[name].cost() for name in sorted(sites)})


def _sample(sums: _Sums, record: Record, turn: RecordedTurn, reach: Reach, since: int) -> None:
    """Count one turn; `since` is the turn after which its reads would have been looked up."""
    if reach is Reach.RESULTS:
        sums.turn(turn.read + turn.made * record.left(turn.number))
    for call in turn.calls:
        if call.kind == "read" and call.result is not None and not call.result.error:
            sums.result(tokens_of(call.result.content) * record.left(since))


def realised(scores: Iterable[ReplayScore]) -> Cost:
    """β and δ of the turns that a replay saved and of the detours it made."""
    sums = _Sums()
    for score in scores:
        sums.turns += score.saved
        sums.results += score.detours
        sums.saved += score.tokens_saved
        sums.detours += score.tokens_spent
    return sums.cost()
