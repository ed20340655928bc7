"""Servers as the command line names them: the command of one after ``--``, others by URL with ``--server``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stretto.procedure.servers import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["given_servers"]


def given_servers(command: Sequence[str], more: Sequence[str], known: Sequence[str] = ()) -> tuple[Server, ...]:
    """The servers that were given, in order.

    Args:
        command: that starts one; empty for none.
        more: ``URL`` or ``NAME=URL``, each.
        known: names of the servers that the procedure calls: one without a name is the only one.

    Raises:
        click.UsageError: two have one name, or none.
    """
    alone = known[0] if len(known) == 1 else ""
    found = [Server(alone, command=tuple(command))] if command else []
    for each in more:
        name, equals, url = each.partition("=")
        is_named = bool(equals) and "/" not in name
        found.append(Server(name if is_named else alone, url=url if is_named else each))
    if len({server.name for server in found}) < len(found):
        raise click.UsageError("several servers need names: --server NAME=URL")
    return tuple(found)
