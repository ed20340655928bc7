"""What a server lists, in words, and whether a flow can still be served with it.

Not responsible for asking a server (`stretto.proxy.client`). Whether a tool may be looked up is what `stretto.permits`
says, so that a check says what serving would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.permits import Permits
from stretto.sessions.manifest import Manifest
from stretto.sessions.qualified import qualify, server_of

if TYPE_CHECKING:
    from stretto.flow.model import Flow
    from stretto.sessions.manifest import Kind

__all__ = ["Finding", "compared", "kinds", "tool_line"]

_SAYS: Final[dict[Kind, str]] = {"read": "reads", "write": "writes", "generic": "does not say whether it reads"}


class Finding(NamedTuple):
    """One difference between a flow and what a server lists.

    Attributes:
        tool: that differs.
        problem: whether it keeps the flow from a lookup it learned.
        text: what is different.
    """

    tool: str
    problem: bool
    text: str


def compared(flow: Flow, listed: Manifest, server: str = "") -> tuple[Finding, ...]:
    """What keeps a flow from being served as it was learned, then what else is different; each sorted by tool.

    A problem is a lookup of the flow that would be left to the agent: its tool is gone, no longer reads, or no longer
    takes what it took. No problem: a call after which the flow made lookups is gone, so that it never makes them; and
    tools that the flow does not know.

    Args:
        flow: what was learned.
        listed: what the server lists, by its own names of its tools.
        server: its name. Of a flow that knows several servers, and this among them, only its tools are compared.
    """
    several = server and any(server_of(tool) == server for tool in flow.manifest.tools)
    prefix = qualify(server, "") if several else ""
    permits = Permits(flow.manifest)
    permits.listed = Manifest(
        tools={prefix + tool: kind for tool, kind in listed.tools.items()},
        contracts={prefix + tool: contract for tool, contract in listed.contracts.items()},
    )
    sites = flow.sites
    lookups = set(sites.reads) if sites.every_read else {tool for found in sites.next.values() for tool in found}
    own = sorted(tool for tool in lookups if tool.startswith(prefix))
    after = {tool.removeprefix(prefix) for tool, _ in sites.next if tool.startswith(prefix)}
    looked_up = {tool.removeprefix(prefix) for tool in own}
    problems = [
        Finding(tool.removeprefix(prefix), problem=True, text=text)
        for tool in own
        if (text := permits.refusal(tool, {}))
    ]
    gone = sorted(after - listed.tools.keys() - looked_up)
    known = {*(tool.removeprefix(prefix) for tool in flow.manifest.tools), *looked_up, *gone}
    new = sorted(listed.tools.keys() - known)
    return (
        *problems,
        *(Finding(tool, problem=False, text="lookups follow it in the flow, and it is gone") for tool in gone),
        *(Finding(tool, problem=False, text="the flow does not know it") for tool in new),
    )


def kinds(listed: Manifest) -> str:
    """How many tools of each kind a server lists: ``5 tools: 3 read, 1 writes, 1 does not say``."""
    count = len(listed.tools)
    found = [*listed.tools.values()]
    words: tuple[tuple[Kind, str, str], ...] = (
        ("read", "reads", "read"),
        ("write", "writes", "write"),
        ("generic", "does not say", "do not say"),
    )
    parts = [f"{number} {one if number == 1 else many}" for kind, one, many in words if (number := found.count(kind))]
    return f"{count} tool{'s' * (count != 1)}{': ' * bool(parts)}{', '.join(parts)}"


def tool_line(listed: Manifest, tool: str) -> str:
    """One tool's kind and contract: ``reads; takes order_id:string!``."""
    contract = listed.contracts.get(tool)
    takes = "has no schema" if contract is None else f"takes {contract}" if contract else "takes nothing"
    return f"{_SAYS[listed.kind(tool)]}; {takes}"
