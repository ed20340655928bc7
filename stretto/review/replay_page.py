"""Replays, ceilings, costs and learning curves as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.bootstrap import Row, ratio
from stretto.review.page import code, count, number, percent, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.review.bootstrap import Interval
    from stretto.review.calibration import Calibration
    from stretto.review.ceiling import CeilingScore
    from stretto.review.costs import Cost, Costs
    from stretto.review.curve import Point
    from stretto.review.summary import Summary

__all__ = ["ceiling_page", "costs_page", "curve_page", "replay_page"]


def _share(interval: Interval) -> str:
    return f"{percent(interval.value)} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _mean(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def replay_page(results: Mapping[str, Summary]) -> str:
    """Replays side by side, ending in a line end: a column a replay, by name."""
    columns = list(results.values())
    sums = [each.total for each in columns]
    lines: list[tuple[str, list[str]]] = [
        ("sessions", [f"{each.episodes:,}" for each in columns]),
        ("turns", [f"{each.turns:,}" for each in sums]),
        ("turns saved", [f"{each.saved:,}" for each in sums]),
        ("share of turns", [_share(each.saved) for each in columns]),
        ("ceiling", [_share(each.ceiling) for each in columns]),
        ("ceiling with the user's words", [_share(each.ceiling_words) for each in columns]),
        ("share of the ceiling", [_share(each.of_ceiling) for each in columns]),
        ("lookups", [f"{each.lookups:,}" for each in sums]),
        ("used at once, used later", [f"{each.used_next:,}, {each.used_later:,}" for each in sums]),
        ("detours", [f"{each.detours:,}" for each in sums]),
        ("detours a session", [_mean(each.detours) for each in columns]),
        ("sessions with a detour", [f"{each.spoiled:,}" for each in sums]),
        ("calls, answered", [f"{each.calls:,}, {each.skipped:,}" for each in sums]),
        ("tokens saved, spent", [f"{each.tokens_saved:,}, {each.tokens_spent:,}" for each in sums]),
        ("tokens saved net", [_share(each.net) for each in columns]),
        ("turns of several calls, saved", [f"{each.batched:,}, {each.batched_saved:,}" for each in sums]),
        ("turns that start a list, saved", [f"{each.first:,}, {each.first_saved:,}" for each in sums]),
        ("turns that continue one, saved", [f"{each.later:,}, {each.later_saved:,}" for each in sums]),
        ("lookups that start a list, used", [f"{each.first_lookups:,}, {each.first_used:,}" for each in sums]),
        ("lookups that continue one, used", [f"{each.later_lookups:,}, {each.later_used:,}" for each in sums]),
    ]
    blocks = ["# Replay", table(("", *map(code, results)), ((name, *cells) for name, cells in lines))]
    made = [
        (code(name), code(source), f"{lookups:,}", f"{used:,}")
        for name, each in results.items()
        for source, (lookups, used) in each.total.sources.items()
    ]
    if made:
        blocks += ["## Where the arguments come from", table(("", "from", "lookups", "used"), made, words=2)]
    measured = {name: each.calibration for name, each in results.items() if each.calibration is not None}
    if measured:
        blocks += ["## Calibration of the score against use", _calibration(measured)]
    return "\n\n".join(blocks) + "\n"


def _calibration(measured: Mapping[str, Calibration]) -> str:
    return table(
        ("", "weighed", "used", "ECE", "Brier", "AUC"),
        (
            (code(name), f"{one.count:,}", percent(one.used), number(one.ece), number(one.brier), number(one.auc))
            for name, one in measured.items()
        ),
    )


def ceiling_page(results: Mapping[str, Sequence[CeilingScore]]) -> str:
    """Ceilings, ending in a line end: a row a domain, by name; shares are of all turns."""
    head = ("", "sessions", "turns", "replies", "reads", "writes", "ceiling", "with the user's words")
    return "# Ceiling\n\n" + table(head, (_ceiling(name, scores) for name, scores in results.items())) + "\n"


def _ceiling(name: str, scores: Sequence[CeilingScore]) -> tuple[str, ...]:
    def share(part: str) -> Interval:
        return ratio(Row(each.unit, getattr(each, part), each.turns) for each in scores)

    return (
        code(name),
        f"{len(scores):,}",
        f"{sum(each.turns for each in scores):,}",
        *(percent(share(part).value) for part in ("replies", "reads", "writes")),
        *(_share(share(part)) for part in ("ceiling", "with_words")),
    )


def costs_page(costs: Costs) -> str:
    """What lookups cost, ending in a line end: overall, then a row a site."""
    head = ("after", "turns", "β, tokens a saved turn", "results", "δ, tokens a detour", "θ*")
    overall = _cost("everywhere", costs.overall)
    return f"# Costs\n\n{table(head, (overall, *(_cost(code(name), one) for name, one in costs.sites.items())))}\n"


def _cost(name: str, cost: Cost) -> tuple[str, ...]:
    return (
        name,
        f"{cost.turns:,}",
        f"{cost.beta:,.0f}" if cost.turns else "-",
        f"{cost.results:,}",
        f"{cost.delta:,.0f}" if cost.results else "-",
        number(cost.theta),
    )


def curve_page(curves: Mapping[str, Sequence[Point]]) -> str:
    """Learning curves, ending in a line end: a row a point, with its share of what all sessions save."""
    head = ("", "learned from", "turns saved", "of the last", "detours a session")
    rows = (
        (
            code(name),
            "all, " * (point.size is None) + count(round(point.learned_on), "session"),
            _share(point.saved),
            percent(point.saved.value / points[-1].saved.value if points[-1].saved.value else None),
            _mean(point.detours),
        )
        for name, points in curves.items()
        for point in points
    )
    return f"# Learning curve\n\n{table(head, rows, words=2)}\n"
