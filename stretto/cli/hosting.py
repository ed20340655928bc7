"""The command that puts the proxy in the place of a server: ``init``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto._defaults import EXIT_OK
from stretto.cli import options
from stretto.cli.writing import write
from stretto.errors import UsageError
from stretto.flow.file import read_flow
from stretto.hosts import HOSTS, PROXY, Wrapped, next_steps
from stretto.jsonedit import with_member
from stretto.place import user_home
from waggle import _render, files, jsonvalue
from waggle.errors import StoreUnavailable

if TYPE_CHECKING:
    from stretto.hosts import Host
    from waggle.jsonvalue import JsonObject, JsonValue

__all__ = ["init", "places_of"]

_FILE: Final = click.Path(path_type=Path)
_FILE_BYTES: Final = 64 << 20  #: largest configuration that is read; Claude Code's own grows with every project
_BOM: Final = "\ufeff"
_BACKUPS: Final = 1000  #: that are kept beside one file


def places_of(host: Host) -> tuple[Path, ...]:
    """Where a host's configuration is for this user in this directory; the first is the one that is written.

    Raises:
        StoreUnavailable: the user has no home directory.
    """
    try:
        home = Path.home()
    except RuntimeError:
        problem = "no home directory is known for this user"
        raise StoreUnavailable(None, problem, "set HOME") from None
    return host.places(home, Path.cwd(), sys.platform, os.environ)


@click.command("init")
@click.option(
    "--host",
    "host_name",
    type=click.Choice([*HOSTS]),
    required=True,
    metavar=f"[{'|'.join(HOSTS)}]",
    help="The program that starts the server.",
)
@click.option("--domain", required=True, metavar="NAME", help="What the server is called, and its field of work.")
@click.option("--flow", "flow_path", type=_FILE, metavar="FLOW", help="Serve this flow. Default: record only.")
@click.option("--shadow", is_flag=True, help="The flow only watches: it decides and logs, and looks nothing up.")
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
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def init(
    *,
    host_name: str,
    domain: str,
    flow_path: Path | None,
    shadow: bool,
    record: Path | None,
    writes: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Put the proxy in the place of a server.

    Prints what the host has to be told: a line for the shell with claude-code, else its configuration in JSON. COMMAND
    is what starts the server now. --write sets this one server in the host's file and leaves all else in it as it is:
    .mcp.json here (claude-code), claude_desktop_config.json, ~/.cursor/mcp.json, or .vscode/mcp.json here.
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
        shadow,
    )
    path, backup, entry = None, None, host.entry(wrapped.words)
    if writes:
        path, entry = _written_place(host), host.entry(wrapped.words)
        text = _text(path)
        known = _known(text, path, host, domain)
        if known is not None:
            entry = host.entry(wrapped.words, known)
            if known != entry and not force:
                raise UsageError(f"{path}: has a server {domain}; --force replaces it")
        if known != entry:
            backup = _write(path, text, _edited(text, path, host, domain, entry), dry_run=dry_run)
    steps = next_steps(host, wrapped, home.flows, written=None if dry_run else path)
    configuration = host.configuration(domain, entry)
    if as_json:
        facts: JsonObject = {
            "host": host.name,
            "domain": domain,
            "command": [*wrapped.words],
            "configuration": configuration,
            "line": wrapped.claude_line if host.name == "claude-code" else None,
            "dry_run": dry_run,
            "path": None if path is None else str(path),
            "backup": None if backup is None else str(backup),
            "next": [*steps],
        }
        _render.document(facts)
    else:
        said = wrapped.claude_line if host.name == "claude-code" else jsonvalue.pretty(configuration)
        _render.out(said.removesuffix("\n"))
        if shutil.which(PROXY) is None:
            _render.note(f"{PROXY} is not on the PATH; {host.title} may need its whole path, beside that of stretto")
        for number, step in enumerate(steps, 1):
            _render.note(f"{number}. {step}")
    return EXIT_OK


# --- the host's file ------------------------------------------------------------------------------------------


def _written_place(host: Host) -> Path:
    places = places_of(host)
    if not places:
        raise UsageError(f"--write needs a host with a file of its own, which {host.name} is not")
    return places[0].resolve()  # a link to where it is kept stays a link


def _text(path: Path) -> str | None:
    """What is in the file; None when there is none, or nothing in it."""
    try:
        return files.read_bytes(path, limit=_FILE_BYTES).decode() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise _unfit(path, error) from None


def _known(text: str | None, path: Path, host: Host, domain: str) -> JsonValue:
    """The entry that is there; None when there is none."""
    try:
        content = jsonvalue.loads((text or "{}").removeprefix(_BOM))
    except ValueError as error:
        raise _unfit(path, error) from None
    table = content.get(host.table) if isinstance(content, dict) else None
    return table.get(domain) if isinstance(table, dict) else None


def _edited(text: str | None, path: Path, host: Host, domain: str, entry: JsonObject) -> str:
    if text is None:
        return jsonvalue.pretty(host.configuration(domain, entry))
    bare = text.removeprefix(_BOM)
    try:
        return text[: len(text) - len(bare)] + with_member(bare, (host.table, domain), entry)
    except ValueError as error:
        raise _unfit(path, error) from None


def _unfit(path: Path, error: ValueError) -> UsageError:
    return UsageError(
        f"{path}: is no JSON that can be added to ({error}); add what init prints without --write by hand"
    )


def _write(path: Path, old: str | None, new: str, *, dry_run: bool) -> Path | None:
    """Write the file, and keep the former one beside it; where that is kept, or None without one."""
    backup = None if old is None or dry_run else _backup(path)
    write(path, new.encode(), dry_run=dry_run)
    return backup


def _backup(path: Path) -> Path:
    """Keep a file under another name, with its bytes and permissions as they are; no earlier backup is replaced."""
    for number in range(1, _BACKUPS + 1):
        backup = path.with_name(f"{path.name}.bak{'' if number == 1 else number}")
        try:
            backup.hardlink_to(path)  # the file that is replaced afterwards lives on under this name
        except FileExistsError:
            continue
        except OSError as error:
            problem = f"no backup of it can be made ({error.strerror or error})"
            raise StoreUnavailable(path, problem, "add what init prints without --write by hand") from error
        return backup
    raise StoreUnavailable(path, f"has {_BACKUPS} backups", "delete those you do not need")
