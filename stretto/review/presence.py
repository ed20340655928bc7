"""Whether a value could have been taken from what was said before: from tools' results, or from the user's words.

A value is present where its text occurs as a whole word: ``12`` is not in ``2012``, ``#W1`` is not in ``#W12``, but
``src/a.py`` is in ``./src/a.py:7``. For results that are JSON this is nearly the same as being the value of a field (it
differs in 1 of 1,395 turns of recorded retail sessions); for YAML, listings and prose it is the only test there is. A
number is present where its digits are, with or without an empty fraction. Flags, null and empty texts are choices, not
values, and need no source.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waggle.jsonvalue import JsonValue

__all__ = ["Heard", "values_in"]


def values_in(arguments: JsonValue) -> Iterator[str | int | float]:
    """The texts and numbers in a call's arguments, at any depth, that need a source; in document order."""
    match arguments:
        case None | bool() | "":
            return
        case list():
            for each in arguments:
                yield from values_in(each)
        case dict():
            for each in arguments.values():
                yield from values_in(each)
        case _:
            yield arguments


class Heard:
    """Texts that were said, in order, and which values occur in them.

    Each text is looked through once for each value that is asked for and was not found before it.

    Args:
        loosely: case and a leading ``#`` do not matter, as when people write down what a record says.
    """

    def __init__(self, *, loosely: bool = False) -> None:
        self._loosely = loosely
        self._texts: list[str] = []
        self._found: set[str | float] = set()
        self._missing: dict[str | float, int] = {}  # by value: so many texts, from the first, do not hold it

    def add(self, text: str) -> None:
        """Take in a text."""
        self._texts.append(text.lower() if self._loosely else text)

    def holds(self, value: str | float) -> bool:
        """Whether a value occurs in what was said so far."""
        if value in self._found:
            return True
        words = _words(value, loosely=self._loosely)
        unread = self._texts[self._missing.get(value, 0) :]
        if any(word in text and pattern.search(text) for text in unread for word, pattern in words):
            self._found.add(value)
            return True
        self._missing[value] = len(self._texts)
        return False


@lru_cache(maxsize=4096)
def _words(value: str | float, *, loosely: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """How a value may be written, each way with the pattern of its being a whole word."""
    if not isinstance(value, str):
        return (_number(value),)
    text = value.strip().lower().lstrip("#") or value if loosely else value
    written = dict.fromkeys((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]))
    return tuple((each, re.compile(_whole_word(each))) for each in written)


def _whole_word(text: str) -> str:
    before = r"(?<!\w)" if text[0].isalnum() else ""
    after = r"(?!\w)" if text[-1].isalnum() else ""
    return f"{before}{re.escape(text)}{after}"


def _number(value: float) -> tuple[str, re.Pattern[str]]:
    whole = isinstance(value, int) or value.is_integer()
    text = str(int(value)) if whole else jsonvalue.canonical(value).decode()
    return text, re.compile(rf"(?<![\d.]){re.escape(text)}(?!\d)(?!\.\d*[1-9])")
