"""What ``stretto doctor`` looks at in servers: how hosts start them, their tools, and what a flow expects of those.

Nothing is started that was not asked for: a project's file may come from anybody. Not responsible for what else a user
may have to put right (`stretto.cli.diagnosing`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto._defaults import SERVER_SECONDS
from stretto.cli.hosting import places_of
from stretto.cli.jsonfile import read_json
from stretto.diagnosis import compared, kinds, tool_line
from stretto.errors import FlowError, UsageError
from stretto.flow.file import read_flow
from stretto.hosts import HOSTS, configured
from stretto.proxy.client import ServerFault, list_tools
from stretto.sessions.qualified import name_of_server, server_of
from waggle.cli.diagnosing import Check
from waggle.errors import WaggleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stretto.flow.model import Flow
    from stretto.hosts import Configured, Host

__all__ = ["configured_servers", "look_at"]

_LEARN: Final = "learn the flow anew from sessions with the server as it is"


def configured_servers(*, start: bool, flow: Flow | None) -> Iterator[Check]:
    """Look at the servers of the known hosts.

    Args:
        start: start them and list their tools.
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
                found = configured(read_json(path), Path.cwd()) if path.is_file() else ()
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
    yield Check(
        name, "ok", f"{host.title} starts it {how}, {path}" if server.command else f"{host.title} has it, {path}"
    )
    if server.problem:
        yield Check(name, "note", server.problem)
        return
    if server.flow and flow is None:
        try:
            flow = read_flow(Path(server.flow).expanduser())
        except (FlowError, RuntimeError) as error:
            yield Check(name, "problem", f"its flow cannot be served: {error}", "learn it anew, or take it out there")
    if start:
        yield from look_at(name, server.command, env=server.env, cwd=server.cwd, flow=flow, server=server.name)


def look_at(
    name: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str = "",
    flow: Flow | None = None,
    server: str = "",
) -> Iterator[Check]:
    """Start a server, and look at its tools; never raises for what is wrong with it.

    Args:
        name: of the checks.
        command: that starts it.
        env: variables beside those of this process.
        cwd: directory it is started in; empty for this process's.
        flow: that expects something of its tools; None for none.
        server: its name, for a flow that knows several.
    """
    try:
        listed = list_tools(command, patience_s=SERVER_SECONDS, env=env, cwd=cwd or None)
    except ServerFault as error:
        yield Check(name, "problem", str(error), "start it by hand to see why")
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
