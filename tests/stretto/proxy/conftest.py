"""MCP servers for Node that nobody here wrote, and a place where proxies meet."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_PEERS = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")

#: Seconds for the installation of those.
INSTALL_TIMEOUT = 180


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the proxies of a test meet, by a path that is short enough for sockets; they leave nothing there."""
    with tempfile.TemporaryDirectory(prefix="st-", ignore_cleanup_errors=True) as place:
        monkeypatch.setenv("STRETTO_HOME", place)
        yield Path(place) / "run"


@pytest.fixture(scope="session")
def node_peers(request: pytest.FixtureRequest) -> Path:
    """A directory in which Node's servers are installed."""
    if shutil.which("npx") is None or shutil.which("node") is None:
        pytest.skip("needs node and npx")
    assert request.config.cache is not None
    place = request.config.cache.mkdir("mcp-peers")
    installed = place / "installed"
    with FileLock(place / "installing", timeout=2 * INSTALL_TIMEOUT):
        if not installed.exists() or installed.read_text(encoding="utf-8").split() != [*NODE_PEERS]:
            _install(place)
            installed.write_text("\n".join(NODE_PEERS), encoding="utf-8")
    return place


def _install(place: Path) -> None:
    command = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000"]
    try:
        subprocess.run([*command, *NODE_PEERS], capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
        said = failed.stderr or f"no end within {INSTALL_TIMEOUT} s"
        pytest.skip(f"npm cannot install {' '.join(NODE_PEERS)}: {str(said).strip()[:300]}")
