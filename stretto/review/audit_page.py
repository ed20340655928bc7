"""An audit as Markdown that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.review.page import code, count, number, percent, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stretto.review.audit import Audit, Measures

__all__ = ["audit_page"]

_HEAD: Final = ("decisions", "agreement", "expected", "surprise")


def audit_page(audit: Audit) -> str:
    """An audit, ending in a line end."""
    asked = f"{count(audit.episodes, 'session')}, asked with {code(audit.decider)}"
    left_out = f", {count(audit.unanswered, 'decision')} left out for want of an answer" if audit.unanswered else ""
    blocks = ["# Audit", f"{asked}{left_out}."]
    if audit.overall is None:
        blocks.append("The flow weighed nothing in them: there is nothing to measure.")
        return "\n\n".join(blocks) + "\n"
    whole = audit.overall
    points = (
        f"- decisions: {whole.decisions:,}",
        f"- agreement: {percent(whole.agreement)} (the likeliest option was the agent's step)",
        f"- expected agreement: {percent(whole.expected_agreement)} (mean probability of the agent's step)",
        f"- surprise: {number(whole.surprise)} nats a decision",
        f"- calibration error: {number(whole.ece)}",
    )
    blocks += [
        "\n".join(points),
        "## Sites",
        table(("after", *_HEAD), _rows(audit.sites.items())),
        "## Least likely sessions",
        table(
            ("session", *_HEAD, "log-probability"),
            (
                (*row, number(fit.measures.log_probability))
                for row, fit in zip(
                    _rows((fit.id, fit.measures) for fit in audit.least_likely), audit.least_likely, strict=True
                )
            ),
        ),
    ]
    return "\n\n".join(blocks) + "\n"


def _rows(measured: Iterable[tuple[str, Measures]]) -> Iterable[tuple[str, ...]]:
    return (
        (
            code(name),
            f"{one.decisions:,}",
            percent(one.agreement),
            percent(one.expected_agreement),
            number(one.surprise),
        )
        for name, one in measured
    )
