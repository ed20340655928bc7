"""Commands that look after what is there: ``redact``, ``doctor``, ``completions``."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from stretto._defaults import EXIT_OK, EXIT_PROBLEMS, KEEP_SHARED
from stretto.cli import options
from stretto.cli.diagnosing import diagnose
from stretto.cli.writing import check_new_place
from stretto.errors import UsageError
from stretto.flow.file import read_flow
from stretto.review.page import count
from stretto.sessions.redact import redact
from waggle import _render

__all__ = ["completions", "doctor", "redact_logs"]

_DIRECTORY = click.Path(path_type=Path)


@click.command("redact")
@click.option("--sessions", type=_DIRECTORY, required=True, metavar="DIR", help="The directory with the session logs.")
@click.option("--out", type=_DIRECTORY, required=True, metavar="DIR", help="Where the copies go; made when missing.")
@click.option(
    "--keep-shared",
    type=click.IntRange(min=1),
    default=KEEP_SHARED,
    metavar="N",
    help=f"Sessions that must hold a value for it to stay. Default: {KEEP_SHARED}.",
)
@click.option(
    "--hash-field",
    "fields",
    multiple=True,
    metavar="NAMES",
    help="JSON keys, with commas, under which no value stays, however many sessions hold it; may be given again.",
)
@click.option(
    "--salt-env",
    default="STRETTO_REDACT_SALT",
    metavar="VARIABLE",
    help="The variable with the salt, a secret of yours. Default: STRETTO_REDACT_SALT.",
)
@options.force
@options.dry_run
@options.as_json
def redact_logs(
    *,
    sessions: Path,
    out: Path,
    keep_shared: int,
    fields: tuple[str, ...],
    salt_env: str,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Copy session logs with hashes in the place of values.

    A value that few sessions hold becomes the same hash everywhere, so that a flow learned from the copies is the one
    learned from the logs, apart from hashed keys. The logs are never written to.
    """
    salt = os.environ.get(salt_env, "")
    if not salt:
        raise UsageError(f"there is no salt; set {salt_env} to a secret, or name another variable with --salt-env")
    names = [name for each in fields for name in each.split(",") if name]
    logs = sorted(sessions.glob("*.jsonl"))
    if out.resolve() != sessions.resolve():  # which is refused in any case
        for path in logs:
            check_new_place(out / path.name, force=force)
    total = sum(path.stat().st_size for path in logs if path.is_file())
    with _render.progress("logs", 2 * total) as done:
        made = redact(
            sessions, out, salt=salt, keep_shared=keep_shared, hash_fields=names, dry_run=dry_run, on_bytes=done
        )
    if as_json:
        copies = [str(path) for path in made.copies]
        _render.document({"dry_run": dry_run, "out": str(out), "copies": [*copies], "hashed": made.hashed})
    else:
        would = "would be " if dry_run else ""
        copied, hashed = count(len(made.copies), "copy", "copies"), count(made.hashed, "value")
        _render.out(f"{copied} {would}in {out}, {hashed} hashed")
    return EXIT_OK


@click.command("doctor")
@click.option(
    "--servers", is_flag=True, help="Start or call every server that the known hosts have, and list its tools."
)
@click.option(
    "--flow",
    "flow_path",
    type=_DIRECTORY,
    metavar="FLOW",
    help="Compare this flow with COMMAND's server, or with the one that is called as its domain.",
)
@options.as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def doctor(*, servers: bool, flow_path: Path | None, as_json: bool, command: tuple[str, ...]) -> int:
    """Look whether everything is in place.

    One line each on versions, programs, the data directory (STRETTO_HOME, or the platform's place), the flows and the
    logs in it, and the servers of the known hosts; what is wrong comes with what to do about it, and the exit code is
    1. A server is started, or called over HTTP with the headers of its entry, only when asked for, by --servers or by
    its COMMAND: then its tools are listed with what they take, and compared with the flow it is served with.
    """
    if command and servers:
        raise UsageError("--servers looks at those that hosts have; leave it out, or the command")
    if flow_path is not None and not command and not servers:
        raise UsageError("--flow is compared with a server: give --servers, or its command after --")
    flow = None if flow_path is None else read_flow(flow_path)
    checks = list(diagnose(command=command, start=servers, flow=flow))
    healthy = all(check.state != "problem" for check in checks)
    if as_json:
        _render.document({"healthy": healthy, "checks": [check.as_json() for check in checks]})
    else:
        rows = [[c.state, c.name, f"{c.found}; {c.remedy}" if c.remedy else c.found] for c in checks]
        _render.out(_render.table([_render.Column(title) for title in ("state", "what", "found")], rows))
    return EXIT_OK if healthy else EXIT_PROBLEMS


@click.command("completions")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")), metavar="bash|zsh|fish")
def completions(*, shell: str) -> int:
    """Print what makes a shell complete commands and options.

    For bash: eval "$(stretto completions bash)" in ~/.bashrc; zsh likewise in ~/.zshrc; for fish: stretto completions
    fish > ~/.config/fish/completions/stretto.fish
    """
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"there is no completion for {shell}")
    _render.out(kind(root, {}, "stretto", "_STRETTO_COMPLETE").source().strip("\n"))
    return EXIT_OK
