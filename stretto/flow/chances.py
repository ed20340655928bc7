"""What a flow's counts say of one step from a site: the numbers its program is simulated and scored with.

Served decisions do not use these; they weigh whole histories (`stretto.deciders`). Reviewers see them, since a site is
what a flow file can be read by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.errors import FlowError
from stretto.model.alphabet import FEATURES, StepOutcome, symbol
from stretto.model.counts import PADDING, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.flow.interpreter import Scalar, Value
    from stretto.flow.model import Flow, Site
    from stretto.model.counts import Backoff

__all__ = ["HAND_BACK", "Chances", "ToolNumbers", "one_step"]

#: The option, and the value of ``Decide``, that leaves the next step to the agent.
HAND_BACK: Final = 0


def one_step(flow: Flow, counts: Backoff) -> dict[Site, Tally]:
    """The contexts of one symbol, pooled over code features: for each site that was seen, what was counted after it.

    Args:
        flow: whose vocabulary the actions are of.
        counts: ``flow.habit.base``, whose counts of a context sum to its total, or ``flow.reach``.

    Returns:
        A tally by site, in the order of the sites' names; its actions are those of the vocabulary.
    """
    names = dict(enumerate(flow.vocabulary.tools, 1))
    outcomes = {StepOutcome.OK: False, StepOutcome.ERROR: True}
    sites = {
        symbol(action, outcome) // FEATURES: (tool, failed)
        for action, tool in names.items()
        for outcome, failed in outcomes.items()
    }
    pooled: dict[Site, Tally] = {}
    for (seen,), tally in counts.levels[1].items():
        site = sites.get(seen // FEATURES) if seen != PADDING else None
        if site is not None:
            pooled.setdefault(site, Tally()).merge(tally)
    return dict(sorted(pooled.items()))


class ToolNumbers:
    """The numbers a program knows tools by: from 1, first those that read, then the manifest's others by name.

    Args:
        flow: whose tools.
    """

    __slots__ = ("_names", "_numbers")

    def __init__(self, flow: Flow) -> None:
        reads = flow.sites.reads
        self._names: Sequence[str] = (*reads, *sorted(set(flow.manifest.tools) - set(reads)))
        self._numbers: Mapping[str, int] = {name: number for number, name in enumerate(self._names, 1)}

    def number(self, tool: str) -> int:
        """A tool's number, from 1; the one after the last for a tool the flow does not know."""
        return self._numbers.get(tool, len(self._names) + 1)

    def name(self, number: int) -> str | None:
        """The tool of a number; None for 0, which hands back, and for one the flow does not know."""
        return self._names[number - 1] if 0 < number <= len(self._names) else None


class Chances:
    """The distributions of a flow's program, from the habit's counts of one step.

    Args:
        flow: it must not change meanwhile.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._numbers = ToolNumbers(flow)
        self._next = one_step(flow, flow.habit.base)

    def decide(self, site: Site | None) -> dict[int, float]:
        """``Decide``: the chance of each option at a site, by its number, handing back first. They sum to 1.

        A flat Dirichlet over handing back and the site's lookups: ``(count + 1) / (total + options)``. Every step that
        is none of these lookups counts as handing back.

        Args:
            site: None for a tool the flow does not know; then all there is is to hand back.
        """
        offered = self._flow.sites.options(site) if site else ()
        tally = self._next.get(site, Tally()) if site else Tally()
        counts = [tally.by_action.get(self._flow.vocabulary.action(tool), 0) for tool in offered]
        whole = tally.total + 1 + len(offered)
        chances = {HAND_BACK: (tally.total - sum(counts) + 1) / whole}
        return chances | {
            self._numbers.number(tool): (count + 1) / whole for tool, count in zip(offered, counts, strict=True)
        }

    def succeeds(self, tool: str | None) -> float:
        """``Outcome``: the chance that a call of the tool succeeds, ``(ok + 1) / (ok + failed + 2)``.

        Counted are the steps that followed a call of it; 1/2 for a tool of which none is known.
        """
        ok, failed = (self._next.get((tool, error), Tally()).total if tool else 0 for error in (False, True))
        return (ok + 1) / (ok + failed + 2)

    def distribution(self, name: str, args: Sequence[Value]) -> Mapping[Scalar, float]:
        """``Decide(tool, failed)`` and ``Outcome(tool)`` by number; see `stretto.flow.interpreter.Distributions`.

        Raises:
            FlowError: a tool is no whole number, a failure no truth value.
        """
        match name, tuple(args):
            case "Decide", (int(number), bool(failed)) if not isinstance(number, bool):
                tool = self._numbers.name(number)
                return dict(self.decide((tool, failed) if tool else None).items())
            case "Outcome", (int(number),) if not isinstance(number, bool):
                ok = self.succeeds(self._numbers.name(number))
                return {True: ok, False: 1 - ok}
        raise FlowError("", "$.program", f"{name} takes the number of a tool, and for Decide whether it failed")
