"""Scores of many sessions put together: sums, shares with their intervals, and two systems compared.

Not responsible for how they are shown (`stretto.review.replay_page`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.review.bootstrap import Interval, difference
from stretto.review.calibration import Calibration, Scored, calibration
from stretto.review.costs import Cost, realised
from stretto.review.score import ReplayScore, rows, shares, total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.review.costs import Costs
    from stretto.review.curve import Point
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Comparison", "Summary", "compared", "costs_json", "curve_json", "interval_json", "summary"]


def interval_json(interval: Interval) -> JsonObject:
    """An interval as JSON."""
    return {"value": interval.value, "low": interval.low, "high": interval.high}


@dataclass(frozen=True, slots=True)
class Summary:
    """What a replay showed over all its sessions.

    Attributes:
        episodes: sessions.
        units: tasks, or groups of tasks, that the intervals resample.
        total: the sums.
        saved: share of turns saved.
        ceiling: share of turns that could be saved.
        ceiling_words: the same with values the user wrote.
        of_ceiling: turns saved over turns that could be; a little above 1 where a lookup outlives a write.
        detours: detours a session.
        net: tokens of context saved less tokens spent, over all tokens read.
        cost: worth of the turns that were saved, and price of the detours.
        calibration: of the score against use; None where nothing was weighed.
    """

    episodes: int
    units: int
    total: ReplayScore
    saved: Interval
    ceiling: Interval
    ceiling_words: Interval
    of_ceiling: Interval
    detours: Interval
    net: Interval
    cost: Cost
    calibration: Calibration | None

    def as_json(self) -> JsonObject:
        """Every number, under stable keys."""
        sums = self.total
        found: JsonObject = {
            "episodes": self.episodes,
            "units": self.units,
            "turns": sums.turns,
            "turns_saved": sums.saved,
            "saved": interval_json(self.saved),
            "ceiling_turns": sums.ceiling,
            "ceiling": interval_json(self.ceiling),
            "ceiling_words_turns": sums.ceiling_words,
            "ceiling_words": interval_json(self.ceiling_words),
            "of_ceiling": interval_json(self.of_ceiling),
            "calls": sums.calls,
            "calls_skipped": sums.skipped,
            "lookups": sums.lookups,
            "used": sums.used,
            "used_next": sums.used_next,
            "used_later": sums.used_later,
            "detours": sums.detours,
            "detours_per_episode": interval_json(self.detours),
            "episodes_with_detour": sums.spoiled,
            "tokens": {"read": sums.tokens, "saved": sums.tokens_saved, "spent": sums.tokens_spent},
            "net_tokens": interval_json(self.net),
            "costs": _cost_json(self.cost),
            "several_calls": {"turns": sums.batched, "saved": sums.batched_saved},
            "lists": {
                name: {
                    "turns": getattr(sums, name),
                    "saved": getattr(sums, f"{name}_saved"),
                    "lookups": getattr(sums, f"{name}_lookups"),
                    "used": getattr(sums, f"{name}_used"),
                }
                for name in ("first", "later")
            },
            "sources": {name: {"lookups": made, "used": used} for name, (made, used) in sums.sources.items()},
        }
        if self.calibration is not None:
            found["calibration"] = _calibration_json(self.calibration)
        return found


def summary(scores: Sequence[ReplayScore]) -> Summary:
    """Put the scores of sessions together; equal scores in any order give equal intervals."""
    sums = total(scores)
    return Summary(
        len(scores),
        len({score.unit for score in scores}),
        sums,
        shares(scores, "saved", "turns"),
        shares(scores, "ceiling", "turns"),
        shares(scores, "ceiling_words", "turns"),
        shares(scores, "saved", "ceiling"),
        shares(scores, "detours"),
        shares(scores, "tokens_net", "tokens"),
        realised(scores),
        calibration(Scored(each.score, each.used) for each in sums.weighed) if sums.weighed else None,
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system less another on the same sessions, resampled together.

    Attributes:
        saved: difference of the shares of turns saved.
        detours: difference of the detours a session.
    """

    saved: Interval
    detours: Interval

    def as_json(self) -> JsonObject:
        """Both, under stable keys."""
        return {"saved": interval_json(self.saved), "detours_per_episode": interval_json(self.detours)}


def compared(ours: Sequence[ReplayScore], theirs: Sequence[ReplayScore]) -> Comparison:
    """Compare two systems that were replayed on the same sessions.

    Raises:
        ValueError: they were not.
    """
    return Comparison(
        difference(rows(ours, "saved", "turns"), rows(theirs, "saved", "turns")),
        difference(rows(ours, "detours"), rows(theirs, "detours")),
    )


# --- other results as JSON ---------------------------------------------------------------------------------------


def _cost_json(cost: Cost) -> JsonObject:
    return {
        "beta": cost.beta,
        "delta": cost.delta,
        "theta": cost.theta,
        "turns": cost.turns,
        "results": cost.results,
    }


def costs_json(costs: Costs) -> JsonObject:
    """What lookups cost, overall and by site."""
    sites: Mapping[str, JsonValue] = {name: _cost_json(cost) for name, cost in costs.sites.items()}
    return {"overall": _cost_json(costs.overall), "sites": dict(sites)}


def _calibration_json(found: Calibration) -> JsonObject:
    bins: list[JsonValue] = [
        {"low": each.low, "high": each.high, "count": each.count, "score": each.score, "used": each.used}
        for each in found.bins
    ]
    return {
        "count": found.count,
        "used": found.used,
        "ece": found.ece,
        "brier": found.brier,
        "auc": found.auc,
        "bins": bins,
    }


def curve_json(points: Sequence[Point]) -> list[JsonValue]:
    """The points of a learning curve."""
    return [
        {
            "size": point.size,
            "learned_on": point.learned_on,
            "replayed": len(point.scores),
            "saved": interval_json(point.saved),
            "detours_per_episode": interval_json(point.detours),
        }
        for point in points
    ]
