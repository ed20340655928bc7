"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from waggle._defaults import HOOK_ADDRESS
from waggle.admission import is_loopback, parse_address
from waggle.routes import Scope
from waggle.traces import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "address",
    "as_json",
    "dry_run",
    "learn_share",
    "loopback_address",
    "named",
    "project",
    "scope",
    "to_directory",
    "traces",
]

_F = TypeVar("_F", bound="Callable[..., Any]")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document (ASCII, stable keys).")

project = click.option(
    "--project",
    "directory",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The project's directory, or one inside it. Default: here.",
)

dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")

learn_share = click.option(
    "--learn-share",
    type=click.FloatRange(0, 1),
    default=0.5,
    metavar="SHARE",
    help="Share of the tasks to learn on, 0 to 1; the others are replayed. Default: 0.5.",
)

address = click.option(
    "--address",
    metavar="HOST:PORT",
    help=f"Where waggle serve listens, an address of this machine alone; PORT will do. Default: {HOOK_ADDRESS}.",
)

traces = click.argument("traces", type=click.Path(allow_dash=True), nargs=-1, required=True, metavar="TRACE...")

named = click.option(
    "--format",
    "named",
    type=click.Choice(list(FORMATS)),
    metavar="NAME",
    help=f"Read every TRACE as this format: {', '.join(FORMATS)}. Default: each file is what it looks like.",
)


def loopback_address(text: str | None) -> tuple[str, int]:
    """Host and port of ``--address``.

    Raises:
        click.UsageError: it is none, or one that other machines can reach.
    """
    text = text or HOOK_ADDRESS
    try:
        host, port = parse_address(text)
    except ValueError as error:
        raise click.UsageError(f"--address {error}") from None
    if not is_loopback(host):
        raise click.UsageError(f"--address {text} can be reached from other machines; listen on 127.0.0.1")
    return host, port


def to_directory(about: str, *, default: Path | None = None) -> Callable[[_F], _F]:
    """``--to DIR``; the text says what happens without it."""
    # A default of None would count as given.
    given: dict[str, Any] = {"default": default} if default else {}
    return click.option("--to", type=click.Path(path_type=Path), metavar="DIR", help=about, **given)


def scope(about: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """``--scope`` and its short form ``--user``, as one parameter ``scope``: a `Scope`, or None without either."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def with_scope(*, scope: str | None, user: bool, **others: Any) -> int:
            if user and scope == Scope.PROJECT:
                raise click.UsageError("--user means --scope user; give one of them")
            chosen = Scope.USER if user else Scope(scope) if scope else None
            return command(scope=chosen, **others)

        flag = click.option("--user", is_flag=True, help="Short for --scope user.")
        kind = click.Choice([each.value for each in Scope])
        return click.option("--scope", type=kind, metavar="[project|user]", help=about)(flag(with_scope))

    return decorate
