"""Options that several commands share, spelled and explained once. Those that belong together arrive as one value."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from stretto._defaults import LOOKUPS_PER_CALL, LOOKUPS_PER_SESSION, THRESHOLD
from stretto.deciders.decide import DECIDERS
from stretto.errors import UsageError
from waggle.cli.options import as_json, dry_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stretto.deciders.oracle import Oracle

__all__ = [
    "ORACLE",
    "Asked",
    "Option",
    "Served",
    "as_json",
    "decider",
    "dry_run",
    "flow",
    "force",
    "gathered",
    "oracle",
    "out",
    "picture",
    "served",
    "threshold",
]

Command: TypeAlias = "Callable[..., int]"
Option: TypeAlias = "Callable[[Command], Command]"

_FILE: Final = click.Path(path_type=Path)


def gathered(name: str, make: Callable[..., object], given: Mapping[str, Option]) -> Option:
    """Options that reach the command as one parameter.

    Args:
        name: of that parameter.
        make: makes its value of the options' values, by their names.
        given: the options, by the names of their values.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathering(**values: Any) -> int:
            own = {each: values.pop(each) for each in given}
            return command(**values, **{name: make(**own)})

        decorated: Command = gathering
        for option in reversed([*given.values()]):
            decorated = option(decorated)
        return decorated

    return decorate


# --- flows ----------------------------------------------------------------------------------------------------

flow = click.option("--flow", "flow_path", type=_FILE, required=True, metavar="FLOW", help="The flow's file.")

out = click.option(
    "--out",
    type=_FILE,
    required=True,
    metavar="FLOW",
    help="Where the flow is written, whole or not at all. What is there is replaced if it is a flow.",
)

force = click.option("--force", is_flag=True, help="Replace a file that is there, whatever it is.")

threshold = click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=THRESHOLD,
    metavar="SCORE",
    help=f"Score from which on a lookup is made, 0 to 1. Default: {THRESHOLD}.",
)


def decider(default: str) -> Option:
    """``--decider``; the text says what it is without."""
    return click.option(
        "--decider",
        type=click.Choice(DECIDERS),
        metavar="[reach|habit|arbiter]",
        help=f"Who weighs the lookups. Default: {default}.",
    )


def picture(about: str) -> Option:
    """``--picture FILE``."""
    return click.option(
        "--picture",
        type=_FILE,
        metavar="FILE",
        help=f"Draw {about}, too: FILE.svg or FILE.png, which is replaced. Needs matplotlib.",
    )


# --- serving --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Served:
    """How a flow is served, beside its decider: threshold, and most lookups a call and a session."""

    threshold: float
    per_call: int
    per_session: int


#: Threshold and caps, as one parameter ``served``.
served = gathered(
    "served",
    Served,
    {
        "threshold": threshold,
        "per_call": click.option(
            "--per-call",
            type=click.IntRange(min=0),
            default=LOOKUPS_PER_CALL,
            metavar="N",
            help=f"Most lookups after one call. Default: {LOOKUPS_PER_CALL}.",
        ),
        "per_session": click.option(
            "--per-session",
            type=click.IntRange(min=0),
            default=LOOKUPS_PER_SESSION,
            metavar="N",
            help=f"Most lookups in one session. Default: {LOOKUPS_PER_SESSION}.",
        ),
    },
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom an arbiter asks.

    Attributes:
        kind: ``replay`` or ``mock``; None for nobody.
        cache: the answers that ``replay`` gives.
    """

    kind: str | None = None
    cache: Path | None = None

    def oracle(self) -> Oracle | None:
        """The oracle, or None.

        Raises:
            UsageError: the cache is missing, or there is nothing it is for.
            OracleError: the cache cannot be read.
        """
        from stretto.deciders.oracle import MockOracle, ReplayOracle  # noqa: PLC0415 - most flows have no arbiter

        if self.kind == "replay":
            if self.cache is None:
                raise UsageError("--oracle replay answers from a cache: give --oracle-cache")
            return ReplayOracle(self.cache)
        if self.cache is not None:
            raise UsageError("--oracle-cache goes with --oracle replay")
        return MockOracle() if self.kind == "mock" else None


ORACLE: Final[Mapping[str, Option]] = {
    "kind": click.option(
        "--oracle",
        "kind",
        type=click.Choice(("replay", "mock")),
        metavar="[replay|mock]",
        help="Whom an arbiter asks: answers given before, or made-up ones.",
    ),
    "cache": click.option("--oracle-cache", "cache", type=_FILE, metavar="FILE", help="The answers given before."),
}

#: Whom an arbiter asks, as one parameter ``asked``.
oracle = gathered("asked", Asked, ORACLE)
