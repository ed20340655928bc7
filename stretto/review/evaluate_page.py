"""A comparison of targets as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.page import code, count, number, table

if TYPE_CHECKING:
    from stretto.review.evaluate import Comparison, Estimate, Standing, TargetResult

__all__ = ["evaluate_page"]

_HEAD: Final = ("estimate", "lookups", "used", "detours", "turns")


def evaluate_page(comparison: Comparison) -> str:
    """A comparison, ending in a line end; sums over all decisions, with standard errors."""
    left_out = f"; {comparison.left_out:,} without policy or labels left out" if comparison.left_out else ""
    decisions = f"{count(comparison.decisions, 'decision')}{left_out}"
    blocks = ["# Evaluation", f"{decisions}. Sums over all of them, ± standard error; handing back scores nothing."]
    for result in comparison.targets:
        blocks += _target(result, comparison.min_ess)
    return "\n\n".join(blocks) + "\n"


def _target(result: TargetResult, min_ess: float) -> list[str]:
    target, total = result.target, result.total
    sites = [(site, standing) for site, standing in result.sites.items() if standing.lookups]
    looked_up = f"{count(total.lookups, 'lookup')}, of these {total.matched:,} as logged"
    never = f"{total.unsupported:,} that the log could never have made"
    blocks = [
        f"## {code(target.name)}: {target.decider} at {target.threshold:g}",
        f"{looked_up} and {never}. Effective sample: {number(total.ess, 1)}.",
        table(_HEAD, (_row(name, estimate) for name, estimate in _estimates(total) if estimate)),
    ]
    if total.ips is None:
        blocks.append(f"Estimates by weights are refused below an effective sample of {min_ess:g}.")
    if sites:
        head = ("after", "decisions", "lookups", "as logged", "unsupported", "effective", "turns, direct", "turns, DR")
        blocks.append(table(head, (_site(site, standing) for site, standing in sites)))
    return blocks


def _estimates(standing: Standing) -> tuple[tuple[str, Estimate | None], ...]:
    return ("direct", standing.direct), ("IPS", standing.ips), ("SNIPS", standing.snips), ("DR", standing.dr)


def _row(name: str, estimate: Estimate) -> tuple[str, ...]:
    errors = estimate.error or (None,) * len(estimate.value)
    return name, *(_spoken(value, error) for value, error in zip(estimate.value, errors, strict=True))


def _spoken(value: float, error: float | None) -> str:
    return number(value, 1) if error is None else f"{number(value, 1)} ± {number(error, 1)}"


def _site(site: str, standing: Standing) -> tuple[str, ...]:
    return (
        code(site) if site else "(none)",
        f"{standing.decisions:,}",
        f"{standing.lookups:,}",
        f"{standing.matched:,}",
        f"{standing.unsupported:,}",
        number(standing.ess, 1),
        number(standing.direct.value.turns, 1),
        number(standing.dr.value.turns if standing.dr else None, 1),
    )
