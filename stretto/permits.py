"""What a flow may look up: the last check before a lookup is made, whatever was decided.

A flow's tools were read-only when it was learned. Since then a server may have changed a tool, and a user may allow
only some. Not responsible for reading what a server lists (`stretto.sessions.manifest`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from stretto.sessions.manifest import Manifest
    from waggle.jsonvalue import JsonObject

__all__ = ["Permits", "contract_change"]


class Permits:
    """What one session's flow may look up.

    Args:
        manifest: the flow's.
        allowed_tools: the only tools that are looked up; None for all that may be.
        may_call: asked last, whether the host lets this call be made.

    Attributes:
        listed: the tools as their server lists them now; None as long as it has not.
    """

    def __init__(
        self,
        manifest: Manifest,
        allowed_tools: Collection[str] | None = None,
        may_call: Callable[[str, JsonObject], bool] | None = None,
    ) -> None:
        self._manifest = manifest
        self._allowed = None if allowed_tools is None else frozenset(allowed_tools)
        self._may_call = may_call
        self.listed: Manifest | None = None

    def refusal(self, tool: str, arguments: JsonObject) -> str:
        """Why this lookup is left to the agent, in words; empty when it may be made."""
        if self._manifest.kind(tool) != "read":
            return "the flow's manifest does not say that it reads"
        changed = self._changed(tool)
        if changed:
            return changed
        if self._allowed is not None and tool not in self._allowed:
            return "it is not among the tools that the flow may look up"
        if self._may_call and not self._may_call(tool, arguments):
            return "the host does not let it be looked up"
        return ""

    def _changed(self, tool: str) -> str:
        if self.listed is None:
            return ""
        learned = self._manifest.contracts.get(tool)
        kind = self.listed.tools.get(tool)
        if kind is None:
            return "the server does not list it"
        if kind == "write":
            return "the server says that it writes"
        if kind != "read" and learned is not None:  # it was its own listing that said so
            return "the server no longer says that it reads"
        now = self.listed.contracts.get(tool)
        change = contract_change(learned, now) if learned is not None and now is not None else ""
        return f"it is not what it was when the flow was learned: {change}" if change else ""


def contract_change(old: str, new: str) -> str:
    """What of a contract no longer holds.

    A call that was right under the old contract must be right under the new one: every argument is still there with its
    type, and nothing more is required. A new optional argument changes nothing; nor does the order, or a description.

    Args:
        old: as it was learned, in the form of `Manifest.contracts`.
        new: as the server lists it now.

    Returns:
        The differences, by argument, in words; empty when there are none.
    """
    if old == new:
        return ""
    before, after = _arguments(old), _arguments(new)
    if before is None or after is None:
        return f"it took {old}, and takes {new}"
    changes: list[str] = []
    for name in sorted(before | after):
        if name not in after:
            changes.append(f"`{name}` is gone")
        elif name not in before:
            if after[name][1]:
                changes.append(f"`{name}` is new and required")
        elif before[name][0] != after[name][0]:
            changes.append(f"`{name}` was {before[name][0]} and is {after[name][0]}")
        elif after[name][1] and not before[name][1]:
            changes.append(f"`{name}` is required now")
    return ", ".join(changes)


def _arguments(contract: str) -> dict[str, tuple[str, bool]] | None:
    """Type and whether it is required, by name; None for a contract whose names cannot be told apart."""
    found: dict[str, tuple[str, bool]] = {}
    for part in contract.split(", ") if contract else ():
        name, colon, kind = part.rpartition(":")
        if not colon or name in found:
            return None
        found[name] = (kind.removesuffix("!"), kind.endswith("!"))
    return found
