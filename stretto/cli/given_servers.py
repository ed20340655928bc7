"""Servers as the command line names them: the command of one after ``--``, others by URL with ``--server``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stretto.procedure.servers import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["given_servers"]


def given_servers(command: Sequence[str], more: Sequence[str]) -> tuple[Server, ...]:
    """The servers that were given, in order.

    Args:
        command: that starts one; empty for none.
        more: ``URL`` or ``NAME=URL``, each.

    Raises:
        click.UsageError: two have one name, or none.
    """
    found = [Server(command=tuple(command))] if command else []
    for each in more:
        name, equals, url = each.partition("=")
        is_named = bool(equals) and "/" not in name
        found.append(Server(name if is_named else "", url=url if is_named else each))
    if len({server.name for server in found}) < len(found):
        raise click.UsageError("several servers need names: --server NAME=URL")
    return tuple(found)
