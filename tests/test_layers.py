"""Which module may import which, how large one may grow, and what importing a package costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import stretto
import waggle
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: From the edges inward: a module, or a room of several, imports only what stands in a later row, or in its own.
LAYERS = {
    "waggle": [
        {"cli", "_render", "integrations"},
        {"hook"},
        {"evaluate", "playback", "receipts"},
        {"manager"},
        {"session", "curation", "accounts", "telemetry", "exports"},
        {"incremental", "speculation", "replayer", "store", "known", "background", "settings", "settling", "effect"},
        {
            "script",
            "singlefile",
            "skillfile",
            "skilltext",
            "ledger",
            "compaction",
            "replay",
            "recorder",
            "config",
            "reach",
        },
        {"routes", "frontmatter", "markdown"},
        {"miner", "tools", "locate", "redact", "shell", "traces", "extents", "values"},
        {"files", "_reading", "calls", "named", "transforms", "jsonedit"},
        {"jsonvalue"},
        {"errors", "_defaults", "_fork", "_lazy", "admission"},
    ],
    "stretto": [
        {"cli"},
        {"arbiter_training", "proxy"},
        {"review"},
        {"replayer", "counting"},
        {"speculator"},
        {"deciders", "flowlog"},
        {"live", "learning", "parallel", "diagnosis"},
        {"compiler"},
        {"flow"},
        {"bindings", "permits"},
        {"procedure"},
        {"model"},
        {"sessions", "block"},
        {"wrapping", "configured"},
        {"hosts"},
        {"addresses"},
        {"forms"},
        {"contents"},
        {"errors", "_defaults", "place"},
    ],
}
RANK = {
    (package, module): rank for package, layers in LAYERS.items() for rank, row in enumerate(layers) for module in row
}

#: Loaded only where they are used: each costs more than the rest of a package together.
HEAVY = ["click", "rich", "pydantic", "ruamel", "filelock", "platformdirs", "asyncio", "matplotlib", "mcp", "typer"]


def modules() -> dict[tuple[str, str], list[Path]]:
    """The files of each module and room, by package and name."""
    found: dict[tuple[str, str], list[Path]] = {}
    for package in LAYERS:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
            if name not in ("__init__", "__main__"):
                found.setdefault((package, name), []).append(path)
    return found


def imported(path: Path) -> set[tuple[str, str]]:
    """Modules of the two packages that a file imports, at any depth."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            package, *inner = (node.module or "").split(".")
            assert not node.level, f"{path}: imports are written in full"
            if package in LAYERS:
                found |= {(package, inner[0])} if inner else {(package, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found |= {(name[0], name[1]) for name in names if name[0] in LAYERS and len(name) > 1}
    return {each for each in found if each[1] != "__version__"}


each_module = pytest.mark.parametrize("module", modules(), ids=".".join)


@each_module
def test_imports_point_inward(module: tuple[str, str]) -> None:
    package, _ = module
    for path in modules()[module]:
        others = imported(path) - {module}
        wrong = {other for other in others if other[0] == package and RANK[other] < RANK[module]}
        assert not wrong, f"{path} imports {sorted(wrong)}"


@each_module
def test_stretto_imports_waggle_and_never_the_other_way(module: tuple[str, str]) -> None:
    package, _ = module
    for path in modules()[module]:
        assert package == "stretto" or not {name for name, _ in imported(path)} - {package}, path


@each_module
def test_no_module_passes_500_lines(module: tuple[str, str]) -> None:
    for path in modules()[module]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500, path.name


@pytest.mark.parametrize(
    "code",
    [
        "import waggle",
        "from waggle import Manager, Call, Result; Manager().observe(Call('Read', {}), Result())",
        "import stretto",
        "from stretto import flow_strategy, hint_tools, learn, merge, open_corpus, replay_all, show, diff, audit",
    ],
)
def test_importing_a_package_and_using_it_loads_nothing_heavy(code: str) -> None:
    """Felt at every tool call of an agent: the names that are loaded, not the time they take."""
    code += f"; import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("package", "count"), [(waggle, 41), (stretto, 30)], ids=["waggle", "stretto"])
def test_the_public_names_are_these_and_every_one_can_be_imported(package: ModuleType, count: int) -> None:
    """Growth is a decision: change this list on purpose."""
    assert len(package.__all__) == count
    assert {name for names in package._HOMES.values() for name in names} == set(package.__all__)
    for name in package.__all__:
        assert not isinstance(getattr(package, name), ModuleType), name
    with pytest.raises(AttributeError, match="no attribute"):
        _ = package.nothing


def test_both_packages_are_of_one_version() -> None:
    assert stretto.__version__ == waggle.__version__
