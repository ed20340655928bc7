"""Values of several words, found whole in running text.

Not responsible for what becomes of them. A text is looked at as pieces: words at even places, the white space between
them at odd ones. A value is found where its words and its white space stand, small and large letters alike; only
punctuation (and a ``#`` in front) may stand between it and the spaces around it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PUNCTUATION", "Found", "Phrases", "pieces_of"]

#: What may stand around a word and is no part of it.
PUNCTUATION: Final = ".,;:!?()[]\"'`"

_SPACES: Final = re.compile(r"(\s+)")
_TWO: Final = 2  #: words; the fewest a phrase has


def pieces_of(text: str) -> list[str]:
    """A text's words at even places and the white space between them at odd ones; the first and last may be empty."""
    return _SPACES.split(text)


class Found(NamedTuple):
    """A phrase in a text.

    Attributes:
        value: the phrase, normalised.
        before: punctuation in front of it.
        after: punctuation behind it.
        end: place of the first piece behind it.
    """

    value: str
    before: str
    after: str
    end: int


class Phrases:
    """Where phrases can be: how many words those have that begin in one way. The phrases themselves are not held."""

    def __init__(self) -> None:
        self._lengths: dict[str | tuple[str, str], list[int]] = {}

    def add(self, value: str) -> None:
        """Take in a normalised value; one of a single word is no phrase."""
        words = value.split()
        if len(words) >= _TWO:
            # Of two words the last may have a full stop behind it where it is found: they are looked up by the first.
            start = words[0] if len(words) == _TWO else (words[0], words[1])
            lengths = self._lengths.setdefault(start, [])
            if len(words) not in lengths:
                lengths.append(len(words))
                lengths.sort(reverse=True)

    def find(self, lower: Sequence[str], at: int, known: Callable[[str], bool]) -> Found | None:
        """The longest phrase that begins at a word.

        Args:
            lower: the pieces of the text, in lower case.
            at: place of the word.
            known: whether a normalised value is one of the phrases.
        """
        if at + 2 >= len(lower):
            return None
        token = lower[at]
        bare = token.lstrip(PUNCTUATION)
        for first in dict.fromkeys((token, bare, token.lstrip("#"), bare.lstrip("#"))):
            for words in (*self._lengths.get((first, lower[at + 2]), ()), *self._lengths.get(first, ())):
                last = at + 2 * (words - 1)
                if last < len(lower):
                    front = first + "".join(lower[at + 1 : last])
                    for value, after in _endings(front, lower[last]):
                        if known(value):
                            return Found(value, token[: len(token) - len(first)].rstrip("#"), after, last + 1)
        return None


def _endings(front: str, last: str) -> list[tuple[str, str]]:
    """The values that may end in a word, with ever more of the punctuation behind it left to the text."""
    shortest = max(len(last.rstrip(PUNCTUATION)), 1)
    return [(front + last[:end], last[end:]) for end in range(len(last), shortest - 1, -1)]
