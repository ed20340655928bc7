"""The command that shows what folds saved: ``stats``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from waggle import _render
from waggle._defaults import EXIT_OK
from waggle.cli import options
from waggle.cli.place import open_place
from waggle.effect import by_strategy, effect, sentence
from waggle.ledger import read_settled, read_windows

if TYPE_CHECKING:
    from waggle.effect import Effect, Side
    from waggle.jsonvalue import JsonObject
    from waggle.ledger import Stat
    from waggle.routes import Scope

__all__ = ["settled_json", "stats"]


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False, metavar="[PATH]")
@options.project
@options.scope("Only the project's ledger, or only the user's. Default: both.")
@options.as_json
def stats(*, path: Path | None, directory: Path, scope: Scope | None, as_json: bool) -> int:
    """Show what folds saved, and whether that is more than chance.

    Compares the results to which lookups were folded with those where control_share held them back at random: how many
    calls the agent made from there to its next write. The 95 % interval comes from resampling whole sessions.

    Below, by strategy and skill: "used" counts the lookups that the agent would have asked for, "detours" the others,
    "share" is used / (used + detours), "saved" and "spent" are tokens, and "held" is the share of the lookups held back
    that would have been used. Reads the ledgers of the project and the user, or the ledger at PATH.
    """
    ledgers = [path] if path else [store.ledger_path for store in open_place(directory).stores(scope)]
    found, settled = effect(read_windows(*ledgers)), read_settled(*ledgers)
    ranked = sorted(settled.items(), key=_rank)
    strategies = by_strategy(settled)
    if as_json:
        _render.document(
            {
                "effect": _effect_json(found),
                "strategies": [{"strategy": name, **_rates_json(stat)} for name, stat in strategies.items()],
                "skills": [{"strategy": by, "name": name, **_rates_json(stat)} for (by, name), stat in ranked],
            }
        )
        return EXIT_OK
    if found.sessions:
        rows = [_side_row("with folds", found.folded), _side_row("held back", found.held)]
        _render.out(_render.table(_SIDE_COLUMNS, rows))
    _render.out(sentence(found))
    if ranked:
        totals = [_row(strategy, "(all)", stat) for strategy, stat in strategies.items()]
        rows = [_row(strategy, name, stat) for (strategy, name), stat in ranked]
        _render.out("")
        _render.out(_render.table(_COLUMNS, [*totals, *rows]))
    return EXIT_OK


def _rank(each: tuple[tuple[str | None, str], Stat]) -> tuple[int, int, str, str]:
    (strategy, name), stat = each
    return -stat.net_tokens, -stat.used, name, strategy or ""


# --- text -----------------------------------------------------------------------------------------------------

_SIDE_COLUMNS: Final = (
    _render.Column("results"),
    _render.Column("number", number=True),
    _render.Column("sessions", number=True),
    _render.Column("calls each", number=True),
)
_COLUMNS: Final = (
    _render.Column("strategy"),
    *(_render.Column(title, number=True) for title in ("used", "detours", "share", "saved", "spent", "held")),
    _render.Column("skill"),
)


def _side_row(title: str, side: Side) -> list[str]:
    mean = "-" if side.mean is None else f"{side.mean:.2f}"
    return [title, f"{side.windows:,}", f"{side.sessions:,}", mean]


def _row(strategy: str | None, name: str, stat: Stat) -> list[str]:
    numbers = [f"{number:,}" for number in (stat.used, stat.detours)]
    tokens = [f"{number:,}" for number in (stat.saved_tokens, stat.spent_tokens)]
    return [strategy or "-", *numbers, _share(stat.precision), *tokens, _share(stat.held_precision), name]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


# --- JSON -----------------------------------------------------------------------------------------------------


def settled_json(stat: Stat) -> JsonObject:
    """What ``--json`` says of settled lookups, wherever it does."""
    return {
        "used": stat.used,
        "detours": stat.detours,
        "tokens_saved": stat.saved_tokens,
        "tokens_spent": stat.spent_tokens,
        "held_used": stat.held_used,
        "held_detours": stat.held_detours,
    }


def _rates_json(stat: Stat) -> JsonObject:
    return {**settled_json(stat), "precision": stat.precision, "held_precision": stat.held_precision}


def _effect_json(found: Effect) -> JsonObject:
    return {
        "sessions": found.sessions,
        "with_folds": _side_json(found.folded),
        "held_back": _side_json(found.held),
        "saved": found.saved,
        "saved_low": found.low,
        "saved_high": found.high,
        "sentence": sentence(found),
    }


def _side_json(side: Side) -> JsonObject:
    return {"sessions": side.sessions, "windows": side.windows, "calls": side.calls, "mean_calls": side.mean}
