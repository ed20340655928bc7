"""Proxies by others, each installed in an environment of its own: what they need does not go together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FastMcp", "McpProxy"]


def _environment(directory: Path, package: str) -> Path | None:
    """The programs of a new environment with this package; None where it cannot be had, which is said."""
    place = directory / package
    programs = place / ("Scripts" if sys.platform == "win32" else "bin")
    try:
        subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True)
        install = [str(programs / "python"), "-m", "pip", "install", "--quiet", package]
        subprocess.run(install, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        print(f"{package} cannot be had, and is not measured: {error.stderr.decode()[-200:]}", file=sys.stderr)
        return None
    return programs


class FastMcp:
    """FastMCP's proxy.

    Args:
        directory: where it is installed.
    """

    name = "FastMCP's proxy"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._programs = _environment(directory, "fastmcp")

    def __bool__(self) -> bool:
        return self._programs is not None

    def before_command(self, command: Sequence[str], *, port: int | None = None) -> list[str]:
        """The command that puts it before a server over stdio; itself over stdio, or over HTTP on a port."""
        env = {"PYTHONPATH": str(Path.cwd())}
        return self._before({"command": command[0], "args": [*command[1:]], "env": env}, port)

    def before_url(self, url: str) -> list[str]:
        """The command that puts it, over stdio, before a server over HTTP."""
        return self._before({"url": url}, None)

    def _before(self, server: dict[str, object], port: int | None) -> list[str]:
        run = "" if port is None else f", transport='http', port={port}, log_level='warning'"
        text = (
            "from fastmcp.server import create_proxy\n"
            f"create_proxy({ {'mcpServers': {'default': server}}!r}).run(show_banner=False{run})\n"
        )
        script = self._directory / f"front-{len(list(self._directory.glob('front-*')))}.py"
        script.write_text(text, encoding="utf-8")
        return [str(self._programs / "python") if self._programs else "", str(script)]


class McpProxy:
    """The package mcp-proxy, which bridges: one of its sides is stdio, the other HTTP.

    Args:
        directory: where it is installed.
    """

    name = "mcp-proxy"

    def __init__(self, directory: Path) -> None:
        self._programs = _environment(directory, "mcp-proxy")

    def __bool__(self) -> bool:
        return self._programs is not None

    def before_command(self, command: Sequence[str], *, port: int) -> list[str]:
        """The command that puts it, over HTTP on a port, before a server over stdio."""
        options = ["--port", str(port), "--pass-environment", "--log-level", "WARNING"]
        return [*self._program, *options, "--", *command]

    def before_url(self, url: str) -> list[str]:
        """The command that puts it, over stdio, before a server over HTTP."""
        return [*self._program, "--transport", "streamablehttp", "--log-level", "WARNING", url]

    @property
    def _program(self) -> list[str]:
        return [str(self._programs / "mcp-proxy")] if self._programs else []
