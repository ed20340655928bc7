"""Flows learned from files as a proxy or a recorder writes them, then served, for the hard cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from stretto import LearnOptions, Provenance, learn, open_corpus
from stretto.block import text_of
from stretto.flow.file import flow_from_json, flow_to_json
from stretto.sessions.episode import ToolCall
from stretto.speculator import Speculator
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stretto.flow.model import Flow
    from stretto.sessions.manifest import Manifest
    from waggle.calls import Result
    from waggle.jsonvalue import JsonObject, JsonValue

#: Which features there are and how strongly counts lean makes no difference in these cases.
PLAIN = LearnOptions(features=False, alpha=1.0)


def learned(sessions: Path, options: LearnOptions = PLAIN) -> Flow:
    """The flow of a file or a directory, once through its own file."""
    flow = learn(open_corpus(sessions), options, provenance=Provenance("0"))
    return flow_from_json(jsonvalue.loads(jsonvalue.dumps(flow_to_json(flow))))


#: Tool, arguments, result, and whether the call succeeded.
Made: TypeAlias = "tuple[str, JsonObject, str, bool]"


def trace(
    name: str,
    *calls: Made,
    success: bool = True,
    kinds: dict[str, str] | None = None,
    turns: list[int] | None = None,
) -> bytes:
    """A session in the canonical format; every call is a turn of its own unless `turns` says otherwise."""
    events: list[JsonValue] = []
    for number, (tool, args, content, ok) in enumerate(calls):
        turn = turns[number] if turns else number
        events.append({"type": "call", "id": f"c{number}", "turn": turn, "tool": tool, "args": args})
        events.append({"type": "result", "id": f"c{number}", "ok": ok, "content": content})
    tools: JsonObject = {tool: {"kind": (kinds or {}).get(tool, "read")} for tool, *_ in calls}
    fields: JsonObject = {"session": name, "source": "ada/lift:1@abc", "agent": "my-agent/model", "domain": "d"}
    return jsonvalue.dumps({**fields, "task": name, "success": success, "tools": tools, "events": events}) + b"\n"


class Serving:
    """One session under a flow, its lookups made at once.

    Attributes:
        made: the lookups, in order.
        said: why it handed back, or why a lookup was left to the agent, in order.
    """

    def __init__(self, flow: Flow, tools: Callable[[str, JsonObject], Result], listed: Manifest | None = None) -> None:
        self.made: list[tuple[str, JsonObject]] = []
        self.said: list[str] = []
        self._tools = tools
        self._speculator = Speculator(flow, on_line=self._line)
        if listed is not None:
            self._speculator.listed(listed)

    def _line(self, line: JsonObject) -> None:
        said = line.get("withheld") or line.get("reason")
        if isinstance(said, str):
            self.said.append(said)

    def call(self, tool: str, args: JsonObject, result: Result) -> list[tuple[str, JsonObject]]:
        """Let the agent make a call; what is looked up after it."""
        before = len(self.made)
        name = f"c{len(self.said)}.{before}"
        self._speculator.turn()
        self._speculator.call(ToolCall(name, tool, args))
        self._speculator.result(name, error=not result.ok, content=text_of(result))
        self._speculator.begin(name)
        while (lookup := self._speculator.next()) is not None:
            self.made.append((lookup.tool, lookup.args))
            self._speculator.settle(self._tools(lookup.tool, lookup.args))
        return self.made[before:]
