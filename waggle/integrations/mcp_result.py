"""Results of MCP servers, whichever library holds them: what they say, and where a text is added to them.

What is added is one more block of the content: a text, or an embedded resource beside structured content, since there
hosts drop texts. Structured content itself is never touched.

Not responsible for making the blocks, which are objects of the library.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["added_block", "structured_of", "taken"]

#: What the resource calls itself. Nothing can be read there.
_URI: Final = "waggle://lookups"


def structured_of(result: Any) -> Any:
    """The structured content of a result; None where it has none."""
    return _either(result, "structured_content", "structuredContent")


def taken(result: Any) -> dict[str, Any]:
    """A result as `waggle.integrations.watch.result_of` takes it, by the names of its arguments."""
    error = _either(result, "is_error", "isError")
    return {"value": result.content, "ok": not error, "structured": structured_of(result)}


def added_block(result: Any, text: str) -> dict[str, Any]:
    """The block that carries a text beside a result, by its names on the wire."""
    if structured_of(result) is None:
        return {"type": "text", "text": text}
    return {"type": "resource", "resource": {"uri": _URI, "mimeType": "text/plain", "text": text}}


def _either(result: Any, name: str, old_name: str) -> Any:
    """A field by its name in version 2 of the SDK or, where it has none, in version 1."""
    return getattr(result, name if hasattr(result, name) else old_name, None)
