"""The adapter that docs/integrations.md shows works, in a framework as small as that."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.conftest import ROOT
from tests.integrations.routines import HABIT, answer, asked_for, check_folds, check_observed, habitual

READS = SimpleNamespace(metadata={"read_only": True})
TOOLS = {"orders_of": READS, "order": READS, "ship": SimpleNamespace(metadata=None)}


@dataclass(frozen=True)
class Request:
    """A call as the framework asks its middleware for it."""

    thread: str
    tool: str
    args: dict[str, Any]
    id: str
    tools: dict[str, Any] = field(default_factory=lambda: TOOLS)


@dataclass(frozen=True)
class Reply:
    """What a tool gave back."""

    content: Any
    is_error: bool = False
    asks_a_person: bool = False


def test_the_adapter_of_the_document_adds_the_next_read_and_reports_the_agents_calls() -> None:
    text = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    source = text.partition("```python\n")[2].partition("\n```")[0]
    names: dict[str, Any] = {}
    exec(compile(source, "docs/integrations.md", "exec"), names)  # noqa: S102 - our own document
    manager = habitual(reads=())
    middleware = names["WaggleMiddleware"](manager)
    shown = []
    for number, (tool, args) in enumerate(asked_for(HABIT)):
        request = Request("a", tool, args, f"call-{number}")
        shown.append(middleware(request, lambda made: Reply(answer(made.tool, *made.args.values()))).content)
    check_folds(shown)
    check_observed(manager, "a", HABIT)
    assert manager.faults() == {}
