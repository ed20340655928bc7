"""Small recorded sessions, and routes to replay on them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from waggle import Call, Result, Route
from waggle.routes import RouteStep, named
from waggle.traces import TraceBuilder

if TYPE_CHECKING:
    from waggle.traces import Trace

__all__ = ["route", "trace"]


def trace(*turns: list[tuple[Any, ...]], session: str = "s", **facts: Any) -> Trace:
    """A session; each turn's calls start together and end in order.

    Args:
        turns: calls as ``(tool, args)``, or with the result's text as a third; an argument ``fails`` makes one fail.
        session: its id.
        facts: further attributes of the trace.
    """
    builder, ids = TraceBuilder(), itertools.count()
    for number, calls in enumerate(turns):
        numbered = [(f"c{next(ids)}", *call) for call in calls]
        for one, tool, args, *_ in numbered:
            builder.call(Call(tool, args, id=one), number)
        for one, _, args, *text in numbered:
            told = text[0] if text else f"text of {args.get('path')}" * 4
            builder.result(one, Result(told, ok=args.get("fails") is None))
    return builder.build(session=session, agent="host/model", source="o/r:x@1", **facts)


def route(*steps: tuple[str, dict[str, Any]]) -> Route:
    """A mined route of these calls."""
    return named(Route("", tuple(RouteStep(tool, args) for tool, args in steps)))
