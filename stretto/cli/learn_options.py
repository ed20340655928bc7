"""The options that say what is learned; see `stretto.learning.LearnOptions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from stretto.cli.options import gathered
from stretto.learning import LearnOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stretto.cli.options import Option

__all__ = ["learned"]

_DEFAULTS: Final = LearnOptions()


def _learned(
    *,
    alpha: float | None,
    alpha_samples: int | None,
    habit_only: bool,
    surprise: float | None = None,
    surprise_window: int | None = None,
    **others: Any,
) -> LearnOptions:
    del habit_only  # there is nothing else: only `compile` fits an arbiter
    if alpha is not None and alpha_samples:
        raise click.UsageError("--alpha takes the place of fitting; leave out --alpha-samples")
    if surprise_window is not None and surprise is None:
        raise click.UsageError("--surprise-window says how --surprise looks; it does nothing without")
    if alpha_samples == 0 and alpha is None:
        alpha = 1.0
    window = _DEFAULTS.surprise_window if surprise_window is None else surprise_window
    return LearnOptions(alpha=alpha, surprise=surprise, surprise_window=window, **others)


def _off(option: str, value: str, about: str) -> Option:
    return click.option(option, value, flag_value=False, default=True, help=about)


_LEARNED: Final[Mapping[str, Option]] = {
    "habit_only": click.option(
        "--habit-only", is_flag=True, help="Fit no arbiter. So it is anyway: `compile` fits one."
    ),
    "constants": click.option("--constants", is_flag=True, help="Bind arguments that always took one value."),
    "half_life": click.option(
        "--half-life",
        type=click.FloatRange(min=0, min_open=True),
        metavar="N",
        help="A session N sessions older than the newest counts half, in order of their start. Default: all alike.",
    ),
    "surprise": click.option(
        "--surprise",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="Q",
        help="Leave a session alone once it surprises the flow more than this share of the learned ones did.",
    ),
    "surprise_window": click.option(
        "--surprise-window",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Steps whose mean surprise is looked at. Default: {_DEFAULTS.surprise_window}.",
    ),
    "every_read": click.option(
        "--manifest-options", "every_read", is_flag=True, help="Offer every read at every site."
    ),
    "alpha": click.option(
        "--alpha",
        type=click.FloatRange(min=0, min_open=True),
        metavar="A",
        help="The concentration, instead of fitting it.",
    ),
    "alpha_samples": click.option(
        "--alpha-samples",
        type=click.IntRange(min=0),
        metavar="N",
        help="0: do not fit the concentration, use --alpha, or 1. More is the same as leaving it out: it is "
        "integrated, not sampled.",
    ),
    "derive": _off("--no-derived", "derive", "Bind no derived values."),
    "speak": _off("--no-user-words", "speak", "Bind nothing from the user's own words."),
    "uses": _off("--no-uses", "uses", "Do not count how often lookups would have been used."),
    "features": _off("--no-features", "features", "Let no tool's output make its steps differ."),
}

#: What belongs to the order of the sessions, and to serving.
_OF_A_SEQUENCE: Final = ("half_life", "surprise", "surprise_window")


def learned(*, sequence: bool = True) -> Option:
    """What is learned, as one parameter ``learned``.

    Args:
        sequence: with what depends on the order of the sessions; off where flows are only compared.
    """
    chosen = {name: each for name, each in _LEARNED.items() if sequence or name not in _OF_A_SEQUENCE}
    return gathered("learned", _learned, chosen)
