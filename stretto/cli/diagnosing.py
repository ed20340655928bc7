"""What ``stretto doctor`` looks at: one check a line, each with what to do when it is not well."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import stretto
from stretto.cli.server_checks import configured_servers, look_at
from stretto.errors import FlowError, SessionLogError
from stretto.flow.file import flow_version, read_flow
from stretto.place import user_home
from stretto.sessions.log import read_log
from waggle.cli.checks import Check
from waggle.cli.diagnosing import dependencies
from waggle.cli.place import counted
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stretto.flow.model import Flow

__all__ = ["diagnose"]

#: The programs that are installed together.
_PROGRAMS: Final = ("stretto", "stretto-proxy", "waggle")
_PATIENCE_S: Final = 20.0  #: seconds a program may take to say its version
_FLOWS: Final = "*.flow.json"
_OTHER_LOGS: Final = (".flow.jsonl", ".confirm.jsonl")


def diagnose(*, command: Sequence[str] = (), start: bool = False, flow: Flow | None = None) -> Iterator[Check]:
    """Look at everything a user may have to put right, one thing after another; never raises for what is wrong.

    Args:
        command: of a server that is started and looked at; none for those of the known hosts.
        start: start these, too; else only what their hosts' files say is looked at.
        flow: that the server is compared with, of several the one that is called as the flow's domain.
    """
    yield Check("python", "ok", f"{platform.python_version()} on {platform.system()}")
    yield from dependencies()
    yield from map(_program, _PROGRAMS)
    yield from _data()
    if command:
        yield from look_at("server", command, flow=flow)
    else:
        yield from configured_servers(start=start, flow=flow)


def _data() -> Iterator[Check]:
    try:
        home = user_home()
    except WaggleError as error:
        yield Check("data directory", "problem", str(error), "set STRETTO_HOME to a directory that can be written")
        return
    yield _directory(home.root)
    flows = sorted(home.flows.glob(_FLOWS)) if home.flows.is_dir() else []
    yield from map(_flow, flows)
    if not flows:
        yield Check("flows", "ok", f"there is none yet in {home.flows}")
    recorded = [each for place in (home.logs, home.shadow) if place.is_dir() for each in sorted(place.iterdir())]
    servers = [each for each in recorded if each.is_dir()]
    yield from map(_logs, servers)
    if not servers:
        yield Check("logs", "ok", f"there are none yet in {home.logs}")


def _program(name: str) -> Check:
    """A program on the PATH; it may be that of another installation."""
    path = shutil.which(name)
    if path is None:
        return Check(name, "note", "is not on the PATH", "activate the environment it is installed in")
    try:
        done = subprocess.run(  # noqa: S603 - our own program, found where the user's shell finds it
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Check(name, "problem", f"{path} does not run: {error}", "install it anew")
    said = done.stdout.decode("utf-8", "replace").strip()
    if said != f"{name} {stretto.__version__}":
        other = f"{path} is {said or 'silent'}, not {name} {stretto.__version__}"
        return Check(name, "problem", other, "put this installation first on the PATH")
    return Check(name, "ok", f"{said}, {path}")


def _directory(root: Path) -> Check:
    name = "data directory"
    place = next(path for path in (root, *root.parents) if os.path.lexists(path))
    if not place.is_dir():
        return Check(name, "problem", f"{place} is not a directory", "move it away")
    if not os.access(place, os.W_OK | os.X_OK):
        return Check(name, "problem", f"{place} cannot be written", "make it writable, or set STRETTO_HOME")
    return Check(name, "ok", f"{root}, can be written")


def _flow(path: Path) -> Check:
    name = f"flow {path.name.removesuffix(_FLOWS[1:])}"
    try:
        flow = read_flow(path)
    except FlowError as error:
        return Check(name, "problem", str(error), "learn it anew, or move it away")
    learned = counted(flow.provenance.habit_episodes, "session")
    return Check(name, "ok", f"{path}, version {flow_version(flow)}, learned from {learned}")


def _logs(directory: Path) -> Check:
    """The logs of one server; of the latest, whether it can be read."""
    name = f"{directory.parent.name} {directory.name}"
    try:
        logs = sorted(path for path in directory.glob("*.jsonl") if not path.name.endswith(_OTHER_LOGS))
        if logs:
            read_log(logs[-1])
    except (OSError, SessionLogError) as error:
        return Check(name, "problem", str(error), "repair it, or move it away")
    return Check(name, "ok", f"{directory}, {counted(len(logs), 'session')}")
