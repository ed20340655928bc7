"""Whether the values that were fixed when a procedure was compiled may still be used. Pure.

A value that is past its time, or whose tool has changed, is never used: it is read anew where a read yields it, else
the run is handed back before its first step.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from stretto.procedure.contracts import changed_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.procedure.graph import Contract, InjectedValue, Procedure

__all__ = ["Freshness", "freshness"]


class Freshness(StrEnum):
    """What may be done with an injected value."""

    FRESH = "fresh"  #: it may be used
    REFRESH = "refresh"  #: it has to be read anew
    LOST = "lost"  #: it may not be used, and nothing reads it anew


def freshness(
    procedure: Procedure, now: datetime, contracts: Mapping[str, Contract] | None = None
) -> dict[str, Freshness]:
    """What may be done with each injected value of a procedure, by name.

    Args:
        procedure: it.
        now: with a time zone.
        contracts: of the tools that are there now, by ``server/tool``; None where they are not known.
    """
    return {name: _of(each, now, contracts) for name, each in procedure.injected.items()}


def _of(value: InjectedValue, now: datetime, contracts: Mapping[str, Contract] | None) -> Freshness:
    there = value.contract if contracts is None else contracts.get(value.tool)
    same = there is not None and not changed_parts(value.contract, there)
    if same and _is_young(value, now):
        return Freshness.FRESH
    # A tool that no longer says of itself what it said may no longer be a read.
    still_reads = there is not None and value.contract.annotations in ("", there.annotations)
    return Freshness.REFRESH if value.refresh is not None and still_reads else Freshness.LOST


def _is_young(value: InjectedValue, now: datetime) -> bool:
    try:
        observed = datetime.fromisoformat(value.observed)
    except ValueError:
        return False
    if observed.tzinfo is None:
        observed = observed.replace(tzinfo=UTC)
    return timedelta(0) <= now - observed <= timedelta(days=value.days)
