"""What the sessions of a proxy share of a project's memory: its manager, and how a server's tools are named there.

In the routes of a project a tool is named as its server does, or ``server::tool`` where the user has named the server:
a project may be worked on through several servers, and by agents whose own tools have other names. A tool is a read
only if its server says so; what a name alone suggests is at most taken away from it.

Not responsible for a session (`stretto.proxy.serving.remembering`) nor for where things are (`waggle.locate`).
"""

from __future__ import annotations

import logging
import math
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.errors import UsageError
from waggle import locate
from waggle.errors import StoreUnavailable
from waggle.manager import Manager
from waggle.tools import KNOWN_TOOLS, ToolTable

if TYPE_CHECKING:
    from stretto.sessions.manifest import Manifest
    from stretto.speculator import Prepared

__all__ = ["Memory", "open_memory"]

_log = logging.getLogger("waggle")


class Memory:
    """The memory of one project, for the sessions with one server.

    Args:
        manager: of the project. Its tool table is told what the server lists.
        server: its name, where the user has given one; before the name of each tool in the routes.
        directory: where relative paths in calls count from, as the server sees it; None for the project's directory.

    Attributes:
        manager: as given.
        directory: as given.
        server: as given.
    """

    def __init__(self, manager: Manager, server: str = "", directory: str | None = None) -> None:
        self.manager = manager
        self.server = server
        self.directory = directory
        self._prefix = f"{server}::" if server else ""
        self._told: frozenset[str] = frozenset()

    def inner(self, tool: str) -> str:
        """A tool of the server as the routes name it."""
        return f"{self._prefix}{tool}"

    def outer(self, tool: str) -> str:
        """A tool of the routes as the server names it."""
        return tool.removeprefix(self._prefix)

    def curate(self, flow: Prepared) -> None:
        """Switch off what curation has switched off of a flow since it was learned; said once. Before it is served."""
        begins = f"{flow.name}: "
        for source, at in self.manager.switched_off().items():
            site = source.removeprefix(begins)
            if site != source and at.timestamp() * 1000 >= flow.flow.provenance.compiled_unix_ms:
                flow.flow.thresholds[site] = math.inf
                flow.faults.note(f"flow {flow.name}: nothing is looked up after {site}: curation has switched it off")

    def listed(self, manifest: Manifest) -> None:
        """Take in what the server says of its tools: what it does not call a read, or does not list, is none."""
        for name in self._told - manifest.tools.keys():
            self.manager.tools.hint(self.inner(name), read_only=False)
        for name, kind in manifest.tools.items():
            self.manager.tools.hint(self.inner(name), read_only=kind == "read")
        self._told = frozenset(manifest.tools)


def tool_table(server: str = "") -> ToolTable:
    """What is known of a server's tools before it has listed any: nothing reads yet."""
    prefix = f"{server}::" if server else ""
    return ToolTable((replace(spec, name=f"{prefix}{spec.name}") for spec in KNOWN_TOOLS), hinted_only=True)


def open_memory(directory: Path | None = None, server: str = "") -> Memory | None:
    """Open the memory of a project.

    Args:
        directory: in the project; left out, the one that this process was started in, if that is a project.
        server: see `Memory`.

    Returns:
        The memory; None where no directory was given and there is no project here, which is said once.

    Raises:
        StoreUnavailable: the directory does not exist.
        UsageError: several settings are wrong.
        SettingsError: one is.
    """
    place = directory or _here()
    if place is None:
        return None
    tools = tool_table(server)
    try:
        root = locate.find_project(place).root
        if locate.is_configured(root):
            from waggle.settings import load_settings  # noqa: PLC0415 - pydantic, where nothing is set, is not needed

            load_settings(root).settings.teach(tools)
        manager = Manager.for_project(place, tools=tools)
    except ExceptionGroup as errors:
        raise UsageError("; ".join(map(str, errors.exceptions))) from None
    return Memory(manager, server, _working_directory())


def _here() -> Path | None:
    """The directory we were started in, if it lies in a project. Hosts start servers in ``/`` or in the user's home."""
    here = _working_directory()
    with suppress(StoreUnavailable):
        root = locate.find_project(here or "").root
        if here and locate.is_marked(root) and root not in (Path(root.anchor), _home()):
            return Path(here)
    _log.warning(
        "--waggle is left out: %s is in no project, so there is no place for its routes; name one with "
        "--waggle-project DIR, or start the server in a directory with .git or .waggle",
        here or "the working directory",
    )
    return None


def _home() -> Path | None:
    with suppress(RuntimeError, OSError):
        return Path.home().resolve()
    return None


def _working_directory() -> str | None:
    with suppress(OSError):
        return os.getcwd()  # noqa: PTH109 - as it is spelled
    return None
