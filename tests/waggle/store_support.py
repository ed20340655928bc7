"""Stores and routes that the tests of the store and of the manager share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT
from waggle import (
    Param,
    Route,
)
from waggle.routes import RouteStep, named

if TYPE_CHECKING:
    from collections.abc import Mapping

GOLDEN = ROOT / "tests" / "golden" / "original"


AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def route(*steps: tuple[str, Mapping[str, Any]], params: tuple[Param, ...] = (), **facts: Any) -> Route:
    facts = {"count": 3, "support": 1, "learned_at": AT, **facts}
    return named(Route("", tuple(RouteStep(tool, dict(args)) for tool, args in steps), params, **facts))


LOOK = route(("ls", {"path": "src"}), ("read", {"path": "README.md"}), ("read", {"path": "src/main.py"}))


OPEN = route(
    ("ls", {"path": "src"}), ("search", {"pattern": None}), ("read", {"path": "a.py"}), params=(Param(1, "pattern"),)
)
