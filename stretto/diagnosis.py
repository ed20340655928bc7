"""What a server lists, in words, and whether a flow can still be served with it.

Not responsible for asking a server (`stretto.proxy.client`). Whether a tool may be looked up is what `stretto.permits`
says, so that a check says what serving would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.permits import Permits

if TYPE_CHECKING:
    from stretto.flow.model import Flow
    from stretto.sessions.manifest import Kind, Manifest

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


def compared(flow: Flow, listed: Manifest) -> tuple[Finding, ...]:
    """What keeps a flow from being served as it was learned, then what else is different; each sorted by tool.

    A problem is a lookup of the flow that would be left to the agent: its tool is gone, no longer reads, or no longer
    takes what it took. No problem: a call after which the flow made lookups is gone, so that it never makes them; and
    tools that the flow does not know.
    """
    permits = Permits(flow.manifest)
    permits.listed = listed
    sites = flow.sites
    lookups = sorted(
        set(sites.reads) if sites.every_read else {tool for found in sites.next.values() for tool in found}
    )
    problems = [Finding(tool, problem=True, text=text) for tool in lookups if (text := permits.refusal(tool, {}))]
    gone = sorted({tool for tool, _ in sites.next} - listed.tools.keys() - set(lookups))
    known = {*flow.manifest.tools, *lookups, *gone}
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
