"""What ``stretto doctor`` looks at in servers: how hosts reach them, their tools, and what a flow expects of those.

Nothing is started or called that was not asked for: a project's file may come from anybody. Not responsible for what
else a user may have to put right (`stretto.cli.diagnosing`).
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto._defaults import SERVER_SECONDS
from stretto.cli.hostfile import places_of
from stretto.cli.jsonfile import read_json
from stretto.configured import configured
from stretto.diagnosis import compared, kinds, tool_line
from stretto.errors import FlowError, UsageError
from stretto.flow.file import read_flow
from stretto.hosts import HOSTS
from stretto.proxy.client import ServerFault, list_tools
from stretto.sessions.qualified import name_of_server, server_of
from waggle.cli.checks import Check
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.configured import Configured
    from stretto.flow.model import Flow
    from stretto.hosts import Host

__all__ = ["configured_servers", "look_at"]

_BY_HAND: Final = "start it by hand to see why"
_LEARN: Final = "learn the flow anew from sessions with the server as it is"


def configured_servers(*, start: bool, flow: Flow | None) -> Iterator[Check]:
    """Look at the servers of the known hosts.

    Args:
        start: start them, or call them, and list their tools.
        flow: that is compared with the one that is called as its domain, or with those that it knows by their names;
            others with the flow they are served with.
    """
    met = False
    known = {server_of(tool) for tool in flow.manifest.tools} | {flow.manifest.domain} if flow else set()
    seen: set[Path] = set()  # the project may be in the user's home
    for host in HOSTS.values():
        try:
            places = places_of(host)
        except WaggleError as error:
            yield Check("servers", "note", str(error))
            return
        for path in places:
            if path in seen:
                continue
            seen.add(path)
            try:
                found = configured(read_json(path), Path.cwd(), os.environ) if path.is_file() else ()
            except UsageError as error:
                yield Check(f"servers of {host.title}", "note", str(error), "give a server's command after --")
                continue
            for server in found:
                mine = server.name in known or name_of_server(server.name) in known
                met = met or mine
                yield from _server(host, path, server, start=start, flow=flow if mine else None)
    if flow is not None and not met:
        name = flow.manifest.domain
        yield Check("servers", "problem", f"no host has a server {name}", "give its command after --")


def _server(host: Host, path: Path, server: Configured, *, start: bool, flow: Flow | None) -> Iterator[Check]:
    name = f"server {server.name}"
    how = "behind the proxy" if server.wrapped else "without the proxy"
    yield Check(name, "ok", f"{host.title} {f'starts it {how}' if server.started else 'calls it'}, {path}")
    if server.problem:
        yield Check(name, "problem", server.problem, server.remedy)
    if server.token_file:
        yield from _token_file(name, server.token_file, server.cwd)
    if server.unseen:
        yield Check(name, "note", server.unseen)
        return
    if server.flow and flow is None:
        try:
            flow = read_flow(Path(server.flow).expanduser())
        except (FlowError, RuntimeError) as error:
            yield Check(name, "problem", f"its flow cannot be served: {error}", "learn it anew, or take it out there")
    if start:
        remedy = _BY_HAND if server.started else "see that it runs, and what it has to be sent"
        yield from look_at(
            name, server.command, env=server.env, cwd=server.cwd, flow=flow, remedy=remedy, server=server.name
        )


def _token_file(name: str, path: str, cwd: str) -> Iterator[Check]:
    """Whether the proxy can use the file that holds its token."""
    try:
        found = (Path(cwd) / Path(path).expanduser()).stat()
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        yield Check(name, "problem", f"its token file {path} cannot be used: {why}", "write a token into it")
        return
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        yield Check(name, "problem", f"its token file {path} holds no token", "write a token into it")
    elif os.name == "posix" and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Check(name, "problem", f"its token file {path} can be read by others", f"chmod 600 {shlex.quote(path)}")


def look_at(
    name: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "",
    flow: Flow | None = None,
    remedy: str = _BY_HAND,
    server: str = "",
) -> Iterator[Check]:
    """Start a server, and look at its tools; never raises for what is wrong with it.

    Args:
        name: of the checks.
        command: that starts it.
        env: variables beside those of this process.
        cwd: directory it is started in; empty for this process's.
        flow: that expects something of its tools; None for none.
        remedy: what to do when it does not answer.
        server: its name, for a flow that knows several.
    """
    try:
        listed = list_tools(command, patience_s=SERVER_SECONDS, env=env, cwd=cwd or None)
    except ServerFault as error:
        yield Check(name, "problem", str(error), remedy)
        return
    tools = listed.manifest
    said = ", ".join(part for part in (listed.name, f"protocol {listed.protocol}", kinds(tools)) if part)
    if listed.warning:
        yield Check(name, "note", f"{said}; {listed.warning}", "tell those who make the server")
    elif tools.reads or not tools.tools:
        yield Check(name, "ok", said)
    else:
        unmarked = f"{said}; of none it says that it reads, so a flow looks nothing up"
        yield Check(name, "note", unmarked, "say it with learn --manifest, or ask those who make the server to")
    found_out = compared(flow, tools, name_of_server(server)) if flow else ()
    findings = {finding.tool: finding for finding in found_out}
    for tool in sorted(tools.tools.keys() | findings.keys()):
        listing = tool_line(tools, tool) if tool in tools.tools else ""
        finding = findings.get(tool)
        found = "; ".join(part for part in (listing, finding.text if finding else "") if part)
        wrong = finding is not None and finding.problem
        yield Check(f"{name}: {tool}", "problem" if wrong else "ok", found, _LEARN if wrong else "")
    if flow and not any(finding.problem for finding in findings.values()):
        yield Check(f"{name} and its flow", "ok", "every lookup of the flow can be made as it was learned")
