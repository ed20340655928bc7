"""What MCP servers say, as objects of either version of the SDK, and what is added to their results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from waggle import Result
from waggle.integrations.mcp_result import ListedTools, added_block, taken, with_block

TEXT = [SimpleNamespace(type="text", text="a")]
NEW, OLD = ("is_error", "structured_content"), ("isError", "structuredContent")


def result(names: tuple[str, str], *, error: bool = False, structured: object = None) -> Any:
    return SimpleNamespace(content=TEXT, **{names[0]: error, names[1]: structured})


@pytest.mark.parametrize("names", [NEW, OLD])
def test_a_result_is_its_text_its_error_and_its_structured_value(names: tuple[str, str]) -> None:
    assert taken(result(names)) == Result("a")
    assert taken(result(names, error=True)) == Result("a", ok=False)
    assert taken(result(names, structured={"b": 1})) == Result("a", value={"b": 1})


@pytest.mark.parametrize("names", [NEW, OLD])
def test_a_text_is_added_as_a_text_and_beside_structured_content_as_a_resource(names: tuple[str, str]) -> None:
    assert added_block(result(names), "more") == {"type": "text", "text": "more"}
    values: tuple[object, ...] = ({"b": 1}, {}, [], 0, "")
    for structured in values:
        block = added_block(result(names, structured=structured), "more")
        assert block["type"] == "resource"
        assert block["resource"]["text"] == "more"


class Block(SimpleNamespace):
    """A content block, as a library makes it of one that it is given."""

    @classmethod
    def model_validate(cls, fields: dict[str, Any]) -> Block:
        return cls(**fields)


class Held(SimpleNamespace):
    """A result that can be copied, as both SDKs' can."""

    def model_copy(self, *, update: dict[str, Any]) -> Held:
        return Held(**{**vars(self), **update})


@pytest.mark.parametrize(("structured", "kind"), [(None, "text"), ({"b": 1}, "resource")])
def test_the_block_is_the_librarys_own_and_the_result_given_stays_as_it_was(structured: object, kind: str) -> None:
    types = SimpleNamespace(TextContent=type("Text", (Block,), {}), EmbeddedResource=type("Resource", (Block,), {}))
    given = Held(content=TEXT, structured_content=structured)
    made = with_block(types, given, "more")
    assert [block.type for block in made.content] == ["text", kind]
    assert type(made.content[1]).__name__.lower() == kind
    assert (given.content, made.structured_content) == (TEXT, structured)


def test_what_a_server_no_longer_says_of_a_tool_is_taken_back() -> None:
    def listed(name: str, reads: bool | None) -> Any:  # noqa: FBT001 - a tool and what is said of it
        return SimpleNamespace(name=name, annotations=None if reads is None else {"readOnlyHint": reads})

    tools = ListedTools()
    tools.take([listed("order", True), listed("ship", None)])
    assert tools == {"order": True, "ship": None}
    tools.take([listed("order", None), listed("ship", None)])
    assert tools == {"order": False, "ship": None}
