"""Managers and routes that the tests of sessions and of strategies share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waggle import Call, Manager, ManagerConfig, Result, Route
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from collections.abc import Callable

LS = RouteStep("ls", {"path": "internal"})


READ_A = RouteStep("read", {"path": "a.go"})


READ_B = RouteStep("read", {"path": "b.go"})


ROUTE = Route("look-around", (LS, READ_A, READ_B))


def call(step: RouteStep) -> Call:
    return Call(step.tool, step.args)


def host(answers: dict[str, str] | None = None) -> tuple[Callable[[str, dict[str, Any]], Result | str], list[Any]]:
    """A host's `run` that notes what it was asked for."""
    asked: list[Any] = []

    def run(tool: str, args: dict[str, Any]) -> Result | str:
        asked.append((tool, args))
        return (answers or {}).get(str(args.get("path")), f"text of {args.get('path')}")

    return run, asked


def manager(*routes: Route, **knobs: Any) -> Manager:
    return Manager(ManagerConfig(**knobs), routes=routes or (ROUTE,))


LONG = Route("long", (LS, READ_A, *(RouteStep("read", {"path": f"f{n}.go"}) for n in range(6))))
