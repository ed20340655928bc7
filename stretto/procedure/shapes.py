"""The shapes that a value may have as a whole, from a closed list: what an input looks like. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from waggle.jsonvalue import JsonValue

__all__ = ["SHAPES", "fits", "shape_of"]

#: The shapes by name, the narrowest first.
SHAPES: Final = {
    "email": re.compile(r"[^\s@<>()\[\],;:\"']+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    "url": re.compile(r"https?://[^\s<>\"']+"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "code": re.compile(r"#?[A-Za-z]+[-_]?\d[A-Za-z0-9-]*|#?[A-Za-z]+-[A-Za-z0-9-]*\d[A-Za-z0-9-]*"),
    "number": re.compile(r"-?\d+(?:\.\d+)?"),
}


def shape_of(value: JsonValue) -> str:
    """The name of the narrowest shape of a text; ``number`` of a number; empty for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if not isinstance(value, str):
        return "number"
    return next((name for name, pattern in SHAPES.items() if pattern.fullmatch(value)), "")


def fits(value: JsonValue, shape: str) -> bool:
    """Whether a value has a shape; any has the empty one."""
    return (
        not shape
        or (shape == "number" and shape_of(value) == "number")
        or (isinstance(value, str) and SHAPES[shape].fullmatch(value) is not None)
    )
