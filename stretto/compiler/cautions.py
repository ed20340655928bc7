"""What a reviewer should know of the traces that a procedure was compiled from. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.compiler.abstain import varies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stretto.compiler.analysis import Analysis

__all__ = ["cautions"]


def cautions(analysis: Analysis) -> Iterator[str]:
    """The warnings of an analysis, for people; what refuses a step that nobody can take back is told as the reason."""
    if not analysis.keys:
        yield "nothing of it changes anything, or is in an answer: there is nothing to make a procedure of"
    elif not varies(analysis) and not any(analysis.effect(key).is_final for key in analysis.keys):
        yield "no_variation: no input had two different values, so that anything may only look as if it never changed"
    capped = sum(run.tracing.is_capped(call) for run in analysis.runs for call in run.trace.calls)
    if capped:
        most = analysis.settings.atoms_max
        yield f"{capped:,} outputs have more than {most:,} values, and count as not recorded"
