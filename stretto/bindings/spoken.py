"""The user's own words: the shape of a value, and the values of a shape in what the user wrote.

A **shape** is what a value looks like without saying what it is: an e-mail address, a date, an id with so many digits.
Only shapes that say something are used; any word looks like a word. Not responsible for what was said
(`stretto.bindings.session`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["shape_of", "tokens", "with_shape"]

#: What may stand around a value in running text.
_AROUND: Final = ".,;:!?()[]{}<>\"'`*"

#: A longer run without white space is no value that a person types.
_LONGEST: Final = 120  # characters

_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LINK: Final = re.compile(r"(?:https?://|www\.)[\w.-]+(?:[/?#]\S*)?", re.IGNORECASE)
_RUN: Final = re.compile(r"[^\W_]+|_|\W")
_DIGITS: Final = re.compile(r"[0-9]")
_LEAST: Final = 4  # characters


@lru_cache(maxsize=16384)
def shape_of(value: str) -> str | None:
    r"""The shape of a value, or None for one that says nothing by its looks.

    ``email`` and ``link`` are shapes. Any other shape has a digit in it: a run of digits becomes ``9{n}``, a run of
    letters and digits ``X{n}``, a run of letters only ``a``, and what stands between stays: ``#W6619432`` is ``#X{8}``,
    ``mia_li_3668`` is ``a_a_9{4}``, ``2024-05-15`` is ``9{4}-9{2}-9{2}``.

    Cost: linear in the value's length, once.
    """
    if not _LEAST <= len(value) <= _LONGEST:
        return None
    if _EMAIL.fullmatch(value):
        return "email"
    if _LINK.fullmatch(value):
        return "link"
    if not _DIGITS.search(value) or any(character.isspace() for character in value):
        return None
    return "".join(map(_run_shape, _RUN.findall(value)))


def _run_shape(run: str) -> str:
    if run.isdigit():
        return f"9{{{len(run)}}}"
    if _DIGITS.search(run):
        return f"X{{{len(run)}}}"
    return "a" if run[0].isalpha() else run


def tokens(text: str) -> Iterator[str]:
    """The words of a text without the punctuation around them, in order."""
    for word in text.split():
        if len(word) <= _LONGEST:
            yield word.strip(_AROUND)


def with_shape(text: str, shape: str) -> list[str]:
    """The words of a text that have this shape, each once, in order."""
    return list(dict.fromkeys(token for token in tokens(text) if shape_of(token) == shape))
