"""The command that puts the proxy in the place of a server: ``init``."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto._defaults import EXIT_OK
from stretto.cli import options
from stretto.cli.hostfile import HostFile
from stretto.errors import UsageError
from stretto.flow.file import read_flow
from stretto.hosts import HOSTS, PROXY
from stretto.place import user_home
from stretto.wrapping import Listening, Upstream, Wrapped, next_steps
from waggle import _render, jsonvalue

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonObject

__all__ = ["init"]

_FILE: Final = click.Path(path_type=Path)
_FOR_HTTP: Final = ("httpx2", "starlette", "uvicorn")  #: what the extra ``http`` brings


@click.command("init")
@click.option(
    "--host",
    "host_name",
    type=click.Choice([*HOSTS]),
    required=True,
    metavar=f"[{'|'.join(HOSTS)}]",
    help="The program that starts the server, or calls it.",
)
@click.option("--domain", required=True, metavar="NAME", help="What the server is called, and its field of work.")
@click.option("--upstream", metavar="URL", help="The server is called here, over Streamable HTTP; instead of COMMAND.")
@click.option(
    "--upstream-header",
    "headers",
    multiple=True,
    metavar="NAME=VAR",
    help="Header that the server is sent; the environment variable VAR holds its value. May be given again.",
)
@click.option(
    "--listen",
    "address",
    metavar="ADDR",
    help="The proxy is called here, HOST:PORT or PORT, over Streamable HTTP: you start it, and not the host.",
)
@click.option(
    "--listen-token-file",
    "token_file",
    type=_FILE,
    metavar="FILE",
    help="Who calls has to send the token in this file. Needed where other machines reach the address.",
)
@click.option("--flow", "flow_path", type=_FILE, metavar="FLOW", help="Serve this flow. Default: record only.")
@click.option("--shadow", is_flag=True, help="The flow only watches: it decides and logs, and looks nothing up.")
@click.option("--waggle", is_flag=True, help="Let the routes of the project that the proxy is started in act, too.")
@click.option(
    "--waggle-project", type=_FILE, metavar="DIR", help="Whose routes, where the host starts the proxy elsewhere."
)
@click.option(
    "--record",
    type=_FILE,
    metavar="DIR",
    help="Where sessions are recorded. Default: logs/NAME in the user's directory, shadow/NAME with --shadow.",
)
@click.option("--write", "writes", is_flag=True, help="Write it into the host's own file, which is kept as FILE.bak.")
@click.option("--force", is_flag=True, help="Replace a server of this name that the file has.")
@options.dry_run
@options.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def init(
    *,
    host_name: str,
    domain: str,
    upstream: str | None,
    headers: tuple[str, ...],
    address: str | None,
    token_file: Path | None,
    flow_path: Path | None,
    shadow: bool,
    waggle: bool,
    waggle_project: Path | None,
    record: Path | None,
    writes: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Put the proxy in the place of a server.

    Prints what the host has to be told: a line for the shell with claude-code, else its configuration in JSON. COMMAND
    is what starts the server now; --upstream is where one is called that nobody starts. With --listen you start the
    proxy yourself, with the command that the steps name, and the host calls it. No secret is printed or written:
    entries refer to them in the host's own way. --write sets this one server in the host's file and leaves all else in
    it as it is: .mcp.json here (claude-code), claude_desktop_config.json, ~/.cursor/mcp.json, or .vscode/mcp.json here.
    """
    host = HOSTS[host_name]
    home = user_home()
    flow = None if flow_path is None else read_flow(flow_path)
    wrapped = Wrapped(
        domain,
        command,
        (record or (home.shadow if shadow else home.logs) / domain).absolute(),
        None if flow_path is None else flow_path.absolute(),
        "" if flow is None or flow.arbiter else flow.default_decider,
        shadow=shadow,
        waggle=waggle,
        waggle_project=None if waggle_project is None else waggle_project.absolute(),
        upstream=_upstream(upstream, headers),
        listen=_listening(address, token_file),
    )
    file = HostFile(host, domain) if writes else None
    known = file.known if file else None
    entry = wrapped.entry(host, known)
    inputs = host.inputs(entry, wrapped.secrets)
    backup = None
    if file:
        if known not in (None, entry) and not force:
            raise UsageError(f"{file.path}: has a server {domain}; --force replaces it")
        backup = file.set(entry, inputs, dry_run=dry_run)
    steps = next_steps(host, wrapped, home.flows, written=file.path if file and not dry_run else None, known=known)
    configuration = host.configuration(domain, entry, inputs)
    line = wrapped.claude_line(host) if host.name == "claude-code" else None
    if as_json:
        facts: JsonObject = {
            "host": host.name,
            "domain": domain,
            "command": [*wrapped.words],
            "url": wrapped.listen.url if wrapped.listen else None,
            "configuration": configuration,
            "line": line,
            "dry_run": dry_run,
            "path": None if file is None else str(file.path),
            "backup": None if backup is None else str(backup),
            "next": [*steps],
        }
        _render.document(facts)
    else:
        _render.out((line or jsonvalue.pretty(configuration)).removesuffix("\n"))
        if shutil.which(PROXY) is None:
            _render.note(f"{PROXY} is not on the PATH; {host.title} may need its whole path, beside that of stretto")
        if (wrapped.upstream or wrapped.listen) and not all(map(find_spec, _FOR_HTTP)):
            _render.note(f"{PROXY} needs more than is installed for HTTP: pip install 'waggle-stretto[http]'")
        for number, step in enumerate(steps, 1):
            _render.note(f"{number}. {step}")
    return EXIT_OK


def _upstream(url: str | None, headers: tuple[str, ...]) -> Upstream | None:
    if url is None and headers:
        raise UsageError("--upstream-header is sent to a server that is called; give its URL with --upstream")
    return None if url is None else Upstream(url, headers)


def _listening(address: str | None, token_file: Path | None) -> Listening | None:
    if address is None and token_file:
        raise UsageError("--listen-token-file is for those who call the proxy; give its address with --listen")
    return None if address is None else Listening(address, token_file.absolute() if token_file else None)
