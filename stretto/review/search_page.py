"""What a search found, as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.review.page import code, count, percent, table
from stretto.review.search import OFF

if TYPE_CHECKING:
    from stretto.review.search import Searched, Tried

__all__ = ["search_page"]


def search_page(searched: Searched) -> str:
    """What was found, ending in a line end: the front with fewest detours first, then each setting's thresholds."""
    front = searched.front
    scored = f"{count(len(searched.tried), 'setting')} scored, {len(front)} of them beaten by no other"
    blocks = ["# Search", f"{scored}: there, more turns saved cost more detours."]
    if front:
        head = ("setting", "decider", "turns saved", "share", "detours", "sessions with a detour")
        blocks.append(table(head, (_row(place, one) for place, one in enumerate(front, 1)), words=2))
        blocks += ["## Thresholds", "\n".join(f"{place}. {_thresholds(one)}" for place, one in enumerate(front, 1))]
    return "\n\n".join(blocks) + "\n"


def _row(place: int, tried: Tried) -> tuple[str, ...]:
    check = tried.check
    return (
        str(place),
        tried.setting.decider,
        f"{check.turns_saved:,} of {check.turns:,}",
        percent(check.turns_saved / check.turns if check.turns else None),
        f"{check.detours:,}",
        f"{check.episodes_with_detour:,} of {check.episodes:,}",
    )


def _thresholds(tried: Tried) -> str:
    return ", ".join(
        f"{code(site)} {'off' if value >= OFF else f'{value:.2f}'}" for site, value in tried.setting.thresholds.items()
    )
