"""Small sessions, spelled shortly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waggle import Result, Step, ToolTable
from waggle.calls import Effect
from waggle.extents import Extents
from waggle.reach.learner import ReachLearner
from waggle.reach.sites import Seen

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue
    from waggle.reach.counts import ReachCounts

TOOLS = ToolTable()
ROOT = "/repo"


def step(seq: int, tool: str, args: dict[str, JsonValue], *, ok: bool = True) -> Step:
    form, values = TOOLS.spoken(tool, args)
    result = Result(ok=ok)
    assert result.outcome is not None
    return Step(seq, tool, values, result.outcome, TOOLS.effect(tool, args), form=form)


def grep(pattern: str, path: str = "/repo/src") -> tuple[str, dict[str, JsonValue]]:
    return "Grep", {"pattern": pattern, "path": path, "output_mode": "content"}


def read(path: str, offset: int | None = None, limit: int | None = None) -> tuple[str, dict[str, JsonValue]]:
    args: dict[str, JsonValue] = {"file_path": path}
    if offset is not None:
        args["offset"] = offset
    if limit is not None:
        args["limit"] = limit
    return "Read", args


def edit(path: str = "/repo/src/a.py") -> tuple[str, dict[str, JsonValue]]:
    return "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}


def sh(command: str) -> tuple[str, dict[str, JsonValue]]:
    return "bash", {"command": command}


def seen(tool: str, args: dict[str, JsonValue], text: str, *, ok: bool = True, root: str = ROOT) -> Seen:
    return Seen(step(0, tool, args, ok=ok), Result(text, ok=ok), Extents(TOOLS, root))


def count(*sessions: list[tuple[tuple[str, dict[str, JsonValue]], str]], root: str = ROOT) -> list[ReachCounts]:
    """The counts of each session, given as calls with the texts of their results."""
    found = []
    for session in sessions:
        learner = ReachLearner(Extents(TOOLS, root))
        for seq, ((tool, args), text) in enumerate(session):
            learner.observe(step(seq, tool, args), Result(text))
        found.append(learner.close())
    return found


def is_write(tool: str, args: dict[str, JsonValue]) -> bool:
    return TOOLS.effect(tool, args) is Effect.WRITE
