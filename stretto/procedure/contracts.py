"""What a tool was when a procedure was compiled, as digests to compare with what a server lists later. Pure.

A digest is over what decides whether a call still means the same: names, types and requiredness of the arguments, the
schema of the output, what the tool says it does. Descriptions play no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.procedure.graph import Contract
from stretto.sessions.listing import contract_of
from waggle.jsonvalue import fingerprint

if TYPE_CHECKING:
    from stretto.sessions.manifest import Kind
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["changed_parts", "contract", "contract_key", "listed_contract"]


def contract_key(server: str, tool: str) -> str:
    """What a tool's contract stands under in a procedure: ``server/tool``; the server is empty where there is one."""
    return f"{server}/{tool}"


def contract(takes: str | None, output: JsonValue, kind: Kind | None) -> Contract:
    """The contract of a tool.

    Args:
        takes: its arguments as `stretto.sessions.listing.contract_of` writes them; None where they are not known.
        output: JSON Schema of its output; None where it is not known.
        kind: what it says it does; None where it says nothing.
    """
    return Contract(
        input="" if takes is None else fingerprint(takes),
        output="" if output is None else fingerprint(output),
        annotations="" if kind is None else fingerprint(kind),
    )


def changed_parts(then: Contract, now: Contract) -> list[str]:
    """In what a tool is another now: ``input``, ``output``, ``annotations``; what was not known then, is no change."""
    return [part for part in ("input", "output", "annotations") if getattr(then, part) not in ("", getattr(now, part))]


def listed_contract(tool: JsonObject) -> Contract:
    """The contract of a tool as an answer to ``tools/list`` describes it, to compare with a procedure's."""
    takes, output, hints = tool.get("inputSchema"), tool.get("outputSchema"), tool.get("annotations")
    hint = hints.get("readOnlyHint") if isinstance(hints, dict) else None
    kind: Kind = "read" if hint is True else "write" if hint is False else "generic"
    return contract(
        contract_of(takes) if isinstance(takes, dict) else None, output if isinstance(output, dict) else None, kind
    )
