"""Small JSON files that a user writes for a command: lists of tasks, questions, settings found before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stretto.errors import UsageError
from waggle import files, jsonvalue

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonValue

__all__ = ["read_json"]

_LONGEST: Final = 16 * 1024 * 1024  # bytes
_BOM: Final = b"\xef\xbb\xbf"


def read_json(path: Path) -> JsonValue:
    """Read a JSON file.

    Raises:
        UsageError: it cannot be read, or is no JSON.
    """
    try:
        return jsonvalue.loads(files.read_bytes(path, limit=_LONGEST).removeprefix(_BOM))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path}: is no JSON: {error}") from None
