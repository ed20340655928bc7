"""What one server's tools and calls are called in a flow: as on the wire, or qualified where it knows several servers.

Not responsible for what qualified names look like (`stretto.sessions.qualified`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stretto.errors import UsageError
from stretto.sessions.qualified import name_of_server, qualify, qualify_listing, server_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["Names", "names_of"]


class Names:
    """Translates between a server's wire and a flow.

    Args:
        server: its name in the flow; empty for a flow that was learned over one server, in which nothing is translated.

    Attributes:
        server: as given.
    """

    def __init__(self, server: str = "") -> None:
        self.server = server

    def __bool__(self) -> bool:
        """Whether the flow knows several servers."""
        return bool(self.server)

    def in_flow(self, name: str) -> str:
        """A name of the wire, of a tool or a call, as the flow has it."""
        return qualify(self.server, name) if self.server else name

    def on_wire(self, name: str) -> str:
        """A name of this server in the flow as the wire has it."""
        return name.removeprefix(qualify(self.server, "")) if self.server else name

    def is_own(self, name: str) -> bool:
        """Whether a name of the flow is this server's."""
        return not self.server or name.startswith(qualify(self.server, ""))

    def shown(self, tool: str) -> str:
        """A tool of the flow as the agent is told of it: by its plain name, with the server where it is another one."""
        if self.is_own(tool):
            return self.on_wire(tool)
        server = server_of(tool)
        return f"{tool.removeprefix(qualify(server, ''))} (server {server})"

    def listed(self, result: JsonObject) -> JsonObject:
        """A page of this server's listing, as the flow has it."""
        named = qualify_listing(self.server, result) if self.server else result
        return named if isinstance(named, dict) else result

    def own_tools(self, manifest: Manifest) -> Manifest:
        """Of the flow's tools those of this server."""
        return _only(manifest, self.is_own)

    def others_tools(self, manifest: Manifest) -> Manifest:
        """Of the flow's tools those of other servers."""
        return _only(manifest, lambda tool: not self.is_own(tool))

    def allowed(self, tools: Iterable[str], manifest: Manifest) -> list[str]:
        """Tools that a user named, as the flow has them: a plain name is one of this server's."""
        return [tool if tool in manifest.tools else self.in_flow(tool) for tool in tools]


def _only(manifest: Manifest, wanted: Callable[[str], bool]) -> Manifest:
    return replace(
        manifest,
        tools={tool: kind for tool, kind in manifest.tools.items() if wanted(tool)},
        docs={tool: doc for tool, doc in manifest.docs.items() if wanted(tool)},
        contracts={tool: contract for tool, contract in manifest.contracts.items() if wanted(tool)},
    )


def names_of(manifest: Manifest, server: str | None) -> Names:
    """Find out whether a flow knows several servers, and which of them is this one.

    Args:
        manifest: the flow's.
        server: this server's name as the user gave it; None where it has none.

    Raises:
        UsageError: the flow knows several servers, and this one has no name or is none of them.
    """
    own = name_of_server(server) if server else ""
    known = sorted({name for tool in manifest.tools if (name := server_of(tool))})
    if own in known:
        return Names(own)
    if len(known) < 2:  # noqa: PLR2004 - a tool's own name may look qualified; two servers are no accident
        return Names()
    servers = ", ".join(known)
    if own:
        raise UsageError(
            f"the flow was learned over the servers {servers}, and none of them is {own}: see --server-name"
        )
    raise UsageError(f"the flow was learned over the servers {servers}: say with --server-name which one this is")
