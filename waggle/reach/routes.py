"""Reach habits as routes: what is written into a skill, and read back from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle import jsonvalue
from waggle.miner import Param
from waggle.reach.table import counts_json, parse_counts
from waggle.reach.targets import CallTarget, LinesTarget, read_target
from waggle.routes import After, Route, RouteStep, Scope, named

if TYPE_CHECKING:
    from datetime import datetime

    from waggle.reach.counts import ReachCounts
    from waggle.reach.table import ReachTable
    from waggle.tools import ToolTable

__all__ = ["counts_of", "is_bound", "route_of", "target_key"]


def route_of(
    target: str,
    site: str,
    table: ReachTable,
    tools: ToolTable,
    *,
    scope: Scope = Scope.PROJECT,
    at: datetime | None = None,
) -> Route:
    """Make a route of a target that was reached from a site.

    Args:
        target: its key.
        site: the site's coarsest key.
        table: what was counted.
        tools: how the tool reads lines.
        scope: whose habit it is.
        at: when it was learned, UTC.
    """
    described = read_target(target)
    step = _step(described, table, tools)
    params = tuple(Param(0, name) for name in sorted(step.args) if step.args[name] is None)
    entry = jsonvalue.loads(target)
    assert isinstance(entry, dict)  # noqa: S101 - `read_target` read it; this tells the type checker
    counts = table.counts
    after = After(site, entry, counts_json(counts.part(target, site)))
    return named(
        Route("", (step,), params, scope, counts.total(target, site), counts.sessions[target, site], at, after=after)
    )


def _step(target: CallTarget | LinesTarget, table: ReachTable, tools: ToolTable) -> RouteStep:
    if isinstance(target, CallTarget):
        args = {name: source.value if source.place is None else None for name, source in target.args}
        return RouteStep(target.tool, args, target.form)
    whole = target.around == "whole"
    if not target.arg:
        names = ("path",) if whole else ("path", "first", "last")
        return RouteStep(target.tool, dict.fromkeys(names), table.form_for(target.tool, whole=whole))
    lines = tools.spec(target.tool).lines
    names = (target.arg,) if whole or lines is None else (target.arg, *lines.names)
    return RouteStep(target.tool, dict.fromkeys(names))


def is_bound(target: str) -> bool:
    """Whether a target has values, and all of them come from the call before it."""
    described = read_target(target)
    if isinstance(described, LinesTarget):
        return True
    return bool(described.args) and all(source.place is not None for _, source in described.args)


def target_key(after: After) -> str:
    """The key of a reach route's target.

    Raises:
        ValueError: it is no target.
    """
    return read_target(jsonvalue.canonical(after.target).decode()).key


def counts_of(after: After) -> ReachCounts:
    """What a reach route counted when it was learned.

    Raises:
        ValueError: these are no counts.
    """
    return parse_counts(after.counts)
