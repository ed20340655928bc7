"""What the tools of τ-bench and τ²-bench do: read, write, or neither.

A domain's ``tools.py`` is parsed, never imported and never run. Not responsible for results (`stretto.sessions.tau`).
"""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto._defaults import TOOLS_BYTES
from stretto.errors import ManifestError
from stretto.sessions.manifest import Manifest
from waggle import files
from waggle.errors import StoreError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from stretto.sessions.manifest import Kind

__all__ = ["kind_by_name", "named_manifest", "tau_manifest"]

#: Where the domains are, seen from a checkout of τ²-bench, from its ``src``, or from the installed package.
_DOMAINS: Final = ("src/tau2/domains", "tau2/domains", "domains")


def tau_manifest(tau2_dir: str | os.PathLike[str], domain: str, *, solo: bool = False) -> Manifest:
    """Read the kinds of a domain's tools from the decorators in its ``tools.py``.

    ``@is_tool(ToolType.READ)`` is a read unless it also says ``mutates_state=True``, ``ToolType.WRITE`` a write, any
    other type generic; a decorator without a type means a read, as it does there.

    Args:
        tau2_dir: a checkout of τ²-bench, its ``src``, or the installed package's directory.
        domain: as the results name it.
        solo: add the customer's tools, which are the agent's in solo runs.

    Raises:
        ManifestError: there is no such domain, or its file cannot be parsed.
    """
    root = Path(tau2_dir)
    folder = _domain_folder(root, domain)
    tools = _decorated(folder / "tools.py")
    if solo and (folder / "user_tools.py").is_file():
        tools = {**_decorated(folder / "user_tools.py"), **tools}
    return Manifest(domain, dict(sorted(tools.items())))


def _domain_folder(root: Path, domain: str) -> Path:
    for place in _DOMAINS:
        try:
            folder = files.safe_join(root / place, domain)
        except StoreError:
            continue
        if (folder / "tools.py").is_file():
            return folder
    raise ManifestError(
        str(root), "$", f"there is no domain {domain!r} (looked for src/tau2/domains/<domain>/tools.py)"
    )


def _decorated(path: Path) -> dict[str, Kind]:
    try:
        source = files.read_bytes(path, limit=TOOLS_BYTES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the foreign file: an escape that Python may refuse one day
            tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise ManifestError(str(path), "$", f"cannot be parsed as Python: {error}") from error
    found: dict[str, Kind] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                kind = _kind_of(decorator)
                if kind is not None:
                    found[node.name] = kind
    return found


def _kind_of(decorator: ast.expr) -> Kind | None:
    """The kind a decorator states; None for one that makes no tool."""
    call = decorator if isinstance(decorator, ast.Call) else None
    name = _last_name(call.func if call else decorator)
    if name not in ("is_tool", "is_discoverable_tool"):
        return None
    stated = {word.arg: word.value for word in call.keywords} if call else {}
    types = [*(call.args if call else []), *([stated["tool_type"]] if "tool_type" in stated else [])]
    mutates = stated.get("mutates_state")
    match _last_name(types[0]) if types else "READ":
        case "READ":
            return "write" if isinstance(mutates, ast.Constant) and mutates.value is True else "read"
        case "WRITE":
            return "write"
        case _:
            return "generic"


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def kind_by_name(tool: str) -> Kind:
    """A τ-bench tool's kind as its name tells it, which is how τ²-bench annotates its airline domain.

    ``get_``, ``search_``, ``list_`` and ``find_`` read; ``calculate``, ``think`` and ``transfer_to_human_agents`` are
    generic; everything else writes.
    """
    if tool.startswith(("get_", "search_", "list_", "find_")):
        return "read"
    return "generic" if tool in ("calculate", "think", "transfer_to_human_agents") else "write"


def named_manifest(tools: Iterable[str], domain: str = "") -> Manifest:
    """A manifest of these tools by `kind_by_name`, for results without a checkout of the benchmark beside them."""
    return Manifest(domain, {tool: kind_by_name(tool) for tool in sorted(set(tools))})
