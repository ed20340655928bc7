"""Options ``NAME=VALUE`` that may be given several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waggle.jsonvalue import JsonValue

__all__ = ["pair", "values"]


def pair(text: str, option: str) -> tuple[str, str]:
    """The name and the value of one of them.

    Raises:
        UsageError: it is no such pair.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"{option} {text!r}: expected NAME=VALUE")
    return name, value


def values(given: Sequence[str], option: str) -> dict[str, JsonValue]:
    """The values by their names: JSON where they are some, else texts; raises as `pair`."""
    found: dict[str, JsonValue] = {}
    for each in given:
        name, text = pair(each, option)
        try:
            found[name] = jsonvalue.loads(text)
        except ValueError:
            found[name] = text
    return found
