"""The numbers of the page for programs, unrounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.flows.jobs import runs_of
from stretto.review.score import shares, total
from stretto.review.summary import curve_json, interval_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.flows.sessions import Domain
    from benchmarks.flows.study import Study
    from stretto.review.score import ReplayScore
    from waggle.jsonvalue import JsonObject

__all__ = ["numbers"]

_COUNTS = ("turns", "saved", "ceiling", "lookups", "used", "detours", "tokens", "tokens_saved", "tokens_spent")


def numbers(study: Study) -> JsonObject:
    """What was counted: ``systems`` by system, threshold and domain, ``costs`` by domain, ``curves`` by title."""
    parts = sorted(study.only - {"coding"})
    places: dict[str, Sequence[Domain]] = {**dict(study.shown), **{each.name: [each] for each in study.tools}}
    found: JsonObject = {"prompt_tokens": study.place.prompt_tokens}
    if runs := runs_of(parts):
        systems: dict[str, dict[str, JsonObject]] = {}
        for name, at in runs:
            systems.setdefault(name, {})[at] = {
                place: _counts(study.scores(name, at, domains)) for place, domains in places.items()
            }
        found["systems"] = {name: dict(by_threshold) for name, by_threshold in systems.items()}
        found["costs"] = {
            each.name: {"beta": cost.beta, "delta": cost.delta, "theta": cost.theta}
            for each in study.tools
            for cost in (study.cost(each),)
        }
    if "curve" in study.only:
        found["curves"] = {
            curve.title: {name: curve_json(points) for name, points in curve.points.items()} for curve in study.curves
        }
    return found


def _counts(scores: Sequence[ReplayScore]) -> JsonObject:
    sums = total(scores)
    return {
        "sessions": len(scores),
        **{name: getattr(sums, name) for name in _COUNTS},
        "saved_share": interval_json(shares(scores, "saved", "turns")),
        "detours_a_session": interval_json(shares(scores, "detours")),
    }
