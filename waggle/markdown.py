"""Text as Markdown that people read: values are data and can end nothing."""

from __future__ import annotations

import re

from waggle import jsonvalue

__all__ = ["code"]


def code(text: str) -> str:
    """Text as inline code, on one line, that it cannot end: its fence is longer than any run of backticks in it."""
    shown = text if text.isprintable() else jsonvalue.dumps(text).decode()
    safe = shown.replace("<!--", "<\u200b!--")  # it must not read like one of our marks
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or safe != safe.strip() or not safe else ""
    return f"{fence}{pad}{safe}{pad}{fence}"
