"""Whether a procedure is still what its tools are: active, or stale. Pure.

A stale procedure is not started; it becomes active again by being compiled anew, or by somebody who reviews what has
changed. Which files are retired is the user's to say: by taking them out of where they are served.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from stretto.procedure.contracts import contract_key, listed_contract
from stretto.procedure.readiness import stale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.procedure.graph import Contract, Procedure
    from waggle.jsonvalue import JsonValue

__all__ = ["Compared", "State", "compare", "contracts_of", "servers_of"]


class State(StrEnum):
    """What a procedure is to its tools."""

    ACTIVE = "active"  #: they are what they were
    STALE = "stale"  #: one is gone, or is another
    UNKNOWN = "unknown"  #: nothing was compared


@dataclass(frozen=True, slots=True)
class Compared:
    """A procedure beside the tools that are there now.

    Attributes:
        state: see `State`.
        stale: what has changed, for people, sorted by tool.
        unknown: tools of which the procedure does not say what they were, sorted; no change of theirs is noticed.
    """

    state: State
    stale: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def servers_of(procedure: Procedure) -> tuple[str, ...]:
    """The servers that a procedure calls, sorted; an empty name where it names none."""
    return tuple(sorted({node.server for _, node in procedure.tools()}))


def compare(procedure: Procedure, contracts: Mapping[str, Contract] | None) -> Compared:
    """Compare a procedure with its tools.

    Args:
        procedure: it.
        contracts: of the tools that are there now, by ``server/tool``; None where they are not known.
    """
    keys = {contract_key(node.server, node.tool) for _, node in procedure.tools()}
    unknown = tuple(sorted(key.removeprefix("/") for key in keys - procedure.contracts.keys()))
    if contracts is None:
        return Compared(State.UNKNOWN, unknown=unknown)
    found = tuple(stale(procedure, contracts))
    return Compared(State.STALE if found else State.ACTIVE, found, unknown)


def contracts_of(listing: JsonValue, server: str = "") -> dict[str, Contract]:
    """The contracts of a listing: the answer to ``tools/list``, or its list of tools.

    Args:
        listing: as a server answered it.
        server: its name.

    Raises:
        ValueError: it is none.
    """
    tools = listing.get("tools") if isinstance(listing, dict) else listing
    if not isinstance(tools, list):
        raise ValueError("expected the answer to tools/list: an object with a list `tools`")  # noqa: TRY004 - of a file
    found = {}
    for number, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str) or not name:
            raise ValueError(f"$.tools[{number}]: expected a tool with a name")
        found[contract_key(server, name)] = listed_contract(tool)
    return found
