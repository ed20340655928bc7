"""Managers and routes that the tests of sessions and of strategies share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waggle import Call, Lookup, Manager, ManagerConfig, Result, Route
from waggle.routes import RouteStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from waggle import Step

LS = RouteStep("ls", {"path": "internal"})


READ_A = RouteStep("read", {"path": "a.go"})


READ_B = RouteStep("read", {"path": "b.go"})


ROUTE = Route("look-around", (LS, READ_A, READ_B))


class Broken:
    """Raises whenever it is asked."""

    name = "broken"

    def observe(self, step: Step, result: Result) -> None:
        return

    def propose(self) -> Lookup | None:
        raise ZeroDivisionError

    def settle(self, lookup: Lookup, result: Result) -> None:
        raise ZeroDivisionError


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
