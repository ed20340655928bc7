"""What MCP servers say, whichever library holds it: of their tools, and in results, where a text is added to them.

What is added is one more block of the content: a text, or an embedded resource beside structured content, since there
hosts drop texts. Structured content itself is never touched.

Not responsible for calls, nor for results that are questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from waggle.integrations.results import hint_of, result_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from waggle.calls import Result

__all__ = ["ListedTools", "added_block", "structured_of", "taken", "with_block"]

#: What the resource calls itself. Nothing can be read there.
_URI: Final = "waggle://lookups"


class ListedTools(dict[str, bool | None]):
    """The tools that a server has listed, by name: whether each only reads; None where the server does not say."""

    def take(self, tools: Iterable[Any]) -> None:
        """Take in what a list says of its tools. A word that the server no longer gives is taken back: it is a no."""
        for tool in tools:
            reads = hint_of(tool.annotations)
            withdrawn = reads is None and self.get(tool.name) is not None
            self[tool.name] = False if withdrawn else reads


def structured_of(result: Any) -> Any:
    """The structured content of a result; None where it has none."""
    return _either(result, "structured_content", "structuredContent")


def taken(result: Any) -> Result:
    """A result as waggle takes it."""
    error = _either(result, "is_error", "isError")
    return result_of(result.content, ok=not error, structured=structured_of(result))


def added_block(result: Any, text: str) -> dict[str, Any]:
    """The block that carries a text beside a result, by its names on the wire."""
    if structured_of(result) is None:
        return {"type": "text", "text": text}
    return {"type": "resource", "resource": {"uri": _URI, "mimeType": "text/plain", "text": text}}


def with_block(types: Any, result: Any, text: str) -> Any:
    """A copy of a result with that block behind its own; `types` is the library's, with a class for each block."""
    block = added_block(result, text)
    kind = types.TextContent if block["type"] == "text" else types.EmbeddedResource
    return result.model_copy(update={"content": [*result.content, kind.model_validate(block)]})


def _either(result: Any, name: str, old_name: str) -> Any:
    """A field by its name in version 2 of the SDK or, where it has none, in version 1."""
    return getattr(result, name if hasattr(result, name) else old_name, None)
