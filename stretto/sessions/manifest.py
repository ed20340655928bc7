"""What a server says of its tools: which read, which write, what they are for, what they take.

The kinds are the server's claims, or those of a manifest file: checking them is the reviewer's first job. Not
responsible for reading listings (`stretto.sessions.listing`) nor for the manifest inside of a flow.

A manifest file has one JSON object; its ``docs`` may be left out. Keys that are not known come from a newer writer and
are passed over::

    {"domain": "shop", "tools": {"get_order": "read", "cancel_order": "write"},
     "docs": {"get_order": {"summary": "An order.", "args": {"order_id": "with its #"}}}}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from stretto._defaults import MANIFEST_BYTES
from stretto.contents import read_bytes, read_json
from stretto.errors import ManifestError
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["Kind", "Manifest", "ToolDoc", "manifest_from_json", "manifest_to_json", "read_manifest", "write_manifest"]

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
        contracts: what each takes, as ``name:type`` and ``!`` where required, sorted, joined by ``, ``; only tools
            whose server listed a schema.
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


# --- manifest files ----------------------------------------------------------------------------------------


def read_manifest(path: Path) -> Manifest:
    """Read a manifest file.

    Raises:
        ManifestError: it cannot be read, is no JSON, or a field is not what it should be.
    """
    name = str(path)
    data = read_bytes(path, MANIFEST_BYTES, ManifestError)
    return manifest_from_json(read_json(data, name, ManifestError), name)


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest file, whole or not at all.

    Raises:
        StoreUnavailable: the place cannot be written.
    """
    files.replace(path, jsonvalue.pretty(manifest_to_json(manifest)).encode())


def manifest_to_json(manifest: Manifest) -> JsonObject:
    """The manifest as a file holds it, sorted by name. Contracts are no part of it: a flow keeps those it learned."""
    value: JsonObject = {"domain": manifest.domain, "tools": dict(sorted(manifest.tools.items()))}
    if manifest.docs:
        value["docs"] = {
            name: {"summary": doc.summary, "args": dict(sorted(doc.args.items()))}
            for name, doc in sorted(manifest.docs.items())
        }
    return value


def manifest_from_json(value: JsonValue, path: str = "") -> Manifest:
    """Make a manifest of what a file holds.

    Args:
        value: the file's JSON.
        path: of the file, for the error.

    Raises:
        ManifestError: a field is not what it should be.
    """

    def at(found: JsonValue, where: str) -> JsonObject:
        if isinstance(found, dict):
            return found
        raise ManifestError(path, where, "expected an object")

    def text(found: JsonValue, where: str) -> str:
        if isinstance(found, str):
            return found
        raise ManifestError(path, where, "expected a text")

    def kind(found: JsonValue, where: str) -> Kind:
        if found in get_args(Kind):
            return cast("Kind", found)
        raise ManifestError(path, where, "expected one of read, write, generic")

    def doc(found: JsonValue, where: str) -> ToolDoc:
        fields = at(found, where)
        args = at(_given(fields.get("args"), {}), f"{where}.args")
        return ToolDoc(
            text(_given(fields.get("summary"), ""), f"{where}.summary"),
            {name: text(said, f"{where}.args{_key(name)}") for name, said in args.items()},
        )

    fields = at(value, "$")
    return Manifest(
        text(fields.get("domain"), "$.domain"),
        {name: kind(found, f"$.tools{_key(name)}") for name, found in at(fields.get("tools"), "$.tools").items()},
        {
            name: doc(found, f"$.docs{_key(name)}")
            for name, found in at(_given(fields.get("docs"), {}), "$.docs").items()
        },
    )


def _given(value: JsonValue, default: JsonValue) -> JsonValue:
    return default if value is None else value


def _key(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"[{jsonvalue.dumps(name[:80]).decode()}]"
