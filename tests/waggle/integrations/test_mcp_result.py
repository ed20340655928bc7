"""Results of MCP servers as objects of either version of the SDK: what they say, and what is added to them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from waggle import Result
from waggle.integrations.mcp_result import added_block, taken
from waggle.integrations.watch import result_of

TEXT = [SimpleNamespace(type="text", text="a")]
NEW, OLD = ("is_error", "structured_content"), ("isError", "structuredContent")


def result(names: tuple[str, str], *, error: bool = False, structured: object = None) -> Any:
    return SimpleNamespace(content=TEXT, **{names[0]: error, names[1]: structured})


@pytest.mark.parametrize("names", [NEW, OLD])
def test_a_result_is_its_text_its_error_and_its_structured_value(names: tuple[str, str]) -> None:
    assert result_of(**taken(result(names))) == Result("a")
    assert result_of(**taken(result(names, error=True))) == Result("a", ok=False)
    assert result_of(**taken(result(names, structured={"b": 1}))) == Result("a", value={"b": 1})


@pytest.mark.parametrize("names", [NEW, OLD])
def test_a_text_is_added_as_a_text_and_beside_structured_content_as_a_resource(names: tuple[str, str]) -> None:
    assert added_block(result(names), "more") == {"type": "text", "text": "more"}
    values: tuple[object, ...] = ({"b": 1}, {}, [], 0, "")
    for structured in values:
        block = added_block(result(names, structured=structured), "more")
        assert block["type"] == "resource"
        assert block["resource"]["text"] == "more"
