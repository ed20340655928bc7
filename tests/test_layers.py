"""Which module may import which, how large one may grow, and what importing the package costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import waggle
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: From the edges inward: a module imports only what stands in a later row, or in its own.
LAYERS = [
    {"cli", "_render"},
    {"evaluate", "playback", "receipts"},
    {"manager"},
    {"session", "curation"},
    {"incremental", "speculation", "replayer", "store", "known", "background", "settings", "settling", "effect"},
    {"script", "singlefile", "skillfile", "ledger", "replay", "recorder", "config", "reach"},
    {"routes", "frontmatter", "markdown"},
    {"miner", "tools", "locate", "redact", "shell", "traces", "extents", "values"},
    {"files", "calls", "named", "transforms"},
    {"jsonvalue"},
    {"errors", "_defaults", "_fork", "_lazy"},
]
RANK = {module: rank for rank, row in enumerate(LAYERS) for module in row}

#: Loaded only where they are used: each costs more than the rest of the package together.
HEAVY = ["click", "rich", "pydantic", "ruamel", "filelock", "platformdirs", "asyncio", "mcp", "typer"]


def modules() -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "waggle").rglob("*.py")):
        found.setdefault(path.relative_to(ROOT / "waggle").parts[0].removesuffix(".py"), []).append(path)
    return {name: paths for name, paths in found.items() if name not in ("__init__", "__main__")}


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".")
            assert not node.level, f"{path}: imports are written in full"
            assert parts[0] != "stretto", f"{path}: imports point from stretto to waggle"
            if parts[0] == "waggle":
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.split(".")[1] for alias in node.names if (name := alias.name).startswith("waggle.")}
    return found - {"__version__"}


@pytest.mark.parametrize("module", modules())
def test_imports_point_inward(module: str) -> None:
    for path in modules()[module]:
        wrong = {other for other in imported(path) - {module} if RANK[other] < RANK[module]}
        assert not wrong, f"{path.name} imports {sorted(wrong)}"


@pytest.mark.parametrize("module", modules())
def test_no_module_passes_500_lines(module: str) -> None:
    for path in modules()[module]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, path.name


def test_importing_the_package_and_a_manager_loads_nothing_heavy() -> None:
    """Felt at every tool call of an agent: the names that are loaded, not the time they take."""
    code = (
        "import sys, waggle; light = set(sys.modules); from waggle import Manager, Call, Result; "
        "Manager().observe(Call('Read', {}), Result()); "
        f"print([m for m in {HEAVY!r} if m in light], [m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[] []"


def test_the_public_names_are_these_and_every_one_can_be_imported() -> None:
    """Growth is a decision: change this list on purpose."""
    assert len(waggle.__all__) == 41
    assert {name for names in waggle._HOMES.values() for name in names} == set(waggle.__all__)
    for name in waggle.__all__:
        assert getattr(waggle, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = waggle.nothing


def test_stretto_imports() -> None:
    import stretto

    assert stretto.__doc__
