"""Names of tools and calls where an agent has several servers: the server's, ``::``, and the server's own name for it.

Not responsible for when names are qualified: in merged logs (`stretto.sessions.merge`), and in a proxy whose flow was
learned from such (`stretto.proxy.peers.names`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

__all__ = ["SEPARATOR", "name_of_server", "qualify", "qualify_listing", "server_of"]

#: Stands between a server's name, which never holds it, and a name of that server, which may.
SEPARATOR: Final = "::"

_NO_NAME_CHARACTER: Final = re.compile(r"[^A-Za-z0-9._-]")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9._-]+)::.")


def name_of_server(text: str) -> str:
    """A server's name as it stands in qualified names: whatever is no letter, digit, ``.``, ``_`` or ``-`` is ``_``."""
    return _NO_NAME_CHARACTER.sub("_", text)


def qualify(server: str, name: str) -> str:
    """A server's own name of a tool or a call, told from those of others."""
    return f"{server}{SEPARATOR}{name}"


def server_of(name: str) -> str:
    """The server of a qualified name; empty for one that is not qualified."""
    found = _QUALIFIED.match(name)
    return found[1] if found else ""


def qualify_listing(server: str, result: JsonValue) -> JsonValue:
    """A result of ``tools/list`` with every tool's name qualified; what is malformed stays as it is."""
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(tools, list):
        return result
    return result | {"tools": [_qualified_tool(server, tool) for tool in tools]}


def _qualified_tool(server: str, tool: JsonValue) -> JsonValue:
    name = tool.get("name") if isinstance(tool, dict) else None
    return tool | {"name": qualify(server, name)} if isinstance(tool, dict) and isinstance(name, str) else tool
