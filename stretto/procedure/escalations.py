"""Where the runs of procedures stopped, by node: what to record next, so that the missing way can be learned. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.procedure.journal import FINISHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waggle.jsonvalue import JsonObject

__all__ = ["Escalated", "Runs", "count_runs"]


@dataclass(frozen=True, slots=True)
class Escalated:
    """Runs that stopped at the same node for the same reason.

    Attributes:
        procedure: digest of the procedure.
        node: where they stopped; empty where the journal does not say.
        reason: see `stretto.procedure.exchange.Escalation`.
        runs: how many did, one that was taken up and stopped there again counted once.
        observed: what they met, for people, each once, in order of the journals.
    """

    procedure: str
    node: str
    reason: str
    runs: int
    observed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """What became of several runs.

    Attributes:
        total: of them.
        finished: those that came to their end, at once or after they were taken up.
        escalated: the most frequent first, then by procedure, node and reason.
    """

    total: int
    finished: int
    escalated: tuple[Escalated, ...]


def count_runs(journals: Iterable[Sequence[JsonObject]]) -> Runs:
    """Count how runs ended.

    Args:
        journals: the events of each, as `stretto.procedure.journal.read_events` gives them.
    """
    total = finished = 0
    found: dict[tuple[str, str, str], list[list[str]]] = {}
    for events in journals:
        total += 1
        procedure = str(events[0].get("procedure", "")) if events else ""
        stops: dict[tuple[str, str, str], list[str]] = {}
        for event in events[1:]:
            how = event.get("ended")
            if how == FINISHED:
                finished += 1
            elif isinstance(how, str):
                place = procedure, str(event.get("node", "")), how
                stops.setdefault(place, []).append(str(event.get("observed", "")))
        for place, observed in stops.items():
            found.setdefault(place, []).append(observed)
    each = (
        Escalated(*place, len(runs), tuple(dict.fromkeys(text for run in runs for text in run if text)))
        for place, runs in found.items()
    )
    return Runs(
        total,
        finished,
        tuple(sorted(each, key=lambda one: (-one.runs, one.procedure, one.node, one.reason))),
    )
