"""The option ``--scope``: for whom a procedure is run, or a request made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from stretto.cli.given_values import pair

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SCOPE"]


def _scope(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    return dict(pair(each, "--scope") for each in given)


#: Gives ``scope``, by kind.
SCOPE: Final[Callable[[Any], Any]] = click.option(
    "--scope",
    multiple=True,
    callback=_scope,
    metavar="KIND=NAME",
    help="For whom: tenant=acme, user=ida, project=x. Needed for a procedure that holds values of one. Once for each.",
)
