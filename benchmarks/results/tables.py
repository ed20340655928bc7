"""Reports as cells of a table, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waggle.evaluate import Interval, Report
    from waggle.jsonvalue import JsonObject

__all__ = ["HEAD", "as_json", "between", "cells", "net", "of_ceiling", "percent", "precision", "table", "tokens"]

_MILLION: Final = 1_000_000


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f} %"


def between(interval: Interval) -> str:
    """The ends of an interval, in percent."""
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def tokens(count: int) -> str:
    """Tokens, in thousands or millions."""
    return f"{count / _MILLION:,.1f} M" if abs(count) >= _MILLION else f"{count / 1000:,.0f} k"


def net(report: Report) -> int:
    """Tokens saved less tokens spent."""
    return report.total("tokens_saved") - report.total("tokens_spent")


def precision(report: Report) -> str:
    """Precision; a dash without lookups."""
    return "-" if report.precision is None else f"{report.precision:.2f}"


def of_ceiling(report: Report) -> str:
    """Share of the ceiling that is saved."""
    ceiling = report.total("ceiling")
    return percent(report.total("saved") / ceiling) if ceiling else "-"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines)


HEAD: Final = (
    "turns saved",
    "95 %",
    "of ceiling",
    "lookups",
    "precision",
    "detours a session",
    "tokens saved",
    "spent",
    "net",
)


def cells(report: Report) -> list[str]:
    """The cells under `HEAD`."""
    return [
        f"{report.total('saved'):,} ({percent(report.saved.value)})",
        between(report.saved),
        of_ceiling(report),
        f"{report.total('lookups'):,}",
        precision(report),
        f"{report.detours_per_session:.2f}",
        tokens(report.total("tokens_saved")),
        tokens(report.total("tokens_spent")),
        tokens(net(report)),
    ]


def as_json(report: Report) -> JsonObject:
    """The numbers of a report, unrounded."""
    totals = ("turns", "ceiling", "saved", "lookups", "used", "detours", "tokens_saved", "tokens_spent")
    return {
        "learned_on": report.learned_on,
        "replayed": len(report.scores),
        "routes": report.routes,
        **{what: report.total(what) for what in totals},
        "saved_low": report.saved.low,
        "saved_high": report.saved.high,
        "precision": report.precision,
    }
