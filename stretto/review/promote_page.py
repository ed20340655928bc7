"""A promotion as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.page import code, count, number, percent, table

if TYPE_CHECKING:
    from stretto.flow.model import Bar, SiteRecord
    from stretto.review.promote import Promoted

__all__ = ["promote_page"]


def promote_page(promoted: Promoted) -> str:
    """A promotion, ending in a line end; promoted sites first, then those with most lookups."""
    bar, sites = promoted.promotion.bar, promoted.promotion.sites
    passed = sum(record.promoted for record in sites.values())
    asked = (
        f"at a threshold of {bar.threshold:g}, {percent(bar.min_used)} of the lookups used, {bar.min_lower:g} as the "
        f"lower end of that share's 90% interval, and lookups in {count(bar.min_tasks, 'task')}"
    )
    settled = "" if promoted.settled else ", and the promotion had not settled by then"
    blocks = [
        "# Promotion",
        f"{passed} of {count(len(sites), 'site')} promoted. The bar: {asked}.",
        f"Sites were scored {count(promoted.rounds, 'time')}{settled}.",
    ]
    if promoted.served:
        lookups = count(promoted.served, "lookup")
        blocks.append(f"{lookups} had been served while the sessions were recorded: neither used nor detours.")
    if sites:
        ordered = sorted(sites.items(), key=lambda pair: (not pair[1].promoted, -pair[1].lookups, pair[0]))
        head = ("after", "verdict", "decisions", "lookups", "used", "share", "lower end", "tasks")
        blocks.append(table(head, (_row(name, record, bar) for name, record in ordered), words=2))
    return "\n\n".join(blocks) + "\n"


def _row(name: str, record: SiteRecord, bar: Bar) -> tuple[str, ...]:
    share = record.used / record.lookups if record.lookups else None
    return (
        code(name),
        "promoted" if record.promoted else _misses(record, bar),
        f"{record.decisions:,}",
        f"{record.lookups:,}",
        f"{record.used:,}",
        percent(share),
        number(record.lower),
        f"{record.tasks:,}",
    )


def _misses(record: SiteRecord, bar: Bar) -> str:
    """Why a site is not promoted."""
    if not record.lookups:
        return "no lookups"
    if record.used < bar.min_used * record.lookups:
        return "too many detours"
    return "too few tasks" if record.tasks < bar.min_tasks else "too few lookups to be sure"
