"""A tool has changed since the flow was learned: from the listing in the logs to the lookup that is not made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stretto import diff
from stretto.sessions.listing import tools_of
from tests.stretto.cases.support_cases import Serving, learned
from tests.stretto.sessions.logs_support import answer, call, listing, save_log
from waggle import Result

if TYPE_CHECKING:
    from pathlib import Path

    from stretto.flow.model import Flow
    from waggle.jsonvalue import JsonObject

READS: JsonObject = {"readOnlyHint": True}


def tool(name: str = "search", said: str = "Search.", **properties: Any) -> JsonObject:
    """A tool as a server lists it; properties whose type ends in ``!`` are required."""
    required = [key for key, kind in properties.items() if str(kind).endswith("!")]
    shown: JsonObject = {
        key: {"type": kind.rstrip("!")} if isinstance(kind, str) else kind for key, kind in properties.items()
    }
    schema: JsonObject = {"type": "object", "properties": shown, "required": list(required)}
    return {"name": name, "description": said, "annotations": READS, "inputSchema": schema}


HINT = tool("hint")
LEARNED = tool(query="string!")


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    """Learned from four logs in which what `hint` returned was searched for."""
    for number in range(4):
        save_log(
            tmp_path,
            f"s{number}",
            *listing(0, 0, HINT, LEARNED),
            call(1, 1, "hint"),
            answer(2, 1, f"word {number}"),
            call(1000, 2, "search", query=f"word {number}"),
            answer(1001, 2, "found"),
        )
    return learned(tmp_path)


def served(flow: Flow, *tools: JsonObject) -> Serving:
    """A session whose server lists these tools, after the agent has called `hint`."""
    serving = Serving(flow, lambda name, args: Result("found"), tools_of([HINT, *tools]))
    serving.call("hint", {}, Result("word 9"))
    return serving


CHANGED: dict[str, tuple[list[JsonObject], str]] = {
    "a: another name": ([tool(q="string!")], "`q` is new and required, `query` is gone"),
    "b: a new required argument": ([tool(query="string!", limit="integer!")], "`limit` is new and required"),
    "e: another type": ([tool(query="array!")], "`query` was string and is array"),
    "f: another tool": ([tool("find", query="string!")], "the server does not list it"),
}
SAME: dict[str, list[JsonObject]] = {
    "unchanged": [LEARNED],
    "c: a new optional argument": [tool(query="string!", limit="integer")],
    "d: another description, another order": [tool(said="Look for words.", limit="integer", query="string!")],
}


@pytest.mark.case("HC-28")
@pytest.mark.parametrize(("tools", "difference"), CHANGED.values(), ids=CHANGED)
def test_a_changed_tool_is_left_to_the_agent_before_any_lookup_of_it(
    flow: Flow, tools: list[JsonObject], difference: str
) -> None:
    """The log of the flow names the tool and the difference; nothing is guessed, and `find` is not `search`."""
    serving = served(flow, *tools)
    assert serving.made == []
    assert difference in serving.said[0]


@pytest.mark.case("HC-28")
@pytest.mark.parametrize("tools", SAME.values(), ids=SAME)
def test_a_tool_that_still_takes_the_learned_call_is_looked_up(flow: Flow, tools: list[JsonObject]) -> None:
    assert served(flow, *tools).made == [("search", {"query": "word 9"})]


@pytest.mark.case("HC-28")
def test_an_enumeration_without_the_learned_value_is_left_to_the_server(flow: Flow) -> None:
    """Less than case g asks: contracts hold types, as the original's do, so a value is refused by the server itself.

    What it answers is a failed lookup: the agent sees the error, and the flow hands back.
    """
    narrowed = tool(query={"type": "string", "enum": ["other"]})
    assert served(flow, narrowed).made == [("search", {"query": "word 9"})]
    refusing = Serving(flow, lambda name, args: Result("not one of: other", ok=False), tools_of([HINT, narrowed]))
    assert refusing.call("hint", {}, Result("word 9")) == [("search", {"query": "word 9"})]
    assert refusing.said == ["no lookups followed here in training"]


@pytest.mark.case("HC-28")
@pytest.mark.parametrize("tools", [tools for tools, _ in CHANGED.values()], ids=CHANGED)
def test_a_comparison_shows_what_changed_without_running(flow: Flow, tools: list[JsonObject]) -> None:
    """Of the flow with the tools as they are listed now."""
    now = replace(flow, manifest=tools_of([HINT, *tools], flow.manifest.domain))
    assert any(change.facts.get("tool") == "search" for change in diff(flow, now).changes)
    assert not diff(flow, replace(flow)).changes
