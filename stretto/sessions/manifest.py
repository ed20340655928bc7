"""What a server says of its tools: which read, which write, what they are for, what they take.

The kinds are the server's claims, or those of a manifest file: checking them is the reviewer's first job. Not
responsible for reading logs; `tools_of` takes one answer to ``tools/list``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kind", "Manifest", "ToolDoc"]

#: ``read``: changes nothing, may be looked up. ``write``: ends a reach window. ``generic``: not known, does neither.
Kind: TypeAlias = Literal["read", "write", "generic"]


@dataclass(frozen=True, slots=True)
class ToolDoc:
    """What a server says a tool is for, white space collapsed: of the tool, and of each argument."""

    summary: str = ""
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The tools of one domain.

    Attributes:
        domain: its name.
        tools: the kind of each.
        docs: what is said of them, by tool; tools without a word are left out.
        contracts: what each takes, as ``name:type`` and ``!`` where required, sorted, joined by ``, ``; only tools whose
            server listed a schema.
    """

    domain: str = ""
    tools: Mapping[str, Kind] = field(default_factory=dict)
    docs: Mapping[str, ToolDoc] = field(default_factory=dict)
    contracts: Mapping[str, str] = field(default_factory=dict)

    def kind(self, tool: str) -> Kind:
        """The tool's kind; ``generic`` for one that is not known."""
        return self.tools.get(tool, "generic")

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the tools that read, sorted."""
        return tuple(sorted(name for name, kind in self.tools.items() if kind == "read"))

    def updated(self, later: Manifest) -> Manifest:
        """This manifest with what a later listing says; what it does not name is kept."""
        return replace(
            self,
            domain=later.domain or self.domain,
            tools={**self.tools, **later.tools},
            docs={**{name: doc for name, doc in self.docs.items() if name not in later.tools}, **later.docs},
            contracts={**{n: c for n, c in self.contracts.items() if n not in later.tools}, **later.contracts},
        )
