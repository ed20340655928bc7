"""What servers say of their tools, from their answers to ``tools/list``.

Not responsible for telling those answers from others (`stretto.sessions.turns`) nor for manifest files
(`stretto.sessions.manifest`). A server's words are data: they are kept, and never followed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stretto.sessions.manifest import Manifest, ToolDoc
from waggle import jsonvalue

if TYPE_CHECKING:
    from stretto.sessions.manifest import Kind
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Listings", "contract_of", "tools_of"]

#: Different listings that are held as they were understood: most sessions of a corpus have one and the same.
_HELD: Final = 32


class Listings:
    """The listings of one session, answer by answer.

    What a later answer says of a tool replaces what an earlier one said. Tools that it does not name are kept: it may
    be one page of several, and calls of a tool that is gone were calls all the same.

    Args:
        domain: of the manifest.

    Attributes:
        manifest: what was listed so far. Sessions with the same listing share one object.
    """

    __slots__ = ("manifest",)

    def __init__(self, domain: str) -> None:
        self.manifest = _page(b"[]", domain)

    def add(self, result: JsonValue) -> None:
        """Take the result of one ``tools/list``; a malformed one says nothing."""
        tools = result.get("tools") if isinstance(result, dict) else None
        if isinstance(tools, list):
            try:
                page = _page(jsonvalue.dumps(tools), self.manifest.domain)
            except ValueError:  # nested too deeply
                return
            self.manifest = self.manifest.updated(page) if self.manifest.tools else page


@lru_cache(maxsize=_HELD)
def _page(data: bytes, domain: str) -> Manifest:
    tools = jsonvalue.loads(data)
    return tools_of(tools if isinstance(tools, list) else [], domain)


def tools_of(tools: list[JsonValue], domain: str = "") -> Manifest:
    """The manifest of one page of a listing.

    A tool's kind is the server's ``readOnlyHint``: ``true`` is read, ``false`` write, none generic. Of a tool listed
    twice the later one counts; what has no name is passed over.
    """
    kinds: dict[str, Kind] = {}
    docs: dict[str, ToolDoc] = {}
    contracts: dict[str, str] = {}
    for tool in tools:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str):
            continue
        hints, schema = tool.get("annotations"), tool.get("inputSchema")
        hint = hints.get("readOnlyHint") if isinstance(hints, dict) else None
        kinds[name] = "read" if hint is True else "write" if hint is False else "generic"
        docs.pop(name, None)
        contracts.pop(name, None)
        args = {}
        if isinstance(schema, dict):
            contracts[name] = contract_of(schema)
            args = {arg: said for arg, value in _properties(schema).items() if (said := _said(value))}
        summary = _said(tool)
        if summary or args:
            docs[name] = ToolDoc(summary, args)
    return Manifest(domain, kinds, docs, contracts)


def contract_of(schema: JsonObject) -> str:
    """What a tool takes, as one comparable text: ``order_id:string!, reason:string``.

    Each property with its type (several joined by ``|``, ``any`` without one) and ``!`` when it is required, sorted.
    Descriptions and the order of properties play no part.
    """
    required = schema.get("required")
    needed = set(filter(_is_text, required)) if isinstance(required, list) else ()
    return ", ".join(
        sorted(f"{name}:{_type(value)}{'!' * (name in needed)}" for name, value in _properties(schema).items())
    )


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _type(described: JsonValue) -> str:
    kind = described.get("type") if isinstance(described, dict) else None
    if isinstance(kind, list):
        return "|".join(filter(_is_text, kind)) or "any"  # type: ignore[arg-type] # the filter is a check mypy cannot see
    return kind if isinstance(kind, str) else "any"


def _said(described: JsonValue) -> str:
    """A description with its white space collapsed."""
    text = described.get("description") if isinstance(described, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)
