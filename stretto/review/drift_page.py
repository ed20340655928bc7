"""What was seen of drift, as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.page import code, count, number, percent, table

if TYPE_CHECKING:
    from stretto.review.drift import Alarm, Drift, SiteChange

__all__ = ["drift_page"]


def drift_page(drift: Drift) -> str:
    """What was seen, ending in a line end: the verdict, each alarm, then a row a session."""
    sounding = "The alarm sounds: the flow may no longer fit." if drift.sounding else "The alarm does not sound."
    seen = f"{count(len(drift.fits), 'session')} in order of their start, {count(len(drift.alarms), 'alarm')}."
    blocks = ["# Drift", f"{sounding} {seen}"]
    for alarm in drift.alarms:
        blocks += _alarm(drift, alarm)
    if drift.fits:
        blocks += [
            "## Sessions",
            table(
                ("session", "surprise", "disagreement", "unknown", "change"),
                (
                    (
                        code(fit.id),
                        number(fit.surprise),
                        percent(fit.disagreement),
                        percent(fit.unknown),
                        percent(chance),
                    )
                    for fit, chance in zip(drift.fits, drift.chances, strict=True)
                ),
            ),
        ]
    return "\n\n".join(blocks) + "\n"


def _alarm(drift: Drift, alarm: Alarm) -> list[str]:
    first, last = drift.fits[alarm.changed].id, drift.fits[alarm.sounded].id
    before = f"the first {count(alarm.changed, 'session')} belong to the time before"
    noticed = f"Noticed after {code(last)}, session {alarm.sounded + 1}, with a chance of {percent(alarm.chance)}"
    blocks = [f"## Changed from {code(first)} on", f"{noticed}; {before}."]
    if alarm.sites:
        blocks.append(table(("reached since", "", "times", "rise in surprise"), map(_site, alarm.sites), words=2))
    return blocks


def _site(change: SiteChange) -> tuple[str, ...]:
    rise = "-" if change.rise is None else f"{change.rise:+.3f}"
    return code(change.site), "new" if change.new else "", f"{change.reached:,}", rise
