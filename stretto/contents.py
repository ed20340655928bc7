"""What is in files, ours and those that people write: their bytes, their value, and how a place in it is called.

Not responsible for the form that a value should have (`stretto.forms`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from waggle import files, jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stretto.errors import FileError
    from waggle.jsonvalue import JsonValue

__all__ = ["field_path", "read_bytes", "read_json", "read_written"]

_BOM: Final = b"\xef\xbb\xbf"
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,59}")
_SHOWN: Final = 60  #: characters of a key in a path


def field_path(keys: Iterable[str | int], at: str = "$") -> str:
    """The JSON path of what these keys lead to from a path; keys that are no plain words stand in brackets."""
    for key in keys:
        if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
            at += f".{key}"
        else:
            at += f"[{key if isinstance(key, int) else jsonvalue.canonical(key[:_SHOWN]).decode()}]"
    return at


def read_bytes(path: Path, limit: int, raises: type[FileError]) -> bytes:
    """The bytes of a file, without a byte order mark.

    Args:
        path: of the file.
        limit: bytes; a larger file is not read.
        raises: the kind of error.

    Raises:
        FileError: of that kind: it cannot be read, or is too large.
    """
    try:
        return files.read_bytes(path, limit=limit).removeprefix(_BOM)
    except OSError as error:
        raise raises(str(path), "$", f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise raises(str(path), "$", str(error)) from None


def read_json(data: bytes, path: str, raises: type[FileError]) -> JsonValue:
    """The value in the bytes of a JSON file.

    Raises:
        FileError: of the given kind: it is no JSON.
    """
    try:
        return jsonvalue.loads(data)
    except ValueError as error:
        raise raises(path, "$", f"is no JSON: {error}") from None


def read_written(path: Path, limit: int, raises: type[FileError]) -> object:
    """What a file holds that people write: TOML, or JSON where its name ends in ``.json``.

    Args:
        path: of the file.
        limit: bytes; a larger file is not read.
        raises: the kind of error.

    Raises:
        FileError: of that kind: it cannot be read, is too large, or is neither.
    """
    data = read_bytes(path, limit, raises)
    if path.suffix.lower() == ".json":
        return read_json(data, str(path), raises)
    import tomllib  # noqa: PLC0415 - the proxy reads manifests and flows, which are JSON

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise raises(str(path), "$", f"is no TOML: {error}") from None
