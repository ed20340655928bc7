r"""The mark of a shortened text: ``[... 1200 more characters cut from this trace ...]`` on a last line of its own.

A text keeps its mark wherever it goes, so that what is missing can always be told; `split_cut` takes it off for those
who look into the text. A tool that prints the very same line makes a whole text look cut, which costs a lookup and
nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["cut_text", "has_cut", "is_cut", "split_cut"]

_TAIL: Final = " more characters cut from this trace ...]"
_MARK = re.compile(r"\n?\[\.\.\. (\d{1,18}) more characters cut from this trace \.\.\.\]\Z")


def is_cut(text: str) -> bool:
    """Whether the text ends with the mark."""
    return text.endswith(_TAIL)


def has_cut(values: Iterable[object]) -> bool:
    """Whether a text in one of these JSON values, at any depth, ends with the mark."""
    todo = list(values)
    for value in todo:  # grows while it is walked: no recursion, arguments may be nested very deeply
        if isinstance(value, str):
            if value.endswith(_TAIL):
                return True
        elif isinstance(value, dict):
            todo.extend(value.values())
        elif isinstance(value, list):
            todo.extend(value)
    return False


def split_cut(text: str) -> tuple[str, int]:
    """Take the mark off: what was kept, and how many characters are missing behind it (0 for a whole text)."""
    if text.endswith(_TAIL):
        found = _MARK.search(text)
        if found:
            return text[: found.start()], int(found[1])
    return text, 0


def cut_text(text: str, limit: int) -> str:
    """Keep the first `limit` characters and mark the rest as missing; a text that was cut before keeps its count."""
    kept, missing = split_cut(text)
    if len(kept) <= limit:
        return text
    return f"{kept[:limit]}\n[... {missing + len(kept) - limit} more characters cut from this trace ...]"
