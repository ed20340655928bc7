"""What of a session's lookups is written to the ledgers: that they were made, and later what became of them.

A lookup is written to the ledger of the store that its source is in; what is in no store, such as a flow, is the
project's. Everything is written in the background. Not responsible for what a lookup was worth (`waggle.settling`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from waggle.calls import Outcome
from waggle.ledger import Ledger, LedgerEntry
from waggle.routes import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from waggle.background import Background
    from waggle.replay import Lookup
    from waggle.settling import Settled, Window

__all__ = ["Accounts", "is_failure"]

_FAILURES: Final = frozenset({Outcome.TOOL_ERROR, Outcome.PROTOCOL_ERROR})


class Accounts:
    """Writes to the ledgers of one manager.

    Args:
        ledgers: by the scope of their stores; what belongs to a missing one is not written.
        scopes: of sources, by name. Sources may be added.
        background: who writes.
    """

    def __init__(self, ledgers: Mapping[Scope, Ledger], scopes: Mapping[str, Scope], background: Background) -> None:
        self._ledgers = ledgers
        self._scopes = scopes
        self._background = background

    def uses(self, lookups: Sequence[Lookup], at: datetime) -> None:
        """Log one follow: a line for each route, or other source, that was run."""
        by_source: dict[tuple[str, str], list[Lookup]] = {}
        for lookup in lookups:
            by_source.setdefault((lookup.strategy, lookup.source), []).append(lookup)
        for (strategy, source), made in by_source.items():
            if entry := _use(strategy, source, made, at):
                self._write(source, [entry])

    def settled(self, settled: Sequence[Settled], windows: Sequence[Window], session: str, at: datetime) -> None:
        """Log what became of lookups, and what the agent did in the windows that have ended.

        Args:
            settled: the lookups.
            windows: those that have ended.
            session: the conversation, 8 hex digits.
            at: the time, UTC.
        """
        entries: dict[Scope, list[LedgerEntry]] = {}
        for each in settled:
            lookup = each.lookup
            entry = LedgerEntry(
                lookup.source,
                at=at,
                event="used" if each.used else "detour",
                strategy=lookup.strategy,
                saved_tokens=each.saved_tokens,
                spent_tokens=each.spent_tokens,
                held=each.held,
            )
            entries.setdefault(self._scope(lookup.source), []).append(entry)
        for window in windows:
            lookup = window.lookup
            entry = LedgerEntry(
                lookup.source,
                at=at,
                event="window",
                strategy=lookup.strategy,
                held=window.held,
                calls=window.calls,
                session=session,
            )
            entries.setdefault(self._scope(lookup.source), []).append(entry)
        for lines in entries.values():
            self._write(lines[0].name, lines)

    def _scope(self, source: str) -> Scope:
        return self._scopes.get(source, Scope.PROJECT)

    def _write(self, source: str, entries: Sequence[LedgerEntry]) -> None:
        ledger = self._ledgers.get(self._scope(source))
        if ledger:
            write = functools.partial(ledger.append_many, entries)
            self._background.submit(f"the ledger {ledger.path} cannot be written", write)


def is_failure(lookup: Lookup) -> bool:
    """Whether a lookup failed; one that was given up did not."""
    return lookup.result is not None and lookup.result.outcome in _FAILURES


def _use(strategy: str, source: str, made: Sequence[Lookup], at: datetime) -> LedgerEntry | None:
    """A use where any lookup was answered; a failure where none was and one failed. A cancelled one says nothing."""
    answered = [lookup.result for lookup in made if lookup.result and lookup.result.ok]
    if answered:
        tokens = sum(result.est_tokens for result in answered)
        return LedgerEntry(source, len(answered), tokens, at=at, strategy=strategy)
    failed = [lookup for lookup in made if is_failure(lookup)]
    return LedgerEntry(source, len(failed), fail=True, at=at, strategy=strategy) if failed else None
